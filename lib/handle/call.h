/*
 * One call of the application that waits for a result on a lock handle. A blocking function and its
 * asynchronous form make the same call: it begins, waits until it is over or its time has passed,
 * and ends with a status. They differ in what waits: a thread, in zkl_call_wait, or a callback,
 * which is owed to the application once zkl_call_start has returned ZKL_OK.
 *
 * The call keeps its deadline, in a timer, and nothing else does: what it waits for is told when
 * its time has passed.
 *
 * A callback is queued when the call is over, and asks for the status only when its turn comes, as
 * a thread does when it wakes. When its time passes or the handle is closed before that, the status
 * of that moment is kept for it.
 *
 * All but the first six functions run with the client's mutex held.
 */
#pragma once

#include "handle/lock.h"

typedef struct zkl_lock_call_kind {
    int64_t shortest_ms; /* the least timeout; ZKL_FOREVER is always allowed */
    /* Of a handle that is open: what else it was given. NULL: nothing. */
    int (*check)(const zkl_lock_call *call);
    /* ZKL_OK: it is under way, or already over. Else it was refused, and nothing has happened. */
    int (*begin)(zkl_lock_call *call);
    /* Its time has passed: what that leads to ends it. NULL: that ends it. */
    void (*time_out)(zkl_lock_call *call);
    /* Returns its status. Called once: when it is over and its thread wakes, or its callback's turn
     * has come; when its time has passed; or when its handle is being closed. */
    int (*end)(zkl_lock_call *call);
    /* Calls the application back, without the mutex. NULL: the usual callback does. */
    void (*tell)(const zkl_lock_call *call);
    bool obtains_grant; /* an acquire or an upgrade: counted even if it cannot begin */
    /* Behind the call of a callback, for its `granted`: an upgrade's. 0: it obtains none, or finds
     * it when it is told. */
    size_t room;
} zkl_lock_call_kind;

typedef enum zkl_lock_call_state {
    ZKL_CALL_WAITS,
    ZKL_CALL_OVER,     /* `end` is yet to be called */
    ZKL_CALL_ANSWERED, /* it has its status */
    ZKL_CALL_COLLECTED /* and its message */
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
    zkl_grant *granted; /* room for what it obtains; NULL: it is not asked for */
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

/** The call that a public function makes. */
zkl_lock_call zkl_call_of_thread(zkl_lock *lock, const zkl_lock_call_kind *kind,
                                 const char *function, int64_t timeout_ms);
zkl_lock_call zkl_call_of_callback(zkl_lock *lock, const zkl_lock_call_kind *kind,
                                   const char *function, int64_t timeout_ms, const void *owner,
                                   void *arg);

/** Checks its handle, what else it was given, and its timeout. The functions that follow do so
 * first. */
int zkl_call_check(const zkl_lock_call *call);
/** Makes the call, and returns its status. With can_wait it is refused inside a callback. */
int zkl_call_wait(zkl_lock_call *call, bool can_wait);
/** The same for a call that obtains a grant, and fills in the application's struct, which may be
 *  NULL. */
int zkl_call_wait_for_grant(zkl_lock_call *call, zkl_grant *grant);
/** Makes the call and returns. ZKL_OK: a copy of it waits for its end. */
int zkl_call_start(const zkl_lock_call *given);

/** It is over: wakes its thread, or queues its callback. NULL, and a call that is over, are
 * allowed.
 */
void zkl_call_over(zkl_lock_call *call);
/** It is over at once, with this status. */
void zkl_call_answer(zkl_lock_call *call, int status);

/** The handle is free at once. What it held or waited for is released, without anybody waiting. */
void zkl_lock_give_up(zkl_lock *lock);
/** Ends the commits and verifications that were not sent, with this status. */
void zkl_commits_end(zkl_lock *lock, int status);
