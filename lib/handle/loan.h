/*
 * A node that handles of one client share: what recipe/lending.h decides is carried out here
 * (loan.c), and what its handles do with it (borrowing.c). All with the client's mutex held.
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
    int64_t since_ms; /* others may want it */
    int64_t idle_since_ms;
    unsigned in_use; /* by functions that run */
} zkl_loan;

extern const zkl_lock_source zkl_loan_source;

/** A transaction of the holder begins. Returns what its end is told to; NULL: nothing needs that.
 */
zkl_loan *zkl_loan_begin_write(const zkl_lock *lock);
/** It is decided, or never was sent. is_lost: nobody knows whether it is applied. NULL is fine. */
void zkl_loan_end_write(zkl_loan *loan, bool is_lost);

/** The handle is closed. It may be one that shares no node. */
void zkl_loan_close_handle(const zkl_lock *lock);

/* ---- For borrowing.c ----------------------------------------------------------------------------
 */

/** Tells the loan of an event, and carries out what follows. Returns whether it is a try that came,
 *  and does not wait. The loan is in use meanwhile. */
bool zkl_loan_feed(zkl_loan *loan, zkl_lending_event event);
/** Ends a use of it. It is freed if nothing needs it any more. */
void zkl_loan_let_go(zkl_loan *loan);
/** The handle waits for it from now on. */
void zkl_loan_enter(zkl_loan *loan, zkl_lock *lock);
/** The handle does not hold it, or wait for it, any more. */
void zkl_loan_leave(zkl_lock *lock);
/** Releases a node that was lost, when its last holder has left. */
void zkl_loan_leave_behind(const zkl_loan *loan);
/** What telemetry.h is told of a handle that takes part in a loan. */
zkl_request_facts zkl_loan_facts(const zkl_lock *lock);
int64_t zkl_loan_now(const zkl_loan *loan);
/** For its timer, and its request. `arg`: the loan. */
void zkl_loan_on_turn(void *arg);
void zkl_loan_on_news(void *arg, zkl_request_news news, int status);
