/* What people are told of a request: the facts for telemetry.h, and why it was not granted, which
 * zkl_error_message and the log say beside the status. With the client's mutex held. */
#ifndef ZKLOCK_EXPLANATION_H
#define ZKLOCK_EXPLANATION_H

#include "session/request_runner.h"

/** Room for a path, and for what became of it. */
#define ZKL_EXPLANATION_SIZE 448

typedef struct zkl_explanation {
    char text[ZKL_EXPLANATION_SIZE]; /* empty: the status says all */
} zkl_explanation;

/** Of a verdict, in the moment in which it is given. */
zkl_explanation zkl_explain_verdict(const zkl_request_runner *runner, int status);

/** For how long the session has had no connection, and why, where that is known. */
zkl_explanation zkl_explain_connection(const zkl_session *session);

zkl_request_facts zkl_request_facts_of(const zkl_request_runner *runner);

/** A copy to free, or NULL: empty, or out of memory. */
char *zkl_explanation_keep(const zkl_explanation *explanation);

#endif
