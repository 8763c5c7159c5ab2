/* What libzookeeper's return codes mean: those of calls, of replies, and of a transaction's
 * operations. Simulated servers answer with the same codes. */
#pragma once

#include "connection/operations.h"

zkl_outcome zkl_outcome_of_code(int rc);
/** With the status that belongs to the outcome. */
zkl_reply zkl_reply_of_code(int rc);
/** The reply to a transaction. Each result comes with the code of its operation as its status, and
 *  with the path that it made. */
zkl_reply zkl_reply_of_results(int rc, zkl_multi_result *results, size_t count);
