/* No lock: read, then write. */
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

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
