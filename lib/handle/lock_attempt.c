/*
 * The requests of a handle: one for each of its resources. What becomes of them is decided in
 * recipe/set.h: what they tell are its events, and its actions are carried out here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "handle/call.h"
#include "handle/lender.h"
#include "handle/lock_events.h"
#include "handle/lock_search.h"
#include "session/explanation.h"
#include "session/guarded_write.h"

static bool has_several(const zkl_lock *lock) {
    return lock->attempt.several != NULL;
}

static int64_t now(const zkl_lock *lock) {
    return zkl_session_now_ms(&lock->client->sessions->session);
}

/* ---- Verdicts ----------------------------------------------------------------------------- */

/* Of a set's next turn, or of the deadline for what is lent; NULL: it needs none. */
static zkl_timer *timer_of(zkl_lock *lock) {
    if (has_several(lock)) {
        return &lock->attempt.several->turn;
    }
    return lock->borrower != NULL ? &lock->borrower->deadline : NULL;
}

static void decide(zkl_lock *lock, int verdict) {
    lock->attempt.verdict = verdict;
    if (timer_of(lock) != NULL) {
        zkl_timer_stop(timer_of(lock));
    }
    zkl_call_over(lock->pending);
}

/* Their time as holders begins with the grant of the last. */
static void grant_all(zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        zkl_request_runner_hold_from_now(lock->members[i].runner,
                                         lock->origin->options->max_hold_ms);
    }
    decide(lock, ZKL_OK);
}

/* Without memory, and with an empty explanation, the status must do. */
static void keep_reason(const lock_member *member, zkl_explanation why) {
    lock_attempt *attempt = &member->lock->attempt;
    free(attempt->why);
    attempt->why = why.text[0] != '\0' ? strdup(why.text) : NULL;
    attempt->why_member = (unsigned)(member - member->lock->members);
}

/* ---- What is told of what is held ----------------------------------------------------------- */

/* `member`: NULL, it is about all. */
static zkl_lock_event make_event(zkl_lock *lock, zkl_lock_state state, const lock_member *member) {
    const lock_member *about = lock->is_set ? member : &lock->members[0];
    return (zkl_lock_event){ .struct_size = sizeof(zkl_lock_event),
                             .lock = lock,
                             .state = state,
                             .token = lock->grant.token,
                             .local_number = zkl_lock_local_number(lock),
                             .resource = about != NULL ? about->resource : "" };
}

/* What is not held yet is told when it is: see tell_grant. All are of one session, whose connection
 * is told once. */
static void tell(const lock_member *member, zkl_lock_state state) {
    zkl_lock *lock = member->lock;
    bool is_of_connection = state == ZKL_STATE_SUSPECT || state == ZKL_STATE_HELD;
    if (lock->state == ZKL_STATE_HELD && (!is_of_connection || member == &lock->members[0])) {
        zkl_lock_event event = make_event(lock, state, is_of_connection ? NULL : member);
        zkl_lock_events_tell(&event, NULL);
    }
}

/* Of a request that has just come to hold: what others want of it. */
static void tell_wishes(const lock_member *member) {
    if (member->runner->holder_watch.is_revoke_requested) {
        tell(member, ZKL_STATE_REVOKE_REQUESTED);
    }
    if (member->runner->holder_watch.is_contended &&
        member->lock->origin->options->tell_contended != 0) {
        tell(member, ZKL_STATE_CONTENDED);
    }
}

void zkl_lock_end_calls(zkl_lock *lock, int status) {
    int end = lock->client->closed ? ZKL_CLOSED : status;
    zkl_commits_end(lock, end);
    if (lock->change.call != NULL && lock->change.end == ZKL_OK) {
        lock->change.end = end;
        zkl_call_over(lock->change.call);
    }
}

/* Before a verification can begin anew it is lost. */
static void lose(zkl_lock *lock, const lock_member *member, int status) {
    zkl_lock_event event = make_event(lock, ZKL_STATE_LOST, member);
    lock->state = ZKL_STATE_LOST;
    lock->grant.lost_reason = status;
    zkl_lock_end_calls(lock, ZKL_LOST);
    event.reason = status;
    zkl_lock_events_tell(&event, lock->events != NULL ? &lock->events->for_loss : NULL);
}

/* ---- What the requests tell --------------------------------------------------------------- */

static void feed(zkl_lock *lock, const lock_member *member, const zkl_set_event *event);

static void on_decided(const lock_member *member, int status) {
    zkl_lock *lock = member->lock;
    if (status != ZKL_OK && lock->attempt.set.stage == ZKL_SET_STAGE_WAITING) {
        keep_reason(member, zkl_explain_verdict(&member->runner->sender, status));
    }
    zkl_set_event_kind kind =
        status == ZKL_OK ? ZKL_SET_EVENT_MEMBER_GRANTED : ZKL_SET_EVENT_MEMBER_FAILED;
    feed(lock, member, &(zkl_set_event){ .kind = kind, .status = status });
}

static void on_downgraded(const lock_member *member, int status) {
    zkl_lock *lock = member->lock;
    if (status == ZKL_OK) {
        lock->grant.mode = ZKL_READ;
    }
    lock->change.verdict = status;
    zkl_call_over(lock->change.call);
    zkl_guarded_writes_review(
        member->runner->sender.session); /* they wait to know which node it has */
}

static void note_end(zkl_lock *lock, const zkl_session *session) {
    bool is_given_up = session->finished || session->given_up;
    if (lock->client->closed && session->finished) {
        lock->grant.ended = ZKL_CLOSED;
    } else if (is_given_up && lock->grant.ended == ZKL_OK) {
        lock->grant.ended = ZKL_PENDING;
    }
}

static void on_ended(lock_member *member) {
    zkl_lock *lock = member->lock;
    note_end(lock, member->runner->sender.session);
    member->runner = NULL;
    feed(lock, member, &(zkl_set_event){ .kind = ZKL_SET_EVENT_MEMBER_ENDED });
    if (lock->state == ZKL_STATE_RELEASING && zkl_lock_has_ended(lock)) {
        zkl_call_over(lock->pending);
    }
    zkl_lock_end_calls(lock, ZKL_NOT_HELD);
}

static void on_news(void *arg, zkl_request_news news, int status) {
    lock_member *member = arg;
    switch (news) {
    case ZKL_REQUEST_DECIDED:
        on_decided(member, status);
        break;
    case ZKL_REQUEST_LOST:
        feed(member->lock, member,
             &(zkl_set_event){ .kind = ZKL_SET_EVENT_MEMBER_LOST, .status = status });
        break;
    case ZKL_REQUEST_DISCONNECTED:
        tell(member, ZKL_STATE_SUSPECT);
        break;
    case ZKL_REQUEST_CONNECTED:
        tell(member, ZKL_STATE_HELD);
        break;
    case ZKL_REQUEST_DOWNGRADED:
        on_downgraded(member, status);
        break;
    case ZKL_REQUEST_REVOKED:
        tell(member, ZKL_STATE_REVOKE_REQUESTED);
        break;
    case ZKL_REQUEST_CONTENDED:
        tell(member, ZKL_STATE_CONTENDED);
        break;
    case ZKL_REQUEST_ALONE: /* what is lent, and so not told to a handle */
    case ZKL_REQUEST_NEWCOMER:
    case ZKL_REQUEST_COUNTED:
        break;
    case ZKL_REQUEST_ENDED:
        on_ended(member);
        break;
    }
}

void zkl_lock_take_news(zkl_lock *lock, zkl_request_news news, int status) {
    on_news(&lock->members[0], news, status);
}

void zkl_lock_fail(zkl_lock *lock, int status) {
    feed(lock, &lock->members[0],
         &(zkl_set_event){ .kind = ZKL_SET_EVENT_MEMBER_FAILED, .status = status });
}

/* ---- An attempt --------------------------------------------------------------------------- */

static size_t watched_bytes(const zkl_lock *lock) {
    size_t bytes = 0;
    for (size_t i = 0; i < lock->count; i++) {
        const lock_member *member = &lock->members[i];
        bytes += zkl_request_runner_watched_bytes(member->path, member->permits,
                                                  lock->origin->options->tell_contended != 0);
    }
    return bytes;
}

int zkl_lock_start_request(const lock_member *member, zkl_session *session,
                           const zkl_run_start *start, zkl_run_options *options,
                           zkl_request_runner **runner) {
    const zkl_lock *lock = member->lock;
    options->origin = lock->origin;
    options->resource = member->resource;
    options->parent_path = member->path;
    options->thread = lock->grant.owner.thread;
    return zkl_request_runner_start(session, start, options, runner);
}

/* Those of a set join again together, or none does. */
static int start_member(zkl_lock *lock, lock_member *member, int64_t timeout_ms) {
    bool is_bounded_try = timeout_ms == 0 && lock->search != NULL;
    const zkl_lock_options *given = lock->origin->options;
    const zkl_run_start start = {
        .request = { .mode = member->mode,
                     .permits = member->permits,
                     .max_waiting = (unsigned)given->max_waiting,
                     .only_try = timeout_ms == 0,
                     .fail_on_session_expiry =
                         has_several(lock) || given->fail_on_session_expiry != 0 },
        .timeout_ms = is_bounded_try ? lock->search->try_within_ms : timeout_ms,
    };
    zkl_run_options options = {
        .group = has_several(lock) ? lock->attempt.several->group : NULL,
        .began_ms = lock->attempt.began_ms,
        .owner = { .arg = member, .on_news = on_news },
    };
    return zkl_lock_start_request(member, lock->attempt.session, &start, &options, &member->runner);
}

/* How many have begun, and so are counted, is told also where one could not. */
static int start(zkl_lock *lock, int64_t timeout_ms, size_t *begun) {
    ZKL_TRY(zkl_lock_events_prepare(lock));
    ZKL_TRY(zkl_client_choose_session(lock->client, watched_bytes(lock), &lock->attempt.session));
    if (has_several(lock)) {
        lock->attempt.several->group = zkl_create_group_make(lock->count);
        ZKL_TRY(zkl_made(lock->attempt.several->group));
    }
    for (; *begun < lock->count; (*begun)++) {
        ZKL_TRY(start_member(lock, &lock->members[*begun], timeout_ms));
    }
    return ZKL_OK;
}

static int borrow(zkl_lock *lock) {
    ZKL_TRY(zkl_lock_events_prepare(lock));
    return zkl_lender_ask(lock);
}

static int make_requests(zkl_lock *lock, int64_t timeout_ms) {
    size_t begun = 0;
    int status = zkl_lender_serves(lock) ? borrow(lock) : start(lock, timeout_ms, &begun);
    if (status != ZKL_OK) {
        zkl_lock_note_not_begun(lock, begun, status);
        feed(lock, NULL, &(zkl_set_event){ .kind = ZKL_SET_EVENT_CALLED_OFF, .status = status });
    }
    return status;
}

void zkl_lock_leave_queues(zkl_lock *lock) {
    if (zkl_lock_borrows(lock)) {
        zkl_loan_leave(lock);
        return;
    }
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->members[i].runner != NULL) {
            zkl_request_runner_leave(lock->members[i].runner, ZKL_CANCELLED);
        }
    }
}

void zkl_lock_dismiss(zkl_request_runner **runner) {
    zkl_request_runner *leaving = *runner;
    *runner = NULL;
    if (leaving != NULL) {
        zkl_request_runner_disown(leaving);
        zkl_request_runner_leave(leaving, ZKL_CANCELLED);
    }
}

void zkl_lock_let_go(zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->members[i].runner != NULL) {
            zkl_request_runner_disown(lock->members[i].runner);
            lock->members[i].runner = NULL;
        }
    }
    if (has_several(lock)) {
        zkl_create_group_drop(lock->attempt.several->group);
        lock->attempt.several->group = NULL;
    }
}

/* ---- What is decided of them all ------------------------------------------------------------ */

static int64_t time_left(const zkl_lock *lock) {
    const lock_attempt *attempt = &lock->attempt;
    if (attempt->timeout_ms == ZKL_FOREVER) {
        return ZKL_FOREVER;
    }
    int64_t left = attempt->timeout_ms - (now(lock) - attempt->began_ms);
    return left > 0 ? left : 0;
}

static void on_timer(void *arg) {
    zkl_lock *lock = arg;
    feed(lock, NULL,
         &(zkl_set_event){ .kind = ZKL_SET_EVENT_TURN,
                           .left_ms = time_left(lock),
                           .connected = lock->attempt.session->connected });
}

/* The application hears only of the loss of a grant that it has got. */
static void tell_loss(zkl_lock *lock, const lock_member *member, int status) {
    if (lock->state == ZKL_STATE_ACQUIRING) {
        lock->attempt.verdict = status;
    } else if (lock->state == ZKL_STATE_HELD) {
        lose(lock, member, status);
    }
}

static void perform(zkl_lock *lock, const lock_member *member, const zkl_set_action *action) {
    switch (action->kind) {
    case ZKL_SET_ACTION_GRANT:
        grant_all(lock);
        break;
    case ZKL_SET_ACTION_FAIL:
        if (action->late) {
            keep_reason(&lock->members[0],
                        zkl_explain_connection(
                            lock->attempt.session,
                            "its place in the queue was lost, and there was no time for another"));
        }
        decide(lock, action->status);
        break;
    case ZKL_SET_ACTION_LOSE:
        tell_loss(lock, member, action->status);
        break;
    case ZKL_SET_ACTION_WAKE:
        zkl_timers_set(lock->attempt.session->timers, timer_of(lock), now(lock));
        break;
    case ZKL_SET_ACTION_WAIT:
        zkl_session_set_timer(lock->attempt.session, timer_of(lock), action->left_ms);
        break;
    case ZKL_SET_ACTION_LEAVE:
        zkl_lock_leave_queues(lock);
        break;
    case ZKL_SET_ACTION_LET_GO:
        zkl_lock_let_go(lock);
        break;
    case ZKL_SET_ACTION_JOIN:
        (void)make_requests(lock, action->left_ms);
        break;
    }
}

/* `member`: the one that the event is about; NULL: all of them. LEAVE and JOIN may lead here again,
 * as requests then tell of themselves at once. */
static void feed(zkl_lock *lock, const lock_member *member, const zkl_set_event *event) {
    lock_attempt *attempt = &lock->attempt;
    zkl_set before = attempt->set;
    zkl_set_actions actions;
    zkl_set_step(&attempt->set, event, &actions);
    if (has_several(lock)) {
        zkl_recorder_add_set_step(lock->client->recorder, &attempt->several->recorded, now(lock),
                                  &before, event, &actions);
    }
    for (size_t i = 0; i < actions.count; i++) {
        perform(lock, member, &actions.list[i]);
    }
}

/* ---- For the calls ------------------------------------------------------------------------ */

int zkl_lock_begin_attempt(zkl_lock *lock, int64_t timeout_ms) {
    lock_attempt *attempt = &lock->attempt;
    attempt->timeout_ms = timeout_ms;
    attempt->began_ms = now(lock);
    attempt->verdict = ZKL_PENDING;
    if (timer_of(lock) != NULL) {
        *timer_of(lock) = (zkl_timer){ .fire = on_timer, .arg = lock };
    }
    attempt->set = zkl_set_begin(lock->count, timeout_ms == 0,
                                 lock->origin->options->fail_on_session_expiry != 0);
    if (has_several(lock)) {
        attempt->several->recorded = 0;
    }
    if (lock->borrower != NULL) {
        lock->borrower->number = 0;
    }
    keep_reason(&lock->members[0], (zkl_explanation){ "" });
    return make_requests(lock, timeout_ms);
}

void zkl_lock_call_off(zkl_lock *lock) {
    if (zkl_lock_waits(lock)) {
        feed(lock, NULL,
             &(zkl_set_event){ .kind = ZKL_SET_EVENT_CALLED_OFF, .status = ZKL_CANCELLED });
    }
}

void zkl_lock_client_closes(zkl_close_listener *listener) {
    zkl_lock *lock = (zkl_lock *)((char *)listener - offsetof(zkl_lock, close_listener));
    if (zkl_lock_waits(lock)) {
        feed(lock, NULL, &(zkl_set_event){ .kind = ZKL_SET_EVENT_CLIENT_CLOSES });
        if (zkl_lock_borrows(lock)) {
            zkl_loan_leave(lock);
        }
    }
}

/* And what has come before it. */
static void tell_grant(zkl_lock *lock) {
    if (lock->origin->options->tell_granted != 0) {
        zkl_lock_event event = make_event(lock, ZKL_STATE_HELD, NULL);
        zkl_lock_events_tell(&event, &lock->events->for_grant);
    }
    if (!lock->members[0].runner->sender.session->connected) {
        tell(&lock->members[0], ZKL_STATE_SUSPECT);
    }
    for (size_t i = 0; i < lock->count; i++) {
        tell_wishes(&lock->members[i]);
    }
}

/* All nodes of a set are of one transaction, and so have one zxid. */
static void note_grant(zkl_lock *lock) {
    const zkl_request_runner *first = lock->members[0].runner;
    lock_grant *grant = &lock->grant;
    grant->mode = lock->is_set ? ZKL_AS_OPENED : first->request.options.mode;
    grant->token = first->request.own.zxid;
    grant->granted_ms = first->sender.granted_ms;
    grant->waited_ms = grant->granted_ms - first->sender.options.began_ms;
    if (zkl_lock_borrows(lock)) {
        grant->granted_ms = lock->borrower->granted_ms;
        grant->waited_ms = grant->granted_ms - lock->attempt.began_ms;
    }
    tell_grant(lock);
}

void zkl_lock_begin_hold(zkl_lock *lock) {
    lock->state = ZKL_STATE_HELD;
    lock->grant.number++;
    lock->grant.holds = 1;
    lock->grant.lost_reason = ZKL_OK;
    note_grant(lock);
}

/* Both are held just now, so that nobody comes between. */
void zkl_lock_take_writer(zkl_lock *lock) {
    lock_member *member = &lock->members[0];
    zkl_request_runner *reader = member->runner;
    member->runner = lock->change.upgrade;
    lock->change.upgrade = NULL;
    member->runner->sender.options.owner = (zkl_request_owner){ .arg = member, .on_news = on_news };
    note_grant(lock);
    zkl_lock_dismiss(&reader);
}
