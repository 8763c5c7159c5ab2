/*
 * Watches a request from outside, and asserts after each step what must hold
 * for every request, whatever happened. It keeps its own account of events and
 * actions, and reads no field of the request.
 */
#pragma once

#include "recipe/request.h"

typedef struct request_monitor {
    bool connected;
    bool watching;
    bool watching_own;
    bool needs_lease;
    bool lease_runs;
    bool keeps_node; /* lost with the lease, and not yet released */
    bool leaving;    /* given up, failed, lost or released */
    bool called_off; /* timed out or cancelled before there was a verdict */
    bool granted;
    bool holds;
    bool was_released; /* while it held */ /* granted, and neither released nor lost */
    unsigned outstanding;                  /* by kind of action, a bit each */
    unsigned verdicts;
    unsigned ends;
    unsigned steps;
} request_monitor;

request_monitor monitor_begin(const zkl_request_options *options,
                              const zkl_request_session *session);

/** Steps the request; `what` is shown when something is wrong. */
void monitor_step(request_monitor *monitor, zkl_request *request, const zkl_event *event,
                  zkl_actions *actions, const char *what);

/** The action that an event answers; ZKL_ACTION_END stands for none. */
zkl_action_kind monitor_answered_by(zkl_event_kind kind);

/** Whether a reply to this kind of action is awaited. */
bool monitor_awaits(const request_monitor *monitor, zkl_action_kind kind);
