/*
 * What an asynchronous call of a handle owes the application: one callback. It is
 * posted to the client's queue when the call is over, and asks the handle only when
 * its turn comes how it ended, as a thread that waits does when it wakes. A handle
 * that is closed before leaves the answer with it. All with the client's mutex held.
 */
#ifndef ZKLOCK_LOCK_ASYNC_H
#define ZKLOCK_LOCK_ASYNC_H

#include <stdbool.h>

#include "callback_queue.h"
#include "zklock/zklock.h"
#include "zookeeper/session.h"

typedef struct zkl_lock_completion zkl_lock_completion;

/** Embed it, as the first field, where a call has more to tell. */
struct zkl_lock_completion {
    zkl_callback callback; /* first: the queue gets a pointer to it */
    zkl_client *client;
    zkl_lock *lock;       /* NULL: it is closed */
    const char *function; /* that was called */
    /* How did it end? Once, before `tell`. NULL: it was asked. */
    int (*end)(zkl_lock_completion *completion);
    /* Calls the application back; without the mutex. */
    void (*tell)(zkl_lock_completion *completion);
    int status;
    zkl_grant grant;                /* where there is one to tell of */
    zkl_acquire_callback *acquired; /* one of the two, or what `tell` knows */
    zkl_status_callback *ended;
    void *arg;
    zkl_timer limit;      /* how long it waits */
    zkl_session *session; /* that has room for the limit; NULL: it is not needed, or not any more */
    bool posted;
    uint64_t runs_on; /* the number of a thread; 0: it does not run yet */
    zkl_lock_completion *prev, *next;
};

/** One of `size` bytes, for a call that has a callback. ZKL_OK, or there is none: ZKL_CLOSED,
 *  ZKL_SYSTEM (no thread for the callbacks) or ZKL_NO_MEMORY. */
int zkl_lock_completion_make(zkl_lock *lock, size_t size, const char *function, void *arg,
                             zkl_lock_completion **result);
/** The call was refused after all: there is nothing to be told. */
void zkl_lock_completion_unmake(zkl_lock_completion *completion);

/** What most of them tell: the status alone, or the grant with it. */
void zkl_lock_completion_tell_status(zkl_lock_completion *completion);
void zkl_lock_completion_tell_grant(zkl_lock_completion *completion);

/** The call is over; once more is fine. */
void zkl_lock_completion_post(zkl_lock_completion *completion);
/** It was over in the moment in which it was made, and how. */
void zkl_lock_completion_end_at_once(zkl_lock_completion *completion, int status);
/** Who waits is to look how it is: the callback that is owed, or (NULL) the threads. */
void zkl_lock_tell_waiter(zkl_lock *lock, zkl_lock_completion *pending);
/** It has waited enough after so long (ZKL_FOREVER: never; 0: now). `fire` posts it. The lock was
 *  granted when it was made. */
void zkl_lock_completion_limit(zkl_lock_completion *completion, int64_t timeout_ms,
                               void (*fire)(void *arg), void *arg);
/** A `fire` that does no more than that; of the completion. */
void zkl_lock_completion_on_limit(void *arg);

/** The handle is about to be closed. When it is closed in the very callback of one of its calls,
 *  there is no waiting for that. */
void zkl_lock_completions_let_close(zkl_lock *lock);
/** It is closed: what is owed is told all the same, but it asks the handle no more. */
void zkl_lock_completions_leave(zkl_lock *lock);

#endif
