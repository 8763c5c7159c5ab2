/* A client of an application that uses the asynchronous calls of multi-locks, in the simulation of
 * zklock/testing.h; it writes down what its callbacks are told, as async_caller.h does. */
#ifndef ZKLOCK_TESTS_MULTI_CALLER_H
#define ZKLOCK_TESTS_MULTI_CALLER_H

#include "support/unit.h"
#include "zklock/multi_lock.h"
#include "zklock/testing.h"

enum { MULTI_SESSION_MS = 4000, MULTI_HEARD_SIZE = 1024 };

#define MULTI_STOCK "/locks/stock"
#define MULTI_ORDERS "/locks/orders"

typedef struct multi_caller multi_caller;

struct multi_caller {
    zkl_client *client;
    zkl_multi_lock *multi_lock; /* on "stock" and "orders"; NULL: closed */
    zkl_multi_lock_grant grant;
    void (*react)(multi_caller *self); /* inside of each callback, once it is written down */
    int said;                          /* for it */
    char heard[MULTI_HEARD_SIZE];
};

/** In a simulation that has begun. given: NULL, the default options. */
void multi_open(multi_caller *self, zkl_dispatch dispatch, const zkl_multi_lock_options *given);
/** Both handles. */
void multi_close(multi_caller *self);
/** The handle of the locks only. */
void multi_close_handle(multi_caller *self);

/** They are accepted. */
void multi_acquire(multi_caller *self, int64_t timeout_ms);
void multi_release(multi_caller *self, int64_t timeout_ms);

/** The callbacks, with the caller as their argument. */
void multi_on_acquired(void *arg, int status, const zkl_multi_lock_grant *grant);
void multi_on_released(void *arg, int status);

/** How many callbacks it ran. */
size_t multi_dispatch(multi_caller *self);
/** Waits until something is written down: a thread's callbacks only. */
void multi_wait(multi_caller *self);
/** Compares what was written down since the last time. */
#define MULTI_HEARD(self, expected)                                                                \
    do {                                                                                           \
        EXPECT_TEXT((self)->heard, (expected));                                                    \
        (self)->heard[0] = '\0';                                                                   \
    } while (0)

/** Compares how many contenders the two resources have. */
void multi_expect_nodes(size_t of_stock, size_t of_orders);
/** The last node to have queued for a resource: its name, and its end by hand. */
void multi_last_of(const char *resource, char path[ZKL_NODE_PATH_SIZE]);
void multi_delete_last_of(const char *resource);

#endif
