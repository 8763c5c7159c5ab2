#include <stdio.h>
#include <string.h>

#include "input.h"
#include "lock.h"
#include "lock_search.h"
#include "observer.h"
#include "threads.h"
#include "try.h"

/* What acquire and its asynchronous twin begin, and end. */
typedef struct acquire_call {
    zkl_lock_call call; /* first */
    zkl_mode mode;
    uint64_t again; /* the grant that its owner has already, counted by the lock; 0: it has none */
} acquire_call;

/* ---- Beginning ---------------------------------------------------------------------------- */

static int check_idle(const zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    if (lock->search != NULL && lock->search->called_off) {
        return ZKL_CANCELLED;
    }
    if (lock->calls.closing) {
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
    if (runner != NULL) {
        grant->token = runner->request.own.zxid;
        grant->mode = runner->request.options.mode;
        grant->waited_ms = runner->granted_ms - runner->started_ms;
        zkl_request_runner_node_path(runner, grant->node, sizeof(grant->node));
    }
}

int zkl_lock_check_grant(const zkl_grant *grant) {
    return grant == NULL
               ? ZKL_OK
               : zkl_input_check_struct_size("zkl_grant", grant->struct_size, sizeof(*grant));
}

int zkl_lock_hand_over(const zkl_lock_call *call, int status, zkl_grant *grant) {
    if (status == ZKL_OK && grant != NULL) {
        zkl_input_fill_struct(grant, &call->grant);
    }
    return status;
}

/* The news of a loss, and those of a grant, must not fail for want of memory. */
static int prepare_news(zkl_lock *lock) {
    if (lock->teller != NULL) {
        ZKL_TRY(zkl_lock_message_prepare(&lock->last_news));
    }
    return lock->tell_granted ? zkl_lock_message_prepare(&lock->first_news) : ZKL_OK;
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

static int start_request(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms) {
    char owner_text[ZKL_OWNER_MAX + 1];
    bool is_bounded_try = timeout_ms == 0 && lock->search != NULL;
    zkl_lock_write_owner(lock, owner_text);
    zkl_run_options options = {
        .kind = { mode, lock->permits },
        .max_waiting = lock->max_waiting,
        .resource = lock->resource,
        .parent_path = lock->path,
        .timeout_ms = is_bounded_try ? lock->search->try_within_ms : timeout_ms,
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
    zkl_session *session = NULL;
    ZKL_TRY(prepare_news(lock));
    ZKL_TRY(zkl_client_choose_session(lock->client, watched_bytes(lock, options.kind), &session));
    return zkl_request_runner_start(session, &options, &lock->runner);
}

static bool is_acquired_again(const zkl_lock *lock, zkl_lock_owner owner) {
    return zkl_lock_is_granted(lock) && lock->reentrant && zkl_lock_is_owner(lock, owner) &&
           !lock->client->closed;
}

static int acquire_again(zkl_lock *lock, acquire_call *self) {
    zkl_lock_look_at_clock(lock);
    if (lock->state == LOCK_LOST) {
        return ZKL_LOST;
    }
    bool reads = lock->mode == ZKL_READ || zkl_lock_is_downgrading(lock);
    if (reads && self->mode != ZKL_READ) {
        return zkl_input_refuse("mode", zkl_lock_mode_name((int)self->mode),
                                "is held for reading; zkl_lock_try_upgrade takes it for writing");
    }
    if (lock->holds == ZKL_HOLDS_MAX) {
        zkl_input_note("handle of", lock->resource, "was acquired 65,535 times without a release");
        return ZKL_ALREADY_HELD;
    }
    lock->holds++;
    self->again = lock->grants;
    zkl_call_over(&self->call);
    return ZKL_OK;
}

/* The request has the deadline: it is decided then. That may be in its first step. */
static int begin(zkl_lock_call *call) {
    acquire_call *self = (acquire_call *)call;
    zkl_lock *lock = call->lock;
    if (is_acquired_again(lock, call->owner)) {
        return acquire_again(lock, self);
    }
    ZKL_TRY(check_idle(lock));
    int64_t timeout_ms = call->timeout_ms;
    call->timeout_ms = ZKL_FOREVER;
    lock->owner = call->owner;
    lock->decided = false;
    lock->lost = false;
    lock->lost_reason = ZKL_OK;
    lock->ended = ZKL_OK;
    lock->state = LOCK_ACQUIRING;
    lock->pending = call;
    int status = start_request(lock, self->mode, timeout_ms);
    if (status != ZKL_OK) {
        lock->pending = NULL;
        lock->state = LOCK_IDLE;
        zkl_observe_not_begun(lock, status);
    }
    return status;
}

static void note_not_begun(const zkl_lock_call *call, int status) {
    zkl_observe_not_begun(call->lock, status);
}

/* ---- The end ------------------------------------------------------------------------------ */

static void begin_hold(zkl_lock *lock) {
    const zkl_request_runner *runner = lock->runner;
    lock->state = LOCK_HELD;
    lock->grants++;
    lock->holds = 1;
    lock->mode = runner->request.options.mode;
    lock->token = runner->request.own.zxid;
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
    if (lock->calls.closing) {
        return ZKL_CANCELLED;
    }
    if (lock->lost) {
        return lock->lost_reason;
    }
    bool held = lock->runner != NULL && lock->runner->request.stage == ZKL_STAGE_HELD;
    return held ? ZKL_OK : ZKL_SESSION_EXPIRED;
}

static int end_acquire(zkl_lock *lock, zkl_grant *grant) {
    lock->pending = NULL;
    zkl_lock_look_at_clock(lock);
    int status = verdict_for_caller(lock);
    if (status == ZKL_OK) {
        begin_hold(lock);
        zkl_lock_fill_grant(lock, grant);
        return status;
    }
    lock->state = LOCK_IDLE;
    if (lock->verdict == status && lock->why != NULL) {
        zkl_input_note("resource", lock->resource, "%s", lock->why);
    }
    if (lock->verdict == ZKL_OK) {
        zkl_lock_feed(lock, ZKL_EVENT_RELEASED, ZKL_OK);
    }
    zkl_lock_let_go(lock);
    return status;
}

/* The lock may be lost, released or closed before a callback's turn comes: then it was never
 * acquired once more. What it is told is of that moment, as the mode may have changed. */
static int end_acquire_again(zkl_lock *lock, uint64_t held_grant, zkl_grant *grant) {
    bool is_held = zkl_lock_is_granted(lock) && lock->grants == held_grant;
    int status = is_held ? zkl_lock_check_held(lock) : ZKL_LOST;
    if (lock->calls.closing) {
        status = lock->client->closed ? ZKL_CLOSED : ZKL_CANCELLED;
    }
    if (status == ZKL_OK) {
        zkl_lock_fill_grant(lock, grant);
        grant->waited_ms = 0;
    } else if (is_held && lock->holds > 1) {
        lock->holds--;
    }
    return status;
}

static int end(zkl_lock_call *call) {
    const acquire_call *self = (const acquire_call *)call;
    return self->again != 0 ? end_acquire_again(call->lock, self->again, &call->grant)
                            : end_acquire(call->lock, &call->grant);
}

/* ---- The two ways to wait ----------------------------------------------------------------- */

static const zkl_lock_call_kind kind = {
    .begin = begin, .end = end, .not_begun = note_not_begun, .tell = zkl_call_tell_grant
};

static int check(const zkl_lock *lock, zkl_mode mode) {
    ZKL_TRY(zkl_handle_check("lock", lock));
    return zkl_input_check_mode(mode, lock->permits);
}

int zkl_lock_acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, zkl_grant *grant) {
    ZKL_NOT_CANCELLED;
    acquire_call self = { zkl_call_of_thread(lock, &kind, __func__, timeout_ms), .mode = mode };
    ZKL_TRY(check(lock, mode));
    ZKL_TRY(zkl_lock_check_grant(grant));
    return zkl_lock_hand_over(&self.call, zkl_call_wait(&self.call, true), grant);
}

int zkl_lock_acquire_async(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, const void *owner,
                           zkl_acquire_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    acquire_call self = { zkl_call_of_callback(lock, &kind, __func__, timeout_ms, owner, arg),
                          .mode = mode };
    self.call.application.acquired = callback;
    ZKL_TRY(check(lock, mode));
    return zkl_call_start(&self.call, sizeof(self));
}

/* ---- Cancel ------------------------------------------------------------------------------- */

void zkl_lock_call_off(zkl_lock *lock) {
    if (lock->state == LOCK_ACQUIRING && !lock->decided) {
        zkl_lock_feed(lock, ZKL_EVENT_CANCELLED, ZKL_CANCELLED);
    }
}

int zkl_lock_cancel(zkl_lock *lock) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    ZKL_TRY(zkl_handle_check("lock", lock));
    int status = ZKL_OK;
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

/* ---- Searches ------------------------------------------------------------------------- */

void zkl_lock_join_search(zkl_lock *lock, const zkl_lock_search *search) {
    lock->search = search;
}

int zkl_lock_call_off_search(zkl_lock *lock, zkl_lock_search *search) {
    pthread_mutex_lock(&lock->client->mutex);
    bool is_decided = lock->state == LOCK_ACQUIRING && lock->decided && lock->verdict == ZKL_OK;
    int status = is_decided || zkl_lock_is_granted(lock) ? ZKL_NOT_WAITING : ZKL_OK;
    if (lock->client->closed) {
        status = ZKL_CLOSED;
    }
    if (status == ZKL_OK) {
        search->called_off = true;
        zkl_lock_call_off(lock);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}
