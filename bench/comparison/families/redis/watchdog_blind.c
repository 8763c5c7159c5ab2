/*
 * SET NX PX with a random value and a script to delete; a thread of the holder gives the key its
 * full time again every third of it, with EXPIRE and nothing else (as RedisLockThread.java of
 * majian000/toucan-shopping). Milliseconds here, as the comparison's time-outs are short.
 *
 * Defect: the thread renews whatever lock has that name, be it another's; and a stopped process
 * renews nothing.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"
#include "ticker.h"

#include <stdio.h>

enum { POLL_MS = 100 };

static const char compare_and_delete[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                                         "return redis.call('del', KEYS[1]) else return 0 end";

static redis *server;
static int64_t timeout_ms;
static char value[REDIS_RANDOM_SIZE];

/* The watchdog's: a connection of its own, and what it renews. */
static redis *renewer;
static char renewed[128];

static bool renew(void) {
    (void)redis_number(renewer, "PEXPIRE lock:%s %lld", renewed, (long long)timeout_ms);
    return true;
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
