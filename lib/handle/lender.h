/*
 * Handles of one client that share their nodes: what recipe/lending.h decides is carried out here.
 * All with the client's mutex held.
 */
#pragma once

#include "handle/lock.h"

/** Handles with the same resource and the same options. */
typedef struct zkl_lender zkl_lender;
/** A node of theirs: who holds it, and who waits for it. */
typedef struct zkl_loan zkl_loan;

/** Gives the handle its lender, if its options ask for one. ZKL_OK or ZKL_NO_MEMORY. */
int zkl_lender_find(zkl_lock *lock);
/** The handle is closed. */
void zkl_lender_leave(const zkl_lock *lock);

/** Whether its acquire, in the mode of the attempt, is for a node that is lent. */
bool zkl_lender_serves(const zkl_lock *lock);
/** Its acquire waits for a node that is lent, or has its verdict already. Else why it could not
 *  begin. */
int zkl_lender_ask(zkl_lock *lock);
/** It holds, or waits, no more. */
void zkl_loan_leave(zkl_lock *lock);

/** A transaction of the holder begins. Returns what its end is told to; NULL: nothing needs that.
 */
zkl_loan *zkl_loan_begin_write(const zkl_lock *lock);
/** It is decided, or never was sent. is_lost: nobody knows whether it is applied. NULL is fine. */
void zkl_loan_end_write(zkl_loan *loan, bool is_lost);
