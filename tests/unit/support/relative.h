/* A contender of one of the lock's family, with a client of its own, in the simulation of
 * zklock/testing.h. Its calls can be made by tasks of its own. */
#pragma once

#include "support/unit.h"
#include "testing/ensemble.h"
#include "zklock/testing.h"

#define RELATIVE_RESOURCE "/locks/stock"

enum { RELATIVE_SESSION_MS = 10000, RELATIVE_SOON_MS = 200 };

typedef struct relative {
    zkl_client *client;
    zkl_lock *lock; /* on "stock" */
    zkl_mode mode;  /* to acquire */
    int64_t timeout_ms;
    zkl_grant grant;
    int status; /* of its latest call; RELATIVE_WAITS: it has not returned */
    zkl_testing_task *task;
} relative;

#define RELATIVE_WAITS 1

/** options: NULL, the defaults. */
void relative_open(relative *self, zkl_mode mode, const zkl_lock_options *options);
/** One of a semaphore. */
void relative_open_permit(relative *self, int32_t permits);
void relative_close(relative *self);

/** Calls that return, as the status does. */
int relative_acquire(relative *self, int64_t timeout_ms);
int relative_release(relative *self);
/** Calls that a task makes; soon they have returned, or they wait. */
void relative_start_acquire(relative *self, int64_t timeout_ms);
void relative_start_downgrade(relative *self, int64_t timeout_ms);
void relative_start_upgrade(relative *self);
/** Waits for the task. */
int relative_join(relative *self);

zkl_lock_information relative_info(const relative *self);
int64_t relative_session(const relative *self);
/** How many requests of a kind its session has sent. */
uint64_t relative_count(const relative *self, zkl_call_kind kind);
