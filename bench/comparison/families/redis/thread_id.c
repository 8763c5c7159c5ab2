/*
 * SET NX PX with the number of the thread as value; to unlock, GET, compare, and DEL, in two
 * commands (as Java code has it with Thread.currentThread().getId(), for example LockCase3.java of
 * the package com.example.lock.distributed).
 *
 * Defect: such a number is unique in its process only, so buyers of two processes take each other's
 * locks for their own; and the lock may pass on between GET and DEL.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

#include <string.h>

enum { POLL_MS = 100 };

static redis *server;
static int64_t timeout_ms;
/* A buyer has one thread, the first of its process: all have the same number. */
static const char value[] = "1";

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
    for (;;) {
        lock_answer answer = try_lock(product);
        if (answer != LOCK_BUSY || clock_is_over() || clock_ms() >= until_ms) {
            return answer;
        }
        clock_pause_ms(POLL_MS);
    }
}

static void release(const char *product) {
    char found[32];
    if (redis_text(server, found, sizeof found, "GET lock:%s", product) &&
        strcmp(found, value) == 0) {
        (void)redis_number(server, "DEL lock:%s", product);
    }
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
