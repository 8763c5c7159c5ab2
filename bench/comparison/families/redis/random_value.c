/*
 * SET key value NX PX, the value a random one, and a script that deletes the key only if it still
 * has that value: what the page of SET calls the better pattern (redis.io, "SET", "Patterns").
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

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

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    redis_random(value);
    for (;;) {
        bool answered = false;
        if (redis_is_ok(server, &answered, "SET lock:%s %s NX PX %lld", product, value,
                        (long long)timeout_ms)) {
            return LOCK_GRANTED;
        }
        if (!answered) {
            return LOCK_UNKNOWN;
        }
        if (clock_is_over() || clock_ms() >= until_ms) {
            return LOCK_BUSY;
        }
        clock_pause_ms(POLL_MS);
    }
}

static void release(const char *product) {
    (void)redis_number(server, "EVAL %s 1 lock:%s %s", compare_and_delete, product, value);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
