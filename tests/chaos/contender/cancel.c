#include "cancel.h"

#include "lock.h"

struct canceller {
    struct handle *handle;
    int64_t after_ms;
};

static void *cancel(void *arg) {
    const struct canceller *self = arg;
    struct handle *handle = self->handle;
    (void)handle_pause(handle, self->after_ms);
    struct call call;
    call_prepare(&call, &handle->caller, "cancel");
    call_begin(&call);
    int status = zkl_lock_cancel(handle->lock);
    call_end(&call, status);
    call_note(&call);
    return NULL;
}

bool lock_acquire_and_cancel(struct handle *handle) {
    enum { PATIENCE_MS = 150 };
    struct canceller canceller = { .handle = handle };
    canceller.after_ms = chance_between(&handle->chance, 0, PATIENCE_MS);
    pthread_t thread;
    if (pthread_create(&thread, NULL, cancel, &canceller) != 0) {
        return false; /* no memory now: perhaps in the next round */
    }
    bool is_granted = lock_acquire(handle);
    (void)pthread_join(thread, NULL);
    return is_granted;
}
