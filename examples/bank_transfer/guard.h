/* The locks on the two accounts of a transfer: one set, or two locks one after the other. */
#pragma once

#include "board.h"
#include "store.h"
#include "zklock/zklock.h"

struct guard {
    const struct bank *bank;
    zkl_lock *both;
    zkl_lock *one_by_one[2];
};

/** Acquires both within one deadline, and writes their tokens into the transfer. Returns ZKL_OK; or
 *  the status of what failed, and then end the guard too. */
int guard_acquire(struct guard *guard, zkl_client *client, struct transfer *transfer,
                  int64_t timeout_ms);

/** Releases what is held. */
void guard_end(struct guard *guard);
