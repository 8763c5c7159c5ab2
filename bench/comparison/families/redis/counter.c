/*
 * random_value.c with a fencing token: the script that locks also counts up a number of the product
 * (what Kleppmann, "How to do distributed locking", asks for, and says Redlock lacks).
 *
 * Defect: the number is only as lasting as Redis is. Without the append-only file a restart can
 * take it back to that of the last snapshot, and old tokens are then the greater ones.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

enum { POLL_MS = 100 };

static const char compare_and_delete[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                                         "return redis.call('del', KEYS[1]) else return 0 end";

/* The number of the grant; 0: somebody else has the lock. */
static const char take_and_count[] =
    "if not redis.call('set', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return 0 end "
    "return redis.call('incr', KEYS[2])";

static redis *server;
static int64_t timeout_ms;
static char value[REDIS_RANDOM_SIZE];

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    timeout_ms = settings->timeout_ms;
}

static lock_answer try_lock(const char *product, int64_t *token) {
    int64_t number = redis_number(server, "EVAL %s 2 lock:%s token:%s %s %lld", take_and_count,
                                  product, product, value, (long long)timeout_ms);
    if (number > 0) {
        *token = number;
        return LOCK_GRANTED;
    }
    return number == 0 ? LOCK_BUSY : LOCK_UNKNOWN;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    int64_t until_ms = clock_ms() + wait_ms;
    redis_random(value);
    for (;;) {
        lock_answer answer = try_lock(product, token);
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
