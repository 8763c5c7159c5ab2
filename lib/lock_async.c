#include "lock_async.h"

#include "assertion.h"
#include "input.h"
#include "lock.h"
#include "observer.h"
#include "threads.h"

/* ---- The limit ---------------------------------------------------------------------- */

void zkl_lock_completion_on_limit(void *arg) {
    zkl_lock_completion_post(arg);
}

void zkl_lock_completion_limit(zkl_lock_completion *completion, int64_t timeout_ms,
                               void (*fire)(void *arg), void *arg) {
    completion->limit = (zkl_timer){ .fire = fire, .arg = arg };
    if (timeout_ms == 0) {
        fire(arg);
    } else {
        zkl_session *session = completion->session;
        zkl_session_set_timer_after(session, &completion->limit, zkl_session_now_ms(session),
                                    timeout_ms);
    }
}

/* ---- The callback ----------------------------------------------------------------- */

static void settle(zkl_completion *base) {
    zkl_lock_completion *completion = (zkl_lock_completion *)base;
    zkl_lock_completion_post(completion); /* once more: it may be left while it waits */
    if (completion->end != NULL) {
        base->status = completion->end(completion);
        (void)zkl_lock_note_returned(base->handle, completion->function, base->status);
    }
}

static void tell(const zkl_completion *base) {
    const zkl_lock_completion *completion = (const zkl_lock_completion *)base;
    zkl_assert(base->client->recorder, completion->limit.timers == NULL); /* no timer leads here */
    completion->tell(completion);
}

static void enter(void *handle) {
    zkl_lock_enter(handle);
}

static void leave(void *handle) {
    zkl_lock_leave(handle);
}

static const zkl_completion_kind kind = { settle, tell, enter, leave };

void zkl_lock_completion_tell_status(const zkl_lock_completion *completion) {
    completion->ended(completion->arg, completion->base.status);
}

void zkl_lock_completion_tell_grant(const zkl_lock_completion *completion) {
    bool is_granted = completion->base.status == ZKL_OK;
    completion->acquired(completion->arg, completion->base.status,
                         is_granted ? &completion->grant : NULL);
}

/* ---- Beginning and end ------------------------------------------------------------ */

void zkl_lock_completion_post(zkl_lock_completion *completion) {
    zkl_timer_stop(&completion->limit);
    zkl_completion_post(&completion->base);
}

void zkl_lock_completion_end_at_once(zkl_lock_completion *completion, int status) {
    completion->base.status =
        zkl_lock_note_returned(completion->base.handle, completion->function, status);
    zkl_lock_completion_post(completion);
}

void zkl_lock_tell_waiter(zkl_lock *lock, zkl_lock_completion *pending) {
    if (pending != NULL) {
        zkl_lock_completion_post(pending);
    } else {
        zkl_condition_broadcast(&lock->changed);
    }
}

int zkl_lock_completion_make(zkl_lock *lock, size_t size, const char *function, void *arg,
                             zkl_lock_completion **result) {
    zkl_completion *base = NULL;
    int status = zkl_completion_make(lock->client, lock, &lock->completions, &kind, size, &base);
    if (status != ZKL_OK) {
        return status;
    }
    zkl_lock_completion *completion = (zkl_lock_completion *)base;
    completion->function = function;
    completion->tell = zkl_lock_completion_tell_status;
    completion->grant = (zkl_grant)ZKL_GRANT_INIT;
    completion->arg = arg;
    completion->session = lock->runner != NULL ? lock->runner->session : NULL;
    *result = completion;
    return ZKL_OK;
}

void zkl_lock_completion_unmake(zkl_lock_completion *completion) {
    zkl_completion_unmake(&completion->base);
}

/* ---- Acquire ---------------------------------------------------------------------- */

static int end_acquire(zkl_lock_completion *completion) {
    zkl_lock *lock = completion->base.handle;
    lock->pending = NULL;
    return zkl_lock_end_acquire(lock, &completion->grant);
}

/* The lock may be lost, released or closed before its turn comes: then it was never acquired once
 * more. What it is told is of that moment, as the mode may have changed. */
static int end_acquire_again(zkl_lock_completion *completion) {
    zkl_lock *lock = completion->base.handle;
    bool is_held = zkl_lock_is_granted(lock) && lock->grants == completion->held_grant;
    int status = is_held ? zkl_lock_check_held(lock) : ZKL_LOST;
    if (lock->closing) {
        status = lock->client->closed ? ZKL_CLOSED : ZKL_CANCELLED;
    }
    if (status == ZKL_OK) {
        zkl_lock_fill_grant_again(lock, &completion->grant);
    } else if (is_held && lock->holds > 1) {
        lock->holds--;
    }
    return status;
}

/* The application is told of the verdict as soon as it is known, be it in the first step. */
static int begin_acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, zkl_lock_owner owner,
                         zkl_lock_completion *completion) {
    if (zkl_lock_is_acquired_again(lock, owner)) {
        int status = zkl_lock_acquire_again(lock, mode, NULL);
        if (status == ZKL_OK) {
            completion->held_grant = lock->grants;
            completion->end = end_acquire_again;
            zkl_lock_completion_post(completion);
        }
        return status;
    }
    int status = zkl_lock_check_idle(lock);
    if (status != ZKL_OK) {
        return status;
    }
    lock->pending = completion;
    completion->end = end_acquire;
    status = zkl_lock_begin_acquire(lock, mode, timeout_ms, owner);
    if (status != ZKL_OK) {
        lock->pending = NULL;
    }
    return status;
}

static int acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, zkl_lock_owner owner,
                   zkl_acquire_callback *callback, void *arg) {
    zkl_lock_completion *completion = NULL;
    int status = zkl_lock_completion_make(lock, sizeof(*completion), "zkl_lock_acquire_async", arg,
                                          &completion);
    if (status == ZKL_CLOSED) {
        return status;
    }
    if (status != ZKL_OK) {
        zkl_observe_not_begun(lock, status);
        return status;
    }
    completion->tell = zkl_lock_completion_tell_grant;
    completion->acquired = callback;
    status = begin_acquire(lock, mode, timeout_ms, owner, completion);
    if (status != ZKL_OK) {
        zkl_lock_completion_unmake(completion);
    }
    return status;
}

int zkl_lock_acquire_async(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, const void *owner,
                           zkl_acquire_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_lock_check_acquire(lock, mode, timeout_ms);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("callback", (const void *)(uintptr_t)callback);
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    status = acquire(lock, mode, timeout_ms, (zkl_lock_owner){ .token = owner }, callback, arg);
    if (status != ZKL_OK) {
        (void)zkl_lock_note_returned(lock, __func__, status);
    }
    if (status == ZKL_LEASE_IMPOSSIBLE) {
        zkl_client_note_lease_impossible(lock->client);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

/* ---- Release ---------------------------------------------------------------------- */

static int end_release(zkl_lock_completion *completion) {
    zkl_lock *lock = completion->base.handle;
    lock->pending = NULL;
    return zkl_lock_end_release(lock);
}

/* Until its node is gone, or for so long: whichever comes first posts it. */
static void wait_for_end(zkl_lock *lock, int64_t timeout_ms, zkl_lock_completion *completion) {
    completion->end = end_release;
    if (lock->runner == NULL) {
        zkl_lock_completion_post(completion);
        return;
    }
    lock->pending = completion;
    zkl_lock_completion_limit(completion, timeout_ms, zkl_lock_completion_on_limit, completion);
}

/* `completion`: NULL, nobody is to be told. */
static int begin_release(zkl_lock *lock, int64_t timeout_ms, zkl_lock_owner owner,
                         zkl_lock_completion *completion) {
    bool goes_on = false;
    int status = zkl_lock_begin_release(lock, owner, &goes_on);
    if (status != ZKL_OK && status != ZKL_LOST) {
        return status;
    }
    if (goes_on && completion != NULL && timeout_ms != 0) {
        wait_for_end(lock, timeout_ms, completion);
        return ZKL_OK;
    }
    if (goes_on) {
        (void)zkl_lock_end_release(lock);
    }
    if (completion != NULL) {
        zkl_lock_completion_end_at_once(completion, status);
    } else {
        (void)zkl_lock_note_returned(lock, "zkl_lock_release_async", status);
    }
    return ZKL_OK;
}

static int release(zkl_lock *lock, int64_t timeout_ms, zkl_lock_owner owner,
                   zkl_release_callback *callback, void *arg) {
    zkl_lock_completion *completion = NULL;
    if (callback == NULL) {
        return begin_release(lock, timeout_ms, owner, NULL);
    }
    int status = zkl_lock_completion_make(lock, sizeof(*completion), "zkl_lock_release_async", arg,
                                          &completion);
    if (status != ZKL_OK) {
        return status;
    }
    completion->ended = callback;
    status = begin_release(lock, timeout_ms, owner, completion);
    if (status != ZKL_OK) {
        zkl_lock_completion_unmake(completion);
    }
    return status;
}

int zkl_lock_release_async(zkl_lock *lock, int64_t timeout_ms, const void *owner,
                           zkl_release_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_lock_check_release(lock, timeout_ms);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    status = release(lock, timeout_ms, (zkl_lock_owner){ .token = owner }, callback, arg);
    if (status != ZKL_OK) {
        (void)zkl_lock_note_returned(lock, __func__, status);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}
