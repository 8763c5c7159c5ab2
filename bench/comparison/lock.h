/*
 * The locks of an order as the buyer takes them: that of its product, and that of a second one
 * inside it. Where the mechanism knows one product's lock at a time, which most clients of a lock
 * do, the second has a process of its own, with a client of its own, in the buyer's group.
 */
#pragma once

#include "mechanism.h"

/** Opens the mechanism. Before that, no thread and no
 * connection may be open. From here on SIGTERM ends a wait for a lock, also one inside the
 * database. */
void lock_open(const lock_settings *settings, const char *database);

lock_answer lock_acquire(const char *product, int64_t wait_ms, int64_t *token);

lock_answer lock_acquire_second(int64_t wait_ms);

void lock_release_second(void);
