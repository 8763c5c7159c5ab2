/*
 * GET_LOCK, of the connection: a name that only the application knows the meaning of (MariaDB,
 * "GET_LOCK"). It ends with the connection, which is the one that writes.
 */
#include "../../database.h"
#include "../../mechanism.h"

#include <inttypes.h>

static void open_lock(const lock_settings *settings) {
    (void)settings;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t got = -1;
    /* NULL is an error. */
    int64_t rows = database_ask(&got, 1, "SELECT IFNULL(GET_LOCK('%s', %" PRId64 ".%03d), -1)",
                                product, wait_ms / 1000, (int)(wait_ms % 1000));
    return rows != 1 || got < 0 ? LOCK_UNKNOWN : got == 1 ? LOCK_GRANTED : LOCK_BUSY;
}

static void release(const char *product) {
    (void)database_run("SELECT RELEASE_LOCK('%s')", product);
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .is_of_connection = true
};
