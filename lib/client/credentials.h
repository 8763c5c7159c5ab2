/* The credentials of a client: copies of those that it was opened with, or what the application's
 * callback gives. */
#pragma once

#include "base/pool.h"
#include "zklock/zklock.h"

/** There are some if there is a callback or the count is not 0. */
typedef struct zkl_credentials {
    zkl_credential_callback *callback; /* NULL: the list */
    void *arg;
    zkl_credential list[ZKL_CREDENTIALS_MAX];
    size_t count;
} zkl_credentials;

/** Takes them over from options, copied into the pool. ZKL_OK, ZKL_NO_MEMORY or
 *  ZKL_INVALID_ARGUMENT. */
int zkl_credentials_take(zkl_credentials *self, zkl_pool *pool, const zkl_client_options *options);
/** Gives one after the other, for the listener of a connection. */
bool zkl_credentials_next(const zkl_credentials *self, size_t index, zkl_credential *credential);
/** Overwrites the copies. */
void zkl_credentials_wipe(zkl_credentials *self);
