/* The answers of the servers to what a request has asked for, as its events. Each listener's `arg`
 * is the runner. Everything here runs with the client's mutex held. */
#pragma once

#include "session/request_run.h"

extern const zkl_request_listener zkl_request_reply_listener;
extern const zkl_list_listener zkl_request_list_listener;
/** Of the nodes that it waits for, and of its own. */
extern const zkl_watch_listener zkl_request_watch_listener;
extern const zkl_watch_listener zkl_request_own_watch_listener;

/** Returns the event that answers an operation. */
zkl_event_kind zkl_request_answer_of(int action);
