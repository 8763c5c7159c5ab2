/*
 * Handles of one client that share their nodes: which of them do. A node of theirs is a loan
 * (loan.h). All with the client's mutex held.
 */
#pragma once

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "handle/lock.h"

#define ZKL_LENDER_MODES 3

/** Handles with the same resource and the same options. */
typedef struct zkl_lender {
    zkl_client *client;
    size_t references; /* of handles and loans */
    size_t handles;
    unsigned hand_offs_max;
    int64_t hand_off_ms, retain_ms;
    struct zkl_loan *joined[ZKL_LENDER_MODES]; /* by handles that come; NULL: there is none */
    int64_t newest;                            /* the czxid of the newest node that was granted */
    UT_hash_handle hh;
    char key[];
} zkl_lender;

/** Gives the handle its lender, if its options ask for one. ZKL_OK or ZKL_NO_MEMORY. */
int zkl_lender_find(zkl_lock *lock);
/** One of its handles is closed, or a loan of it has ended. */
void zkl_lender_drop(zkl_lender *lender);

/** Whether its acquire, in the mode of the attempt, is for a node that is lent. */
bool zkl_lender_serves(const zkl_lock *lock);

/** Newcomers join this loan no more, if they do. */
void zkl_lender_unlist(zkl_lender *lender, zkl_mode mode, const struct zkl_loan *loan);
/** The loan was granted its node, of this czxid: newcomers join it, unless they join a newer one.
 *  Returns another loan that they joined before, and which may be idle; NULL: there is none. */
struct zkl_loan *zkl_lender_join_newest(zkl_lender *lender, zkl_mode mode, struct zkl_loan *loan,
                                        int64_t czxid);
