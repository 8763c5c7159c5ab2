/*
 * What an asynchronous call of a lock owes the application (completion.h), with what
 * these calls have in common: how they end, what they tell, and how long they wait.
 * All with the client's mutex held.
 */
#ifndef ZKLOCK_LOCK_ASYNC_H
#define ZKLOCK_LOCK_ASYNC_H

#include <stdbool.h>

#include "completion.h"
#include "zklock/zklock.h"
#include "zookeeper/session.h"

typedef struct zkl_lock_completion zkl_lock_completion;

/** Embed it, as the first field, where a call has more to tell. */
struct zkl_lock_completion {
    zkl_completion base;  /* first; its handle is the lock */
    const char *function; /* that was called */
    /* How did it end? Once, before `tell`. NULL: it was asked. */
    int (*end)(zkl_lock_completion *completion);
    /* Calls the application back; without the mutex. */
    void (*tell)(const zkl_lock_completion *completion);
    zkl_grant grant;                /* where there is one to tell of */
    uint64_t held_grant;            /* that was acquired once more, counted by the lock */
    zkl_acquire_callback *acquired; /* one of the two, or what `tell` knows */
    zkl_status_callback *ended;
    void *arg;
    zkl_timer limit;      /* how long it waits */
    zkl_session *session; /* that has the limit; NULL: it needs none */
};

/** One of `size` bytes, for a call that has a callback. ZKL_OK, or there is none: ZKL_CLOSED,
 *  ZKL_SYSTEM (no thread for the callbacks) or ZKL_NO_MEMORY. */
int zkl_lock_completion_make(zkl_lock *lock, size_t size, const char *function, void *arg,
                             zkl_lock_completion **result);
/** The call was refused after all: there is nothing to be told. */
void zkl_lock_completion_unmake(zkl_lock_completion *completion);

/** What most of them tell: the status alone, or the grant with it. */
void zkl_lock_completion_tell_status(const zkl_lock_completion *completion);
void zkl_lock_completion_tell_grant(const zkl_lock_completion *completion);

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

#endif
