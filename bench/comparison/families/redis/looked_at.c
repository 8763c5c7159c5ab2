/*
 * SET NX PX with a random value and a script to delete, as random_value.c; and right before the
 * write the holder looks whether the lock still has its value (go-redsync/redsync, pull request 42,
 * adds it against work that is too long).
 *
 * Defect: the lock can pass on between the look and the write. No experiment that stops the holder
 * during its work can show that: the look comes after it.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

#include <string.h>

enum { POLL_MS = 100 };

static const char compare_and_delete[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                                         "return redis.call('del', KEYS[1]) else return 0 end";

static redis *server;
static int64_t timeout_ms;
static char value[REDIS_RANDOM_SIZE];

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    timeout_ms = settings->timeout_ms;
}

static lock_answer try_lock(const char *product) {
    bool answered = false;
    if (redis_is_ok(server, &answered, "SET lock:%s %s NX PX %lld", product, value,
                    (long long)timeout_ms)) {
        return LOCK_GRANTED;
    }
    return answered ? LOCK_BUSY : LOCK_UNKNOWN;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    redis_random(value);
    for (;;) {
        lock_answer answer = try_lock(product);
        if (answer != LOCK_BUSY || clock_is_over() || clock_ms() >= until_ms) {
            return answer;
        }
        clock_pause_ms(POLL_MS);
    }
}

static bool still_held(const char *product) {
    char found[REDIS_RANDOM_SIZE];
    return redis_text(server, found, sizeof found, "GET lock:%s", product) &&
           strcmp(found, value) == 0;
}

static void release(const char *product) {
    (void)redis_number(server, "EVAL %s 1 lock:%s %s", compare_and_delete, product, value);
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .still_held = still_held
};
