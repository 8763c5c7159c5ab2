/*
 * SELECT ... FOR UPDATE: the row of the product itself is the lock, and the sale is written in the
 * transaction that holds it (PostgreSQL 15, "Row-Level Locks"; MariaDB, "FOR UPDATE").
 */
#include "../../database.h"
#include "../../mechanism.h"

static void open_lock(const lock_settings *settings) {
    (void)settings;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)wait_ms; /* the database's own limit counts */
    (void)token;
    if (database_run("BEGIN") < 0) {
        return LOCK_UNKNOWN;
    }
    if (database_run("SELECT units FROM stock WHERE product = '%s' FOR UPDATE", product) == 1) {
        return LOCK_GRANTED;
    }
    (void)database_run("ROLLBACK");
    return LOCK_UNKNOWN;
}

static void release(const char *product) {
    (void)product;
    (void)database_run("COMMIT");
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .holds_transaction = true
};
