#include "base/handles.h"

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <utlist.h>

#include "base/error_message.h"
#include "base/process_mutex.h"
#include "base/validation.h"

/* A power of two; malloc aligns to 16 bytes. */
enum { BUCKETS = 4096, ALIGNMENT = 16 };

static zkl_handle *buckets[BUCKETS];

static zkl_handle **bucket_of(const void *handle) {
    return &buckets[((uintptr_t)handle / ALIGNMENT) % BUCKETS];
}

void zkl_handle_open(zkl_handle *handle) {
    handle->process = (int)getpid();
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    LL_PREPEND(*bucket_of(handle), handle);
}

void zkl_handle_close(zkl_handle *handle) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    LL_DELETE(*bucket_of(handle), handle);
}

/* The process that opened it; 0: it is not open. */
static int process_of(const void *handle) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    const zkl_handle *open = *bucket_of(handle);
    while (open != NULL && (const void *)open != handle) {
        open = open->next;
    }
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
