#include "set.h"

#include "lock.h"

#include <string.h>

static const struct {
    const char *family;
    zkl_mode mode;
    int32_t permits;
} choices[] = { { "plain", ZKL_EXCLUSIVE, 0 },
                { "read-write", ZKL_READ, 0 },
                { "read-write", ZKL_WRITE, 0 },
                { "permits", ZKL_EXCLUSIVE, PERMITS_OF_ALL } };

enum { CHOICES = sizeof choices / sizeof choices[0] };

static bool is_there_before(const struct handle *handle, size_t number) {
    for (size_t i = 0; i < number; i++) {
        if (strcmp(handle->resources[i], handle->resources[number]) == 0) {
            return true;
        }
    }
    return false;
}

static void draw_member(struct handle *handle, size_t number, zkl_lock_member *member) {
    int64_t choice;
    do {
        choice = chance_below(&handle->chance, CHOICES);
        lock_draw_resource(handle, number, choices[choice].family);
    } while (is_there_before(handle, number));
    *member = (zkl_lock_member)ZKL_LOCK_MEMBER_INIT;
    member->resource = handle->resources[number];
    member->mode = choices[choice].mode;
    member->permits = choices[choice].permits;
}

static void open_set(struct handle *handle) {
    size_t count = (size_t)chance_between(&handle->chance, 2, RESOURCES_MAX);
    zkl_lock_member members[RESOURCES_MAX];
    for (size_t i = 0; i < count; i++) {
        draw_member(handle, i, &members[i]);
    }
    zkl_lock_options options;
    zkl_lending lending;
    lock_draw_options(handle, &options, &lending);
    struct call call;
    lock_begin_open(handle, &call);
    int status = zkl_lock_open_set(handle->client->zkl, members, count, &options, &handle->lock);
    lock_end_open(handle, &call, status);
}

const struct opening a_set = { open_set, lock_close };
