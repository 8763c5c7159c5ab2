/*
 * SELECT ... FOR UPDATE: the row of the product itself is the lock, and the sale is written in the
 * transaction that holds it (PostgreSQL 15, "Row-Level Locks"; MariaDB, "FOR UPDATE"). The rows of
 * several products are locked in one transaction; an error ends it, and all of them are free.
 */
#include "../../clock.h"
#include "../../database.h"
#include "../../mechanism.h"

#include <inttypes.h>

static bool is_open; /* the transaction */

#ifdef PLAIN_IDLE_TIMEOUT
/* The database ends a transaction in which nothing has come for so long, whoever holds it. */
static void open_lock(const lock_settings *settings) {
    (void)database_run("SET idle_in_transaction_session_timeout = %" PRId64, settings->timeout_ms);
}
#else
static void open_lock(const lock_settings *settings) {
    (void)settings;
}
#endif

/* The database ends the wait. */
#ifdef PLAIN_MARIADB
/* After whole seconds. */
static bool lock_row(const char *product, int64_t wait_ms) {
    return database_run("SELECT units FROM stock WHERE product = '%s' FOR UPDATE WAIT %" PRId64,
                        product, (wait_ms + 999) / 1000) == 1;
}
#else
/* A limit of 0 would be none. */
static bool lock_row(const char *product, int64_t wait_ms) {
    return database_run("SET LOCAL lock_timeout = %" PRId64
                        "; SELECT units FROM stock WHERE product = '%s' FOR UPDATE",
                        wait_ms > 0 ? wait_ms : 1, product) == 1;
}
#endif

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    if (!is_open && database_run("BEGIN") < 0) {
        return LOCK_UNKNOWN;
    }
    is_open = lock_row(product, wait_ms);
    if (is_open) {
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
    is_open = false;
}

const mechanism the_mechanism = { .open = open_lock,
                                  .acquire = acquire,
                                  .release = release,
                                  .holds_transaction = true,
                                  .is_of_connection = true };
