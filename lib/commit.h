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

/** With the client's mutex held. */
typedef void zkl_commit_callback(void *arg, const zkl_commit_result *result);

typedef struct zkl_commit zkl_commit;

/** Begins to commit operations, of which the first is the guard, and which live until it has
 *  ended; the lock is held. `done` is called exactly once, perhaps before this returns, unless
 *  the caller leaves. NULL: out of memory, and it is never called. All with the mutex held. */
zkl_commit *zkl_commit_begin(zkl_lock *lock, const zkl_multi_operation *operations, size_t count,
                             zkl_commit_callback *done, void *arg);
/** Before `done` was called: it will not be. True: nothing was sent. */
bool zkl_commit_leave(zkl_commit *commit);

/** The lock is not held any more, and why: ends those that were not yet sent. */
void zkl_commits_end(zkl_lock *lock, int status);

/** Commits, and waits until that is done, for at most `timeout_ms`: what `done` is told, called
 *  if it is in time, or ZKL_TIMEOUT (nothing was sent), ZKL_UNKNOWN, ZKL_CANCELLED (nothing was
 *  sent, and the handle is being closed) or ZKL_NO_MEMORY. */
int zkl_commit_and_wait(zkl_lock *lock, const zkl_multi_operation *operations, size_t count,
                        int64_t timeout_ms, zkl_commit_callback *done, void *arg);

/** ZKL_OK: the lock is held, as far as is known here; ZKL_CLOSED, ZKL_LOST or ZKL_NOT_HELD. */
int zkl_commit_check_held(const zkl_lock *lock);

#endif
