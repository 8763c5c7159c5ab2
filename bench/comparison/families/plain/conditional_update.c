/*
 * No lock, and none needed: one statement takes a unit if there is one. Databases have done so
 * since there is SQL; it is what every lock here has to be better than.
 */
#include "../../database.h"
#include "../../mechanism.h"

static void open_lock(const lock_settings *settings) {
    (void)settings;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)product;
    (void)wait_ms;
    (void)token;
    return LOCK_GRANTED;
}

static void release(const char *product) {
    (void)product;
}

static lock_answer sell(const char *product, const char *order, int64_t units_seen) {
    (void)order;
    (void)units_seen;
    int64_t rows = database_run(
        "UPDATE stock SET units = units - 1 WHERE product = '%s' AND units >= 1", product);
    return rows == 1 ? LOCK_GRANTED : rows == 0 ? LOCK_BUSY : LOCK_UNKNOWN;
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .sell = sell
};
