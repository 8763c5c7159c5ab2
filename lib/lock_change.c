/* Holding what is held in another mode: a writer goes on as a reader, a reader as a writer. */
#include "input.h"
#include "lock.h"
#include "observer.h"
#include "threads.h"
#include "try.h"
#include "zookeeper/guarded_write.h"

/* ---- What may be changed ---------------------------------------------------------------- */

static int check_change(const zkl_lock *lock, zkl_lock_owner owner) {
    int status = zkl_lock_check_held(lock);
    if (status == ZKL_OK && lock->reentrant && !zkl_lock_is_owner(lock, owner)) {
        return ZKL_NOT_OWNER;
    }
    return status == ZKL_OK && lock->changes ? ZKL_HANDLE_IN_USE : status;
}

/* Why what was held is so no more; ZKL_OK: it is. The process may have been stopped while it
 * waited, for longer than the lease, or the hold, lasts. */
static int find_end(const zkl_lock *lock) {
    if (lock->change_end != ZKL_OK) {
        return lock->change_end;
    }
    int status = zkl_lock_check_held(lock);
    return status == ZKL_OK && lock->calls.closing ? ZKL_NOT_HELD : status;
}

/* ---- A change that goes on ---------------------------------------------------------------- */

static void begin_change(zkl_lock *lock, zkl_lock_call *call) {
    lock->changes = true;
    lock->change_call = call;
    lock->changed_over = false;
    lock->change_status = ZKL_OK;
    lock->change_end = ZKL_OK;
}

static void tell_decided(zkl_lock *lock, int status) {
    lock->changed_over = true;
    lock->change_status = status;
    zkl_call_over(lock->change_call);
}

static int end_change(zkl_lock *lock, int status) {
    lock->changes = false;
    lock->change_call = NULL;
    return status;
}

void zkl_lock_end_change(zkl_lock *lock, int status) {
    if (lock->changes && lock->change_end == ZKL_OK) {
        lock->change_end = status;
        zkl_call_over(lock->change_call);
    }
}

bool zkl_lock_is_downgrading(const zkl_lock *lock) {
    return lock->runner != NULL && lock->runner->request.downgrade.wanted;
}

/* ---- Downgrade ---------------------------------------------------------------------------- */

void zkl_lock_on_downgraded(void *arg, int status) {
    zkl_lock *lock = arg;
    if (status == ZKL_OK) {
        lock->mode = ZKL_READ;
    }
    tell_decided(lock, status);
    zkl_guarded_writes_review(lock->runner->session); /* they wait to know which node it has */
}

static int begin_downgrade(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    ZKL_TRY(check_change(lock, call->owner));
    if (lock->mode == ZKL_READ) {
        zkl_call_answer(call, ZKL_OK);
        return ZKL_OK;
    }
    if (lock->mode != ZKL_WRITE) {
        return zkl_input_refuse("mode", zkl_lock_mode_name((int)lock->mode),
                                "only what is held for writing can be downgraded");
    }
    begin_change(lock, call);
    zkl_lock_feed(lock, ZKL_EVENT_DOWNGRADE, ZKL_OK);
    return ZKL_OK;
}

static int end_downgrade(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    int end = find_end(lock);
    int status = lock->changed_over ? lock->change_status : ZKL_PENDING;
    return end_change(lock, end != ZKL_OK ? end : status);
}

static const zkl_lock_call_kind downgrade = { .begin = begin_downgrade,
                                              .end = end_downgrade,
                                              .tell = zkl_call_tell_status };

int zkl_lock_downgrade(zkl_lock *lock, int64_t timeout_ms) {
    ZKL_NOT_CANCELLED;
    zkl_lock_call call = zkl_call_of_thread(lock, &downgrade, __func__, timeout_ms);
    return zkl_call_wait(&call, true);
}

int zkl_lock_downgrade_async(zkl_lock *lock, int64_t timeout_ms, const void *owner,
                             zkl_status_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_lock_call call = zkl_call_of_callback(lock, &downgrade, __func__, timeout_ms, owner, arg);
    call.application.ended = callback;
    return zkl_call_start(&call, sizeof(call));
}

/* ---- Upgrade -------------------------------------------------------------------------------- */

/* The writer's request takes the place of the reader's, which goes. Both are held just now,
 * so that nobody comes between. */
static void take_writer(zkl_lock *lock) {
    zkl_request_runner *reader = lock->runner;
    lock->runner = lock->upgrade;
    lock->upgrade = NULL;
    lock->runner->owner = zkl_lock_as_request_owner(lock);
    lock->mode = ZKL_WRITE;
    lock->token = lock->runner->request.own.zxid;
    if (lock->runner->revoke_requested) {
        zkl_lock_on_revoke_requested(lock);
    }
    if (lock->runner->contention.found) {
        zkl_lock_on_contended(lock);
    }
    lock->granted_ms = lock->runner->granted_ms;
    zkl_request_runner_disown(reader);
    zkl_request_runner_feed(reader, &(zkl_event){ .kind = ZKL_EVENT_RELEASED });
}

static void on_upgrade_decided(void *arg, int status) {
    tell_decided(arg, status);
}

static void on_upgrade_lost(void *arg, int status) {
    zkl_lock *lock = arg;
    lock->change_status = status;
}

static void on_upgrade_ended(void *arg) {
    zkl_lock *lock = arg;
    lock->upgrade = NULL;
    tell_decided(lock, lock->change_status == ZKL_OK ? ZKL_LOST : lock->change_status);
}

static int start_upgrade(zkl_lock *lock) {
    char owner_text[ZKL_OWNER_MAX + 1];
    zkl_lock_write_owner(lock, owner_text);
    zkl_run_options options = {
        .kind = { ZKL_WRITE, 0 },
        .companion = lock->runner->request.own.node,
        .resource = lock->resource,
        .parent_path = lock->path,
        .max_hold_ms = lock->max_hold_ms,
        .tells_contended = lock->tell_contended,
        .metrics = lock->metrics,
        .owner_id = lock->id,
        .owner_text = owner_text,
        .owner = { .arg = lock,
                   .decided = on_upgrade_decided,
                   .lost = on_upgrade_lost,
                   .ended = on_upgrade_ended },
    };
    return zkl_request_runner_start(lock->runner->session, &options, &lock->upgrade);
}

static void let_writer_go(zkl_lock *lock) {
    zkl_request_runner *writer = lock->upgrade;
    lock->upgrade = NULL;
    if (writer == NULL) {
        return;
    }
    zkl_request_runner_disown(writer);
    zkl_event leave = { .kind = ZKL_EVENT_CANCELLED, .status = ZKL_CANCELLED };
    if (lock->changed_over && writer->request.stage == ZKL_STAGE_HELD) {
        leave = (zkl_event){ .kind = ZKL_EVENT_RELEASED };
    }
    zkl_request_runner_feed(writer, &leave);
}

void zkl_lock_withdraw_change(zkl_lock *lock) {
    let_writer_go(lock);
    zkl_lock_end_change(lock, ZKL_NOT_HELD);
}

static int begin_upgrade(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    ZKL_TRY(check_change(lock, call->owner));
    if (zkl_lock_is_downgrading(lock)) {
        return ZKL_HANDLE_IN_USE;
    }
    if (lock->mode == ZKL_WRITE) {
        zkl_lock_fill_grant(lock, &call->grant);
        zkl_call_answer(call, ZKL_OK);
        return ZKL_OK;
    }
    if (lock->mode != ZKL_READ) {
        return zkl_input_refuse("mode", zkl_lock_mode_name((int)lock->mode),
                                "only what is held for reading can be upgraded");
    }
    begin_change(lock, call);
    int status = start_upgrade(lock);
    if (status != ZKL_OK) {
        zkl_observe_not_begun(lock, status);
        return end_change(lock, status);
    }
    return ZKL_OK;
}

/* The reader may have been lost, or given back, in the meantime. */
static int end_upgrade(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    int status = find_end(lock);
    if (status == ZKL_OK && lock->upgrade != NULL && lock->changed_over &&
        lock->change_status == ZKL_OK) {
        take_writer(lock);
        zkl_lock_fill_grant(lock, &call->grant);
        return end_change(lock, ZKL_OK);
    }
    let_writer_go(lock);
    return end_change(lock, status != ZKL_OK ? status : lock->change_status);
}

static void note_not_begun(const zkl_lock_call *call, int status) {
    zkl_observe_not_begun(call->lock, status);
}

static const zkl_lock_call_kind upgrade = { .begin = begin_upgrade,
                                            .end = end_upgrade,
                                            .not_begun = note_not_begun,
                                            .tell = zkl_call_tell_grant };

int zkl_lock_try_upgrade(zkl_lock *lock, zkl_grant *grant) {
    ZKL_NOT_CANCELLED;
    zkl_lock_call call = zkl_call_of_thread(lock, &upgrade, __func__, ZKL_FOREVER);
    ZKL_TRY(zkl_lock_check_grant(grant));
    return zkl_lock_hand_over(&call, zkl_call_wait(&call, true), grant);
}

int zkl_lock_try_upgrade_async(zkl_lock *lock, const void *owner, zkl_acquire_callback *callback,
                               void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_lock_call call = zkl_call_of_callback(lock, &upgrade, __func__, ZKL_FOREVER, owner, arg);
    call.application.acquired = callback;
    return zkl_call_start(&call, sizeof(call));
}
