/*
 * Transactions that are guarded by the nodes of a lock that is held: as asynchronous as all of
 * the library, with a wait on top for the functions that block.
 */
#ifndef ZKLOCK_COMMIT_H
#define ZKLOCK_COMMIT_H

#include "handle/call.h"

/** A call that waits for a commit. Embed it as the first field, and fill in the next four before
 *  it begins. */
typedef struct zkl_commit_call zkl_commit_call;
struct zkl_commit_call {
    zkl_lock_call call;                    /* first */
    const zkl_multi_operation *operations; /* they live until it is over */
    size_t count;
    int64_t token; /* of the grant that it is for; 0: whichever there is */
    /* It has its status, and with ZKL_OK a result for each operation: this may begin it again. */
    void (*ended)(zkl_commit_call *self, const zkl_multi_result *results);
    struct zkl_commit *commit; /* under way; NULL: it is over, or was never begun */
    /* Once it is over: ZKL_OK; ZKL_LOST, ZKL_NOT_HELD or ZKL_CLOSED: the lock is not held any more;
     * ZKL_OPERATION_FAILED: see `result`; ZKL_UNKNOWN: the reply was lost; ZKL_NO_PERMISSION or
     * ZKL_SERVER_REFUSED. Nothing was applied but with ZKL_OK, and perhaps ZKL_UNKNOWN. */
    int status;
    zkl_transaction_result result;
};

/** Begins to commit; the lock is held. It may be over at once. While the lock is being downgraded
 * nothing is sent, as nobody knows which node it has. ZKL_OK or ZKL_NO_MEMORY. */
int zkl_commit_begin(zkl_commit_call *call);
/** Nobody waits any longer. Returns its status; where it was not over yet ZKL_UNKNOWN, or nothing
 *  was sent: ZKL_TIMEOUT, or ZKL_CANCELLED, the handle is being closed. */
int zkl_commit_end(zkl_commit_call *call);
/** Its time has passed: nothing is sent behind its deadline, though its callback may be late. */
void zkl_commit_expire(zkl_lock_call *call);

/** The lock is not held any more, and why: ends those that were not yet sent. */
void zkl_commits_end(zkl_lock *lock, int status);

#endif
