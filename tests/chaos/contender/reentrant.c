#include "reentrant.h"

#include "lock.h"

bool lock_acquire_again(struct handle *handle) {
    enum { HOLDS = 3 };
    handle->holds = 0;
    for (int64_t left = chance_between(&handle->chance, 1, HOLDS); left > 0; left--) {
        if (!lock_acquire(handle)) {
            break; /* not granted, or lost since */
        }
        handle->holds++;
    }
    return handle->holds > 0;
}

void lock_release_as_often(struct handle *handle) {
    for (; handle->holds > 0; handle->holds--) {
        lock_release(handle);
    }
}
