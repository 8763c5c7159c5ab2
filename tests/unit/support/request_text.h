/* The names of events, outcomes, actions and statuses in traces. */
#pragma once

#include "recipe/request.h"

const char *request_text_of_event(zkl_event_kind kind);
const char *request_text_of_outcome(zkl_outcome outcome);
const char *request_text_of_action(zkl_action_kind kind);
/** Returns the name of a status, without its ZKL_. */
const char *request_text_of_status(int status);

/** Finds the event, or the outcome, that a word names. False: it names none. */
bool request_text_event(const char *word, zkl_event_kind *kind);
bool request_text_outcome(const char *word, zkl_outcome *outcome);
