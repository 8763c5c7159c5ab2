#include <string.h>

#include "callback_queue.h"
#include "commit.h"
#include "input.h"
#include "threads.h"

typedef struct verification {
    zkl_commit_wait wait;
    zkl_multi_operation guard;
} verification;

/* What an asynchronous one owes the application. */
typedef struct verify_completion {
    zkl_lock_completion base;
    verification verification;
} verify_completion;

static int check(const zkl_lock *lock, int64_t timeout_ms) {
    int status = zkl_lock_check_handle(lock);
    if (status == ZKL_OK && timeout_ms != ZKL_FOREVER) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, 1, INT64_MAX, ZKL_INVALID_TIMEOUT);
    }
    return status;
}

/* ---- Asking ------------------------------------------------------------------------ */

/* Nothing is written: where the reply was lost with the connection, of which it is told before, the
 * next is asked. */
static void on_answer(zkl_commit_wait *wait, const zkl_commit_result *result) {
    const zkl_lock *lock = wait->lock;
    bool again = result->status == ZKL_UNKNOWN && !lock->closing &&
                 zkl_lock_check_held(lock) == ZKL_OK && !lock->runner->session->connected;
    int status = again ? zkl_commit_begin(wait) : ZKL_OK;
    wait->status = status != ZKL_OK ? status : wait->status;
}

static int begin(verification *self, zkl_lock *lock, zkl_lock_completion *completion) {
    self->wait = (zkl_commit_wait){ .lock = lock,
                                    .completion = completion,
                                    .operations = &self->guard,
                                    .count = 1,
                                    .ended = on_answer };
    int status = zkl_lock_check_held(lock);
    return status == ZKL_OK ? zkl_commit_begin(&self->wait) : status;
}

static int end(verification *self) {
    int status = zkl_commit_end(&self->wait);
    return status == ZKL_UNKNOWN || status == ZKL_TIMEOUT ? ZKL_SUSPECT : status;
}

/* ---- Waiting for it ----------------------------------------------------------------- */

static int verify(zkl_lock *lock, int64_t timeout_ms) {
    verification self;
    int status = begin(&self, lock, NULL);
    if (status != ZKL_OK) {
        return status;
    }
    zkl_commit_wait_for(&self.wait, timeout_ms);
    return end(&self);
}

int zkl_lock_verify(zkl_lock *lock, int64_t timeout_ms) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = check(lock, timeout_ms);
    if (status == ZKL_OK && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    zkl_lock_enter(lock);
    status = zkl_lock_note_returned(lock, __func__, verify(lock, timeout_ms));
    zkl_lock_leave(lock);
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

/* ---- Or being told ------------------------------------------------------------------ */

static int end_asynchronous(zkl_lock_completion *completion) {
    return end(&((verify_completion *)completion)->verification);
}

static int verify_asynchronously(zkl_lock *lock, int64_t timeout_ms, zkl_status_callback *callback,
                                 void *arg) {
    zkl_lock_completion *completion = NULL;
    int status = zkl_lock_completion_make(lock, sizeof(verify_completion), "zkl_lock_verify_async",
                                          arg, &completion);
    if (status != ZKL_OK) {
        return status;
    }
    completion->ended = callback;
    completion->end = end_asynchronous;
    verification *self = &((verify_completion *)completion)->verification;
    status = begin(self, lock, completion);
    if (status == ZKL_OK) {
        zkl_commit_leave_to_callback(&self->wait, timeout_ms);
    } else {
        zkl_lock_completion_unmake(completion);
    }
    return status;
}

int zkl_lock_verify_async(zkl_lock *lock, int64_t timeout_ms, zkl_status_callback *callback,
                          void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = check(lock, timeout_ms);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("callback", (const void *)(uintptr_t)callback);
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    status = verify_asynchronously(lock, timeout_ms, callback, arg);
    if (status != ZKL_OK) {
        (void)zkl_lock_note_returned(lock, __func__, status);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}
