/* The lock that the service had before, in a server that zklock does not share: of Redis
 * (old_lock_of_redis.c) or of a database (old_lock_of_postgresql.c). */
#pragma once

#include <stdbool.h>

/** Connects to a port of this machine, or to what the database's library takes. False: nobody
 * answers. */
bool old_lock_open(const char *server);
/** Asks once. */
bool old_lock_try(const char *name);
void old_lock_release(const char *name);
