#include <stdio.h>

#include "callback_queue.h"
#include "input.h"
#include "lock.h"
#include "observer.h"
#include "threads.h"

int zkl_lock_check_acquire(const zkl_lock *lock, zkl_mode mode, int64_t timeout_ms) {
    int status = zkl_handle_check("lock", lock);
    if (status == ZKL_OK) {
        status = zkl_input_check_mode(mode, lock->permits);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, ZKL_FOREVER, INT64_MAX,
                                       ZKL_INVALID_TIMEOUT);
    }
    return status == ZKL_OK ? zkl_client_check_process(lock->client) : status;
}

static int check_blocking(const zkl_lock *lock, zkl_mode mode, int64_t timeout_ms,
                          const zkl_grant *grant) {
    int status = zkl_lock_check_acquire(lock, mode, timeout_ms);
    if (status == ZKL_OK && grant != NULL) {
        status = zkl_input_check_struct_size("zkl_grant", grant->struct_size, sizeof(*grant));
    }
    if (status == ZKL_OK && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    return status;
}

int zkl_lock_check_idle(const zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    if (lock->called_off != NULL && *lock->called_off) {
        return ZKL_CANCELLED;
    }
    if (lock->closing) {
        return ZKL_HANDLE_IN_USE; /* by who closes it, and waits for the callback that asks */
    }
    switch (lock->state) {
    case LOCK_IDLE:
        return ZKL_OK;
    case LOCK_LOST:
        zkl_input_note("handle of", lock->resource, "its grant was lost; release it first");
        return ZKL_ALREADY_HELD;
    case LOCK_HELD:
        return ZKL_ALREADY_HELD;
    case LOCK_ACQUIRING:
    case LOCK_RELEASING:
        break;
    }
    return ZKL_HANDLE_IN_USE;
}

void zkl_lock_fill_grant(const zkl_lock *lock, zkl_grant *grant) {
    const zkl_request_runner *runner = lock->runner;
    if (grant == NULL || runner == NULL) {
        return;
    }
    grant->token = runner->request.zxid;
    grant->mode = runner->request.mode;
    grant->waited_ms = runner->granted_ms - runner->started_ms;
    zkl_request_runner_node_path(runner, grant->node, sizeof(grant->node));
}

void zkl_lock_fill_grant_again(const zkl_lock *lock, zkl_grant *grant) {
    zkl_lock_fill_grant(lock, grant);
    if (grant != NULL) {
        grant->waited_ms = 0;
    }
}

/* The news of a loss, and those of a grant, must not fail for want of memory. */
static int prepare_news(zkl_lock *lock) {
    int status = ZKL_OK;
    if (lock->teller != NULL) {
        status = zkl_lock_message_prepare(&lock->last_news);
    }
    if (status == ZKL_OK && lock->tell_granted) {
        status = zkl_lock_message_prepare(&lock->first_news);
    }
    return status;
}

void zkl_lock_write_owner(const zkl_lock *lock, char text[ZKL_OWNER_MAX + 1]) {
    if (lock->owner_text != NULL) {
        snprintf(text, ZKL_OWNER_MAX + 1, "%s", lock->owner_text);
    } else if (lock->owner.thread != 0) {
        zkl_client_write_owner(lock->client, text);
    } else {
        zkl_client_write_handle(lock->client, lock->id, text);
    }
}

static size_t watched_bytes(const zkl_lock *lock, zkl_contender_kind kind) {
    size_t bytes = zkl_request_runner_watched_bytes(lock->path, kind);
    return bytes + (lock->tell_contended ? zkl_contention_watched_bytes(lock->path) : 0);
}

int zkl_lock_begin_acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms,
                           zkl_lock_owner owner) {
    char owner_text[ZKL_OWNER_MAX + 1];
    lock->owner = owner;
    zkl_lock_write_owner(lock, owner_text);
    zkl_run_options options = {
        .kind = { mode, lock->permits },
        .max_waiting = lock->max_waiting,
        .resource = lock->resource,
        .parent_path = lock->path,
        .timeout_ms = timeout_ms == 0 ? lock->try_within_ms : timeout_ms,
        .only_try = timeout_ms == 0,
        .max_hold_ms = lock->max_hold_ms,
        .fail_on_session_expiry = lock->fail_on_session_expiry,
        .tells_contended = lock->tell_contended,
        .owner_id = lock->id,
        .note = lock->note,
        .owner = zkl_lock_as_request_owner(lock),
        .metrics = lock->metrics,
        .owner_text = owner_text,
    };
    lock->decided = false;
    lock->lost = false;
    lock->lost_reason = ZKL_OK;
    lock->ended = ZKL_OK;
    lock->state = LOCK_ACQUIRING;
    zkl_session *session = NULL;
    int status = prepare_news(lock);
    if (status == ZKL_OK) {
        status =
            zkl_client_choose_session(lock->client, watched_bytes(lock, options.kind), &session);
    }
    if (status == ZKL_OK) {
        status = zkl_request_runner_start(session, &options, &lock->runner);
    }
    if (status != ZKL_OK) {
        lock->state = LOCK_IDLE;
        zkl_observe_not_begun(lock, status);
    }
    return status;
}

static void begin_hold(zkl_lock *lock) {
    const zkl_request_runner *runner = lock->runner;
    lock->state = LOCK_HELD;
    lock->grants++;
    lock->holds = 1;
    lock->mode = runner->request.mode;
    lock->token = runner->request.zxid;
    lock->granted_ms = runner->granted_ms;
    if (lock->tell_granted) {
        zkl_lock_tidings held = { .state = ZKL_STATE_HELD, .token = lock->token };
        zkl_lock_teller_tell(lock->teller, lock->first_news, &held);
        lock->first_news = NULL;
    }
    if (!runner->session->connected) {
        zkl_lock_on_connection(lock, false);
    }
    if (runner->revoke_requested) {
        zkl_lock_on_revoke_requested(lock);
    }
    if (runner->contention.found) {
        zkl_lock_on_contended(lock);
    }
}

/* A lock that was granted, but lost or given back before its acquire returned,
 * was never held for the caller. */
static int verdict_for_caller(const zkl_lock *lock) {
    if (lock->verdict != ZKL_OK) {
        return lock->verdict;
    }
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    if (lock->closing) {
        return ZKL_CANCELLED;
    }
    if (lock->lost) {
        return lock->lost_reason;
    }
    bool held = lock->runner != NULL && lock->runner->request.held;
    return held ? ZKL_OK : ZKL_SESSION_EXPIRED;
}

int zkl_lock_end_acquire(zkl_lock *lock, zkl_grant *grant) {
    zkl_lock_look_at_clock(lock);
    int status = verdict_for_caller(lock);
    if (status == ZKL_OK) {
        begin_hold(lock);
        zkl_lock_fill_grant(lock, grant);
        return status;
    }
    lock->state = LOCK_IDLE;
    if (lock->verdict == status && lock->why != NULL) {
        zkl_input_note("resource", lock->resource, lock->why);
    }
    if (lock->verdict == ZKL_OK) {
        zkl_lock_feed(lock, ZKL_EVENT_RELEASED, ZKL_OK);
    }
    zkl_lock_let_go(lock);
    return status;
}

bool zkl_lock_is_acquired_again(const zkl_lock *lock, zkl_lock_owner owner) {
    return zkl_lock_is_granted(lock) && lock->reentrant && zkl_lock_is_owner(lock, owner) &&
           !lock->client->closed;
}

int zkl_lock_acquire_again(zkl_lock *lock, zkl_mode mode, zkl_grant *grant) {
    zkl_lock_look_at_clock(lock);
    if (lock->state == LOCK_LOST) {
        return ZKL_LOST;
    }
    bool reads = lock->mode == ZKL_READ || zkl_lock_is_downgrading(lock);
    if (reads && mode != ZKL_READ) {
        return ZKL_NO_UPGRADE;
    }
    if (lock->holds == ZKL_HOLDS_MAX) {
        return ZKL_TOO_MANY_HOLDS;
    }
    lock->holds++;
    zkl_lock_fill_grant_again(lock, grant);
    return ZKL_OK;
}

static int acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, zkl_grant *grant) {
    zkl_lock_owner owner = zkl_lock_owner_is_thread();
    if (zkl_lock_is_acquired_again(lock, owner)) {
        return zkl_lock_acquire_again(lock, mode, grant);
    }
    int status = zkl_lock_check_idle(lock);
    if (status == ZKL_OK) {
        status = zkl_lock_begin_acquire(lock, mode, timeout_ms, owner);
    }
    if (status != ZKL_OK) {
        return status;
    }
    while (!lock->decided) {
        zkl_condition_wait(&lock->changed, &lock->client->mutex, INT64_MAX);
    }
    return zkl_lock_end_acquire(lock, grant);
}

int zkl_lock_acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, zkl_grant *grant) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = check_blocking(lock, mode, timeout_ms, grant);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    zkl_lock_enter(lock);
    status = zkl_lock_note_returned(lock, __func__, acquire(lock, mode, timeout_ms, grant));
    if (status == ZKL_LEASE_IMPOSSIBLE) {
        zkl_client_note_lease_impossible(lock->client);
    }
    zkl_lock_leave(lock);
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

void zkl_lock_call_off(zkl_lock *lock) {
    if (lock->state == LOCK_ACQUIRING && !lock->decided) {
        zkl_lock_feed(lock, ZKL_EVENT_CANCELLED, ZKL_CANCELLED);
    }
}

int zkl_lock_cancel(zkl_lock *lock) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_lock_check_handle(lock);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    if (lock->client->closed) {
        status = ZKL_CLOSED;
    } else if (lock->state != LOCK_ACQUIRING || lock->decided) {
        status = ZKL_NOT_WAITING;
    } else {
        zkl_lock_feed(lock, ZKL_EVENT_CANCELLED, ZKL_CANCELLED);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}
