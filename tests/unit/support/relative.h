/* A contender of any mode, with a client of its own, in the simulation of zklock/testing.h. A task
 * can make its calls. */
#pragma once

#include "support/unit.h"
#include "testing/ensemble.h"
#include "zklock/testing.h"

#define RELATIVE_RESOURCE "/locks/stock"

enum { RELATIVE_SESSION_MS = 10000, RELATIVE_SOON_MS = 200 };

typedef struct relative {
    zkl_client *client;
    zkl_lock *lock; /* on "stock" */
    zkl_mode mode;  /* the mode in which it acquires */
    int64_t timeout_ms;
    zkl_grant grant;
    int status; /* that of its latest call; RELATIVE_WAITS: it has not returned */
    zkl_testing_task *task;
} relative;

#define RELATIVE_WAITS 1

/** Opens a client and a handle. options: NULL, the defaults. */
void relative_open(relative *self, zkl_mode mode, const zkl_lock_options *options);
/** Opens a contender for a permit of a semaphore. */
void relative_open_permit(relative *self, int32_t permits);
void relative_close(relative *self);

/** Acquires, or releases, and returns the status. */
int relative_acquire(relative *self, int64_t timeout_ms);
int relative_release(relative *self);
/** Lets a task make the call. */
void relative_start_acquire(relative *self, int64_t timeout_ms);
void relative_start_downgrade(relative *self, int64_t timeout_ms);
void relative_start_upgrade(relative *self);
/** Waits for the task, and returns its status. */
int relative_join(relative *self);

zkl_lock_information relative_info(const relative *self);
int64_t relative_session(const relative *self);
/** Counts the requests of a kind that its session has sent. */
uint64_t relative_count(const relative *self, zkl_call_kind kind);
