/*
 * A product's stock in five segments, each with a stock and a lock of its own; an order takes one
 * by chance, and the next one if nothing is left there ("Optimizing Distributed Lock Concurrency
 * for High-Throughput Order Scenarios", besthub.dev, after ConcurrentHashMap). The lock of a
 * segment is that of random_value.c.
 *
 * A segment is a row of the database, PRODUCT/NUMBER: with one row for all, five locks would
 * exclude nobody, and no article prints that. The product's own row stays as the sum: the shop
 * reads there whether anything is left, and the harness what was sold. So the write is the
 * mechanism's own: one less than it has seen in its segment, and one less of the sum, in one
 * transaction.
 *
 * Defect: that of any lock with a time-out. An order for several units may find none of five with
 * enough, though the sum is.
 */
#include "../../clock.h"
#include "../../database.h"
#include "../../mechanism.h"
#include "redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { POLL_MS = 100, SEGMENTS = 5 };

static const char compare_and_delete[] = "if redis.call('get', KEYS[1]) == ARGV[1] then "
                                         "return redis.call('del', KEYS[1]) else return 0 end";

static redis *server;
static int64_t timeout_ms;
static unsigned chance;
static char value[REDIS_RANDOM_SIZE];
static int64_t segment;
static int64_t units; /* seen in it */
static int64_t units_of_order;
static char split_product[128]; /* as this buyer knows */

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    timeout_ms = settings->timeout_ms;
    chance = (unsigned)clock_us();
    units_of_order = settings->units;
}

/* Whoever is first splits the stock. All rows come at once, and nobody sells before. */
static bool split(const char *product) {
    if (strcmp(split_product, product) == 0) {
        return true;
    }
    (void)snprintf(split_product, sizeof split_product, "%s", product);
    return database_run("INSERT INTO stock (product, units, fence)"
                        " SELECT product || '/' || n, units / %d + (n < units %% %d)::int, 0"
                        " FROM stock, generate_series(0, %d) AS n WHERE product = '%s'"
                        " ON CONFLICT DO NOTHING",
                        SEGMENTS, SEGMENTS, SEGMENTS - 1, product) >= 0;
}

static bool read_segment(const char *product) {
    return database_ask(&units, 1, "SELECT units FROM stock WHERE product = '%s/%lld'", product,
                        (long long)segment) == 1;
}

static lock_answer try_lock(const char *product) {
    bool answered = false;
    if (redis_is_ok(server, &answered, "SET lock:%s/%lld %s NX PX %lld", product,
                    (long long)segment, value, (long long)timeout_ms)) {
        return LOCK_GRANTED;
    }
    return answered ? LOCK_BUSY : LOCK_UNKNOWN;
}

static lock_answer lock_segment(const char *product, int64_t until_ms) {
    for (;;) {
        lock_answer answer = try_lock(product);
        if (answer != LOCK_BUSY || clock_is_over() || clock_ms() >= until_ms) {
            return answer;
        }
        clock_pause_ms(POLL_MS);
    }
}

static void release(const char *product) {
    (void)redis_number(server, "EVAL %s 1 lock:%s/%lld %s", compare_and_delete, product,
                       (long long)segment, value);
}

/* If none of the five has enough, the lock of the last is kept: the shop, which sees the sum, says
 * that it is sold out, or the write is refused. */
static lock_answer find_segment(const char *product, int64_t until_ms) {
    segment = rand_r(&chance) % SEGMENTS;
    for (int asked = 1;; asked++) {
        lock_answer answer = lock_segment(product, until_ms);
        if (answer != LOCK_GRANTED) {
            return answer;
        }
        if (!read_segment(product)) {
            release(product);
            return LOCK_UNKNOWN;
        }
        if (units >= units_of_order || asked == SEGMENTS) {
            return LOCK_GRANTED;
        }
        release(product);
        segment = (segment + 1) % SEGMENTS;
    }
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    redis_random(value);
    return split(product) ? find_segment(product, until_ms) : LOCK_UNKNOWN;
}

static int64_t sell(const char *product, int64_t ordered, int64_t units_seen) {
    (void)units_seen; /* of the sum; what counts is the segment's */
    if (units < ordered) {
        return 0;
    }
    int64_t rows = database_run("UPDATE stock SET units = %lld WHERE product = '%s/%lld'",
                                (long long)(units - ordered), product, (long long)segment);
    return rows != 1 ? rows
                     : database_run("UPDATE stock SET units = units - %lld WHERE product = '%s'",
                                    (long long)ordered, product);
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .sell = sell
};
