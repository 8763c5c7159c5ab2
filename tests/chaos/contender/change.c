#include "change.h"

#include "lock.h"

enum { DOWNGRADE_MS = 5000 };

static void downgrade(struct handle *handle) {
    struct call call;
    call_prepare(&call, &handle->caller, "downgrade");
    history_number(&call.line, "deadline_ms", DOWNGRADE_MS);
    call_begin(&call);
    int status = zkl_lock_downgrade(handle->lock, DOWNGRADE_MS);
    call_end(&call, status);
    call_note(&call);
}

void lock_hold_and_downgrade(struct handle *handle) {
    if (lock_hold_for(handle, lock_draw_hold(handle))) {
        downgrade(handle);
        (void)lock_hold_for(handle, lock_draw_hold(handle));
    }
}

static void try_upgrade(struct handle *handle) {
    struct call call;
    call_prepare(&call, &handle->caller, "upgrade");
    history_text(&call.line, "resource", handle->resources[0]);
    call_begin(&call);
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_try_upgrade(handle->lock, &grant);
    call_end(&call, status);
    if (status == ZKL_OK) {
        handle->grant = grant;
        lock_note_grant(&call.line, handle, zkl_lock_mode_name(ZKL_WRITE));
    }
    call_note(&call);
}

void lock_hold_and_upgrade(struct handle *handle) {
    if (lock_hold_for(handle, lock_draw_hold(handle))) {
        try_upgrade(handle);
        (void)lock_hold_for(handle, lock_draw_hold(handle));
    }
}
