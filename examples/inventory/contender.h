/*
 * A contender: one thread's connection to the store and its place at the lock.
 *
 * Functions that return bool have noted the reason on the board when they
 * return false; the run cannot go on then.
 */
#pragma once

#include <stdbool.h>

#include <zklock/zklock.h>

#include "server.h"
#include "store.h"

struct contender {
    struct server *server;
    struct store *store;
    zkl_lock *lock; /* NULL without a lock */
};

/** Close it in any case. */
bool contender_open(struct contender *contender, struct server *server);

void contender_close(struct contender *contender);

/** Waits for the lock. */
bool contender_acquire(struct contender *contender, zkl_mode mode, zkl_grant *grant);

/** Releases the lock; that it has been lost meanwhile is no error, since the store is fenced. */
bool contender_release(struct contender *contender);

/** Waits at a gate of the board; `what` says for what. */
bool contender_await(struct contender *contender, struct gate *gate, int count, const char *what);

/** Passes a status of the store on, after noting an error. */
store_status contender_checked(struct contender *contender, store_status status, const char *what);
