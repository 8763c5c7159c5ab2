/*
 * Which handles of a client share their nodes. Such a node is a loan (loan.h). Everything here runs
 * with the client's mutex held.
 */
#pragma once

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "handle/lock.h"

#define ZKL_LENDER_MODES 3

/** The handles of one client with the same resource and the same options: they share their
 *  nodes. */
typedef struct zkl_lender {
    zkl_client *client;
    size_t references; /* handles and loans that point to it */
    size_t handles;
    unsigned hand_offs_max;
    int64_t hand_off_ms, retain_ms;
    /* the loan that newcomers join; NULL: they begin one */
    struct zkl_loan *joined[ZKL_LENDER_MODES];
    int64_t newest; /* the czxid of the newest node that was granted */
    UT_hash_handle hh;
    char key[];
} zkl_lender;

/** Gives a handle that shares its nodes its lender. ZKL_OK or ZKL_NO_MEMORY. */
int zkl_lender_find(zkl_lock *lock);
/** Drops a reference: one of the lender's handles is closed, or one of its loans has ended. */
void zkl_lender_drop(zkl_lender *lender);

/** Tells whether the handle's acquire, in the mode of its attempt, is for a node that is lent. */
bool zkl_lender_serves(const zkl_lock *lock);

/** Lets newcomers join this loan no more. Does nothing if they join another, or none. */
void zkl_lender_unlist(zkl_lender *lender, zkl_mode mode, const struct zkl_loan *loan);
/** Notes that the loan was granted its node, of this czxid: newcomers join it, unless they join a
 *  newer one. Returns another loan that they joined before, and which may be idle; NULL: there is
 *  none. */
struct zkl_loan *zkl_lender_join_newest(zkl_lender *lender, zkl_mode mode, struct zkl_loan *loan,
                                        int64_t czxid);
