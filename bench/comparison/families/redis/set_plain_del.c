/*
 * SET key value NX PX to lock, a plain DEL to unlock (Redis, "SET": the simple form of its locking
 * pattern).
 *
 * Defect: whoever is late deletes the lock of the next one, and so lets in a third.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

enum { POLL_MS = 100 };

static redis *server;
static int64_t timeout_ms;

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    timeout_ms = settings->timeout_ms;
}

static lock_answer try_lock(const char *product) {
    bool answered = false;
    if (redis_is_ok(server, &answered, "SET lock:%s 1 NX PX %lld", product,
                    (long long)timeout_ms)) {
        return LOCK_GRANTED;
    }
    return answered ? LOCK_BUSY : LOCK_UNKNOWN;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    for (;;) {
        lock_answer answer = try_lock(product);
        if (answer != LOCK_BUSY || clock_is_over() || clock_ms() >= until_ms) {
            return answer;
        }
        clock_pause_ms(POLL_MS);
    }
}

static void release(const char *product) {
    (void)redis_number(server, "DEL lock:%s", product);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
