/*
 * SETNX, then EXPIRE, then DEL: the next pattern of the tutorials (Redis, "SETNX", before SET had
 * NX and PX). Milliseconds here, as the comparison's time-outs are short.
 *
 * Defect: a holder that dies between the two commands keeps the lock for ever; and whoever is late
 * deletes the lock of the next one.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

enum { POLL_MS = 100 };

static redis *server;
static int64_t timeout_ms;

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    timeout_ms = settings->timeout_ms;
}

/* The two are functions of their own: a debugger can stop between them. */
static int64_t make(const char *product) {
    return redis_number(server, "SETNX lock:%s 1", product);
}

static void let_expire(const char *product) {
    (void)redis_number(server, "PEXPIRE lock:%s %lld", product, (long long)timeout_ms);
}

static lock_answer try_lock(const char *product) {
    int64_t made = make(product);
    if (made != 1) {
        return made == 0 ? LOCK_BUSY : LOCK_UNKNOWN;
    }
    let_expire(product);
    return LOCK_GRANTED;
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
    (void)redis_number(server, "DEL lock:%s", product);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
