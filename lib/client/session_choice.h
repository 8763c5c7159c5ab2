/* Which session of a client a new request uses. */
#pragma once

#include "client/client.h"

/** A session that has room for a request that watches paths of this many bytes, with the mutex
 *  held; another one is opened where needed. ZKL_OK, ZKL_INVALID_ARGUMENT, ZKL_TOO_MANY_REQUESTS,
 *  ZKL_AUTH_FAILED, ZKL_NO_MEMORY or ZKL_SYSTEM. */
int zkl_client_choose_session(zkl_client *client, size_t watched_bytes, zkl_session **session);
