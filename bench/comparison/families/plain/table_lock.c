/*
 * LOCK TABLE ... IN EXCLUSIVE MODE: the whole stock is the lock, of all products, and the sale is
 * written in the transaction that holds it (PostgreSQL 15, "LOCK"). Others still read.
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
    (void)product;
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    if (database_run("BEGIN; SET LOCAL lock_timeout = %" PRId64
                     "; LOCK TABLE stock IN EXCLUSIVE MODE",
                     wait_ms > 0 ? wait_ms : 1) >= 0) {
        return LOCK_GRANTED;
    }
    (void)database_run("ROLLBACK");
    return clock_ms() >= until_ms ? LOCK_BUSY : LOCK_UNKNOWN;
}

static void release(const char *product) {
    (void)product;
    if (database_in_transaction()) { /* a sale has committed already */
        (void)database_run("COMMIT");
    }
}

const mechanism the_mechanism = { .open = open_lock,
                                  .acquire = acquire,
                                  .release = release,
                                  .holds_transaction = true,
                                  .is_of_connection = true };
