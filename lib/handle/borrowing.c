/* What a handle that shares nodes does with them: a loan as the source of its grants. */
#include <stdlib.h>

#include "base/error_message.h"
#include "client/client.h"
#include "handle/lender.h"
#include "handle/loan.h"
#include "handle/lock_events.h"
#include "recipe/request.h"

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
        .owner = { .arg = loan, .on_news = zkl_loan_on_news },
    };
    return zkl_lock_start_request(&lock->members[0], loan->session, &wanted, &options,
                                  &loan->runner);
}

/* Begins a loan for this handle, and the loan's request. Others do not join the request of a try,
 * which may be over at once. */
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
                        .turn = { .fire = zkl_loan_on_turn, .arg = loan },
                        .in_use = 1 };
    loan->lending =
        zkl_lending_begin(loan->mode == ZKL_READ, lender->retain_ms > 0, lender->hand_offs_max);
    lender->references++;
    if (!lock->attempt.set.only_try) {
        lender->joined[loan->mode] = loan;
    }
    zkl_loan_enter(loan, lock);
    zkl_loan_feed_kind(loan, ZKL_LENDING_EVENT_CAME);
    int status = start_request(loan, lock);
    if (status != ZKL_OK) {
        zkl_loan_leave(lock);
    } else if (lock->borrower->loan == loan) {
        lock->members[0].runner = loan->runner;
    }
    zkl_loan_let_go(loan);
    return status;
}

/* ---- A source of grants ---------------------------------------------------------------------- */

/* Lets the handle join a loan. A try is busy if another handle of the client holds the lock, or
 * waits for it. That of a reader then makes a node of its own, because readers may stand beside
 * each other. */
static int join_loan(zkl_loan *loan, zkl_lock *lock) {
    bool only_try = lock->attempt.set.only_try;
    int status = ZKL_OK;
    loan->in_use++;
    if (loan->lending.stage == ZKL_LENDING_STAGE_OVER) {
        status = begin_loan(lock);
    } else {
        zkl_loan_enter(loan, lock);
        if (zkl_loan_feed(loan, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_CAME,
                                                     .only_try = only_try })) {
            bool has_own = loan->mode == ZKL_READ;
            zkl_loan_leave(lock);
            if (!has_own) {
                zkl_lock_fail(lock, ZKL_BUSY);
                zkl_telemetry_decided(zkl_loan_facts(lock), ZKL_BUSY, "");
            }
            status = has_own ? begin_loan(lock) : ZKL_OK;
        }
    }
    zkl_loan_let_go(loan);
    return status;
}

static int borrow(zkl_lock *lock) {
    zkl_loan *loan = lock->borrower->lender->joined[lock->members[0].mode];
    return loan != NULL ? join_loan(loan, lock) : begin_loan(lock);
}

static int start_borrowing(zkl_lock *lock, size_t *begun) {
    (void)begun;
    ZKL_TRY(zkl_lock_events_prepare(lock));
    return borrow(lock);
}

/* Gives back what the handle holds, or calls off its wait. A holder may still be there when the
 * sessions of its client have gone: then there is no clock to ask. */
static void leave_loan(zkl_lock *lock) {
    zkl_loan *loan = lock->borrower->loan;
    if (loan == NULL) {
        return;
    }
    bool held = lock->borrower->holds;
    bool is_ended = held && loan->runner == NULL;
    loan->in_use++;
    if (!held) {
        zkl_telemetry_decided(zkl_loan_facts(lock), lock->attempt.verdict, "");
    } else if (loan->lending.stage == ZKL_LENDING_STAGE_OURS) {
        zkl_telemetry_released(zkl_loan_facts(lock));
    }
    zkl_loan_leave(lock);
    if (held && !is_ended) {
        zkl_request_runner_hold_from_now(loan->runner, 0); /* the limit was its own */
        loan->idle_since_ms = zkl_loan_now(loan);
    }
    zkl_loan_feed_kind(loan, held ? ZKL_LENDING_EVENT_RETURNED : ZKL_LENDING_EVENT_WENT);
    zkl_loan_leave_behind(loan);
    zkl_loan_let_go(loan);
}

/* Fails the acquire of this handle only: the request waits on for the others. */
static void time_out_borrower(zkl_lock *lock) {
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
    return zkl_loan_now(lock->borrower->loan);
}

const zkl_lock_source zkl_loan_source = { .start = start_borrowing,
                                          .time_out = time_out_borrower,
                                          .leave = leave_loan,
                                          .close = leave_loan,
                                          .granted_ms = granted_ms,
                                          .keeps_mode = "is lent by its client: its mode stays" };

zkl_loan *zkl_loan_begin_write(const zkl_lock *lock) {
    zkl_loan *loan = lock->borrower != NULL ? lock->borrower->loan : NULL;
    if (loan != NULL) {
        zkl_loan_feed_kind(loan, ZKL_LENDING_EVENT_WRITING);
    }
    return loan;
}

void zkl_loan_end_write(zkl_loan *loan, bool is_lost) {
    if (loan != NULL) {
        loan->in_use++;
        (void)zkl_loan_feed(
            loan, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_WRITTEN, .lost = is_lost });
        zkl_loan_let_go(loan);
    }
}

/* Gives up what is kept when the last handle goes: nobody would acquire it again. */
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
            (void)zkl_loan_feed(
                loan, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_TURN, .idle = true });
            zkl_loan_let_go(loan);
        }
    }
    zkl_lender_drop(lender);
}
