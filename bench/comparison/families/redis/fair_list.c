/*
 * A fair queue in a list (seen as the constant fairLockScript of a project in TypeScript): whoever
 * comes appends itself to a list, and asks every 100 ms whether it is the head; the head takes the
 * lock by SET NX PX and leaves the list, in one script. A random value, and a script to delete.
 *
 * Defect: a waiter that dies, or whose time to wait is over, stays in the list, and blocks all
 * behind it for ever when it is the head.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

enum { POLL_MS = 100 };

static const char compare_and_delete[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                                         "return redis.call('del', KEYS[1]) else return 0 end";

/* 1: the caller was the head, and has the lock. */
static const char take_if_head[] =
    "if redis.call('lindex', KEYS[1], 0) ~= ARGV[1] then return 0 end "
    "if not redis.call('set', KEYS[2], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end "
    "redis.call('lpop', KEYS[1]) return 1";

static redis *server;
static int64_t timeout_ms;
static char value[REDIS_RANDOM_SIZE];

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    timeout_ms = settings->timeout_ms;
}

static bool join(const char *product) {
    redis_random(value);
    return redis_number(server, "RPUSH queue:%s %s", product, value) > 0;
}

static lock_answer try_lock(const char *product) {
    int64_t taken = redis_number(server, "EVAL %s 2 queue:%s lock:%s %s %lld", take_if_head,
                                 product, product, value, (long long)timeout_ms);
    return taken == 1 ? LOCK_GRANTED : taken == 0 ? LOCK_BUSY : LOCK_UNKNOWN;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    if (!join(product)) {
        return LOCK_UNKNOWN;
    }
    for (;;) {
        lock_answer answer = try_lock(product);
        if (answer != LOCK_BUSY || clock_is_over() || clock_ms() >= until_ms) {
            return answer;
        }
        clock_pause_ms(POLL_MS);
    }
}

static void release(const char *product) {
    (void)redis_number(server, "EVAL %s 1 lock:%s %s", compare_and_delete, product, value);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
