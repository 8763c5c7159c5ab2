/*
 * An acquire, until what it was granted is given back. What becomes of it is decided in
 * recipe/set.h: what its source reports becomes events, and the actions are carried out here.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "handle/call.h"
#include "handle/lender.h"
#include "handle/loan.h"
#include "handle/lock_events.h"
#include "session/explanation.h"
#include "session/guarded_write.h"

static bool has_several(const zkl_lock *lock) {
    return lock->attempt.several != NULL;
}

static int64_t now(const zkl_lock *lock) {
    return zkl_session_now_ms(&lock->client->sessions->session);
}

/* ---- Verdicts ----------------------------------------------------------------------------- */

static void decide_attempt(zkl_lock *lock, int verdict) {
    lock->attempt.verdict = verdict;
    if (has_several(lock)) {
        zkl_timer_stop(&lock->attempt.several->turn);
    }
    zkl_call_over(lock->pending);
}

/* Grants the attempt. The members' time as holders begins with the grant of the last. */
static void grant_all(zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        zkl_request_runner_hold_from_now(lock->members[i].runner,
                                         lock->origin->options->max_hold_ms);
    }
    lock->grant.granted_ms = lock->source->granted_ms(lock);
    decide_attempt(lock, ZKL_OK);
}

/* Keeps what explains the verdict. Without memory, and with an empty explanation, the status must
 * do. */
static void keep_reason(const lock_member *member, zkl_explanation why) {
    lock_attempt *attempt = &member->lock->attempt;
    free(attempt->why);
    attempt->why = why.text[0] != '\0' ? strdup(why.text) : NULL;
    attempt->why_member = (unsigned)(member - member->lock->members);
}

/* ---- Events of what is held ------------------------------------------------------------------ */

/* Makes an event. `member`: the one that it is about; NULL: all of them. */
static zkl_lock_event make_event(zkl_lock *lock, zkl_lock_state state, const lock_member *member) {
    const lock_member *about = lock->is_set ? member : &lock->members[0];
    return (zkl_lock_event){ .struct_size = sizeof(zkl_lock_event),
                             .lock = lock,
                             .state = state,
                             .token = lock->grant.token,
                             .local_number = lock->attempt.local_number,
                             .resource = about != NULL ? about->resource : "" };
}

/* Posts an event of what is held. What happens before that is posted with the grant (post_grant).
 * All members are of one session, and only the first reports its connection. */
static void post_event(const lock_member *member, zkl_lock_state state) {
    zkl_lock *lock = member->lock;
    bool is_of_connection = state == ZKL_STATE_SUSPECT || state == ZKL_STATE_HELD;
    if (lock->state == ZKL_STATE_HELD && (!is_of_connection || member == &lock->members[0])) {
        zkl_lock_event event = make_event(lock, state, is_of_connection ? NULL : member);
        zkl_lock_events_post(&event, NULL);
    }
}

/* Posts what others want of a request that has just come to hold. */
static void post_wishes(const lock_member *member) {
    if (member->runner->holder_watch.is_revoke_requested) {
        post_event(member, ZKL_STATE_REVOKE_REQUESTED);
    }
    if (member->runner->holder_watch.is_contended &&
        member->lock->origin->options->tell_contended != 0) {
        post_event(member, ZKL_STATE_CONTENDED);
    }
}

void zkl_lock_end_calls(zkl_lock *lock, int status) {
    int end = lock->client->closed ? ZKL_CLOSED : status;
    zkl_commits_end(lock, end);
    if (lock->change.call != NULL && lock->change.held_status == ZKL_OK) {
        lock->change.held_status = end;
        zkl_call_over(lock->change.call);
    }
}

/* Marks the lock as lost before it ends the calls on it: so a verification that ends does not begin
 * anew. */
static void lose(zkl_lock *lock, const lock_member *member, int status) {
    zkl_lock_event event = make_event(lock, ZKL_STATE_LOST, member);
    lock->state = ZKL_STATE_LOST;
    lock->grant.lost_reason = status;
    zkl_lock_end_calls(lock, ZKL_LOST);
    event.reason = status;
    zkl_lock_events_post(&event, lock->events != NULL ? &lock->events->for_loss : NULL);
}

/* ---- News of the requests ----------------------------------------------------------------- */

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
        member->runner->sender.session); /* they wait until it is known which node the lock has */
}

static void note_end(zkl_lock *lock, const zkl_session *session) {
    bool is_given_up = session->finished || session->given_up;
    if (lock->client->closed && session->finished) {
        lock->grant.end_status = ZKL_CLOSED;
    } else if (is_given_up && lock->grant.end_status == ZKL_OK) {
        lock->grant.end_status = ZKL_PENDING;
    }
}

static void on_member_ended(lock_member *member) {
    zkl_lock *lock = member->lock;
    note_end(lock, member->runner->sender.session);
    member->runner = NULL;
    feed(lock, member, &(zkl_set_event){ .kind = ZKL_SET_EVENT_MEMBER_ENDED });
    if (lock->state == ZKL_STATE_RELEASING && zkl_lock_has_ended(lock)) {
        zkl_call_over(lock->pending);
    }
    zkl_lock_end_calls(lock, ZKL_NOT_HELD);
}

void zkl_lock_on_news(void *arg, zkl_request_news news, int status) {
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
        post_event(member, ZKL_STATE_SUSPECT);
        break;
    case ZKL_REQUEST_CONNECTED:
        post_event(member, ZKL_STATE_HELD);
        break;
    case ZKL_REQUEST_DOWNGRADED:
        on_downgraded(member, status);
        break;
    case ZKL_REQUEST_REVOKED:
        post_event(member, ZKL_STATE_REVOKE_REQUESTED);
        break;
    case ZKL_REQUEST_CONTENDED:
        post_event(member, ZKL_STATE_CONTENDED);
        break;
    case ZKL_REQUEST_ALONE: /* news of what is lent, which its loan takes */
    case ZKL_REQUEST_NEWCOMER:
    case ZKL_REQUEST_COUNTED:
        break;
    case ZKL_REQUEST_ENDED:
        on_member_ended(member);
        break;
    }
}

void zkl_lock_fail(zkl_lock *lock, int status) {
    feed(lock, &lock->members[0],
         &(zkl_set_event){ .kind = ZKL_SET_EVENT_MEMBER_FAILED, .status = status });
}

/* ---- What is decided of them all ------------------------------------------------------------ */

static void on_set_turn(void *arg) {
    feed(arg, NULL, &(zkl_set_event){ .kind = ZKL_SET_EVENT_TURN });
}

/* Starts the attempt at its source. What has begun is called off if not all can. */
static int start_at_source(zkl_lock *lock) {
    size_t begun = 0;
    int status = lock->source->start(lock, &begun);
    if (status != ZKL_OK) {
        zkl_lock_note_not_begun(lock, begun, status);
        feed(lock, NULL, &(zkl_set_event){ .kind = ZKL_SET_EVENT_CALLED_OFF, .status = status });
    }
    return status;
}

/* Notes the loss of the grant. The application hears only of one that it has got. */
static void note_loss(zkl_lock *lock, const lock_member *member, int status) {
    if (lock->state == ZKL_STATE_ACQUIRING) {
        lock->attempt.verdict = status;
    } else if (lock->state == ZKL_STATE_HELD) {
        lose(lock, member, status);
    }
}

static void perform_set_action(zkl_lock *lock, const lock_member *member,
                               const zkl_set_action *action) {
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
        decide_attempt(lock, action->status);
        break;
    case ZKL_SET_ACTION_LOSE:
        note_loss(lock, member, action->status);
        break;
    case ZKL_SET_ACTION_WAKE:
        zkl_timers_set(lock->attempt.session->timers, &lock->attempt.several->turn, now(lock));
        break;
    case ZKL_SET_ACTION_TIME_OUT:
        lock->source->time_out(lock);
        break;
    case ZKL_SET_ACTION_LEAVE:
        lock->source->leave(lock);
        break;
    case ZKL_SET_ACTION_LET_GO:
        zkl_lock_let_go(lock);
        break;
    case ZKL_SET_ACTION_JOIN:
        (void)start_at_source(lock);
        break;
    }
}

/* Feeds the set an event. `member`: the one that it is about; NULL: all of them. LEAVE and JOIN may
 * lead here again, because requests then report at once. */

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
        perform_set_action(lock, member, &actions.list[i]);
    }
}

/* ---- For the calls ------------------------------------------------------------------------ */

static const zkl_lock_source *source_of(const zkl_lock *lock) {
    return zkl_lender_serves(lock) ? &zkl_loan_source : &zkl_lock_requests;
}

int zkl_lock_begin_attempt(zkl_lock *lock, bool only_try) {
    lock_attempt *attempt = &lock->attempt;
    attempt->began_ms = now(lock);
    attempt->verdict = ZKL_PENDING;
    attempt->local_number = 0;
    attempt->set =
        zkl_set_begin(lock->count, only_try, lock->origin->options->fail_on_session_expiry != 0);
    if (has_several(lock)) {
        attempt->several->turn = (zkl_timer){ .fire = on_set_turn, .arg = lock };
        attempt->several->recorded = 0;
    }
    keep_reason(&lock->members[0], (zkl_explanation){ "" });
    lock->source = source_of(lock);
    return start_at_source(lock);
}

void zkl_lock_time_out(zkl_lock *lock) {
    if (zkl_lock_waits(lock)) {
        feed(lock, NULL,
             &(zkl_set_event){ .kind = ZKL_SET_EVENT_TIMED_OUT,
                               .connected = lock->attempt.session->connected });
    }
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
        if (lock->source->close != NULL) {
            lock->source->close(lock);
        }
    }
}

/* Posts the grant, if the application wants that, and what has happened before it. */
static void post_grant(zkl_lock *lock) {
    if (lock->origin->options->tell_granted != 0) {
        zkl_lock_event event = make_event(lock, ZKL_STATE_HELD, NULL);
        zkl_lock_events_post(&event, &lock->events->for_grant);
    }
    if (!lock->members[0].runner->sender.session->connected) {
        post_event(&lock->members[0], ZKL_STATE_SUSPECT);
    }
    for (size_t i = 0; i < lock->count; i++) {
        post_wishes(&lock->members[i]);
    }
}

/* Notes the mode and the token of what is held from now on. All nodes of a set are of one
 * transaction, and so have one zxid. */
static void note_grant(zkl_lock *lock) {
    const zkl_request_runner *first = lock->members[0].runner;
    lock_grant *grant = &lock->grant;
    grant->mode = lock->is_set ? ZKL_AS_OPENED : first->request.options.mode;
    grant->token = first->request.own.zxid;
    post_grant(lock);
}

void zkl_lock_begin_hold(zkl_lock *lock) {
    lock->state = ZKL_STATE_HELD;
    lock->grant.number++;
    lock->grant.holds = 1;
    lock->grant.lost_reason = ZKL_OK;
    note_grant(lock);
}

/* Changes the requests while both are held, so that nobody comes between. */
void zkl_lock_take_writer(zkl_lock *lock) {
    lock_member *member = &lock->members[0];
    zkl_request_runner *reader = member->runner;
    member->runner = lock->change.upgrade;
    lock->change.upgrade = NULL;
    member->runner->sender.options.owner =
        (zkl_request_owner){ .arg = member, .on_news = zkl_lock_on_news };
    lock->attempt.began_ms = member->runner->sender.options.began_ms;
    lock->grant.granted_ms = member->runner->sender.granted_ms;
    note_grant(lock);
    zkl_lock_dismiss(&reader);
}
