/* Acquire and cancel: what the calls check, and what they return. */
#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "handle/call.h"
#include "handle/lock_search.h"

/* ---- Beginning ---------------------------------------------------------------------------- */

static int check_idle(const zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    if (lock->search != NULL && lock->search->called_off) {
        return ZKL_CANCELLED;
    }
    if (lock->calls.closing) {
        return ZKL_HANDLE_IN_USE; /* another thread closes it, and waits for the callback that calls
                                     this */
    }
    if (lock->state == ZKL_STATE_LOST) {
        zkl_error_note("handle of", lock->members[0].resource,
                       "its grant was lost; release it first");
    }
    if (zkl_lock_is_granted(lock)) {
        return ZKL_ALREADY_HELD;
    }
    return lock->state == ZKL_STATE_IDLE ? ZKL_OK : ZKL_HANDLE_IN_USE;
}

static bool is_acquired_again(const zkl_lock *lock, zkl_lock_owner owner) {
    return zkl_lock_is_granted(lock) && lock->origin->options->reentrant != 0 &&
           !zkl_lock_is_of_other(lock, owner) && !lock->client->closed;
}

static int acquire_again(zkl_lock *lock, zkl_lock_call *call) {
    zkl_lock_look_at_clock(lock);
    if (lock->state == ZKL_STATE_LOST) {
        return ZKL_LOST;
    }
    bool reads = lock->grant.mode == ZKL_READ || zkl_lock_is_downgrading(lock);
    if (reads && call->mode != ZKL_READ) {
        return zkl_refuse("mode", zkl_lock_mode_name((int)call->mode),
                          "is held for reading; zkl_lock_try_upgrade takes it for writing");
    }
    if (lock->grant.holds == ZKL_HOLDS_MAX) {
        zkl_error_note("handle of", lock->members[0].resource,
                       "was acquired 65,535 times without a release");
        return ZKL_ALREADY_HELD;
    }
    lock->grant.holds++;
    call->again = lock->grant.number;
    zkl_call_over(call);
    return ZKL_OK;
}

/* Returns how long the call may take. A try ends when it is answered; that of a search also when
 * the search has no more time. */
static int64_t limit_of(const zkl_lock_call *call) {
    if (call->timeout_ms != 0) {
        return call->timeout_ms;
    }
    const zkl_lock_search *search = call->lock->search;
    return search != NULL && search->try_within_ms > 0 ? search->try_within_ms : ZKL_FOREVER;
}

/* Begins an acquire, which may be decided in its request's first step. */
static int begin_acquire(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    if (is_acquired_again(lock, call->owner)) {
        return acquire_again(lock, call);
    }
    ZKL_TRY(check_idle(lock));
    bool only_try = call->timeout_ms == 0;
    call->timeout_ms = limit_of(call);
    if (!lock->is_set) {
        lock->members[0].mode = call->mode;
    }
    lock->grant.owner = call->owner;
    lock->state = ZKL_STATE_ACQUIRING;
    int status = zkl_lock_begin_attempt(lock, only_try);
    if (status != ZKL_OK) {
        lock->state = ZKL_STATE_IDLE;
        return status;
    }
    lock->pending = call;
    if (!zkl_lock_waits(lock)) {
        zkl_call_over(call);
    }
    return ZKL_OK;
}

static void time_out_acquire(zkl_lock_call *call) {
    zkl_lock_time_out(call->lock);
}

/* ---- The end ------------------------------------------------------------------------------ */

/* Returns what a close makes of a grant before its acquire returned. */
static int find_close(const zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    return lock->calls.closing ? ZKL_CANCELLED : ZKL_OK;
}

static int end_first_acquire(zkl_lock *lock, zkl_grant *granted) {
    const lock_attempt *attempt = &lock->attempt;
    lock->pending = NULL;
    zkl_lock_look_at_clock(lock);
    int status = attempt->verdict != ZKL_OK ? attempt->verdict : find_close(lock);
    if (status == ZKL_OK) {
        zkl_lock_begin_hold(lock);
        zkl_lock_fill_grant(lock, granted);
        return status;
    }
    if (attempt->why != NULL) {
        zkl_error_note("resource", lock->members[attempt->why_member].resource, "%s", attempt->why);
    }
    zkl_lock_give_up(lock);
    return status;
}

/* Ends an acquire of what is held already. If the lock was lost, released or closed before the
 * callback's turn came, this acquire has failed. The grant is filled in now, because the mode may
 * have changed meanwhile. */
static int end_acquire_again(zkl_lock *lock, uint64_t held_grant, zkl_grant *granted) {
    bool is_held = zkl_lock_is_granted(lock) && lock->grant.number == held_grant;
    int status = is_held ? zkl_lock_check_held(lock) : ZKL_LOST;
    if (lock->calls.closing) {
        status = find_close(lock);
    }
    if (status == ZKL_OK) {
        zkl_lock_fill_grant(lock, granted);
        if (granted != NULL) {
            granted->waited_ms = 0;
        }
    } else if (is_held && lock->grant.holds > 1) {
        lock->grant.holds--;
    }
    return status;
}

static int end_acquire(zkl_lock_call *call) {
    return call->again != 0 ? end_acquire_again(call->lock, call->again, call->granted)
                            : end_first_acquire(call->lock, call->granted);
}

/* ---- The two ways to wait ----------------------------------------------------------------- */

static int check(const zkl_lock_call *call) {
    const zkl_lock *lock = call->lock;
    if (!lock->is_set && call->mode == ZKL_EXCLUSIVE) {
        return ZKL_OK; /* whatever the handle is for */
    }
    if (!lock->is_set) {
        bool is_latch = lock->origin->options->naming == ZKL_NAMING_LEADER_LATCH;
        return zkl_validate_mode(call->mode, lock->members[0].permits > 0 || is_latch);
    }
    return call->mode == ZKL_AS_OPENED
               ? ZKL_OK
               : zkl_refuse("mode", zkl_lock_mode_name((int)call->mode),
                            "a set is acquired ZKL_AS_OPENED: each resource has its own");
}

static const zkl_lock_call_kind acquire_kind = { .check = check,
                                                 .begin = begin_acquire,
                                                 .time_out = time_out_acquire,
                                                 .collect_status = end_acquire,
                                                 .obtains_grant = true };

int zkl_lock_acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, zkl_grant *grant) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call = zkl_call_of_thread(lock, &acquire_kind, __func__, timeout_ms);
    call.mode = mode;
    return zkl_call_wait_for_grant(&call, grant);
}

int zkl_lock_acquire_async(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, const void *owner,
                           zkl_acquire_callback *callback, void *arg) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call =
        zkl_call_of_callback(lock, &acquire_kind, __func__, timeout_ms, owner, arg);
    call.mode = mode;
    call.application.acquired = callback;
    return zkl_call_start(&call);
}

/* ---- A layer asks several handles ---------------------------------------------------------- */

void zkl_lock_join_search(zkl_lock *lock, zkl_lock_search *search) {
    lock->search = search;
}

/* ---- Cancel ------------------------------------------------------------------------------- */

/* Tells whether it is not too late to cancel. In a search an acquire may be about to begin here, so
 * only a grant is too late. */
static bool may_be_called_off(const zkl_lock *lock) {
    bool is_decided = lock->state == ZKL_STATE_ACQUIRING && lock->attempt.verdict == ZKL_OK;
    return zkl_lock_waits(lock) ||
           (lock->search != NULL && !is_decided && !zkl_lock_is_granted(lock));
}

int zkl_lock_cancel(zkl_lock *lock) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_handle_check("lock", lock));
    ZKL_WITH_MUTEX(&lock->client->mutex);
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    if (!may_be_called_off(lock)) {
        return ZKL_NOT_WAITING;
    }
    if (lock->search != NULL) {
        lock->search->called_off = true;
    }
    zkl_lock_call_off(lock);
    return ZKL_OK;
}
