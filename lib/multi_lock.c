#include "multi_lock.h"

#include <stdlib.h>
#include <string.h>

#include "callback_queue.h"
#include "input.h"
#include "metrics.h"
#include "threads.h"

/* ---- What the requests tell, with the mutex held ------------------------------------------ */

/* Whoever waits does the rest: a request must not be fed from the telling of another. */
static void wake(zkl_multi_lock *self) {
    zkl_condition_broadcast(&self->changed);
}

static void fail(zkl_multi_lock *self, int status) {
    if (self->verdict == ZKL_OK) {
        self->verdict = status;
    }
    wake(self);
}

static void on_decided(void *arg, int status) {
    multi_member *member = arg;
    if (status == ZKL_OK) {
        member->granted = true;
        wake(member->multi_lock);
    } else {
        fail(member->multi_lock, status);
    }
}

static void on_lost(void *arg, int status) {
    multi_member *member = arg;
    zkl_multi_lock *self = member->multi_lock;
    if (self->state != MULTI_HELD) {
        fail(self, status);
    } else if (self->lost_reason == ZKL_OK) {
        self->lost_reason = status;
    }
}

static void on_ended(void *arg) {
    multi_member *member = arg;
    zkl_multi_lock *self = member->multi_lock;
    self->pending = self->pending || member->runner->session->given_up;
    member->runner = NULL;
    wake(self);
}

/* ---- An attempt --------------------------------------------------------------------------- */

static size_t watched_bytes(const zkl_multi_lock *self) {
    size_t bytes = 0;
    for (size_t i = 0; i < self->count; i++) {
        bytes += zkl_request_runner_watched_bytes(self->members[i].path, self->members[i].kind);
    }
    return bytes;
}

static int start_member(zkl_multi_lock *self, multi_member *member, zkl_session *session,
                        int64_t timeout_ms) {
    char owner_text[ZKL_OWNER_MAX + 1];
    zkl_client_write_owner(self->client, owner_text);
    zkl_run_options options = {
        .kind = member->kind,
        .group = self->group,
        .resource = member->resource,
        .parent_path = member->path,
        .timeout_ms = timeout_ms,
        .fail_on_session_expiry = true, /* all join again together, or none */
        .metrics = self->metrics,
        .owner_text = owner_text,
        .owner = { .arg = member, .decided = on_decided, .lost = on_lost, .ended = on_ended },
    };
    member->granted = false;
    return zkl_request_runner_start(session, &options, &member->runner);
}

static int start_members(zkl_multi_lock *self, zkl_session *session, int64_t timeout_ms) {
    for (size_t i = 0; i < self->count; i++) {
        int status = start_member(self, &self->members[i], session, timeout_ms);
        if (status != ZKL_OK) {
            return status;
        }
    }
    return ZKL_OK;
}

/* Those that hold give up, the others are called off. */
static void call_off(zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        multi_member *member = &self->members[i];
        zkl_event leave = { .kind = member->granted ? ZKL_EVENT_RELEASED : ZKL_EVENT_CANCELLED,
                            .status = ZKL_CANCELLED };
        if (member->runner != NULL && member->runner->request.aim == ZKL_AIM_JOIN) {
            zkl_request_runner_feed(member->runner, &leave);
        }
    }
}

/* Their nodes are deleted without us. */
void zkl_multi_lock_let_go(zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].runner != NULL) {
            zkl_request_runner_disown(self->members[i].runner);
            self->members[i].runner = NULL;
        }
    }
    zkl_create_group_drop(self->group);
    self->group = NULL;
}

static bool are_granted(const zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (!self->members[i].granted) {
            return false;
        }
    }
    return true;
}

static bool have_ended(const zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].runner != NULL) {
            return false;
        }
    }
    return true;
}

static void look_at_clock(const zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].runner != NULL) {
            zkl_liveness_check_lease(&self->members[i].runner->session->liveness);
            zkl_request_runner_check_hold(self->members[i].runner);
        }
    }
}

static bool is_called_off(const zkl_multi_lock *self) {
    return self->cancelled || self->closing || (self->called_off != NULL && *self->called_off);
}

/* Whether the application does not want it any more; ZKL_OK: it does. */
static int find_call_off(const zkl_multi_lock *self) {
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    return is_called_off(self) ? ZKL_CANCELLED : ZKL_OK;
}

/* All are granted, or one has failed. */
static int wait_for_members(zkl_multi_lock *self) {
    for (;;) {
        look_at_clock(self);
        int end = find_call_off(self);
        end = end == ZKL_OK ? self->verdict : end;
        if (end != ZKL_OK || are_granted(self)) {
            return end;
        }
        zkl_condition_wait(&self->changed, &self->client->mutex, INT64_MAX);
    }
}

static int make_attempt(zkl_multi_lock *self, int64_t timeout_ms) {
    zkl_session *session = NULL;
    self->verdict = ZKL_OK;
    int status = zkl_client_choose_session(self->client, watched_bytes(self), &session);
    if (status != ZKL_OK) {
        return status;
    }
    self->group = zkl_create_group_make(self->count);
    if (self->group == NULL) {
        return ZKL_NO_MEMORY;
    }
    status = start_members(self, session, timeout_ms);
    return status == ZKL_OK ? wait_for_members(self) : status;
}

/* ---- Acquire ------------------------------------------------------------------------------ */

static int64_t time_left(int64_t timeout_ms, int64_t began_ms) {
    if (timeout_ms == ZKL_FOREVER) {
        return ZKL_FOREVER;
    }
    int64_t left = timeout_ms - (zkl_clock_ms() - began_ms);
    return left > 0 ? left : 0;
}

/* Places that were lost, and not given up. */
static bool may_join_again(const zkl_multi_lock *self, int status) {
    return status == ZKL_NODE_DELETED || status == ZKL_LEASE_ENDED ||
           (status == ZKL_SESSION_EXPIRED && !self->fail_on_session_expiry);
}

/* Until our own nodes are gone: new ones would have to wait for them. What is left of the time is
 * never 0 with ZKL_OK, as that would make the next attempt a try. */
static int wait_until_gone(zkl_multi_lock *self, int64_t timeout_ms, int64_t began_ms,
                           int64_t *left_ms) {
    for (;;) {
        *left_ms = time_left(timeout_ms, began_ms);
        int end = find_call_off(self);
        if (end == ZKL_OK && *left_ms == 0) {
            end = ZKL_TIMEOUT;
        }
        if (end != ZKL_OK || have_ended(self)) {
            return end;
        }
        zkl_condition_wait(&self->changed, &self->client->mutex,
                           *left_ms == ZKL_FOREVER ? INT64_MAX : *left_ms);
    }
}

static int attempt_until_decided(zkl_multi_lock *self, int64_t timeout_ms) {
    int64_t began_ms = zkl_clock_ms();
    int64_t left_ms = timeout_ms;
    int status = make_attempt(self, timeout_ms);
    while (timeout_ms != 0 && may_join_again(self, status)) {
        call_off(self);
        status = wait_until_gone(self, timeout_ms, began_ms, &left_ms);
        zkl_multi_lock_let_go(self);
        if (status == ZKL_OK) {
            status = make_attempt(self, left_ms);
        }
    }
    return status;
}

static void begin_hold(zkl_multi_lock *self) {
    self->state = MULTI_HELD;
    self->token = self->members[0].runner->request.zxid;
    for (size_t i = 0; i < self->count; i++) {
        zkl_request_runner_hold_from_now(self->members[i].runner, self->max_hold_ms);
    }
}

static int check_idle(const zkl_multi_lock *self) {
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    if (self->state == MULTI_HELD) {
        return ZKL_ALREADY_HELD;
    }
    return self->state == MULTI_IDLE && !self->closing ? ZKL_OK : ZKL_HANDLE_IN_USE;
}

static int acquire(zkl_multi_lock *self, int64_t timeout_ms, zkl_multi_lock_grant *grant) {
    int status = check_idle(self);
    if (status != ZKL_OK) {
        return status;
    }
    int64_t began_ms = zkl_clock_ms();
    self->state = MULTI_ACQUIRING;
    self->cancelled = false;
    self->lost_reason = ZKL_OK;
    status = attempt_until_decided(self, timeout_ms);
    if (status != ZKL_OK) {
        call_off(self);
        zkl_multi_lock_let_go(self);
        self->state = MULTI_IDLE;
        return status;
    }
    begin_hold(self);
    if (grant != NULL) {
        grant->token = self->token;
        grant->waited_ms = zkl_clock_ms() - began_ms;
    }
    return ZKL_OK;
}

static void enter(zkl_multi_lock *self) {
    pthread_mutex_lock(&self->client->mutex);
    self->threads++;
}

static int leave(zkl_multi_lock *self, int status) {
    self->threads--;
    wake(self);
    pthread_mutex_unlock(&self->client->mutex);
    return status;
}

static int check_handle(const zkl_multi_lock *self) {
    int status = zkl_input_check_pointer("multi_lock", self);
    return status == ZKL_OK ? zkl_client_check_process(self->client) : status;
}

static int check_timeout(int64_t timeout_ms) {
    return zkl_input_check_range("timeout_ms", timeout_ms, ZKL_FOREVER, INT64_MAX,
                                 ZKL_INVALID_TIMEOUT);
}

int zkl_multi_lock_acquire(zkl_multi_lock *self, int64_t timeout_ms, zkl_multi_lock_grant *grant) {
    zkl_input_clear();
    int status = check_handle(self);
    if (status == ZKL_OK) {
        status = check_timeout(timeout_ms);
    }
    if (status == ZKL_OK && grant != NULL) {
        status =
            zkl_input_check_struct_size("zkl_multi_lock_grant", grant->struct_size, sizeof(*grant));
    }
    if (status == ZKL_OK && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    status = acquire(self, timeout_ms, grant);
    if (status == ZKL_LEASE_IMPOSSIBLE) {
        zkl_client_note_lease_impossible(self->client);
    }
    return leave(self, status);
}

void zkl_multi_lock_call_off(zkl_multi_lock *self) {
    wake(self); /* it looks at called_off */
}

int zkl_multi_lock_cancel(zkl_multi_lock *self) {
    zkl_input_clear();
    int status = check_handle(self);
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    if (self->client->closed) {
        status = ZKL_CLOSED;
    } else if (self->state != MULTI_ACQUIRING || self->cancelled) {
        status = ZKL_NOT_WAITING;
    } else {
        self->cancelled = true;
    }
    return leave(self, status);
}

/* ---- Check -------------------------------------------------------------------------------- */

static int check_held(zkl_multi_lock *self) {
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    look_at_clock(self);
    if (self->state != MULTI_HELD) {
        return ZKL_NOT_HELD;
    }
    if (self->lost_reason != ZKL_OK) {
        return ZKL_LOST;
    }
    const zkl_session *session = self->members[0].runner->session;
    bool in_touch = session->connected && !zkl_liveness_is_silent(&session->liveness);
    return in_touch ? ZKL_OK : ZKL_SUSPECT;
}

static int look(zkl_multi_lock *self, int64_t *lease_left_ms) {
    int status = check_held(self);
    *lease_left_ms = self->client->lease_tick_ms == 0 ? -1 : 0;
    bool held = status == ZKL_OK || status == ZKL_SUSPECT;
    if (held && self->client->lease_tick_ms > 0) {
        *lease_left_ms = zkl_liveness_lease_left(&self->members[0].runner->session->liveness);
        if (*lease_left_ms == 0) {
            status = check_held(self); /* it has just ended */
        }
    }
    return status;
}

int zkl_multi_lock_check(zkl_multi_lock *self, int64_t *lease_left_ms) {
    zkl_input_clear();
    int64_t left = 0;
    if (lease_left_ms != NULL) {
        *lease_left_ms = 0;
    }
    int status = check_handle(self);
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    status = look(self, &left);
    if (lease_left_ms != NULL) {
        *lease_left_ms = left;
    }
    return leave(self, status);
}

/* ---- Release ------------------------------------------------------------------------------ */

void zkl_multi_lock_release_members(zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].runner != NULL) {
            zkl_request_runner_feed(self->members[i].runner,
                                    &(zkl_event){ .kind = ZKL_EVENT_RELEASED });
        }
    }
}

static int wait_for_deletions(zkl_multi_lock *self, int64_t timeout_ms) {
    int64_t began_ms = zkl_clock_ms();
    while (!have_ended(self) && !self->closing && !self->client->closed) {
        int64_t left = time_left(timeout_ms, began_ms);
        if (left == 0) {
            return ZKL_PENDING;
        }
        zkl_condition_wait(&self->changed, &self->client->mutex,
                           left == ZKL_FOREVER ? INT64_MAX : left);
    }
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    return have_ended(self) && !self->pending ? ZKL_OK : ZKL_PENDING;
}

static int release(zkl_multi_lock *self, int64_t timeout_ms) {
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    look_at_clock(self);
    if (self->state != MULTI_HELD) {
        return self->state == MULTI_IDLE ? ZKL_NOT_HELD : ZKL_HANDLE_IN_USE;
    }
    self->state = MULTI_RELEASING;
    self->pending = false;
    zkl_multi_lock_release_members(self);
    int status = ZKL_OK;
    if (self->lost_reason != ZKL_OK) {
        status = ZKL_LOST;
    } else if (timeout_ms != 0) {
        status = wait_for_deletions(self, timeout_ms);
    }
    zkl_multi_lock_let_go(self);
    self->state = MULTI_IDLE;
    return status;
}

int zkl_multi_lock_release(zkl_multi_lock *self, int64_t timeout_ms) {
    zkl_input_clear();
    int status = check_handle(self);
    if (status == ZKL_OK) {
        status = check_timeout(timeout_ms);
    }
    if (status == ZKL_OK && timeout_ms != 0 && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    return leave(self, release(self, timeout_ms));
}
