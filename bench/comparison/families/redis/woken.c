/*
 * SET NX PX with a random value; the script that deletes also publishes, and waiters subscribe
 * instead of asking every 100 ms (the behaviour of Redisson's lock: subscribe, ask again, then wait
 * for a message, at most for as long as the lock has left).
 *
 * Defect: that of any lock with a time-out; and a message wakes all waiters, though one gets in.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "redis.h"

#include <stdio.h>
#include <string.h>

enum { PATIENCE_MS = 2000 };

static const char delete_and_publish[] =
    "if redis.call('get', KEYS[1]) ~= ARGV[1] then return 0 end "
    "redis.call('del', KEYS[1]) redis.call('publish', KEYS[2], '1') return 1";

static redis *server;
static redis *listener; /* a subscriber may send no other commands */
static int64_t timeout_ms;
static char value[REDIS_RANDOM_SIZE];
static char subscribed[128]; /* to the messages of this product; "": of none */

static void open_lock(const lock_settings *settings) {
    server = redis_open(settings->servers, 2000);
    listener = redis_open(settings->servers, 2000);
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

/* Messages may come before the confirmation. Frees `reply`. */
static bool await_confirmation(redisReply *reply, const char *word) {
    int64_t until_ms = clock_ms() + PATIENCE_MS;
    for (;;) {
        bool found = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements > 0 &&
                     strcmp(reply->element[0]->str, word) == 0;
        freeReplyObject(reply);
        if (found || clock_is_over() || clock_ms() >= until_ms) {
            return found;
        }
        reply = redis_next(listener, until_ms - clock_ms());
        clock_pause_ms(reply == NULL ? 1 : 0);
    }
}

/* Stays subscribed: whoever waited once mostly waits again. */
static bool subscribe(const char *product) {
    if (strcmp(subscribed, product) == 0) {
        return true;
    }
    if (*subscribed != '\0') {
        (void)await_confirmation(redis_command(listener, "UNSUBSCRIBE"), "unsubscribe");
    }
    bool is_confirmed =
        await_confirmation(redis_command(listener, "SUBSCRIBE free:%s", product), "subscribe");
    (void)snprintf(subscribed, sizeof subscribed, "%s", is_confirmed ? product : "");
    return is_confirmed;
}

/* Until a message, or the end of the lock or of `left_ms`. A signal ends it too. Where the
 * connection has ended meanwhile the next wait subscribes again. */
static void wait_for_message(const char *product, int64_t left_ms) {
    int64_t lasts_ms = redis_number(server, "PTTL lock:%s", product);
    if (lasts_ms < 0) { /* it is gone already */
        return;
    }
    redisReply *reply = redis_next(listener, lasts_ms < left_ms ? lasts_ms + 1 : left_ms);
    if (reply == NULL) {
        *subscribed = '\0';
    }
    freeReplyObject(reply);
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    int64_t until_ms = clock_ms() + wait_ms;
    redis_random(value);
    lock_answer answer = try_lock(product);
    while (answer == LOCK_BUSY && !clock_is_over() && clock_ms() < until_ms) {
        if (!subscribe(product)) {
            return LOCK_UNKNOWN;
        }
        answer = try_lock(product);
        if (answer == LOCK_BUSY) {
            wait_for_message(product, until_ms - clock_ms());
        }
    }
    return answer;
}

static void release(const char *product) {
    (void)redis_number(server, "EVAL %s 2 lock:%s free:%s %s", delete_and_publish, product, product,
                       value);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
