/*
 * A node that handles of one client share, as the source of their grants: what recipe/lending.h
 * decides is carried out here. All with the client's mutex held.
 */
#pragma once

#include "handle/lock.h"

/** A node of a lender: who holds it, and who waits for it. */
typedef struct zkl_loan zkl_loan;

extern const zkl_lock_source zkl_loan_source;

/** A transaction of the holder begins. Returns what its end is told to; NULL: nothing needs that.
 */
zkl_loan *zkl_loan_begin_write(const zkl_lock *lock);
/** It is decided, or never was sent. is_lost: nobody knows whether it is applied. NULL is fine. */
void zkl_loan_end_write(zkl_loan *loan, bool is_lost);

/** The handle is closed. It may be one that shares no node. */
void zkl_loan_close_handle(const zkl_lock *lock);
