/*
 * A hash with one field, which names the owner and counts how often it has the lock; a script each
 * to enter and to leave, with HEXISTS and HINCRBY (the behaviour of Redisson's lock with a lease
 * time, which has no watchdog). The owner may enter again.
 *
 * Defect: the field names an owner, not a grant; and nobody tells a late holder that its time is
 * over.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

enum { POLL_MS = 100 };

/* 1: the caller has the lock. */
static const char enter_script[] =
    "local free = redis.call('exists', KEYS[1]) == 0 "
    "if not free and redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end "
    "redis.call('hincrby', KEYS[1], ARGV[1], 1) "
    "redis.call('pexpire', KEYS[1], ARGV[2]) "
    "return 1";

static const char leave_script[] =
    "if redis.call('hexists', KEYS[1], ARGV[1]) == 0 then return 0 end "
    "if redis.call('hincrby', KEYS[1], ARGV[1], -1) > 0 then "
    "return redis.call('pexpire', KEYS[1], ARGV[2]) end "
    "return redis.call('del', KEYS[1])";

static redis *server;
static int64_t timeout_ms;
static const char *owner; /* of all a buyer's grants */

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    timeout_ms = settings->timeout_ms;
    owner = settings->buyer;
}

static lock_answer try_lock(const char *product) {
    int64_t entered = redis_number(server, "EVAL %s 1 lock:%s %s %lld", enter_script, product,
                                   owner, (long long)timeout_ms);
    return entered == 1 ? LOCK_GRANTED : entered == 0 ? LOCK_BUSY : LOCK_UNKNOWN;
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
    (void)redis_number(server, "EVAL %s 1 lock:%s %s %lld", leave_script, product, owner,
                       (long long)timeout_ms);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
