/*
 * LOCK TABLES ... WRITE: the tables of the shop are the lock, of all products, and nobody else even
 * reads them. The sale is written in the transaction that autocommit = 0 begins, as BEGIN would
 * give the tables back (MariaDB, "LOCK TABLES"; MySQL 8, "Interaction of Table Locking and
 * Transactions").
 */
#include "../../clock.h"
#include "../../database.h"
#include "../../mechanism.h"

#include <inttypes.h>

static void open_lock(const lock_settings *settings) {
    (void)settings;
}

static void end_transaction(void) {
    (void)database_run("COMMIT");
    (void)database_run("UNLOCK TABLES");
    /* What the buyer reads without a lock must not hold a table. */
    (void)database_run("SET autocommit = 1");
}

/* The database ends the wait, after whole seconds. */
static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)product;
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    if (database_run("SET autocommit = 0") < 0) {
        return LOCK_UNKNOWN;
    }
    if (database_run("LOCK TABLES stock WRITE, sale WRITE WAIT %" PRId64, (wait_ms + 999) / 1000) >=
        0) {
        return LOCK_GRANTED;
    }
    end_transaction();
    return clock_ms() >= until_ms ? LOCK_BUSY : LOCK_UNKNOWN;
}

static void release(const char *product) {
    (void)product;
    end_transaction();
}

const mechanism the_mechanism = { .open = open_lock,
                                  .acquire = acquire,
                                  .release = release,
                                  .holds_transaction = true,
                                  .is_of_connection = true };
