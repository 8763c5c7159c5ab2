#include "base/handles.h"

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/process_mutex.h"
#include "base/validation.h"

/* A power of two; malloc aligns to 16 bytes. */
enum { BUCKETS = 4096, ALIGNMENT = 16 };

static zkl_handle *buckets[BUCKETS];

static zkl_handle **bucket_of(const void *handle) {
    return &buckets[((uintptr_t)handle / ALIGNMENT) % BUCKETS];
}

/* Where it is linked, or the end of its bucket. */
static zkl_handle **place_of(const void *handle) {
    zkl_handle **place = bucket_of(handle);
    while (*place != NULL && (const void *)*place != handle) {
        place = &(*place)->next;
    }
    return place;
}

void zkl_handle_open(zkl_handle *handle) {
    handle->process = (int)getpid();
    ZKL_WITH_MUTEX(zkl_process_mutex());
    zkl_handle **bucket = bucket_of(handle);
    handle->next = *bucket;
    *bucket = handle;
}

void zkl_handle_close(zkl_handle *handle) {
    ZKL_WITH_MUTEX(zkl_process_mutex());
    zkl_handle **place = place_of(handle);
    if (*place != NULL) {
        *place = handle->next;
    }
}

/* The process that opened it; 0: it is not open. */
static int process_of(const void *handle) {
    ZKL_WITH_MUTEX(zkl_process_mutex());
    const zkl_handle *open = handle != NULL ? *place_of(handle) : NULL;
    return open != NULL ? open->process : 0;
}

bool zkl_handle_is_open(const void *handle) {
    return process_of(handle) != 0;
}

bool zkl_handle_is_ours(const void *handle) {
    return process_of(handle) == (int)getpid();
}

int zkl_handle_check(const char *what, const void *handle) {
    ZKL_TRY(zkl_validate_pointer(what, handle));
    int process = process_of(handle);
    if (process == 0) {
        return zkl_refuse(what, NULL, "it is closed, or was never opened");
    }
    return process == (int)getpid() ? ZKL_OK : ZKL_FORKED;
}
