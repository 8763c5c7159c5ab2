/* Holding what is held in another mode: a writer goes on as a reader, a reader as a writer. */
#include "callback_queue.h"
#include "input.h"
#include "lock.h"
#include "observer.h"
#include "threads.h"

/* ---- What may be changed ---------------------------------------------------------------- */

static int check_held(zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    zkl_lock_look_at_clock(lock);
    if (lock->state == LOCK_LOST) {
        return ZKL_LOST;
    }
    if (lock->state != LOCK_HELD) {
        return ZKL_NOT_HELD;
    }
    if (lock->reentrant && !zkl_lock_is_owner(lock, zkl_lock_owner_is_thread())) {
        return ZKL_NOT_OWNER;
    }
    return lock->changes ? ZKL_HANDLE_IN_USE : ZKL_OK;
}

static int check_call(const zkl_lock *lock) {
    int status = zkl_lock_check_handle(lock);
    return status == ZKL_OK && zkl_callback_is_running() ? ZKL_IN_CALLBACK : status;
}

/* Why what is held is so no more; ZKL_OK: it is. The process may have been stopped while it
 * waited, for longer than the lease, or the hold, lasts. */
static int find_end(zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    zkl_lock_look_at_clock(lock);
    if (lock->state == LOCK_LOST) {
        return ZKL_LOST;
    }
    return lock->state == LOCK_HELD && !lock->closing ? ZKL_OK : ZKL_NOT_HELD;
}

void zkl_lock_wake_change(zkl_lock *lock) {
    if (lock->changes) {
        zkl_condition_broadcast(&lock->changed);
    }
}

static void begin_change(zkl_lock *lock) {
    lock->changes = true;
    lock->changed_over = false;
}

static int end_change(zkl_lock *lock, int status) {
    lock->changes = false;
    return status;
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
    lock->changed_over = true;
    lock->change_status = status;
    zkl_condition_broadcast(&lock->changed);
}

static int wait_for_downgrade(zkl_lock *lock, int64_t timeout_ms) {
    int64_t start = zkl_clock_ms();
    while (!lock->changed_over) {
        int end = find_end(lock);
        int64_t passed = zkl_clock_ms() - start;
        int64_t left = timeout_ms == ZKL_FOREVER ? INT64_MAX : timeout_ms - passed;
        if (end != ZKL_OK || left <= 0) {
            return end != ZKL_OK ? end : ZKL_PENDING;
        }
        zkl_condition_wait(&lock->changed, &lock->client->mutex, left);
    }
    int end = find_end(lock);
    return end != ZKL_OK ? end : lock->change_status;
}

static int downgrade(zkl_lock *lock, int64_t timeout_ms) {
    int status = check_held(lock);
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
    return end_change(lock, wait_for_downgrade(lock, timeout_ms));
}

int zkl_lock_downgrade(zkl_lock *lock, int64_t timeout_ms) {
    zkl_input_clear();
    int status = check_call(lock);
    if (status == ZKL_OK) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, ZKL_FOREVER, INT64_MAX,
                                       ZKL_INVALID_TIMEOUT);
    }
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

/* ---- Upgrade -------------------------------------------------------------------------------- */

static void release_writer(zkl_request_runner *writer) {
    zkl_request_runner_disown(writer);
    zkl_request_runner_feed(writer, &(zkl_event){ .kind = ZKL_EVENT_RELEASED });
}

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
    zkl_lock *lock = arg;
    lock->changed_over = true;
    lock->change_status = status;
    zkl_condition_broadcast(&lock->changed);
}

static void on_upgrade_lost(void *arg, int status) {
    zkl_lock *lock = arg;
    lock->change_status = status;
}

static void on_upgrade_ended(void *arg) {
    zkl_lock *lock = arg;
    lock->upgrade = NULL;
    if (lock->change_status == ZKL_OK) {
        lock->change_status = ZKL_LOST;
    }
    lock->changed_over = true;
    zkl_condition_broadcast(&lock->changed);
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

/* The reader may have been lost, or given back, in the meantime. */
static int end_upgrade(zkl_lock *lock) {
    int end = find_end(lock);
    if (lock->upgrade == NULL) {
        return end != ZKL_OK ? end : lock->change_status;
    }
    if (end == ZKL_OK && lock->changed_over && lock->change_status == ZKL_OK) {
        take_writer(lock);
        return ZKL_OK;
    }
    zkl_request_runner *writer = lock->upgrade;
    lock->upgrade = NULL;
    if (lock->changed_over && writer->request.held) {
        release_writer(writer);
    } else {
        zkl_request_runner_disown(writer);
        zkl_request_runner_feed(
            writer, &(zkl_event){ .kind = ZKL_EVENT_CANCELLED, .status = ZKL_CANCELLED });
    }
    return end != ZKL_OK ? end : lock->change_status;
}

static int upgrade(zkl_lock *lock) {
    int status = check_held(lock);
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
    while (!lock->changed_over && find_end(lock) == ZKL_OK) {
        zkl_condition_wait(&lock->changed, &lock->client->mutex, INT64_MAX);
    }
    return end_change(lock, end_upgrade(lock));
}

int zkl_lock_try_upgrade(zkl_lock *lock, zkl_grant *grant) {
    zkl_input_clear();
    int status = check_call(lock);
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
