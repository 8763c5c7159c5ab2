#include "base/handles.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <utlist.h>

#include "base/error_message.h"
#include "base/process_mutex.h"
#include "base/validation.h"

/* A power of two; malloc aligns to 16 bytes. */
enum { BUCKETS = 4096, ALIGNMENT = 16 };

static const char *const kinds[] = { "client",      "lock",     "striped_lock",
                                     "transaction", "election", "observer" };
enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static zkl_handle *buckets[BUCKETS];

static zkl_handle **bucket_of(const void *handle) {
    return &buckets[((uintptr_t)handle / ALIGNMENT) % BUCKETS];
}

void zkl_handle_open(const char *kind, zkl_handle *handle) {
    handle->kind = 0;
    while (handle->kind < KINDS - 1 && strcmp(kinds[handle->kind], kind) != 0) {
        handle->kind++;
    }
    handle->process = (int)getpid();
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    LL_PREPEND(*bucket_of(handle), handle);
}

void zkl_handle_close(zkl_handle *handle) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    LL_DELETE(*bucket_of(handle), handle);
}

/* Returns a copy of its entry, whose process is 0 if it is not open. */
static zkl_handle entry_of(const void *handle) {
    ZKL_WITH_MUTEX(&zkl_process_mutex);
    const zkl_handle *open = *bucket_of(handle);
    while (open != NULL && (const void *)open != handle) {
        open = open->next;
    }
    return open != NULL ? *open : (zkl_handle){ .process = 0 };
}

static bool is_of_kind(const char *kind, zkl_handle entry) {
    return entry.process != 0 && strcmp(kinds[entry.kind], kind) == 0;
}

bool zkl_handle_is_open(const char *kind, const void *handle) {
    return is_of_kind(kind, entry_of(handle));
}

bool zkl_handle_is_ours(const char *kind, const void *handle) {
    zkl_handle entry = entry_of(handle);
    return is_of_kind(kind, entry) && entry.process == (int)getpid();
}

int zkl_handle_check(const char *kind, const void *handle) {
    ZKL_TRY(zkl_validate_pointer(kind, handle));
    zkl_handle entry = entry_of(handle);
    if (entry.process == 0) {
        return zkl_refuse(kind, NULL, "it is closed, or was never opened");
    }
    if (!is_of_kind(kind, entry)) {
        return zkl_refuse(kind, NULL, "it is a handle of another kind: %s", kinds[entry.kind]);
    }
    return entry.process == (int)getpid() ? ZKL_OK : ZKL_FORKED;
}
