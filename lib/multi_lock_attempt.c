/* What becomes of an acquire, and of what it has obtained. Members tell of themselves while their
 * requests are fed, and then no other request may be fed: so what a failure leads to is a step that
 * the client's timer thread takes, soon. */
#include "multi_lock.h"

#include <stdlib.h>

#include "explanation.h"
#include "input.h"
#include "lock_search.h"
#include "observer.h"
#include "threads.h"

/* ---- Its timer ---------------------------------------------------------------------------- */

static void set_timer(zkl_multi_lock *self, int64_t after_ms) {
    if (after_ms != ZKL_FOREVER) {
        int64_t now_ms = zkl_session_now_ms(self->session);
        int64_t deadline_ms = after_ms < INT64_MAX - now_ms ? now_ms + after_ms : INT64_MAX - 1;
        zkl_session_set_timer(self->session, &self->timer, deadline_ms);
    }
}

/* ---- Verdicts ----------------------------------------------------------------------------- */

/* Who acquires, or releases. */
static void tell_waiter(zkl_multi_lock *self) {
    if (self->pending != NULL) {
        zkl_completion_post(self->pending);
    } else {
        zkl_condition_broadcast(&self->changed);
    }
}

static void decide(zkl_multi_lock *self, int verdict) {
    self->decided = true;
    self->verdict = verdict;
    self->decided_ms = zkl_clock_ms();
    zkl_timer_stop(&self->timer);
    tell_waiter(self);
}

static bool are_granted(const zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (!self->members[i].granted) {
            return false;
        }
    }
    return true;
}

/* Their time as holders begins with the grant of the last. */
static void grant_all(zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        zkl_request_runner_hold_from_now(self->members[i].runner, self->max_hold_ms);
    }
    decide(self, ZKL_OK);
}

static bool waits(const zkl_multi_lock *self) {
    return self->state == MULTI_ACQUIRING && !self->decided;
}

static void fail(zkl_multi_lock *self, int status) {
    if (waits(self) && self->failure == ZKL_OK) {
        self->failure = status;
        set_timer(self, 0);
    }
}

/* The member that comes first in failing is the one that is told of. */
static void keep_reason(const multi_member *member, const zkl_explanation *why) {
    zkl_multi_lock *self = member->multi_lock;
    free(self->why);
    self->why = zkl_explanation_keep(why);
    self->why_resource = member->resource;
}

/* ---- News of those that hold ---------------------------------------------------------------- */

/* `message`: NULL, it need not be told when memory is short. */
static void tell_news(const zkl_multi_lock *self, zkl_lock_message *message,
                      const zkl_lock_tidings *tidings) {
    if (self->teller != NULL) {
        zkl_lock_teller_tell(self->teller, message, tidings);
    }
}

static void tell_lost(zkl_multi_lock *self, const char *resource) {
    zkl_lock_tidings lost = { .state = ZKL_STATE_LOST,
                              .reason = self->lost_reason,
                              .token = self->token,
                              .resource = resource };
    tell_news(self, self->last_news, &lost);
    self->last_news = NULL;
}

static bool holds_all(const zkl_multi_lock *self) {
    return self->state == MULTI_HELD && self->lost_reason == ZKL_OK;
}

static void tell_connection(const zkl_multi_lock *self, bool connected) {
    zkl_lock_tidings news = { .state = connected ? ZKL_STATE_HELD : ZKL_STATE_SUSPECT,
                              .token = self->token,
                              .resource = "" };
    tell_news(self, NULL, &news);
}

static void tell_revoke_requested(const multi_member *member) {
    zkl_lock_tidings news = { .state = ZKL_STATE_REVOKE_REQUESTED,
                              .token = member->multi_lock->token,
                              .resource = member->resource };
    tell_news(member->multi_lock, NULL, &news);
}

/* ---- What the members tell, with the mutex held ------------------------------------------- */

static void on_decided(void *arg, int status) {
    multi_member *member = arg;
    zkl_multi_lock *self = member->multi_lock;
    if (status != ZKL_OK) {
        if (waits(self) && self->failure == ZKL_OK) {
            zkl_explanation why = zkl_explain_verdict(member->runner, status);
            keep_reason(member, &why);
        }
        fail(self, status);
        return;
    }
    member->granted = true;
    if (waits(self) && self->failure == ZKL_OK && are_granted(self)) {
        grant_all(self);
    }
}

/* The application hears only of a grant that it has got, and once. */
static void on_lost(void *arg, int status) {
    const multi_member *member = arg;
    zkl_multi_lock *self = member->multi_lock;
    if (waits(self)) {
        fail(self, status);
    } else if (self->lost_reason == ZKL_OK) {
        self->lost_reason = status;
        if (self->state == MULTI_HELD) {
            tell_lost(self, member->resource);
        }
    }
}

/* All are of one session. */
static void on_connection(void *arg, bool connected) {
    const multi_member *member = arg;
    const zkl_multi_lock *self = member->multi_lock;
    if (member == &self->members[0] && holds_all(self)) {
        tell_connection(self, connected);
    }
}

static void on_revoke_requested(void *arg) {
    const multi_member *member = arg;
    if (holds_all(member->multi_lock)) {
        tell_revoke_requested(member); /* else it is told when they are: see begin_hold */
    }
}

static void note_end(zkl_multi_lock *self, const zkl_session *session) {
    if (session->finished) {
        self->ended = ZKL_CLOSED;
    } else if (session->given_up && self->ended == ZKL_OK) {
        self->ended = ZKL_PENDING;
    }
}

static void on_ended(void *arg) {
    multi_member *member = arg;
    zkl_multi_lock *self = member->multi_lock;
    note_end(self, member->runner->session);
    member->runner = NULL;
    if (waits(self) && self->leaves) {
        set_timer(self, 0);
    } else if (self->state == MULTI_RELEASING && zkl_multi_lock_has_ended(self)) {
        zkl_timer_stop(&self->timer);
        tell_waiter(self);
    }
}

/* ---- An attempt --------------------------------------------------------------------------- */

static size_t watched_bytes(const zkl_multi_lock *self) {
    size_t bytes = 0;
    for (size_t i = 0; i < self->count; i++) {
        bytes += zkl_request_runner_watched_bytes(self->members[i].path, self->members[i].kind);
    }
    return bytes;
}

static int start_member(zkl_multi_lock *self, multi_member *member, int64_t timeout_ms) {
    zkl_run_options options = {
        .kind = member->kind,
        .group = self->group,
        .resource = member->resource,
        .parent_path = member->path,
        .timeout_ms = timeout_ms,
        .fail_on_session_expiry = true, /* all join again together, or none */
        .metrics = self->metrics,
        .owner_text = self->owner_text,
        .owner = { .arg = member,
                   .decided = on_decided,
                   .lost = on_lost,
                   .connection = on_connection,
                   .ended = on_ended,
                   .revoke_requested = on_revoke_requested },
    };
    return zkl_request_runner_start(self->session, &options, &member->runner);
}

/* How many have begun, and so are counted, is told also where one could not. */
static int start_members(zkl_multi_lock *self, int64_t timeout_ms, size_t *begun) {
    for (; *begun < self->count; (*begun)++) {
        int status = start_member(self, &self->members[*begun], timeout_ms);
        if (status != ZKL_OK) {
            return status;
        }
    }
    return ZKL_OK;
}

void zkl_multi_lock_note_not_begun(const zkl_multi_lock *self, size_t begun, int status) {
    for (size_t i = begun; i < self->count; i++) {
        zkl_observe_member_not_begun(self->client, self->metrics, self->members[i].resource,
                                     status);
    }
}

/* The news of a loss must not fail for want of memory. */
static int prepare_news(zkl_multi_lock *self) {
    return self->teller != NULL ? zkl_lock_message_prepare(&self->last_news) : ZKL_OK;
}

static void begin_attempt(zkl_multi_lock *self) {
    self->failure = ZKL_OK;
    free(self->why);
    self->why = NULL;
    self->leaves = false;
    for (size_t i = 0; i < self->count; i++) {
        self->members[i].granted = false;
    }
}

static int make_attempt(zkl_multi_lock *self, int64_t timeout_ms) {
    size_t begun = 0;
    begin_attempt(self);
    int status = prepare_news(self);
    if (status == ZKL_OK) {
        status = zkl_client_choose_session(self->client, watched_bytes(self), &self->session);
    }
    if (status == ZKL_OK) {
        self->group = zkl_create_group_make(self->count);
        status = self->group != NULL ? ZKL_OK : ZKL_NO_MEMORY;
    }
    if (status == ZKL_OK) {
        status = start_members(self, timeout_ms, &begun);
    }
    if (status != ZKL_OK) {
        zkl_multi_lock_note_not_begun(self, begun, status);
    }
    return status;
}

/* Those that hold give up, the others are called off. */
static void call_off(zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        multi_member *member = &self->members[i];
        zkl_event leave = { .kind = member->granted ? ZKL_EVENT_RELEASED : ZKL_EVENT_CANCELLED,
                            .status = ZKL_CANCELLED };
        if (member->runner != NULL && member->runner->request.stage < ZKL_STAGE_LEAVING) {
            zkl_request_runner_feed(member->runner, &leave);
        }
    }
}

/* Their nodes are deleted without us. */
static void let_go(zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].runner != NULL) {
            zkl_request_runner_disown(self->members[i].runner);
            self->members[i].runner = NULL;
        }
    }
    zkl_create_group_drop(self->group);
    self->group = NULL;
}

bool zkl_multi_lock_has_ended(const zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].runner != NULL) {
            return false;
        }
    }
    return true;
}

/* ---- Steps: not while a member tells of itself -------------------------------------------- */

static void give_up(zkl_multi_lock *self, int verdict) {
    decide(self, verdict);
    call_off(self);
    let_go(self);
}

static int64_t time_left(const zkl_multi_lock *self) {
    if (self->timeout_ms == ZKL_FOREVER) {
        return ZKL_FOREVER;
    }
    int64_t left = self->timeout_ms - (zkl_clock_ms() - self->began_ms);
    return left > 0 ? left : 0;
}

/* Places that were lost, and not given up. */
static bool may_join_again(const zkl_multi_lock *self) {
    return self->timeout_ms != 0 &&
           (self->failure == ZKL_NODE_DELETED || self->failure == ZKL_LEASE_ENDED ||
            (self->failure == ZKL_SESSION_EXPIRED && !self->fail_on_session_expiry));
}

static void give_up_late(zkl_multi_lock *self) {
    bool connected = self->session->connected;
    zkl_explanation why = { "its place in the queue was lost, and there was no time for another" };
    if (!connected) {
        why = zkl_explain_connection(self->session);
    }
    keep_reason(&self->members[0], &why);
    give_up(self, connected ? ZKL_TIMEOUT : ZKL_DISCONNECTED);
}

/* Not before our own nodes are gone: new ones would have to wait for them. What is left of the time
 * is never 0 then, as that would make the next attempt a try. */
static void join_again(zkl_multi_lock *self) {
    int64_t left_ms = time_left(self);
    if (left_ms == 0) {
        give_up_late(self);
    } else if (!zkl_multi_lock_has_ended(self)) {
        set_timer(self, left_ms);
    } else {
        let_go(self);
        int status = make_attempt(self, left_ms);
        if (status != ZKL_OK) {
            give_up(self, status);
        }
    }
}

static void take_step(zkl_multi_lock *self) {
    if (self->leaves) {
        join_again(self);
    } else if (may_join_again(self)) {
        self->leaves = true;
        call_off(self);
        join_again(self);
    } else if (self->failure != ZKL_OK) {
        give_up(self, self->failure);
    }
}

static void on_timer(void *arg) {
    zkl_multi_lock *self = arg;
    if (waits(self)) {
        take_step(self);
    } else {
        tell_waiter(self); /* its release has taken long enough */
    }
}

void zkl_multi_lock_look_at_clock(const zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].runner != NULL) {
            zkl_liveness_check_lease(&self->members[i].runner->session->liveness);
            zkl_request_runner_check_hold(self->members[i].runner);
        }
    }
}

/* ---- Acquire ------------------------------------------------------------------------------ */

int zkl_multi_lock_check_idle(const zkl_multi_lock *self) {
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    if (self->search != NULL && self->search->called_off) {
        return ZKL_CANCELLED;
    }
    if (self->state == MULTI_HELD) {
        return ZKL_ALREADY_HELD;
    }
    return self->state == MULTI_IDLE && !self->closing ? ZKL_OK : ZKL_HANDLE_IN_USE;
}

static void write_owner(zkl_multi_lock *self, bool by_thread) {
    if (self->has_owner) {
        return;
    }
    if (by_thread) {
        zkl_client_write_owner(self->client, self->owner_text);
    } else {
        zkl_client_write_handle(self->client, self->id, self->owner_text);
    }
}

int zkl_multi_lock_begin_acquire(zkl_multi_lock *self, int64_t timeout_ms, bool by_thread) {
    write_owner(self, by_thread);
    self->timer = (zkl_timer){ .fire = on_timer, .arg = self };
    self->state = MULTI_ACQUIRING;
    self->timeout_ms = timeout_ms;
    self->began_ms = zkl_clock_ms();
    self->decided = false;
    self->lost_reason = ZKL_OK;
    int status = make_attempt(self, timeout_ms);
    if (status != ZKL_OK) {
        self->decided = true; /* what its members tell now is of no account */
        zkl_timer_stop(&self->timer);
        call_off(self);
        let_go(self);
        self->state = MULTI_IDLE;
    }
    return status;
}

static bool all_hold(const zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        const zkl_request_runner *runner = self->members[i].runner;
        if (runner == NULL || runner->request.stage != ZKL_STAGE_HELD) {
            return false;
        }
    }
    return true;
}

/* What was granted, but lost or given back before the caller was told, was never held for it. */
static int verdict_for_caller(const zkl_multi_lock *self) {
    if (self->verdict != ZKL_OK) {
        return self->verdict;
    }
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    if (self->closing) {
        return ZKL_CANCELLED;
    }
    if (self->lost_reason != ZKL_OK) {
        return self->lost_reason;
    }
    return all_hold(self) ? ZKL_OK : ZKL_SESSION_EXPIRED;
}

static void begin_hold(zkl_multi_lock *self) {
    const zkl_request_runner *first = self->members[0].runner;
    self->state = MULTI_HELD;
    self->token = first->request.own.zxid;
    if (!first->session->connected) {
        tell_connection(self, false);
    }
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].runner->revoke_requested) {
            tell_revoke_requested(&self->members[i]);
        }
    }
}

int zkl_multi_lock_end_acquire(zkl_multi_lock *self, zkl_multi_lock_grant *grant) {
    zkl_multi_lock_look_at_clock(self);
    int status = verdict_for_caller(self);
    if (status != ZKL_OK) {
        if (self->verdict == status && self->why != NULL) {
            zkl_input_note("resource", self->why_resource, "%s", self->why);
        }
        self->state = MULTI_IDLE;
        call_off(self);
        let_go(self);
        return status;
    }
    begin_hold(self);
    if (grant != NULL) {
        grant->token = self->token;
        grant->waited_ms = self->decided_ms - self->began_ms;
    }
    return ZKL_OK;
}

void zkl_multi_lock_call_off(zkl_multi_lock *self) {
    if (waits(self)) {
        give_up(self, ZKL_CANCELLED);
    }
}

/* Their requests are about to be sent away. */
void zkl_multi_locks_client_closes(zkl_multi_lock *all) {
    for (zkl_multi_lock *self = all; self != NULL; self = self->next) {
        if (waits(self)) {
            decide(self, ZKL_CLOSED);
        }
    }
}

/* ---- Release ------------------------------------------------------------------------------ */

static void release_members(zkl_multi_lock *self) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].runner != NULL) {
            zkl_request_runner_feed(self->members[i].runner,
                                    &(zkl_event){ .kind = ZKL_EVENT_RELEASED });
        }
    }
}

int zkl_multi_lock_begin_release(zkl_multi_lock *self, bool *goes_on) {
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    zkl_multi_lock_look_at_clock(self);
    if (self->state != MULTI_HELD) {
        return self->state == MULTI_IDLE ? ZKL_NOT_HELD : ZKL_HANDLE_IN_USE;
    }
    self->state = MULTI_RELEASING;
    self->ended = ZKL_OK;
    release_members(self);
    if (self->lost_reason != ZKL_OK) {
        (void)zkl_multi_lock_end_release(self);
        return ZKL_LOST;
    }
    *goes_on = true;
    return ZKL_OK;
}

void zkl_multi_lock_leave_all(zkl_multi_lock *self) {
    if (self->state == MULTI_HELD) {
        release_members(self);
    }
    let_go(self);
    self->state = MULTI_IDLE; /* a callback that is just running may still look */
}

void zkl_multi_lock_limit_release(zkl_multi_lock *self, int64_t timeout_ms) {
    for (size_t i = 0; i < self->count; i++) {
        if (self->members[i].runner != NULL) {
            set_timer(self, timeout_ms);
            return;
        }
    }
    tell_waiter(self);
}

int zkl_multi_lock_end_release(zkl_multi_lock *self) {
    int status = zkl_multi_lock_has_ended(self) ? self->ended : ZKL_PENDING;
    zkl_timer_stop(&self->timer);
    let_go(self);
    self->state = MULTI_IDLE;
    return status;
}

/* ---- Searches ------------------------------------------------------------------------- */

void zkl_multi_lock_join_search(zkl_multi_lock *self, const zkl_lock_search *search) {
    self->search = search;
}

int zkl_multi_lock_call_off_search(zkl_multi_lock *self, zkl_lock_search *search) {
    pthread_mutex_lock(&self->client->mutex);
    bool is_decided = self->state == MULTI_ACQUIRING && self->decided && self->verdict == ZKL_OK;
    int status = is_decided || self->state == MULTI_HELD ? ZKL_NOT_WAITING : ZKL_OK;
    if (self->client->closed) {
        status = ZKL_CLOSED;
    }
    if (status == ZKL_OK) {
        search->called_off = true;
        zkl_multi_lock_call_off(self);
    }
    pthread_mutex_unlock(&self->client->mutex);
    return status;
}

int zkl_multi_lock_may_acquire(const zkl_multi_lock *self) {
    pthread_mutex_lock(&self->client->mutex);
    int status = zkl_multi_lock_check_idle(self);
    pthread_mutex_unlock(&self->client->mutex);
    return status == ZKL_CANCELLED ? ZKL_OK : status;
}
