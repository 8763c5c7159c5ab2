/* The client of the mechanisms that are made with zklock, and its handle of one product. */
#pragma once

#include "../../mechanism.h"

#include <zklock/zklock.h>

/** Remembers where the servers are. `lease`: the client keeps a lease on its session. */
void client_prepare(const lock_settings *settings, bool lease);

/** The process's client. The first call opens it, for `wait_ms` at most: before that a server need
 * not answer. */
int client_get(int64_t wait_ms, zkl_client **client);

/** The handle of a product, which is opened again when the product is another one. */
int client_lock(const char *product, const zkl_lock_options *options, int64_t wait_ms,
                zkl_lock **lock);

/** What a status of an acquire means to the buyer. */
lock_answer client_answer(int status);
