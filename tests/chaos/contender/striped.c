#include "striped.h"

#include "lock.h"

enum { STRIPES = 4, ACQUIRE_MS = 30000 };

static void open_striped_lock(struct handle *handle) {
    lock_draw_resource(handle, 0, handle->kind->family);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT; /* it takes no more of them */
    options.owner = handle->caller.who;
    options.fail_on_session_expiry = lock_draw_fail_on_session_expiry(handle);
    struct call call;
    lock_begin_open(handle, &call);
    int status = zkl_striped_lock_open(handle->client->zkl, handle->resources[0], STRIPES, &options,
                                       &handle->striped_lock);
    lock_end_open(handle, &call, status);
}

static void close_striped_lock(struct handle *handle) {
    struct call call;
    lock_begin_close(handle, &call);
    zkl_striped_lock_close(handle->striped_lock);
    lock_end_close(handle, &call);
}

const struct opening a_striped_lock = { open_striped_lock, close_striped_lock };

static int32_t draw_stripe(struct handle *handle) {
    enum { ALL = 6 };
    return chance_once_in(&handle->chance, ALL) ? ZKL_ALL_STRIPES
           : chance_once_in(&handle->chance, 2) ? ZKL_ANY_STRIPE
                                                : (int32_t)chance_below(&handle->chance, STRIPES);
}

static void note_stripe(history_line *line, int32_t stripe) {
    history_number(line, "stripes", STRIPES);
    if (stripe >= 0) {
        history_number(line, "stripe", stripe);
    } else {
        history_text(line, "stripe", stripe == ZKL_ALL_STRIPES ? "all" : "any");
    }
}

static bool acquire(struct handle *handle, int32_t stripe, int64_t timeout_ms) {
    struct call call;
    call_prepare(&call, &handle->caller, "acquire");
    lock_note_request(&call.line, handle, timeout_ms);
    note_stripe(&call.line, stripe);
    call_begin(&call);
    zkl_grant grant = ZKL_GRANT_INIT;
    int status =
        zkl_striped_lock_acquire(handle->striped_lock, stripe, ZKL_EXCLUSIVE, timeout_ms, &grant);
    call_end(&call, status);
    if (status == ZKL_OK) {
        handle->grant = grant;
        handle->lock = zkl_striped_lock_held(handle->striped_lock);
        lock_note_grant(&call.line, handle,
                        stripe == ZKL_ALL_STRIPES ? NULL : lock_mode_name(handle));
    }
    call_note(&call);
    return status == ZKL_OK;
}

bool striped_acquire(struct handle *handle) {
    enum { TRIES = 4 };
    bool is_try = chance_once_in(&handle->chance, TRIES);
    return acquire(handle, draw_stripe(handle), is_try ? 0 : ACQUIRE_MS);
}
