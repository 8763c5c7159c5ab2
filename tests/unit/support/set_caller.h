/* A client of an application that uses the asynchronous calls of sets, in the simulation of
 * zklock/testing.h; it writes down what its callbacks are told, as async_caller.h does. */
#ifndef ZKLOCK_TESTS_SET_CALLER_H
#define ZKLOCK_TESTS_SET_CALLER_H

#include "support/unit.h"
#include "zklock/testing.h"
#include "zklock/zklock.h"

enum { SET_SESSION_MS = 4000, SET_HEARD_SIZE = 1024 };

#define SET_STOCK "/locks/stock"
#define SET_ORDERS "/locks/orders"

typedef struct set_caller set_caller;

struct set_caller {
    zkl_client *client;
    zkl_lock *set; /* on "stock" and "orders"; NULL: closed */
    zkl_grant grant;
    void (*react)(set_caller *self); /* inside of each callback, once it is written down */
    int said;                        /* for it */
    char heard[SET_HEARD_SIZE];
};

/** In a simulation that has begun. given: NULL, the default options. */
void set_open(set_caller *self, zkl_dispatch dispatch, const zkl_lock_options *given);
/** Both handles. */
void set_close(set_caller *self);
/** The handle of the locks only. */
void set_close_handle(set_caller *self);

/** They are accepted. */
void set_acquire(set_caller *self, int64_t timeout_ms);
void set_release(set_caller *self, int64_t timeout_ms);

/** The callbacks, with the caller as their argument. */
void set_on_acquired(void *arg, int status, const zkl_grant *grant);
void set_on_released(void *arg, int status);

/** How many callbacks it ran. */
size_t set_dispatch(set_caller *self);
/** Waits until something is written down: a thread's callbacks only. */
void set_wait(set_caller *self);
/** Compares what was written down since the last time. */
#define SET_HEARD(self, expected)                                                                  \
    do {                                                                                           \
        EXPECT_TEXT((self)->heard, (expected));                                                    \
        (self)->heard[0] = '\0';                                                                   \
    } while (0)

/** Compares how many contenders the two resources have. */
void set_expect_nodes(size_t of_stock, size_t of_orders);
/** The last node to have queued for a resource: its name, and its end by hand. */
void set_last_of(const char *resource, char path[ZKL_NODE_PATH_SIZE]);
void set_delete_last_of(const char *resource);

#endif
