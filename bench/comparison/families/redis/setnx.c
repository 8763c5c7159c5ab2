/*
 * SETNX to lock, DEL to unlock: the pattern that tutorials begin with. No time-out: a holder that
 * dies keeps it for ever.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

enum { POLL_MS = 100 };

static redis *server;

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    for (;;) {
        int64_t made = redis_number(server, "SETNX lock:%s 1", product);
        if (made != 0) {
            return made == 1 ? LOCK_GRANTED : LOCK_UNKNOWN;
        }
        if (clock_is_over() || clock_ms() >= until_ms) {
            return LOCK_BUSY;
        }
        clock_pause_ms(POLL_MS);
    }
}

static void release(const char *product) {
    (void)redis_number(server, "DEL lock:%s", product);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
