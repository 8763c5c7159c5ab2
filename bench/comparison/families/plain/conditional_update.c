/*
 * No lock, and none needed: one statement takes units if there are enough. Databases have done so
 * since there is SQL; it is what every lock here has to be better than.
 */
#include "../../database.h"
#include "../../mechanism.h"

#include <inttypes.h>

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

static int64_t sell(const char *product, int64_t units, int64_t units_seen) {
    (void)units_seen;
    return database_run("UPDATE stock SET units = units - %" PRId64
                        " WHERE product = '%s' AND units >= %" PRId64,
                        units, product, units);
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .sell = sell
};
