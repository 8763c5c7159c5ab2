/*
 * A fair queue whose waiters expire: a list for the order, and a sorted set that says until when
 * each waiter counts: as long as it means to wait (the behaviour of tryLock of Redisson's fair
 * lock). Whoever asks first removes heads whose time is over, by its own clock on the wall. A
 * waiter that gives up removes itself. Polled here every 100 ms; Redisson adds a channel.
 *
 * Defect: a dead waiter costs all behind it its time; a clock that is stepped removes the living;
 * and nobody tells a late holder that its time is over.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

enum { POLL_MS = 100 };

static const char compare_and_delete[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                                         "return redis.call('del', KEYS[1]) else return 0 end";

/* KEYS: the lock, the list, the set. ARGV: the caller, the lock's time, the waiter's, and now. */
static const char queue_and_take[] =
    "local head = redis.call('lindex', KEYS[2], 0) "
    "while head and tonumber(redis.call('zscore', KEYS[3], head) or 0) <= tonumber(ARGV[4]) do "
    "redis.call('lpop', KEYS[2]) redis.call('zrem', KEYS[3], head) "
    "head = redis.call('lindex', KEYS[2], 0) end "
    "if (not head or head == ARGV[1]) and "
    "redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then "
    "if head then redis.call('lpop', KEYS[2]) redis.call('zrem', KEYS[3], ARGV[1]) end "
    "return 1 end "
    "if not redis.call('zscore', KEYS[3], ARGV[1]) then "
    "local last = redis.call('lindex', KEYS[2], -1) "
    "local from = last and tonumber(redis.call('zscore', KEYS[3], last)) "
    "or ARGV[4] + math.max(redis.call('pttl', KEYS[1]), 0) "
    "redis.call('zadd', KEYS[3], from + ARGV[3], ARGV[1]) "
    "redis.call('rpush', KEYS[2], ARGV[1]) end "
    "return 0";

static redis *server;
static int64_t timeout_ms;
static char value[REDIS_RANDOM_SIZE];

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    timeout_ms = settings->timeout_ms;
}

static lock_answer try_lock(const char *product, int64_t waiter_ms) {
    int64_t taken =
        redis_number(server, "EVAL %s 3 lock:%s queue:%s until:%s %s %lld %lld %lld",
                     queue_and_take, product, product, product, value, (long long)timeout_ms,
                     (long long)waiter_ms, (long long)clock_wall_ms());
    return taken == 1 ? LOCK_GRANTED : taken == 0 ? LOCK_BUSY : LOCK_UNKNOWN;
}

static void leave_queue(const char *product) {
    (void)redis_number(server, "LREM queue:%s 0 %s", product, value);
    (void)redis_number(server, "ZREM until:%s %s", product, value);
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    redis_random(value);
    lock_answer answer = try_lock(product, wait_ms);
    while (answer == LOCK_BUSY && !clock_is_over() && clock_ms() < until_ms) {
        clock_pause_ms(POLL_MS);
        answer = try_lock(product, wait_ms);
    }
    if (answer != LOCK_GRANTED) {
        leave_queue(product);
    }
    return answer;
}

static void release(const char *product) {
    (void)redis_number(server, "EVAL %s 1 lock:%s %s", compare_and_delete, product, value);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
