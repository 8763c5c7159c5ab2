/*
 * SET NX PX with a random value and a script to delete; a thread of the holder renews every third
 * of the time, by a script that compares the value first, and gives up when the lock is lost
 * (Redisson's documentation of its watchdog; here on a plain key).
 *
 * Defect: a stopped process renews nothing, and nobody tells it that it has lost the lock.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"
#include "ticker.h"

#include <stdio.h>

enum { POLL_MS = 100 };

static const char compare_and_delete[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                                         "return redis.call('del', KEYS[1]) else return 0 end";
static const char compare_and_renew[] =
    "if redis.call('get', KEYS[1]) == ARGV[1] then "
    "return redis.call('pexpire', KEYS[1], ARGV[2]) else return 0 end";

static redis *server;
static int64_t timeout_ms;
static char value[REDIS_RANDOM_SIZE];

/* The watchdog's: a connection of its own, and what it renews. */
static redis *renewer;
static char renewed[128];

/* No answer is no reason to give up. */
static bool renew(void) {
    return redis_number(renewer, "EVAL %s 1 lock:%s %s %lld", compare_and_renew, renewed, value,
                        (long long)timeout_ms) != 0;
}

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    timeout_ms = settings->timeout_ms;
    renewer = redis_open(settings->servers, 2000);
    ticker_open(timeout_ms / 3, renew);
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
    lock_answer answer = try_lock(product);
    while (answer == LOCK_BUSY && !clock_is_over() && clock_ms() < until_ms) {
        clock_pause_ms(POLL_MS);
        answer = try_lock(product);
    }
    if (answer == LOCK_GRANTED) {
        (void)snprintf(renewed, sizeof renewed, "%s", product);
        ticker_begin();
    }
    return answer;
}

static void release(const char *product) {
    ticker_end();
    (void)redis_number(server, "EVAL %s 1 lock:%s %s", compare_and_delete, product, value);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
