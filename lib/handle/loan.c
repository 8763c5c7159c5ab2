#include "handle/loan.h"

#include <stdlib.h>

#include <utlist.h>

#include "base/error_message.h"
#include "client/client.h"
#include "handle/lender.h"
#include "handle/lock_events.h"
#include "recipe/lending.h"
#include "recipe/request.h"
#include "session/explanation.h"

/* ---- Loans, and who takes part in them ------------------------------------------------------ */

int64_t zkl_loan_now(const zkl_loan *loan) {
    return zkl_session_now_ms(loan->session);
}

static zkl_loan **joined(const zkl_loan *loan) {
    return &loan->lender->joined[loan->mode];
}

static void unlist(const zkl_loan *loan) {
    zkl_lender_unlist(loan->lender, loan->mode, loan);
}

/* Frees the loan if nothing needs it: so this is the last thing that a function does with it. */
void zkl_loan_let_go(zkl_loan *loan) {
    loan->in_use--;
    bool is_needed = loan->in_use > 0 || loan->runner != NULL || loan->waiters != NULL ||
                     loan->holders != NULL || loan->lending.writes > 0;
    if (!is_needed) {
        unlist(loan);
        zkl_timer_stop(&loan->turn);
        zkl_lender_drop(loan->lender);
        free(loan);
    }
}

static int32_t priority_of(const zkl_lock *lock) {
    return lock->origin->options->lending->priority;
}

void zkl_loan_enter(zkl_loan *loan, zkl_lock *lock) {
    zkl_borrower *behind = loan->waiters;
    while (behind != NULL && priority_of(behind->lock) >= priority_of(lock)) {
        behind = behind->next;
    }
    DL_PREPEND_ELEM(loan->waiters, behind, lock->borrower); /* NULL: at the end */
    lock->borrower->loan = loan;
    lock->borrower->holds = false;
    lock->attempt.session = loan->session;
    lock->members[0].runner = loan->runner;
}

void zkl_loan_leave(zkl_lock *lock) {
    zkl_borrower *borrower = lock->borrower;
    zkl_loan *loan = borrower->loan;
    if (borrower->holds) {
        DL_DELETE(loan->holders, borrower);
    } else {
        DL_DELETE(loan->waiters, borrower);
    }
    borrower->loan = NULL;
    lock->members[0].runner = NULL;
}

/* Describes the handle and not the request: what is counted and logged is what becomes of each
 * handle. */
zkl_request_facts zkl_loan_facts(const zkl_lock *lock) {
    zkl_request_facts facts = zkl_lock_facts(&lock->members[0], lock->borrower->holds);
    facts.record.lock_owner = ""; /* what is lent names nobody */
    return facts;
}

/* ---- What the recipe wants ------------------------------------------------------------------ */

static void lend(zkl_loan *loan, const zkl_lending_action *action) {
    for (unsigned i = 0; i < action->count; i++) {
        zkl_borrower *borrower = loan->waiters;
        DL_DELETE(loan->waiters, borrower);
        DL_APPEND(loan->holders, borrower);
        borrower->holds = true;
        borrower->lock->attempt.local_number = action->number + i;
        zkl_lock_on_news(&borrower->lock->members[0], ZKL_REQUEST_DECIDED, ZKL_OK);
        zkl_telemetry_decided(zkl_loan_facts(borrower->lock), ZKL_OK, "");
    }
}

/* Sends the waiters to another loan. Not when the client is closed: then their acquires have ended,
 * and they leave by themselves. */
static void move_waiters(zkl_loan *loan) {
    while (loan->waiters != NULL && !loan->lender->client->closed) {
        zkl_lock *lock = loan->waiters->lock;
        zkl_loan_leave(lock);
        zkl_loan_feed_kind(loan, ZKL_LENDING_EVENT_WENT);
        size_t begun = 0;
        int status = lock->source->start(lock, &begun);
        if (status != ZKL_OK) {
            zkl_lock_fail(lock, status);
            zkl_telemetry_decided(zkl_loan_facts(lock), status, "");
        }
    }
}

static void give_up(zkl_loan *loan) {
    unlist(loan);
    if (loan->runner != NULL) {
        zkl_request_runner_leave(loan->runner, ZKL_CANCELLED);
    }
    move_waiters(loan);
}

static void wake(zkl_loan *loan) {
    zkl_timers_set(loan->session->timers, &loan->turn, zkl_loan_now(loan));
}

static void keep_idle(zkl_loan *loan) {
    if (*joined(loan) != loan) {
        wake(loan);
    } else if (loan->turn.timers == NULL) {
        zkl_timers_set(loan->session->timers, &loan->turn,
                       loan->idle_since_ms + loan->lender->retain_ms);
    }
}

static void perform_lending(zkl_loan *loan, const zkl_lending_action *action) {
    switch (action->kind) {
    case ZKL_LENDING_ACTION_LEND:
        lend(loan, action);
        break;
    case ZKL_LENDING_ACTION_SEND_AWAY:
        unlist(loan);
        move_waiters(loan);
        break;
    case ZKL_LENDING_ACTION_GIVE_UP:
        give_up(loan);
        break;
    case ZKL_LENDING_ACTION_WAKE:
        wake(loan);
        break;
    case ZKL_LENDING_ACTION_KEEP:
        keep_idle(loan);
        break;
    case ZKL_LENDING_ACTION_BUSY: /* see join_loan */
        break;
    }
}

/* Tells whether the node may be lent on what is known now: as for a grant by event
 * (zkl_request_on_watch_fired), and with a lease where one is kept. */
static bool is_in_touch(const zkl_loan *loan) {
    return loan->runner->request.stage == ZKL_STAGE_HELD && loan->session->connected &&
           zkl_liveness_may_grant(&loan->session->liveness);
}

bool zkl_loan_feed(zkl_loan *loan, zkl_lending_event event) {
    int64_t limit_ms = loan->lender->hand_off_ms;
    const zkl_client *client = loan->lender->client;
    zkl_lending_state before = loan->lending;
    zkl_lending_actions actions;
    /* Without a request there may be no session to ask, and without a waiter nothing is lent. */
    if (loan->runner != NULL && loan->waiters != NULL) {
        event.in_touch = is_in_touch(loan);
        event.watched = loan->runner->request.own.watched;
        event.late = limit_ms > 0 && zkl_loan_now(loan) - loan->wanted_since_ms >= limit_ms;
    }
    zkl_lending_step(&loan->lending, &event, &actions);
    if (client->sessions != NULL) { /* else the client has been closed, and has no clock */
        zkl_recorder_add_lending_step(client->recorder, &loan->recorded,
                                      zkl_session_now_ms(&client->sessions->session), &before,
                                      &event, &actions);
    }
    bool is_busy = actions.count > 0 && actions.list[0].kind == ZKL_LENDING_ACTION_BUSY;
    for (size_t i = 0; i < actions.count; i++) {
        perform_lending(loan, &actions.list[i]);
    }
    return is_busy;
}

void zkl_loan_feed_kind(zkl_loan *loan, zkl_lending_event_kind kind) {
    (void)zkl_loan_feed(loan, (zkl_lending_event){ .kind = kind });
}

/* Waits for all holders: what was lost by the end of a lease stays until they have left. */
void zkl_loan_leave_behind(const zkl_loan *loan) {
    if (loan->lending.stage == ZKL_LENDING_STAGE_OVER && loan->holders == NULL &&
        loan->runner != NULL) {
        zkl_request_runner_leave(loan->runner, ZKL_CANCELLED);
    }
}

void zkl_loan_on_turn(void *arg) {
    zkl_loan *loan = arg;
    int64_t retain_ms = loan->lender->retain_ms;
    loan->in_use++;
    if (loan->lending.stage == ZKL_LENDING_STAGE_OVER) {
        zkl_loan_leave_behind(loan);
        move_waiters(loan);
    } else {
        bool is_over =
            *joined(loan) != loan || zkl_loan_now(loan) - loan->idle_since_ms >= retain_ms;
        bool idle = loan->holders == NULL && is_over;
        (void)zkl_loan_feed(loan,
                            (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_TURN, .idle = idle });
    }
    zkl_loan_let_go(loan);
}

/* Fails the acquires of all waiters with the verdict of the request. */
static void fail_all(zkl_loan *loan, int status) {
    zkl_explanation why = zkl_explain_verdict(&loan->runner->sender, status);
    while (loan->waiters != NULL) {
        zkl_lock *lock = loan->waiters->lock;
        lock->members[0].runner = loan->runner;
        zkl_lock_on_news(&lock->members[0], ZKL_REQUEST_DECIDED, status);
        zkl_telemetry_decided(zkl_loan_facts(lock), status, why.text);
        zkl_loan_leave(lock);
        zkl_loan_feed_kind(loan, ZKL_LENDING_EVENT_WENT);
    }
}

/* Takes the verdict of the request. That of a try is joined by others once it is granted. */
static void on_decided(zkl_loan *loan, int status) {
    if (status == ZKL_OK) {
        loan->wanted_since_ms = loan->idle_since_ms = zkl_loan_now(loan);
        zkl_loan *other =
            zkl_lender_join_newest(loan->lender, loan->mode, loan, loan->runner->request.own.zxid);
        if (other != NULL) {
            wake(other); /* perhaps it is idle */
        }
        zkl_loan_feed_kind(loan, ZKL_LENDING_EVENT_GRANTED);
    } else {
        unlist(loan);
        zkl_loan_feed_kind(loan, ZKL_LENDING_EVENT_ENDED);
        fail_all(loan, status);
    }
}

static void tell_holders(const zkl_loan *loan, zkl_request_news news, int status) {
    zkl_borrower *one = NULL;
    zkl_borrower *next = NULL;
    DL_FOREACH_SAFE(loan->holders, one, next) {
        if (news != ZKL_REQUEST_CONTENDED || one->lock->origin->options->tell_contended != 0) {
            zkl_lock_on_news(&one->lock->members[0], news, status);
        }
    }
}

static void on_lost(zkl_loan *loan, int status) {
    unlist(loan);
    zkl_loan_feed_kind(loan, ZKL_LENDING_EVENT_ENDED);
    const zkl_borrower *one = NULL;
    DL_FOREACH(loan->holders, one) {
        zkl_telemetry_lost(zkl_loan_facts(one->lock), status);
    }
    tell_holders(loan, ZKL_REQUEST_LOST, status);
}

static void on_request_ended(zkl_loan *loan) {
    const zkl_borrower *one = NULL;
    unlist(loan);
    if (loan->lending.stage != ZKL_LENDING_STAGE_OVER) { /* the client is closed */
        DL_FOREACH(loan->holders, one) {
            zkl_telemetry_released(zkl_loan_facts(one->lock));
        }
        zkl_loan_feed_kind(loan, ZKL_LENDING_EVENT_ENDED);
    }
    tell_holders(loan, ZKL_REQUEST_ENDED, ZKL_OK);
    DL_FOREACH(loan->waiters, one) {
        one->lock->members[0].runner = NULL;
    }
    loan->runner = NULL;
}

/* Counts the handles that hold the node and those that wait for it, and not the request: a node
 * that is idle is held by nobody. */
static void count_all(const zkl_loan *loan) {
    const zkl_borrower *one = NULL;
    if (loan->lending.stage == ZKL_LENDING_STAGE_OURS) {
        DL_FOREACH(loan->holders, one) {
            ZKL_COUNT(one->lock->origin->metrics, held);
        }
    }
    DL_FOREACH(loan->waiters, one) {
        ZKL_COUNT(one->lock->origin->metrics, waiting);
    }
}

/* Notes since when others may want the node: since now, if nobody has wanted it until now. */
static void note_others(zkl_loan *loan, zkl_lending_event_kind kind) {
    if (loan->lending.alone || kind == ZKL_LENDING_EVENT_ALONE) {
        loan->wanted_since_ms = zkl_loan_now(loan);
    }
    zkl_loan_feed_kind(loan, kind);
}

void zkl_loan_on_news(void *arg, zkl_request_news news, int status) {
    zkl_loan *loan = arg;
    loan->in_use++;
    switch (news) {
    case ZKL_REQUEST_DECIDED:
        on_decided(loan, status);
        break;
    case ZKL_REQUEST_LOST:
        on_lost(loan, status);
        break;
    case ZKL_REQUEST_ENDED:
        on_request_ended(loan);
        break;
    case ZKL_REQUEST_ALONE:
        note_others(loan, ZKL_LENDING_EVENT_ALONE);
        break;
    case ZKL_REQUEST_NEWCOMER:
        note_others(loan, ZKL_LENDING_EVENT_NEWCOMER);
        break;
    case ZKL_REQUEST_CONTENDED:
    case ZKL_REQUEST_REVOKED:
        note_others(loan, ZKL_LENDING_EVENT_CALLED);
        tell_holders(loan, news, status);
        break;
    case ZKL_REQUEST_DISCONNECTED:
        zkl_loan_feed_kind(loan, ZKL_LENDING_EVENT_CUT);
        tell_holders(loan, news, status);
        break;
    case ZKL_REQUEST_COUNTED:
        count_all(loan);
        break;
    case ZKL_REQUEST_CONNECTED:
    case ZKL_REQUEST_DOWNGRADED:
        tell_holders(loan, news, status);
        break;
    }
    zkl_loan_let_go(loan);
}
