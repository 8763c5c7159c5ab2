#include "asynchronous.h"

#include "lock.h"

enum { ACQUIRE_MS = 30000, VERIFY_MS = 5000 };

/* A call whose callback is owed: its thread waits for that. */
struct owed {
    struct handle *handle;
    struct call call; /* as the callback ends it */
    int status;
    bool is_over;
    pthread_mutex_t mutex;
    pthread_cond_t over;
};

static void begin(struct owed *owed, struct call *call, struct handle *handle) {
    history_true(&call->line, "async");
    *owed = (struct owed){ .handle = handle,
                           .call = *call,
                           .mutex = PTHREAD_MUTEX_INITIALIZER,
                           .over = PTHREAD_COND_INITIALIZER };
    call_begin(call);
}

static void end(struct owed *owed, int status) {
    call_note(&owed->call);
    pthread_mutex_lock(&owed->mutex);
    owed->status = status;
    owed->is_over = true;
    pthread_cond_signal(&owed->over);
    pthread_mutex_unlock(&owed->mutex);
}

/* Notes what the function returned, and waits for the callback if one is owed. Returns how the call
 * ended. */
static int await(struct owed *owed, struct call *call, int status) {
    call_end(call, status);
    call_note(call);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&owed->mutex);
    while (!owed->is_over) {
        pthread_cond_wait(&owed->over, &owed->mutex);
    }
    pthread_mutex_unlock(&owed->mutex);
    return owed->status;
}

/* ---- The calls ------------------------------------------------------------------------------- */

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    struct owed *owed = arg;
    call_end_in_callback(&owed->call, status);
    if (status == ZKL_OK) {
        owed->handle->grant = *grant;
        lock_note_grant(&owed->call.line, owed->handle, lock_mode_name(owed->handle));
    }
    end(owed, status);
}

static void on_status(void *arg, int status) {
    struct owed *owed = arg;
    call_end_in_callback(&owed->call, status);
    end(owed, status);
}

bool asynchronous_acquire(struct handle *handle) {
    struct call call;
    struct owed owed;
    call_prepare(&call, &handle->caller, "acquire");
    lock_note_request(&call.line, handle, ACQUIRE_MS);
    begin(&owed, &call, handle);
    int status = zkl_lock_acquire_async(handle->lock, handle->kind->mode, ACQUIRE_MS, NULL,
                                        on_acquired, &owed);
    return await(&owed, &call, status) == ZKL_OK;
}

static void verify(struct handle *handle) {
    struct call call;
    struct owed owed;
    call_prepare(&call, &handle->caller, "verify");
    history_number(&call.line, "deadline_ms", VERIFY_MS);
    begin(&owed, &call, handle);
    int status = zkl_lock_verify_async(handle->lock, VERIFY_MS, on_status, &owed);
    (void)await(&owed, &call, status);
}

void asynchronous_hold(struct handle *handle) {
    enum { VERIFIES = 8 };
    if (chance_once_in(&handle->chance, VERIFIES)) {
        verify(handle);
    }
    lock_hold(handle);
}

void asynchronous_release(struct handle *handle) {
    int64_t timeout_ms = lock_draw_release_ms(handle);
    struct call call;
    struct owed owed;
    call_prepare(&call, &handle->caller, "release");
    history_number(&call.line, "deadline_ms", timeout_ms);
    begin(&owed, &call, handle);
    int status = zkl_lock_release_async(handle->lock, timeout_ms, NULL, on_status, &owed);
    (void)await(&owed, &call, status);
}
