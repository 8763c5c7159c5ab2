/* Which handles are open, in the whole process: a call on one that is closed is refused without a
 * look at what it pointed to. (If a new handle has got its address, the call is taken for one on
 * that.) */
#pragma once

#include <stdbool.h>

/** The first field of each kind of handle. */
typedef struct zkl_handle {
    struct zkl_handle *next;
    int process; /* that opened it: a forked child must not use it */
} zkl_handle;

void zkl_handle_open(zkl_handle *handle);
/** Of one that is open; the last thing before it is freed. */
void zkl_handle_close(zkl_handle *handle);
bool zkl_handle_is_open(const void *handle);
/** Open, and of this process. */
bool zkl_handle_is_ours(const void *handle);

/** ZKL_OK, ZKL_FORKED, or ZKL_INVALID_ARGUMENT with a message: NULL, or not open. */
int zkl_handle_check(const char *what, const void *handle);
