/*
 * One call of the application that waits for something to come about on a lock handle. A blocking
 * function and its asynchronous twin make the same call: it begins, it waits until it is over or
 * its time has passed, and it ends with a status. What differs is who waits: a thread, in
 * zkl_call_wait, or a callback, which zkl_call_start owes the application from then on.
 *
 * A callback is told when the call is over, and asks how it ended only when its turn comes, as a
 * thread does when it wakes. A handle that is closed before leaves the answer with it.
 *
 * All but the first five functions run with the client's mutex held.
 */
#ifndef ZKLOCK_CALL_H
#define ZKLOCK_CALL_H

#include "handle/lock.h"

typedef struct zkl_lock_call_kind {
    int64_t shortest_ms; /* the least timeout; ZKL_FOREVER is always allowed */
    /* ZKL_OK: it is under way, or over already. Else it was refused, and nothing has happened. */
    int (*begin)(zkl_lock_call *call);
    /* How did it end? Once, when it is over, late, or its handle is being closed. */
    int (*end)(zkl_lock_call *call);
    /* Its time has passed, though a callback may have to wait for its turn. May be NULL. */
    void (*expire)(zkl_lock_call *call);
    /* Calls the application back; without the mutex. NULL: with the status, and a grant. */
    void (*tell)(const zkl_lock_call *call);
    bool obtains_grant; /* and is counted where there was not even memory for it */
} zkl_lock_call_kind;

typedef enum zkl_lock_call_state {
    ZKL_CALL_WAITS,
    ZKL_CALL_OVER,     /* its handle is to be asked how it ended */
    ZKL_CALL_ANSWERED, /* its status stands, */
    ZKL_CALL_SETTLED   /* and so does what there is to say of it */
} zkl_lock_call_state;

/** Embed it, as the first field, where a call needs more. */
struct zkl_lock_call {
    zkl_lock_callback callback; /* first; not of a thread */
    const zkl_lock_call_kind *kind;
    const char *function; /* that was called */
    zkl_lock *lock;
    zkl_lock_owner owner;
    int64_t timeout_ms; /* how long it waits */
    zkl_timer limit;    /* of a callback: the end of that time */
    union {
        zkl_acquire_callback *acquired;
        zkl_status_callback *ended;
        zkl_transaction_callback *committed;
    } application; /* whom to tell; all NULL: a thread waits */
    void *arg;
    zkl_lock_call_state state;
    int status;
    char *message;   /* of a callback: what there is to say of the status; NULL: nothing */
    zkl_grant grant; /* where there is one to tell of */
};

/** The beginning of each public function; it forgets the thread's message. */
zkl_lock_call zkl_call_of_thread(zkl_lock *lock, const zkl_lock_call_kind *kind,
                                 const char *function, int64_t timeout_ms);
zkl_lock_call zkl_call_of_callback(zkl_lock *lock, const zkl_lock_call_kind *kind,
                                   const char *function, int64_t timeout_ms, const void *owner,
                                   void *arg);

/** Its handle and its timeout, as both of the next do first. */
int zkl_call_check(const zkl_lock_call *call);
/** Waits for it, and returns its status. A call that cannot wait may come from a callback. */
int zkl_call_wait(zkl_lock_call *call, bool can_wait);
/** The same, of one that obtains a grant: into the application's struct, unless that is NULL. */
int zkl_call_wait_for_grant(zkl_lock_call *call, zkl_grant *grant);
/** Returns at once. ZKL_OK: a copy of these `size` bytes owes the callback. */
int zkl_call_start(zkl_lock_call *given, size_t size);

/** Whoever waits is to ask how it ended; once more, and NULL, are fine. */
void zkl_call_over(zkl_lock_call *call);
/** It was over in the moment in which it was made, and how. */
void zkl_call_answer(zkl_lock_call *call, int status);

#endif
