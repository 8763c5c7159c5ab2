/*
 * A node that handles of one client share. loan.c carries out what recipe/lending.h decides;
 * borrowing.c has what the handles do with it. Everything here runs with the client's mutex held.
 */
#pragma once

#include "handle/lender.h"
#include "recipe/lending.h"

/** A node of a lender: who holds it, and who waits for it. */
typedef struct zkl_loan {
    zkl_lender *lender;
    zkl_mode mode;
    zkl_lending_state lending;
    uint32_t recorded; /* its number in the record */
    zkl_session *session;
    zkl_request_runner *runner; /* NULL when it has ended */
    zkl_borrower *waiters, *holders;
    zkl_timer turn;
    int64_t wanted_since_ms; /* since when others may want it */
    int64_t idle_since_ms;
    unsigned in_use; /* functions that run and still need it */
} zkl_loan;

extern const zkl_lock_source zkl_loan_source;

/** Notes that a transaction of the holder begins. Returns the loan, for zkl_loan_end_write; NULL:
 *  the handle borrows nothing. */
zkl_loan *zkl_loan_begin_write(const zkl_lock *lock);
/** Notes that the transaction is decided, or was never sent. is_lost: nobody knows whether it is
 *  applied. NULL does nothing. */
void zkl_loan_end_write(zkl_loan *loan, bool is_lost);

/** Notes that the handle is closed. Does nothing for one that shares no node. */
void zkl_loan_close_handle(const zkl_lock *lock);

/* ---- For borrowing.c ----------------------------------------------------------------------------
 */

/** Feeds the loan an event, and carries out what follows. Returns whether it is a try that came,
 *  and does not wait. The caller keeps the loan from being freed meanwhile: by `in_use`, or because
 *  a handle holds it. */
bool zkl_loan_feed(zkl_loan *loan, zkl_lending_event event);
/** Feeds the loan an event that has nothing but its kind. */
void zkl_loan_feed_kind(zkl_loan *loan, zkl_lending_event_kind kind);
/** Ends a use of the loan, which is freed if nothing needs it any more. */
void zkl_loan_let_go(zkl_loan *loan);
/** Lets the handle wait for the loan from now on. */
void zkl_loan_enter(zkl_loan *loan, zkl_lock *lock);
/** Takes the handle off: it neither holds the loan nor waits for it any more. */
void zkl_loan_leave(zkl_lock *lock);
/** Releases a node that was lost, when its last holder has left. */
void zkl_loan_leave_behind(const zkl_loan *loan);
/** Returns the facts of a handle that takes part in a loan, for telemetry.h. */
zkl_request_facts zkl_loan_facts(const zkl_lock *lock);
int64_t zkl_loan_now(const zkl_loan *loan);
/** Feeds the TURN for which the timer was set. `arg`: the loan. */
void zkl_loan_on_turn(void *arg);
/** Takes news of the loan's request. `arg`: the loan. */
void zkl_loan_on_news(void *arg, zkl_request_news news, int status);
