/*
 * Transactions that are guarded by the node of a lock that is held: as asynchronous as all of
 * the library, with a wait on top for the functions that block.
 */
#ifndef ZKLOCK_COMMIT_H
#define ZKLOCK_COMMIT_H

#include "lock.h"

/** The check of the lock's node, to be the first operation. `node`: its full path. */
zkl_multi_operation zkl_commit_guard(const char *node);

/** What became of it. */
typedef struct zkl_commit_result {
    /* ZKL_OK; ZKL_LOST, ZKL_NOT_HELD or ZKL_CLOSED: the lock is not held any more;
     * ZKL_OPERATION_FAILED: see below; ZKL_UNKNOWN: the reply was lost; ZKL_NO_PERMISSION or
     * ZKL_SERVER_REFUSED. Nothing was applied but with ZKL_OK, and perhaps ZKL_UNKNOWN. */
    int status;
    size_t failed; /* ZKL_OPERATION_FAILED: which, counted with the guard, and why */
    int failed_status;
    const zkl_multi_result *results; /* ZKL_OK: one for each; they live during the callback */
} zkl_commit_result;

/** A commit that somebody waits for: a thread, or a callback that is owed. Embed it, and fill in
 * the first five fields; all with the client's mutex held. */
typedef struct zkl_commit_wait zkl_commit_wait;
struct zkl_commit_wait {
    zkl_lock *lock;
    zkl_lock_completion *completion; /* NULL: a thread waits */
    /* The first is the guard; they live until it is over. */
    const zkl_multi_operation *operations;
    size_t count;
    /* It has ended, and has its status: this may begin it anew. */
    void (*ended)(zkl_commit_wait *wait, const zkl_commit_result *result);
    struct zkl_commit *commit; /* under way; NULL: it is over, or was never begun */
    int status;                /* once it is over */
};

/** There is no node of that path, and the lock is held as far as is known: where else its grant's
 *  node may be, as a change of mode has replaced it, or a downgrade may have whose reply was lost.
 *  False: nowhere. */
bool zkl_commit_find_node(const zkl_lock *lock, char node[ZKL_NODE_PATH_SIZE]);

/** Begins to commit; the lock is held. It may be over at once. ZKL_OK or ZKL_NO_MEMORY. */
int zkl_commit_begin(zkl_commit_wait *wait);
/** A thread waits until it is over, for at most `timeout_ms`. */
void zkl_commit_wait_for(const zkl_commit_wait *wait, int64_t timeout_ms);
/** The callback is told when it is over, or after `timeout_ms`. */
void zkl_commit_leave_to_callback(zkl_commit_wait *wait, int64_t timeout_ms);
/** Nobody waits any longer. Returns its status; where it was not over yet ZKL_UNKNOWN, or nothing
 *  was sent: ZKL_TIMEOUT, or ZKL_CANCELLED, the handle is being closed. */
int zkl_commit_end(zkl_commit_wait *wait);

/** The lock is not held any more, and why: ends those that were not yet sent. */
void zkl_commits_end(zkl_lock *lock, int status);

#endif
