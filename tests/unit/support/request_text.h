/* What traces call events, outcomes, actions and statuses. */
#pragma once

#include "recipe/request.h"

const char *request_text_of_event(zkl_event_kind kind);
const char *request_text_of_outcome(zkl_outcome outcome);
const char *request_text_of_action(zkl_action_kind kind);
/** Without the ZKL_ of its name. */
const char *request_text_of_status(int status);

/** Whether the word is the name of an event, or an outcome; if so, which. */
bool request_text_event(const char *word, zkl_event_kind *kind);
bool request_text_outcome(const char *word, zkl_outcome *outcome);
