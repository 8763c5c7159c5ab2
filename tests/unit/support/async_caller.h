/* A client of an application that uses the asynchronous calls, in the simulation of
 * zklock/testing.h. It notes each of its callbacks in a word or two: "acquired busy released
 * pending lost(the reason) ". */
#pragma once

#include "support/unit.h"
#include "zklock/testing.h"
#include "zklock/zklock.h"

enum {
    ASYNC_TIMEOUT_MS = 10000, /* of its session */
    SET_SESSION_MS = 4000,    /* of its session, if it has a set */
    ASYNC_HEARD_SIZE = 1024,
    ASYNC_PATH_SIZE = 64
};

#define ASYNC_RESOURCE "/locks/stock"
#define SET_STOCK ASYNC_RESOURCE
#define SET_ORDERS "/locks/orders"

typedef struct async_caller async_caller;

struct async_caller {
    zkl_client *client;
    zkl_lock *lock; /* on "stock", and in a set on "orders" too; NULL: closed */
    zkl_mode mode;  /* the mode in which it acquires */
    zkl_grant grant;
    zkl_transaction_result result;
    char created[2][ASYNC_PATH_SIZE];
    zkl_transaction *transaction; /* the transaction of the last callback */
    void (*react)(
        async_caller *self); /* called in each callback, once it is noted; NULL: nothing is */
    int said;                /* of a call that `react` has made */
    char heard[ASYNC_HEARD_SIZE];
};

/** Opens a client and a lock, in a simulation that has begun. given: options; NULL: the defaults.
 */
void async_open(async_caller *self, zkl_dispatch dispatch, const zkl_lock_options *given);
/** Opens a client and a set. */
void async_open_set(async_caller *self, zkl_dispatch dispatch, const zkl_lock_options *given);
/** Closes only the handle of the lock. */
void async_close_handle(async_caller *self);
/** Closes both handles. */
void async_close(async_caller *self);

/** Begins to acquire, or to release; the call must be accepted. */
void async_acquire(async_caller *self, int64_t timeout_ms);
void async_release(async_caller *self, int64_t timeout_ms);

/** Callbacks, whose argument is the caller. */
void async_on_acquired(void *arg, int status, const zkl_grant *grant);
void async_on_released(void *arg, int status);
void async_on_downgraded(void *arg, int status);
void async_on_upgraded(void *arg, int status, const zkl_grant *grant);
void async_on_verified(void *arg, int status);
/** Keeps the result and the paths of the first two operations. */
void async_on_committed(void *arg, int status, zkl_transaction *transaction,
                        const zkl_transaction_result *result);

/** Runs the callbacks that wait, and returns how many. */
size_t async_dispatch(async_caller *self);

/** Waits until something is noted, by callbacks that a thread runs. */
void async_wait(async_caller *self);
/** Compares what was noted since the last time. */
#define ASYNC_HEARD(self, expected)                                                                \
    do {                                                                                           \
        EXPECT_TEXT((self)->heard, (expected));                                                    \
        (self)->heard[0] = '\0';                                                                   \
    } while (0)

/** Compares how many contenders the two resources have. */
void set_expect_nodes(size_t of_stock, size_t of_orders);
/** Finds the last node to have queued for a resource. */
void set_last_of(const char *resource, char path[ZKL_NODE_PATH_SIZE]);
/** Deletes that node, as by hand. */
void set_delete_last_of(const char *resource);
