/* Which handles are open, in the whole process: a call on one that is closed is refused without a
 * look at what it pointed to. (If a new handle has got its address, the call is taken for one on
 * that.) */
#pragma once

#include <stdbool.h>

/** The first field of each kind of handle. */
typedef struct zkl_handle {
    struct zkl_handle *next;
    int process; /* that opened it: a forked child must not use it */
    int kind;    /* a number: thousands of locks shall cost little */
} zkl_handle;

/** A kind is called as the arguments that take it: "client", "lock", "striped_lock", "transaction",
 *  "election" or "observer". */
void zkl_handle_open(const char *kind, zkl_handle *handle);
/** Of one that is open; the last thing before it is freed. */
void zkl_handle_close(zkl_handle *handle);
/** Open, and of this kind. */
bool zkl_handle_is_open(const char *kind, const void *handle);
/** And of this process. */
bool zkl_handle_is_ours(const char *kind, const void *handle);

/** ZKL_OK, ZKL_FORKED, or ZKL_INVALID_ARGUMENT with a message: NULL, not open, or of another
 *  kind. */
int zkl_handle_check(const char *kind, const void *handle);
