/* What libzookeeper's return codes mean: those of calls, of replies, and of a transaction's
 * operations. */
#ifndef ZKLOCK_ZOOKEEPER_RETURN_CODES_H
#define ZKLOCK_ZOOKEEPER_RETURN_CODES_H

#include "session/operations.h"

zkl_outcome zkl_outcome_of_code(int rc);
/** With the status that belongs to the outcome. */
zkl_reply zkl_reply_of_code(int rc);

/** Whether a server has said so about this very operation of a transaction: then nothing was
 *  applied. When the connection is lost libzookeeper gives that as each operation's own error; and
 *  servers check the session with each, and tell it as if that one had failed. */
bool zkl_is_failure(int rc);
/** Why it failed: a zkl_status. */
int zkl_status_of_failure(int rc);

#endif
