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

struct zkl_loan {
    zkl_lender *lender;
    zkl_mode mode;
    zkl_lending_state lending;
    zkl_session *session;
    zkl_request_runner *runner; /* NULL when it has ended */
    zkl_borrower *waiters, *holders;
    zkl_timer turn;
    int64_t since_ms; /* others may want it */
    int64_t idle_since_ms;
    unsigned in_use; /* by functions that run */
};

/* ---- Loans, and who takes part in them ------------------------------------------------------ */

static int64_t now(const zkl_loan *loan) {
    return zkl_session_now_ms(loan->session);
}

static zkl_loan **joined(const zkl_loan *loan) {
    return &loan->lender->joined[loan->mode];
}

static void unlist(const zkl_loan *loan) {
    zkl_lender_unlist(loan->lender, loan->mode, loan);
}

/* The last of what a function does with a loan. */
static void let_go(zkl_loan *loan) {
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

static void enter(zkl_loan *loan, zkl_lock *lock) {
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

static void leave(zkl_lock *lock) {
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

/* What is counted and logged is what becomes of each handle. */
static zkl_request_facts facts_of(const zkl_lock *lock) {
    return zkl_lock_facts(&lock->members[0], lock->borrower->holds);
}

/* ---- What the machine wants ----------------------------------------------------------------- */

static zkl_lending_action_kind feed(zkl_loan *loan, zkl_lending_event event);
static int ask(zkl_lock *lock);

static void lend(zkl_loan *loan, const zkl_lending_action *action) {
    for (unsigned i = 0; i < action->count; i++) {
        zkl_borrower *borrower = loan->waiters;
        DL_DELETE(loan->waiters, borrower);
        DL_APPEND(loan->holders, borrower);
        borrower->holds = true;
        borrower->lock->attempt.local_number = action->number + i;
        zkl_lock_on_news(&borrower->lock->members[0], ZKL_REQUEST_DECIDED, ZKL_OK);
        zkl_telemetry_decided(facts_of(borrower->lock), ZKL_OK, "");
    }
}

/* With the end of the client their acquires have ended, and they leave by themselves. */
static void move_waiters(zkl_loan *loan) {
    while (loan->waiters != NULL && !loan->lender->client->closed) {
        zkl_lock *lock = loan->waiters->lock;
        leave(lock);
        (void)feed(loan, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_WENT });
        int status = ask(lock);
        if (status != ZKL_OK) {
            zkl_lock_fail(lock, status);
            zkl_telemetry_decided(facts_of(lock), status, "");
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
    zkl_timers_set(loan->session->timers, &loan->turn, now(loan));
}

static void keep(zkl_loan *loan) {
    if (*joined(loan) != loan) {
        wake(loan);
    } else if (loan->turn.timers == NULL) {
        zkl_timers_set(loan->session->timers, &loan->turn,
                       loan->idle_since_ms + loan->lender->retain_ms);
    }
}

static void perform(zkl_loan *loan, const zkl_lending_action *action) {
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
        keep(loan);
        break;
    case ZKL_LENDING_ACTION_NOTHING:
    case ZKL_LENDING_ACTION_BUSY: /* see come */
        break;
    }
}

/* As for a grant by event (zkl_request_on_watch_fired), and with a lease where one is kept. */
static bool is_in_touch(const zkl_loan *loan) {
    return loan->runner->request.stage == ZKL_STAGE_HELD && loan->session->connected &&
           zkl_liveness_may_grant(&loan->session->liveness);
}

static zkl_lending_action_kind feed(zkl_loan *loan, zkl_lending_event event) {
    int64_t limit_ms = loan->lender->hand_off_ms;
    /* Without a request the session may be gone, too; and all this is for those who wait. */
    if (loan->runner != NULL && loan->waiters != NULL) {
        event.in_touch = is_in_touch(loan);
        event.watched = loan->runner->request.own.watched;
        event.late = limit_ms > 0 && now(loan) - loan->since_ms >= limit_ms;
    }
    zkl_lending_action action = zkl_lending_step(&loan->lending, &event);
    perform(loan, &action);
    return action.kind;
}

/* What was lost stays, after the end of a lease, until all its holders have left. */
static void leave_behind(const zkl_loan *loan) {
    if (loan->lending.stage == ZKL_LENDING_OVER && loan->holders == NULL && loan->runner != NULL) {
        zkl_request_runner_leave(loan->runner, ZKL_CANCELLED);
    }
}

static void on_turn(void *arg) {
    zkl_loan *loan = arg;
    int64_t retain_ms = loan->lender->retain_ms;
    loan->in_use++;
    if (loan->lending.stage == ZKL_LENDING_OVER) {
        leave_behind(loan);
        move_waiters(loan);
    } else {
        bool is_over = *joined(loan) != loan || now(loan) - loan->idle_since_ms >= retain_ms;
        bool idle = loan->holders == NULL && is_over;
        (void)feed(loan, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_TURN, .idle = idle });
    }
    let_go(loan);
}

static void tell(zkl_loan *loan, zkl_lending_event_kind kind) {
    (void)feed(loan, (zkl_lending_event){ .kind = kind });
}

/* It has failed: none of them waits any more. */
static void fail_all(zkl_loan *loan, int status) {
    zkl_explanation why = zkl_explain_verdict(&loan->runner->sender, status);
    while (loan->waiters != NULL) {
        zkl_lock *lock = loan->waiters->lock;
        lock->members[0].runner = loan->runner;
        zkl_lock_on_news(&lock->members[0], ZKL_REQUEST_DECIDED, status);
        zkl_telemetry_decided(facts_of(lock), status, why.text);
        leave(lock);
        tell(loan, ZKL_LENDING_EVENT_WENT);
    }
}

/* A request that only tried is joined by others from now on. */
static void on_decided(zkl_loan *loan, int status) {
    if (status == ZKL_OK) {
        loan->since_ms = loan->idle_since_ms = now(loan);
        zkl_loan *other =
            zkl_lender_join_newest(loan->lender, loan->mode, loan, loan->runner->request.own.zxid);
        if (other != NULL) {
            wake(other); /* perhaps it is idle */
        }
        tell(loan, ZKL_LENDING_EVENT_GRANTED);
    } else {
        unlist(loan);
        tell(loan, ZKL_LENDING_EVENT_ENDED);
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
    tell(loan, ZKL_LENDING_EVENT_ENDED);
    const zkl_borrower *one = NULL;
    DL_FOREACH(loan->holders, one) {
        zkl_telemetry_lost(facts_of(one->lock), status);
    }
    tell_holders(loan, ZKL_REQUEST_LOST, status);
}

static void on_ended(zkl_loan *loan) {
    const zkl_borrower *one = NULL;
    unlist(loan);
    if (loan->lending.stage != ZKL_LENDING_OVER) { /* the client is closed */
        DL_FOREACH(loan->holders, one) {
            zkl_telemetry_released(facts_of(one->lock));
        }
        tell(loan, ZKL_LENDING_EVENT_ENDED);
    }
    tell_holders(loan, ZKL_REQUEST_ENDED, ZKL_OK);
    DL_FOREACH(loan->waiters, one) {
        one->lock->members[0].runner = NULL;
    }
    loan->runner = NULL;
}

/* A node that is idle is held by nobody, and a request is not who waits. */
static void count_all(const zkl_loan *loan) {
    const zkl_borrower *one = NULL;
    if (loan->lending.stage == ZKL_LENDING_OURS) {
        DL_FOREACH(loan->holders, one) {
            ZKL_COUNT(one->lock->origin->metrics, held);
        }
    }
    DL_FOREACH(loan->waiters, one) {
        ZKL_COUNT(one->lock->origin->metrics, waiting);
    }
}

static void note_others(zkl_loan *loan, zkl_lending_event_kind kind) {
    if (loan->lending.alone || kind == ZKL_LENDING_EVENT_ALONE) {
        loan->since_ms = now(loan);
    }
    tell(loan, kind);
}

static void on_news(void *arg, zkl_request_news news, int status) {
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
        on_ended(loan);
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
        tell(loan, ZKL_LENDING_EVENT_CUT);
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
    let_go(loan);
}

/* ---- A new loan ----------------------------------------------------------------------------- */

static int start_request(zkl_loan *loan, const zkl_lock *lock) {
    const zkl_request_options wanted = {
        .mode = loan->mode,
        .only_try = lock->attempt.set.only_try,
        .lent = true,
        .fail_on_session_expiry = lock->origin->options->fail_on_session_expiry != 0,
    };
    zkl_run_options options = {
        .began_ms = lock->attempt.began_ms,
        .owner = { .arg = loan, .on_news = on_news },
    };
    return zkl_lock_start_request(&lock->members[0], loan->session, &wanted, &options,
                                  &loan->runner);
}

/* Others do not join the request of a try, which may be over at once. */
static int begin_loan(zkl_lock *lock) {
    zkl_lender *lender = lock->borrower->lender;
    zkl_session *session = NULL;
    ZKL_TRY(zkl_client_choose_session(
        lock->client, zkl_request_runner_watched_bytes(lock->members[0].path, 0, true), &session));
    zkl_loan *loan = calloc(1, sizeof(*loan));
    ZKL_TRY(zkl_made(loan));
    *loan = (zkl_loan){ .lender = lender,
                        .mode = lock->members[0].mode,
                        .session = session,
                        .turn = { .fire = on_turn, .arg = loan },
                        .in_use = 1 };
    loan->lending =
        zkl_lending_begin(loan->mode == ZKL_READ, lender->retain_ms > 0, lender->hand_offs_max);
    lender->references++;
    if (!lock->attempt.set.only_try) {
        *joined(loan) = loan;
    }
    enter(loan, lock);
    tell(loan, ZKL_LENDING_EVENT_CAME);
    int status = start_request(loan, lock);
    if (status != ZKL_OK) {
        leave(lock);
    } else if (lock->borrower->loan == loan) {
        lock->members[0].runner = loan->runner;
    }
    let_go(loan);
    return status;
}

/* ---- A source of grants ---------------------------------------------------------------------- */

/* A try is busy if another handle of the client holds the lock, or waits for it; as a reader it has
 * a node of its own then, as readers may be in nobody's way. */
static int come(zkl_loan *loan, zkl_lock *lock) {
    bool only_try = lock->attempt.set.only_try;
    int status = ZKL_OK;
    loan->in_use++;
    if (loan->lending.stage == ZKL_LENDING_OVER) {
        status = begin_loan(lock);
    } else {
        enter(loan, lock);
        if (feed(loan, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_CAME,
                                            .only_try = only_try }) == ZKL_LENDING_ACTION_BUSY) {
            bool has_own = loan->mode == ZKL_READ;
            leave(lock);
            if (!has_own) {
                zkl_lock_fail(lock, ZKL_BUSY);
                zkl_telemetry_decided(facts_of(lock), ZKL_BUSY, "");
            }
            status = has_own ? begin_loan(lock) : ZKL_OK;
        }
    }
    let_go(loan);
    return status;
}

static int ask(zkl_lock *lock) {
    zkl_loan *loan = lock->borrower->lender->joined[lock->members[0].mode];
    return loan != NULL ? come(loan, lock) : begin_loan(lock);
}

static int start(zkl_lock *lock, size_t *begun) {
    (void)begun;
    ZKL_TRY(zkl_lock_events_prepare(lock));
    return ask(lock);
}

/* Of its client's sessions a holder may be left when they have gone. */
static void leave_loan(zkl_lock *lock) {
    zkl_loan *loan = lock->borrower->loan;
    if (loan == NULL) {
        return;
    }
    bool held = lock->borrower->holds;
    bool is_ended = held && loan->runner == NULL;
    loan->in_use++;
    if (!held) {
        zkl_telemetry_decided(facts_of(lock), lock->attempt.verdict, "");
    } else if (loan->lending.stage == ZKL_LENDING_OURS) {
        zkl_telemetry_released(facts_of(lock));
    }
    leave(lock);
    if (held && !is_ended) {
        zkl_request_runner_hold_from_now(loan->runner, 0); /* the limit was its own */
        loan->idle_since_ms = now(loan);
    }
    tell(loan, held ? ZKL_LENDING_EVENT_RETURNED : ZKL_LENDING_EVENT_WENT);
    leave_behind(loan);
    let_go(loan);
}

/* Its time is its own: the request waits on for the others. */
static void time_out(zkl_lock *lock) {
    const zkl_request_runner *runner = lock->members[0].runner;
    if (runner != NULL) {
        zkl_lock_on_news(&lock->members[0], ZKL_REQUEST_DECIDED,
                         zkl_request_verdict_at_deadline(&runner->request));
    } else {
        zkl_lock_fail(lock, ZKL_TIMEOUT);
    }
    leave_loan(lock);
}

static int64_t granted_ms(const zkl_lock *lock) {
    return now(lock->borrower->loan);
}

const zkl_lock_source zkl_loan_source = { .start = start,
                                          .time_out = time_out,
                                          .leave = leave_loan,
                                          .close = leave_loan,
                                          .granted_ms = granted_ms,
                                          .keeps_mode = "is lent by its client: its mode stays" };

zkl_loan *zkl_loan_begin_write(const zkl_lock *lock) {
    zkl_loan *loan = lock->borrower != NULL ? lock->borrower->loan : NULL;
    if (loan != NULL) {
        tell(loan, ZKL_LENDING_EVENT_WRITING);
    }
    return loan;
}

void zkl_loan_end_write(zkl_loan *loan, bool is_lost) {
    if (loan != NULL) {
        loan->in_use++;
        (void)feed(loan, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_WRITTEN, .lost = is_lost });
        let_go(loan);
    }
}

/* Nobody would acquire again what is kept when the last handle has gone. */
void zkl_loan_close_handle(const zkl_lock *lock) {
    if (lock->borrower == NULL) {
        return;
    }
    zkl_lender *lender = lock->borrower->lender;
    lender->handles--;
    for (size_t mode = 0; mode < ZKL_LENDER_MODES && lender->handles == 0; mode++) {
        zkl_loan *loan = lender->joined[mode];
        if (loan != NULL) {
            loan->in_use++;
            (void)feed(loan, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_TURN, .idle = true });
            let_go(loan);
        }
    }
    zkl_lender_drop(lender);
}
