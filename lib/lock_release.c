#include "callback_queue.h"
#include "input.h"
#include "lock.h"
#include "observer.h"
#include "threads.h"

static int release_lost(zkl_lock *lock) {
    zkl_observe_lost_released(lock);
    lock->state = LOCK_IDLE;
    zkl_lock_feed(lock, ZKL_EVENT_RELEASED,
                  ZKL_OK); /* after the end of a lease there is a node left */
    zkl_lock_let_go(lock);
    return ZKL_LOST;
}

static void wait_until_gone(zkl_lock *lock, int64_t timeout_ms) {
    int64_t start = zkl_clock_ms();
    while (lock->runner != NULL && !lock->closing) {
        int64_t passed = zkl_clock_ms() - start;
        int64_t left = timeout_ms == ZKL_FOREVER ? INT64_MAX : timeout_ms - passed;
        if (left <= 0) {
            break;
        }
        zkl_condition_wait(&lock->changed, &lock->client->mutex, left);
    }
}

int zkl_lock_end_release(zkl_lock *lock) {
    int status = lock->runner != NULL ? ZKL_PENDING : lock->ended;
    zkl_lock_let_go(lock);
    lock->state = LOCK_IDLE;
    return status;
}

int zkl_lock_begin_release(zkl_lock *lock, zkl_lock_owner owner, bool *goes_on) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    zkl_lock_look_at_clock(lock);
    bool granted = zkl_lock_is_granted(lock);
    if (granted && lock->reentrant && !zkl_lock_is_owner(lock, owner)) {
        return ZKL_NOT_OWNER;
    }
    if (granted && lock->holds > 1) {
        lock->holds--;
        return lock->state == LOCK_HELD ? ZKL_OK : ZKL_LOST;
    }
    switch (lock->state) {
    case LOCK_HELD:
        lock->state = LOCK_RELEASING;
        zkl_lock_withdraw_change(lock);
        zkl_lock_feed(lock, ZKL_EVENT_RELEASED, ZKL_OK);
        *goes_on = true;
        return ZKL_OK;
    case LOCK_LOST:
        return release_lost(lock);
    case LOCK_IDLE:
        return ZKL_NOT_HELD;
    case LOCK_ACQUIRING:
    case LOCK_RELEASING:
        break;
    }
    return ZKL_HANDLE_IN_USE;
}

static int release(zkl_lock *lock, int64_t timeout_ms) {
    bool goes_on = false;
    int status = zkl_lock_begin_release(lock, zkl_lock_owner_is_thread(), &goes_on);
    if (!goes_on) {
        return status;
    }
    if (timeout_ms == 0) {
        (void)zkl_lock_end_release(lock); /* whatever it is so far */
        return ZKL_OK;
    }
    wait_until_gone(lock, timeout_ms);
    return zkl_lock_end_release(lock);
}

int zkl_lock_check_release(const zkl_lock *lock, int64_t timeout_ms) {
    int status = zkl_lock_check_handle(lock);
    if (status == ZKL_OK) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, ZKL_FOREVER, INT64_MAX,
                                       ZKL_INVALID_TIMEOUT);
    }
    return status;
}

int zkl_lock_release(zkl_lock *lock, int64_t timeout_ms) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_lock_check_release(lock, timeout_ms);
    if (status == ZKL_OK && timeout_ms != 0 && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    zkl_lock_enter(lock);
    status = zkl_lock_note_returned(lock, __func__, release(lock, timeout_ms));
    zkl_lock_leave(lock);
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}
