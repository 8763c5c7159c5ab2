/*
 * No lock: a version in the product's row. The write names the version that was read, and counts
 * it up; if another buyer was faster it changes no row, and the order is tried again (Fowler,
 * "Patterns of Enterprise Application Architecture", "Optimistic Offline Lock").
 *
 * The version is read right before the units. A write between the two reads makes this one fail
 * without need, and never succeed without right.
 */
#include "../../database.h"
#include "../../mechanism.h"

#include <inttypes.h>

static int64_t version_seen;

static void open_lock(const lock_settings *settings) {
    (void)settings;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)wait_ms; /* nobody waits */
    (void)token;
    int64_t rows =
        database_ask(&version_seen, 1, "SELECT version FROM stock WHERE product = '%s'", product);
    return rows == 1 ? LOCK_GRANTED : LOCK_UNKNOWN;
}

static void release(const char *product) {
    (void)product;
}

static int64_t sell(const char *product, int64_t units, int64_t units_seen) {
    return database_run("UPDATE stock SET units = %" PRId64 ", version = version + 1"
                        " WHERE product = '%s' AND version = %" PRId64,
                        units_seen - units, product, version_seen);
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .sell = sell
};
