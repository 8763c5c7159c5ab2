/*
 * Transactions that the nodes of a held lock guard: they are applied only if all those nodes exist.
 */
#ifndef ZKLOCK_COMMIT_H
#define ZKLOCK_COMMIT_H

#include "handle/call.h"

/** A call that waits for a commit. Embed it as the first field, and fill in the four that follow
 *  `call` before it begins. */
typedef struct zkl_commit_call zkl_commit_call;
struct zkl_commit_call {
    zkl_lock_call call;                    /* first */
    const zkl_multi_operation *operations; /* they live until it is over */
    size_t count;
    int64_t token; /* of the grant that it is for; 0: any */
    /* Called when it has its status, and with ZKL_OK a result for each operation. May begin it
     * again. */
    void (*ended)(zkl_commit_call *self, const zkl_multi_result *results);
    struct zkl_commit *commit; /* under way; NULL: over, or never begun */
    /* Once it is over: ZKL_OK; ZKL_LOST, ZKL_NOT_HELD or ZKL_CLOSED: the lock is no longer held;
     * ZKL_OPERATION_FAILED: see `result`; ZKL_UNKNOWN: the reply was lost; ZKL_NO_PERMISSION or
     * ZKL_SERVER_REFUSED. It was applied with ZKL_OK, perhaps with ZKL_UNKNOWN, else not. */
    int status;
    zkl_transaction_result result;
};

/** Begins to commit, while the lock is held. It may be over at once. During a downgrade nothing is
 *  sent, because it is not known which node the lock has. ZKL_OK or ZKL_NO_MEMORY. */
int zkl_commit_begin(zkl_commit_call *call);
/** Ends the wait, and returns the status. If it was not over: ZKL_UNKNOWN if it was sent; else
 *  ZKL_TIMEOUT, or ZKL_CANCELLED when the handle is being closed. */
int zkl_commit_end(zkl_commit_call *call);
/** Its time has passed: nothing is sent after the deadline, even if its callback runs late. */
void zkl_commit_expire(zkl_lock_call *call);

/** The lock is no longer held, for the reason `status`: ends the commits that were not sent. */
void zkl_commits_end(zkl_lock *lock, int status);

#endif
