/* Which handles are open, in the whole process: a call on one that is closed is refused without a
 * look at what it pointed to. (If a new handle has the same address, the call counts as one on the
 * new handle.) */
#pragma once

#include <stdbool.h>

/** The first field of each kind of handle. */
typedef struct zkl_handle {
    struct zkl_handle *next;
    int process; /* the process that opened it: a forked child must not use it */
    int kind;    /* the index of its name, which is small: there may be thousands of locks */
} zkl_handle;

/** Notes that a handle is open. A kind is named as the arguments that take it: "client", "lock",
 *  "striped_lock", "transaction", "election" or "observer". */
void zkl_handle_open(const char *kind, zkl_handle *handle);
/** Notes that an open handle is closed. Nothing else may be done with it then but to free it. */
void zkl_handle_close(zkl_handle *handle);
/** Tells whether it is open, and of this kind. */
bool zkl_handle_is_open(const char *kind, const void *handle);
/** Tells whether it is open, of this kind, and opened by this process. */
bool zkl_handle_is_ours(const char *kind, const void *handle);

/** Returns ZKL_OK, ZKL_FORKED, or ZKL_INVALID_ARGUMENT with a message: NULL, not open, or of
 *  another kind. */
int zkl_handle_check(const char *kind, const void *handle);
