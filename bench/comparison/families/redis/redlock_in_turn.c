/*
 * Redlock, the servers asked one after the other (Redis, "Distributed Locks with Redis"): SET NX PX
 * with the same random value on each; granted by more than half of them, if time is left; otherwise
 * all are unlocked, and after a pause by chance it begins anew. Also for six servers, of which four
 * are more than half. The holder looks whether its time is over before it writes.
 *
 * Defect: a write that is late has no token; and it counts on the clocks of the servers,
 * and on the client's on the wall.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

#include <stdlib.h>

enum { SERVERS_MOST = 16, PATIENCE_MS = 50, RETRY_MS = 200 };

static const char compare_and_delete[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                                         "return redis.call('del', KEYS[1]) else return 0 end";

static redis *servers[SERVERS_MOST];
static int count;
static int64_t timeout_ms;
static unsigned chance;
static char value[REDIS_RANDOM_SIZE];
static int64_t valid_until_ms; /* of the grant, by the clock on the wall */

static void open_lock(const lock_settings *settings) {
    count = redis_open_all(servers, SERVERS_MOST, settings->servers, PATIENCE_MS);
    timeout_ms = settings->timeout_ms;
    chance = (unsigned)clock_us();
}

static void release(const char *product) {
    for (int i = 0; i < count; i++) {
        (void)redis_number(servers[i], "EVAL %s 1 lock:%s %s", compare_and_delete, product, value);
    }
}

/* How many have given their lock; how many have said anything goes to `answered`. */
static int ask_all(const char *product, int *answered) {
    int taken = 0;
    for (int i = 0; i < count; i++) {
        bool said = false;
        taken += redis_is_ok(servers[i], &said, "SET lock:%s %s NX PX %lld", product, value,
                             (long long)timeout_ms);
        *answered += said;
    }
    return taken;
}

/* By the clock on the wall, as the first library has it: "as long as the client holding the lock
 * terminates its work within the lock validity time". */
static bool is_valid(void) {
    return clock_wall_ms() < valid_until_ms;
}

static bool still_held(const char *product) {
    (void)product;
    return is_valid();
}

static lock_answer try_lock(const char *product) {
    int64_t drift_ms = timeout_ms / 100 + 2;
    int answered = 0;
    valid_until_ms = clock_wall_ms() + timeout_ms - drift_ms;
    redis_random(value);
    int taken = ask_all(product, &answered);
    if (taken >= count / 2 + 1 && is_valid()) {
        return LOCK_GRANTED;
    }
    release(product);
    return answered >= count / 2 + 1 ? LOCK_BUSY : LOCK_UNKNOWN;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    for (;;) {
        lock_answer answer = try_lock(product);
        if (answer == LOCK_GRANTED || clock_is_over() || clock_ms() >= until_ms) {
            return answer;
        }
        clock_pause_ms(rand_r(&chance) % RETRY_MS);
    }
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .still_held = still_held
};
