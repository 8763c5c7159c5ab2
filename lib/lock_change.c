/* Holding what is held in another mode: a writer goes on as a reader, a reader as a writer. */
#include "callback_queue.h"
#include "input.h"
#include "lock.h"
#include "observer.h"
#include "threads.h"
#include "zookeeper/guarded_write.h"

/* ---- What may be changed ---------------------------------------------------------------- */

static int check_change(const zkl_lock *lock, zkl_lock_owner owner) {
    int status = zkl_lock_check_held(lock);
    if (status == ZKL_OK && lock->reentrant && !zkl_lock_is_owner(lock, owner)) {
        return ZKL_NOT_OWNER;
    }
    return status == ZKL_OK && lock->changes ? ZKL_HANDLE_IN_USE : status;
}

static int check_blocking(int status) {
    return status == ZKL_OK && zkl_callback_is_running() ? ZKL_IN_CALLBACK : status;
}

/* Why what was held is so no more; ZKL_OK: it is. The process may have been stopped while it
 * waited, for longer than the lease, or the hold, lasts. */
static int find_end(const zkl_lock *lock) {
    if (lock->change_end != ZKL_OK) {
        return lock->change_end;
    }
    int status = zkl_lock_check_held(lock);
    return status == ZKL_OK && lock->closing ? ZKL_NOT_HELD : status;
}

/* ---- Waiting: in a thread, or in none ------------------------------------------------------ */

static void begin_change(zkl_lock *lock) {
    lock->changes = true;
    lock->changed_over = false;
    lock->change_status = ZKL_OK;
    lock->change_end = ZKL_OK;
}

static void tell_decided(zkl_lock *lock, int status) {
    lock->changed_over = true;
    lock->change_status = status;
    zkl_lock_tell_waiter(lock, lock->change_pending);
}

static int end_change(zkl_lock *lock, int status) {
    lock->changes = false;
    lock->change_pending = NULL;
    return status;
}

void zkl_lock_end_change(zkl_lock *lock, int status) {
    if (lock->changes && lock->change_end == ZKL_OK) {
        lock->change_end = status;
        zkl_lock_tell_waiter(lock, lock->change_pending);
    }
}

static void wait_for_change(zkl_lock *lock, int64_t timeout_ms) {
    int64_t start = zkl_clock_ms();
    while (!lock->changed_over && find_end(lock) == ZKL_OK) {
        int64_t passed = zkl_clock_ms() - start;
        int64_t left = timeout_ms == ZKL_FOREVER ? INT64_MAX : timeout_ms - passed;
        if (left <= 0) {
            return;
        }
        zkl_condition_wait(&lock->changed, &lock->client->mutex, left);
    }
}

/* Of a change that goes on: it may be decided already. */
static void leave_to_callback(zkl_lock *lock, int64_t timeout_ms, zkl_lock_completion *completion,
                              int (*end)(zkl_lock_completion *completion)) {
    completion->end = end;
    lock->change_pending = completion;
    if (lock->changed_over || lock->change_end != ZKL_OK) {
        zkl_lock_completion_post(completion);
    } else {
        zkl_lock_completion_limit(completion, timeout_ms, zkl_lock_completion_on_limit, completion);
    }
}

bool zkl_lock_is_downgrading(const zkl_lock *lock) {
    return lock->runner != NULL && lock->runner->request.downgrade_wanted;
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

static int begin_downgrade(zkl_lock *lock, zkl_lock_owner owner, bool *goes_on) {
    int status = check_change(lock, owner);
    if (status != ZKL_OK || lock->mode == ZKL_READ) {
        return status;
    }
    if (lock->mode != ZKL_WRITE) {
        zkl_input_note("mode", zkl_lock_mode_name((int)lock->mode),
                       "only what is held for writing can be downgraded");
        return ZKL_INVALID_MODE;
    }
    begin_change(lock);
    zkl_lock_feed(lock, ZKL_EVENT_DOWNGRADE, ZKL_OK);
    *goes_on = true;
    return ZKL_OK;
}

static int end_downgrade(zkl_lock *lock) {
    int end = find_end(lock);
    int status = lock->changed_over ? lock->change_status : ZKL_PENDING;
    return end_change(lock, end != ZKL_OK ? end : status);
}

static int check_downgrade(const zkl_lock *lock, int64_t timeout_ms) {
    int status = zkl_lock_check_handle(lock);
    if (status == ZKL_OK) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, ZKL_FOREVER, INT64_MAX,
                                       ZKL_INVALID_TIMEOUT);
    }
    return status;
}

static int downgrade(zkl_lock *lock, int64_t timeout_ms) {
    bool goes_on = false;
    int status = begin_downgrade(lock, zkl_lock_owner_is_thread(), &goes_on);
    if (!goes_on) {
        return status;
    }
    wait_for_change(lock, timeout_ms);
    return end_downgrade(lock);
}

int zkl_lock_downgrade(zkl_lock *lock, int64_t timeout_ms) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = check_blocking(check_downgrade(lock, timeout_ms));
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    zkl_lock_enter(lock);
    status = zkl_lock_note_returned(lock, __func__, downgrade(lock, timeout_ms));
    zkl_lock_leave(lock);
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

static int end_asynchronous_downgrade(zkl_lock_completion *completion) {
    return end_downgrade(completion->base.handle);
}

static int downgrade_asynchronously(zkl_lock *lock, int64_t timeout_ms, zkl_lock_owner owner,
                                    zkl_status_callback *callback, void *arg) {
    zkl_lock_completion *completion = NULL;
    int status = zkl_lock_completion_make(lock, sizeof(*completion), "zkl_lock_downgrade_async",
                                          arg, &completion);
    if (status != ZKL_OK) {
        return status;
    }
    completion->ended = callback;
    bool goes_on = false;
    status = begin_downgrade(lock, owner, &goes_on);
    if (goes_on) {
        leave_to_callback(lock, timeout_ms, completion, end_asynchronous_downgrade);
    } else if (status == ZKL_OK) {
        zkl_lock_completion_end_at_once(completion, status);
    } else {
        zkl_lock_completion_unmake(completion);
    }
    return status;
}

int zkl_lock_downgrade_async(zkl_lock *lock, int64_t timeout_ms, const void *owner,
                             zkl_status_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = check_downgrade(lock, timeout_ms);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("callback", (const void *)(uintptr_t)callback);
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    status = downgrade_asynchronously(lock, timeout_ms, (zkl_lock_owner){ .token = owner },
                                      callback, arg);
    if (status != ZKL_OK) {
        (void)zkl_lock_note_returned(lock, __func__, status);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
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
    lock->token = lock->runner->request.zxid;
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
        .companion = lock->runner->request.node,
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
    if (lock->changed_over && writer->request.held) {
        leave = (zkl_event){ .kind = ZKL_EVENT_RELEASED };
    }
    zkl_request_runner_feed(writer, &leave);
}

void zkl_lock_withdraw_change(zkl_lock *lock) {
    let_writer_go(lock);
    zkl_lock_end_change(lock, ZKL_NOT_HELD);
}

static int begin_upgrade(zkl_lock *lock, zkl_lock_owner owner, bool *goes_on) {
    int status = check_change(lock, owner);
    if (status == ZKL_OK && zkl_lock_is_downgrading(lock)) {
        return ZKL_HANDLE_IN_USE;
    }
    if (status != ZKL_OK || lock->mode == ZKL_WRITE) {
        return status;
    }
    if (lock->mode != ZKL_READ) {
        zkl_input_note("mode", zkl_lock_mode_name((int)lock->mode),
                       "only what is held for reading can be upgraded");
        return ZKL_INVALID_MODE;
    }
    begin_change(lock);
    status = start_upgrade(lock);
    if (status != ZKL_OK) {
        zkl_observe_not_begun(lock, status);
        return end_change(lock, status);
    }
    *goes_on = true;
    return ZKL_OK;
}

/* The reader may have been lost, or given back, in the meantime. */
static int end_upgrade(zkl_lock *lock) {
    int status = find_end(lock);
    if (status == ZKL_OK && lock->upgrade != NULL && lock->changed_over &&
        lock->change_status == ZKL_OK) {
        take_writer(lock);
        return end_change(lock, ZKL_OK);
    }
    let_writer_go(lock);
    return end_change(lock, status != ZKL_OK ? status : lock->change_status);
}

static int upgrade(zkl_lock *lock) {
    bool goes_on = false;
    int status = begin_upgrade(lock, zkl_lock_owner_is_thread(), &goes_on);
    if (!goes_on) {
        return status;
    }
    wait_for_change(lock, ZKL_FOREVER);
    return end_upgrade(lock);
}

int zkl_lock_try_upgrade(zkl_lock *lock, zkl_grant *grant) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = check_blocking(zkl_lock_check_handle(lock));
    if (status == ZKL_OK && grant != NULL) {
        status = zkl_input_check_struct_size("zkl_grant", grant->struct_size, sizeof(*grant));
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    zkl_lock_enter(lock);
    status = zkl_lock_note_returned(lock, __func__, upgrade(lock));
    if (status == ZKL_OK) {
        zkl_lock_fill_grant(lock, grant);
    }
    zkl_lock_leave(lock);
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

static int end_asynchronous_upgrade(zkl_lock_completion *completion) {
    int status = end_upgrade(completion->base.handle);
    if (status == ZKL_OK) {
        zkl_lock_fill_grant(completion->base.handle, &completion->grant);
    }
    return status;
}

static int upgrade_asynchronously(zkl_lock *lock, zkl_lock_owner owner,
                                  zkl_acquire_callback *callback, void *arg) {
    zkl_lock_completion *completion = NULL;
    int status = zkl_lock_completion_make(lock, sizeof(*completion), "zkl_lock_try_upgrade_async",
                                          arg, &completion);
    if (status == ZKL_CLOSED) {
        return status;
    }
    if (status != ZKL_OK) {
        zkl_observe_not_begun(lock, status);
        return status;
    }
    completion->tell = zkl_lock_completion_tell_grant;
    completion->acquired = callback;
    bool goes_on = false;
    status = begin_upgrade(lock, owner, &goes_on);
    if (goes_on) {
        leave_to_callback(lock, ZKL_FOREVER, completion, end_asynchronous_upgrade);
    } else if (status == ZKL_OK) {
        zkl_lock_fill_grant(lock, &completion->grant);
        zkl_lock_completion_end_at_once(completion, status);
    } else {
        zkl_lock_completion_unmake(completion);
    }
    return status;
}

int zkl_lock_try_upgrade_async(zkl_lock *lock, const void *owner, zkl_acquire_callback *callback,
                               void *arg) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_lock_check_handle(lock);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("callback", (const void *)(uintptr_t)callback);
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    status = upgrade_asynchronously(lock, (zkl_lock_owner){ .token = owner }, callback, arg);
    if (status != ZKL_OK) {
        (void)zkl_lock_note_returned(lock, __func__, status);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}
