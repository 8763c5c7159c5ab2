/*
 * SETNX of the time at which the lock ends; whoever finds that time over takes it by GETSET, if the
 * old value that this returns is over too (Redis, "SETNX", "Design pattern: Locking with SETNX").
 * The holder deletes the key only while its own time is not over.
 *
 * Defect: all clocks on the wall must agree; nobody's name is in the lock; and whoever loses by
 * GETSET has moved the winner's end all the same.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

#include <stdlib.h>

enum { POLL_MS = 100 };

static redis *server;
static int64_t timeout_ms;
static int64_t ends_at_ms; /* by the clock on the wall, as in the key */

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    timeout_ms = settings->timeout_ms;
}

static bool is_over(const char *text) {
    return text[0] != '\0' && strtoll(text, NULL, 10) < clock_wall_ms();
}

/* Somebody else's time is over: of all who see that, one takes the lock. */
static lock_answer take_over(const char *product) {
    char old[32];
    ends_at_ms = clock_wall_ms() + timeout_ms + 1;
    if (!redis_text(server, old, sizeof old, "GETSET lock:%s %lld", product,
                    (long long)ends_at_ms)) {
        return LOCK_UNKNOWN;
    }
    return is_over(old) ? LOCK_GRANTED : LOCK_BUSY;
}

static lock_answer try_lock(const char *product) {
    char seen[32];
    ends_at_ms = clock_wall_ms() + timeout_ms + 1;
    int64_t made = redis_number(server, "SETNX lock:%s %lld", product, (long long)ends_at_ms);
    if (made != 0) {
        return made == 1 ? LOCK_GRANTED : LOCK_UNKNOWN;
    }
    if (!redis_text(server, seen, sizeof seen, "GET lock:%s", product)) {
        return LOCK_UNKNOWN;
    }
    return is_over(seen) ? take_over(product) : LOCK_BUSY;
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
    if (clock_wall_ms() < ends_at_ms) {
        (void)redis_number(server, "DEL lock:%s", product);
    }
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
