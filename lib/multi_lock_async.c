#include "input.h"
#include "multi_lock.h"
#include "threads.h"

/* What a call owes; one of the two callbacks. */
typedef struct multi_completion {
    zkl_completion base; /* first: see zkl_completion_kind */
    zkl_multi_lock_grant grant;
    zkl_multi_lock_acquire_callback *acquired;
    zkl_release_callback *released;
    void *arg;
} multi_completion;

/* ---- The callback ----------------------------------------------------------------- */

static void settle_acquire(zkl_completion *base) {
    zkl_multi_lock *self = base->handle;
    self->pending = NULL;
    base->status = zkl_multi_lock_end_acquire(self, &((multi_completion *)base)->grant);
}

static void settle_release(zkl_completion *base) {
    zkl_multi_lock *self = base->handle;
    self->pending = NULL;
    base->status = zkl_multi_lock_end_release(self);
}

static void tell_acquired(const zkl_completion *base) {
    const multi_completion *completion = (const multi_completion *)base;
    completion->acquired(completion->arg, base->status,
                         base->status == ZKL_OK ? &completion->grant : NULL);
}

static void tell_released(const zkl_completion *base) {
    const multi_completion *completion = (const multi_completion *)base;
    completion->released(completion->arg, base->status);
}

static void enter(void *handle) {
    zkl_multi_lock_enter(handle);
}

static void leave(void *handle) {
    zkl_multi_lock_leave(handle);
}

static const zkl_completion_kind acquire_kind = { settle_acquire, tell_acquired, enter, leave };
static const zkl_completion_kind release_kind = { settle_release, tell_released, enter, leave };

static int make(zkl_multi_lock *self, const zkl_completion_kind *kind, void *arg,
                multi_completion **result) {
    zkl_completion *base = NULL;
    int status = zkl_completion_make(self->client, self, &self->completions, kind,
                                     sizeof(multi_completion), &base);
    if (status == ZKL_OK) {
        *result = (multi_completion *)base;
        (*result)->arg = arg;
    }
    return status;
}

/* ---- Acquire ---------------------------------------------------------------------- */

static int begin_acquire(zkl_multi_lock *self, int64_t timeout_ms, multi_completion *completion) {
    int status = zkl_multi_lock_check_idle(self);
    if (status != ZKL_OK) {
        return status;
    }
    self->pending = &completion->base;
    status = zkl_multi_lock_begin_acquire(self, timeout_ms, false);
    if (status != ZKL_OK) {
        self->pending = NULL;
    }
    return status;
}

static int acquire(zkl_multi_lock *self, int64_t timeout_ms,
                   zkl_multi_lock_acquire_callback *callback, void *arg) {
    multi_completion *completion = NULL;
    int status = make(self, &acquire_kind, arg, &completion);
    if (status != ZKL_OK) {
        if (status != ZKL_CLOSED) {
            zkl_multi_lock_note_not_begun(self, 0, status);
        }
        return status;
    }
    completion->grant = (zkl_multi_lock_grant)ZKL_MULTI_LOCK_GRANT_INIT;
    completion->acquired = callback;
    status = begin_acquire(self, timeout_ms, completion);
    if (status != ZKL_OK) {
        zkl_completion_unmake(&completion->base);
    }
    return status;
}

int zkl_multi_lock_acquire_async(zkl_multi_lock *self, int64_t timeout_ms,
                                 zkl_multi_lock_acquire_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_multi_lock_check_call(self, timeout_ms);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("callback", (const void *)(uintptr_t)callback);
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&self->client->mutex);
    status = acquire(self, timeout_ms, callback, arg);
    if (status == ZKL_LEASE_IMPOSSIBLE) {
        zkl_client_note_lease_impossible(self->client);
    }
    pthread_mutex_unlock(&self->client->mutex);
    return status;
}

/* ---- Release ---------------------------------------------------------------------- */

/* `completion`: NULL, nobody is to be told. */
static int begin_release(zkl_multi_lock *self, int64_t timeout_ms, multi_completion *completion) {
    bool goes_on = false;
    int status = zkl_multi_lock_begin_release(self, &goes_on);
    if (status != ZKL_OK && status != ZKL_LOST) {
        return status;
    }
    if (goes_on && completion != NULL && timeout_ms != 0) {
        self->pending = &completion->base;
        zkl_multi_lock_limit_release(self, timeout_ms);
        return ZKL_OK;
    }
    if (goes_on) {
        (void)zkl_multi_lock_end_release(self);
    }
    if (completion != NULL) {
        completion->base.is_settled = true;
        completion->base.status = status;
        zkl_completion_post(&completion->base);
    }
    return ZKL_OK;
}

static int release(zkl_multi_lock *self, int64_t timeout_ms, zkl_release_callback *callback,
                   void *arg) {
    multi_completion *completion = NULL;
    if (callback == NULL) {
        return begin_release(self, timeout_ms, NULL);
    }
    int status = make(self, &release_kind, arg, &completion);
    if (status != ZKL_OK) {
        return status;
    }
    completion->released = callback;
    status = begin_release(self, timeout_ms, completion);
    if (status != ZKL_OK) {
        zkl_completion_unmake(&completion->base);
    }
    return status;
}

int zkl_multi_lock_release_async(zkl_multi_lock *self, int64_t timeout_ms,
                                 zkl_release_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_multi_lock_check_call(self, timeout_ms);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&self->client->mutex);
    status = release(self, timeout_ms, callback, arg);
    pthread_mutex_unlock(&self->client->mutex);
    return status;
}
