/* The credentials of a client: copies of those that it was opened with, or what the application's
 * callback gives. */
#pragma once

#include <pthread.h>

#include "base/pool.h"
#include "zklock/zklock.h"

/** Gives no identity: the servers refuse it, as they refuse a scheme that they do not know. */
#define ZKL_CREDENTIAL_WRONG ((zkl_credential){ .scheme = "(invalid)", .secret = "" })

/** What a client shows to servers. It shows nothing if there is no callback and the count is 0. */
typedef struct zkl_credentials {
    zkl_credential_callback *callback; /* NULL: the list is shown */
    void *arg;
    zkl_pool pool;
    zkl_credential list[ZKL_CREDENTIALS_MAX];
    size_t count;
} zkl_credentials;

/** Room for a copy of one credential. */
typedef struct zkl_credential_room {
    char scheme[ZKL_SCHEME_MAX + 1];
    char secret[ZKL_SECRET_MAX];
} zkl_credential_room;

/** Copies a list; zkl_credentials_wipe is to follow in each case. ZKL_OK, ZKL_NO_MEMORY or
 *  ZKL_INVALID_ARGUMENT. */
int zkl_credentials_take(zkl_credentials *self, const zkl_credential *list, int32_t count);
/** Checks that the identities of all in the list are known. ZKL_OK or ZKL_INVALID_ARGUMENT. */
int zkl_credentials_check_known(const zkl_credentials *self);
/** Gives one after the other, for the listener of a connection. One of the list is copied to
 *  `room`, with the mutex held that guards the list. Called without it. */
bool zkl_credentials_next(const zkl_credentials *self, pthread_mutex_t *mutex, size_t index,
                          zkl_credential *credential, zkl_credential_room *room);
/** Tells whether the identities of all that it gives are known. Without the mutex. */
bool zkl_credentials_are_known(const zkl_credentials *self, pthread_mutex_t *mutex,
                               zkl_credential_room *room);
/** Overwrites the copies, and frees them. */
void zkl_credentials_wipe(zkl_credentials *self);
