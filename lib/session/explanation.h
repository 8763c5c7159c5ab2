/* What people learn of a request: the facts for telemetry.h, and why it was not granted, which
 * zkl_error_message and the log say beside the status. Everything here runs with the client's mutex
 * held. */
#pragma once

#include "session/request_sender.h"

/** Room for a path, and for what became of it. */
#define ZKL_EXPLANATION_SIZE 448

typedef struct zkl_explanation {
    char text[ZKL_EXPLANATION_SIZE]; /* empty: the status says all */
} zkl_explanation;

/** Explains a verdict, in the moment in which it is given. */
zkl_explanation zkl_explain_verdict(const zkl_request_sender *sender, int status);

/** Explains for how long the session has had no connection, and why, where that is known. If it is
 *  connected, or NULL: `otherwise`. */
zkl_explanation zkl_explain_connection(const zkl_session *session, const char *otherwise);

/** Explains what the servers refused, and so ended the session. */
zkl_explanation zkl_explain_refusal(const zkl_session *session);

/** Returns the facts of a request for telemetry.h. `request`: NULL if it has ended, or could not
 *  begin; granted_ms: -1 if it was not granted. */
zkl_request_facts zkl_request_facts_make(const zkl_session *session, const zkl_run_options *options,
                                         zkl_mode mode, const zkl_request *request,
                                         int64_t granted_ms);
/** Returns the facts of a request that has not ended. */
zkl_request_facts zkl_request_facts_of(const zkl_request_sender *sender);
