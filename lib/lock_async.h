/*
 * What an asynchronous call of a handle owes the application: one callback. It is
 * posted to the client's queue when the call is over, and asks the handle only when
 * its turn comes how it ended, as a thread that waits does when it wakes. A handle
 * that is closed before leaves the answer with it. All with the client's mutex held.
 */
#ifndef ZKLOCK_LOCK_ASYNC_H
#define ZKLOCK_LOCK_ASYNC_H

#include "zklock/zklock.h"

typedef struct zkl_lock_completion zkl_lock_completion;

/** The call is over; once more is fine. */
void zkl_lock_completion_post(zkl_lock_completion *completion);

/** The handle is about to be closed. When it is closed in the very callback of one of its calls,
 *  there is no waiting for that. */
void zkl_lock_completions_let_close(zkl_lock *lock);
/** It is closed: what is owed is told all the same, but it asks the handle no more. */
void zkl_lock_completions_leave(zkl_lock *lock);

#endif
