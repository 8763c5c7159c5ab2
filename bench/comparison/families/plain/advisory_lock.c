/*
 * pg_advisory_lock, of the session: a number that only the application knows the meaning of, here
 * the hash of the product's name (PostgreSQL 15, "Advisory Locks"). It ends with the connection,
 * which is the one that writes.
 *
 * hashtext has 32 bits: two names may share a lock, which costs time and no harm.
 */
#include "../../clock.h"
#include "../../database.h"
#include "../../mechanism.h"

#include <inttypes.h>

static void open_lock(const lock_settings *settings) {
    (void)settings;
}

/* The database ends the wait; a limit of 0 would be none. */
static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    if (database_run("SET lock_timeout = %" PRId64 "; SELECT pg_advisory_lock(hashtext('%s'))",
                     wait_ms > 0 ? wait_ms : 1, product) == 1) {
        return LOCK_GRANTED;
    }
    return clock_ms() >= until_ms ? LOCK_BUSY : LOCK_UNKNOWN;
}

static void release(const char *product) {
    (void)database_run("SELECT pg_advisory_unlock(hashtext('%s'))", product);
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .is_of_connection = true
};
