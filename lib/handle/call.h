/*
 * One call of the application that waits for a result on a lock handle. A blocking function and its
 * asynchronous form make the same call: it begins, waits until it is over or its time has passed,
 * and ends with a status. They differ in what waits: a thread, in zkl_call_wait, or a callback,
 * which is owed to the application once zkl_call_start has returned ZKL_OK.
 *
 * Only the call keeps its deadline, in a timer. When that fires, the call tells what it waits for
 * (`time_out`).
 *
 * A callback is queued when the call is over, and asks for the status only when its turn comes, as
 * a thread does when it wakes. When its time passes or the handle is closed before that, the status
 * of that moment is kept for it.
 *
 * The functions from zkl_call_over on run with the client's mutex held.
 */
#pragma once

#include "handle/lock.h"

typedef struct zkl_lock_call_kind {
    int64_t shortest_ms; /* the least timeout; ZKL_FOREVER is always allowed */
    /* Checks what else the call was given, once its handle is known to be open. NULL: nothing. */
    int (*check)(const zkl_lock_call *call);
    /* Begins the call. ZKL_OK: it is under way, or already over. Else it was refused, and nothing
     * has happened. */
    int (*begin)(zkl_lock_call *call);
    /* Ends what the call waits for, as its time has passed: that makes the call over. NULL: the
     * call is over at once. */
    void (*time_out)(zkl_lock_call *call);
    /* Ends the call and returns its status. Runs once: when the call is over and its thread wakes,
     * or its callback's turn has come; when its time has passed; or when its handle is being
     * closed. */
    int (*collect_status)(zkl_lock_call *call);
    /* Calls the application back, without the mutex. NULL: `acquired` or `ended` is called. */
    void (*call_application)(const zkl_lock_call *call);
    bool obtains_grant; /* an acquire or an upgrade: counted even if it cannot begin */
    /* The bytes for `granted` that stand behind the call of a callback. 0: it obtains no grant, or
     * only when its callback's turn comes, when the client has the room for it. */
    size_t room;
} zkl_lock_call_kind;

typedef enum zkl_lock_call_state {
    ZKL_CALL_WAITS,
    ZKL_CALL_OVER,     /* `collect_status` is yet to be called */
    ZKL_CALL_ANSWERED, /* it has its status */
    ZKL_CALL_COLLECTED /* it has its status and its message */
} zkl_lock_call_state;

struct zkl_lock_call {
    zkl_lock_callback callback; /* first; not used when a thread waits */
    const zkl_lock_call_kind *kind;
    const char *function; /* the public function's name */
    zkl_lock *lock;
    zkl_lock_owner owner;
    int64_t timeout_ms; /* ZKL_FOREVER; 0: it does not wait */
    zkl_mode mode;      /* of an acquire */
    union {
        uint64_t again; /* of an acquire: the number of the grant that is acquired again; 0: none */
        zkl_transaction *transaction; /* of a commit or a verification */
    };
    zkl_grant *granted; /* room for the grant that it obtains; NULL: the caller does not want it */
    union {
        zkl_acquire_callback *acquired;
        zkl_status_callback *ended;
        zkl_transaction_callback *committed;
    } application; /* the callback; NULL: a thread waits */
    void *arg;
    zkl_lock_call_state state;
    int status;
    char *message; /* of a callback, for zkl_error_message; NULL: none */
};

/** Returns the call that a public function makes for the calling thread, which is to wait for
 *  it. */
zkl_lock_call zkl_call_of_thread(zkl_lock *lock, const zkl_lock_call_kind *kind,
                                 const char *function, int64_t timeout_ms);
/** Returns the call that a public function makes for a callback. `owner`: the application's
 *  token. */
zkl_lock_call zkl_call_of_callback(zkl_lock *lock, const zkl_lock_call_kind *kind,
                                   const char *function, int64_t timeout_ms, const void *owner,
                                   void *arg);

/** Checks the call's handle, what else it was given, and its timeout. The functions that follow do
 *  so first. */
int zkl_call_check(const zkl_lock_call *call);
/** Makes the call, waits until it is over, and returns its status. With can_wait it is refused
 *  inside a callback. */
int zkl_call_wait(zkl_lock_call *call, bool can_wait);
/** Makes a call that obtains a grant, as zkl_call_wait does, and fills in the application's struct,
 *  which may be NULL. */
int zkl_call_wait_for_grant(zkl_lock_call *call, zkl_grant *grant);
/** Makes the call of a callback and returns. ZKL_OK: a copy of it waits for its end. */
int zkl_call_start(const zkl_lock_call *given);

/** Notes that the call is over: wakes its thread, or queues its callback. Does nothing for NULL, or
 *  for a call that is over already. */
void zkl_call_over(zkl_lock_call *call);
/** Ends the call at once, with this status. */
void zkl_call_answer(zkl_lock_call *call, int status);

/** Releases what the handle holds or waits for, and waits for nothing: the handle is free at
 *  once. */
void zkl_lock_give_up(zkl_lock *lock);
/** Ends the commits and verifications that were not sent, with this status. */
void zkl_commits_end(zkl_lock *lock, int status);
