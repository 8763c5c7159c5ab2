/* A client of an application that uses the asynchronous calls, in the simulation of
 * zklock/testing.h. It writes down what its callbacks are told: "acquired busy released pending
 * lost(the reason) ", a word or two for each. */
#pragma once

#include "support/unit.h"
#include "zklock/testing.h"
#include "zklock/zklock.h"

enum {
    ASYNC_TIMEOUT_MS = 10000 /* of its session */,
    SET_SESSION_MS = 4000 /* where it has a set */,
    ASYNC_HEARD_SIZE = 1024,
    ASYNC_PATH_SIZE = 64
};

#define ASYNC_RESOURCE "/locks/stock"
#define SET_STOCK ASYNC_RESOURCE
#define SET_ORDERS "/locks/orders"

typedef struct async_caller async_caller;

struct async_caller {
    zkl_client *client;
    zkl_lock *lock; /* on "stock", a set on "orders" too; NULL: closed */
    zkl_mode mode;  /* in which it acquires */
    zkl_grant grant;
    zkl_transaction_result result;
    char created[2][ASYNC_PATH_SIZE];
    zkl_transaction *transaction;      /* that it was told of last */
    void (*react)(async_caller *self); /* inside of each callback, once it is written down */
    int said;                          /* for it */
    char heard[ASYNC_HEARD_SIZE];
};

/** In a simulation that has begun. given: NULL, the default options. */
void async_open(async_caller *self, zkl_dispatch dispatch, const zkl_lock_options *given);
void async_open_set(async_caller *self, zkl_dispatch dispatch, const zkl_lock_options *given);
/** The handle of the lock only. */
void async_close_handle(async_caller *self);
/** Both handles. */
void async_close(async_caller *self);

/** For ever, or as long as they may; they are accepted. */
void async_acquire(async_caller *self, int64_t timeout_ms);
void async_release(async_caller *self, int64_t timeout_ms);

/** The callbacks, with the caller as their argument. */
void async_on_acquired(void *arg, int status, const zkl_grant *grant);
void async_on_released(void *arg, int status);
void async_on_downgraded(void *arg, int status);
void async_on_upgraded(void *arg, int status, const zkl_grant *grant);
void async_on_verified(void *arg, int status);
/** Keeps the result and the paths of the first two operations. */
void async_on_committed(void *arg, int status, zkl_transaction *transaction,
                        const zkl_transaction_result *result);

/** How many callbacks it ran. */
size_t async_dispatch(async_caller *self);

/** Waits until something is written down: a thread's callbacks only. */
void async_wait(async_caller *self);
/** Compares what was written down since the last time. */
#define ASYNC_HEARD(self, expected)                                                                \
    do {                                                                                           \
        EXPECT_TEXT((self)->heard, (expected));                                                    \
        (self)->heard[0] = '\0';                                                                   \
    } while (0)

/** Compares how many contenders the two resources have. */
void set_expect_nodes(size_t of_stock, size_t of_orders);
/** The last node to have queued for a resource: its name, and its end by hand. */
void set_last_of(const char *resource, char path[ZKL_NODE_PATH_SIZE]);
void set_delete_last_of(const char *resource);
