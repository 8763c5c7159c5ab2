/* Striped locks on simulated servers. */
#include "zklock/striped_lock.h"

#include <stdio.h>
#include <string.h>

#include "support/unit.h"
#include "testing/ensemble.h"
#include "zklock/testing.h"

enum { STRIPES = 4, SOON_MS = 200, LONG_MS = 60000 };

static zkl_client *client;

static void begin(void) {
    zkl_testing_begin(NULL);
    EXPECT_INT(zkl_client_open("server:2181", NULL, &client), ZKL_OK);
}

static void end(void) {
    zkl_testing_expect_clean(LONG_MS);
    EXPECT_INT(zkl_client_close(client, LONG_MS), ZKL_OK);
    zkl_testing_end();
}

static zkl_striped_lock *open_striped(void) {
    zkl_striped_lock *striped_lock = NULL;
    EXPECT_INT(zkl_striped_lock_open(client, "stock", STRIPES, NULL, &striped_lock), ZKL_OK);
    return striped_lock;
}

static int acquire_key(zkl_striped_lock *striped_lock, const char *key, int64_t timeout_ms,
                       zkl_grant *grant) {
    return zkl_striped_lock_acquire(striped_lock, zkl_stripe_of_key(key, strlen(key), STRIPES),
                                    ZKL_EXCLUSIVE, timeout_ms, grant);
}

TEST(keys_have_the_same_stripe_for_ever) {
    EXPECT_INT(zkl_stripe_of_key("", 0, 7), 0xcbf29ce484222325U % 7);
    EXPECT_INT(zkl_stripe_of_key("a", 1, 1000), 0xaf63dc4c8601ec8cU % 1000);
    EXPECT_INT(zkl_stripe_of_key("foobar", 6, 64), 0x85944171f73967e8U % 64);
    EXPECT_INT(zkl_stripe_of_key("foobar", 6, 0), 0);
}

TEST(any_stripe_is_found_until_all_are_taken) {
    begin();
    zkl_striped_lock *holders[STRIPES + 1];
    unsigned taken = 0;
    for (int i = 0; i < STRIPES; i++) {
        zkl_grant grant = ZKL_GRANT_INIT;
        holders[i] = open_striped();
        EXPECT_INT(zkl_striped_lock_acquire(holders[i], ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, &grant),
                   ZKL_OK);
        taken |= 1U << (unsigned)grant.stripe;
    }
    EXPECT_INT(taken, (1U << STRIPES) - 1);
    holders[STRIPES] = open_striped();
    EXPECT_INT(zkl_striped_lock_acquire(holders[STRIPES], ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, NULL),
               ZKL_BUSY);
    EXPECT_INT(
        zkl_striped_lock_acquire(holders[STRIPES], ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, SOON_MS, NULL),
        ZKL_TIMEOUT);
    for (int i = 0; i <= STRIPES; i++) {
        zkl_striped_lock_close(holders[i]);
    }
    end();
}

/* A wait for the deadline over all of them, though none of its tries is answered. */
TEST(any_stripe_is_looked_for_until_the_deadline) {
    begin();
    zkl_striped_lock *one = open_striped();
    zkl_testing_partition(client, LONG_MS);
    int64_t began_ms = zkl_testing_now_ms();
    EXPECT_INT(zkl_striped_lock_acquire(one, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, SOON_MS, NULL),
               ZKL_TIMEOUT);
    EXPECT(zkl_testing_now_ms() - began_ms <= SOON_MS + 1);
    EXPECT_INT(acquire_key(one, "a", 2 * LONG_MS, NULL), ZKL_OK);
    zkl_striped_lock_close(one);
    end();
}

/* What the tries of a search had left is not what a try of a key has, which asks but once. */
TEST(try_of_a_key_has_the_time_it_takes_whatever_was_searched_before) {
    begin();
    zkl_striped_lock *one = NULL;
    EXPECT_INT(zkl_striped_lock_open(client, "stock", 1, NULL, &one), ZKL_OK);
    EXPECT_INT(zkl_striped_lock_acquire(one, 0, ZKL_EXCLUSIVE, LONG_MS, NULL),
               ZKL_OK); /* the resource is there */
    EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(one), ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_striped_lock_acquire(one, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, SOON_MS, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(one), ZKL_FOREVER), ZKL_OK);
    zkl_testing_slow_servers(2 * SOON_MS, LONG_MS);
    EXPECT_INT(zkl_striped_lock_acquire(one, 0, ZKL_EXCLUSIVE, 0, NULL), ZKL_OK);
    zkl_striped_lock_close(one);
    end();
}

typedef struct waiter {
    zkl_striped_lock *striped_lock;
    int status;
} waiter;

static void wait_for_one(void *arg) {
    EXPECT_INT(zkl_lock_acquire(arg, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
}

static void wait_for_any(void *arg) {
    waiter *self = arg;
    self->status = zkl_striped_lock_acquire(self->striped_lock, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE,
                                            ZKL_FOREVER, NULL);
}

/* At the one that is held as many wait as may; the others are free. */
/* Where nobody is in the way of a try, it is not told that somebody is. */
TEST(try_that_each_stripe_refuses_says_why) {
    begin();
    zkl_lock *held[STRIPES];
    zkl_lock *waits[STRIPES];
    zkl_testing_task *tasks[STRIPES];
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_striped_lock *one = NULL;
    options.max_waiting = 1;
    EXPECT_INT(zkl_striped_lock_open(client, "stock", STRIPES, &options, &one), ZKL_OK);
    for (int i = 0; i < STRIPES; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/locks/stock/" ZKL_STRIPE_NODE, i);
        EXPECT_INT(zkl_lock_open(client, path, NULL, &held[i]), ZKL_OK);
        EXPECT_INT(zkl_lock_open(client, path, NULL, &waits[i]), ZKL_OK);
        EXPECT_INT(zkl_lock_acquire(held[i], ZKL_EXCLUSIVE, 0, NULL), ZKL_OK);
        EXPECT_INT(zkl_striped_lock_acquire(one, ZKL_ANY_STRIPE, ZKL_READ, 0, NULL),
                   i < STRIPES - 1 ? ZKL_OK : ZKL_BUSY);
        (void)zkl_lock_release(zkl_striped_lock_held(one), ZKL_FOREVER);
    }
    for (int i = 0; i < STRIPES; i++) {
        tasks[i] = zkl_testing_start(wait_for_one, waits[i]);
        zkl_testing_sleep(SOON_MS);
        EXPECT_INT(zkl_striped_lock_acquire(one, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, NULL),
                   i < STRIPES - 1 ? ZKL_BUSY : ZKL_QUEUE_FULL);
    }
    for (int i = 0; i < STRIPES; i++) {
        zkl_lock_close(held[i]);
        zkl_testing_join(tasks[i]);
        zkl_lock_close(waits[i]);
    }
    zkl_striped_lock_close(one);
    end();
}

TEST(full_stripe_is_passed_over) {
    enum { TIMES = 20 };
    begin();
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_waiting = 1;
    zkl_lock *held = NULL;
    zkl_lock *waits = NULL;
    EXPECT_INT(zkl_lock_open(client, "/locks/stock/stripe-0001", NULL, &held), ZKL_OK);
    EXPECT_INT(zkl_lock_open(client, "/locks/stock/stripe-0001", NULL, &waits), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(held, ZKL_EXCLUSIVE, 0, NULL), ZKL_OK);
    zkl_testing_task *task = zkl_testing_start(wait_for_one, waits);
    zkl_testing_sleep(SOON_MS);
    zkl_striped_lock *one = NULL;
    EXPECT_INT(zkl_striped_lock_open(client, "stock", STRIPES, &options, &one), ZKL_OK);
    for (int i = 0; i < TIMES; i++) {
        zkl_grant grant = ZKL_GRANT_INIT;
        EXPECT_INT(
            zkl_striped_lock_acquire(one, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, i % 2 * SOON_MS, &grant),
            ZKL_OK);
        EXPECT(grant.stripe != 1);
        EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(one), ZKL_FOREVER), ZKL_OK);
    }
    zkl_lock_close(held);
    zkl_testing_join(task);
    zkl_lock_close(waits);
    zkl_striped_lock_close(one);
    end();
}

TEST(handle_that_waits_is_in_use) {
    begin();
    zkl_striped_lock *holder = open_striped();
    waiter self = { open_striped(), 1 };
    EXPECT_INT(zkl_striped_lock_acquire(holder, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, 0, NULL), ZKL_OK);
    zkl_testing_task *task = zkl_testing_start(wait_for_any, &self);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(self.striped_lock), 0), ZKL_HANDLE_IN_USE);
    EXPECT_INT(zkl_striped_lock_acquire(self.striped_lock, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, NULL),
               ZKL_HANDLE_IN_USE);
    zkl_striped_lock_close(holder);
    zkl_testing_join(task);
    EXPECT_INT(self.status, ZKL_OK);
    zkl_striped_lock_close(self.striped_lock);
    end();
}

TEST(handle_whose_stripe_was_lost_says_that_it_is_to_be_released) {
    begin();
    zkl_striped_lock *one = open_striped();
    EXPECT_INT(acquire_key(one, "a", 0, NULL), ZKL_OK);
    zkl_testing_expire_session(client);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_lock_check(zkl_striped_lock_held(one), NULL), ZKL_LOST);
    EXPECT_INT(zkl_striped_lock_acquire(one, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, NULL),
               ZKL_ALREADY_HELD);
    EXPECT(strstr(zkl_error_message(), "its grant was lost; release it first") != NULL);
    EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(one), 0), ZKL_LOST);
    EXPECT_INT(zkl_striped_lock_acquire(one, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, LONG_MS, NULL), ZKL_OK);
    zkl_striped_lock_close(one);
    end();
}

TEST(bad_input_is_refused) {
    begin();
    zkl_striped_lock *striped_lock = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    EXPECT_REFUSED(zkl_striped_lock_open(client, "stock", 0, NULL, &striped_lock), "stripes");
    EXPECT_REFUSED(zkl_striped_lock_open(client, "stock", ZKL_STRIPES_MAX + 1, NULL, &striped_lock),
                   "stripes");
    EXPECT_REFUSED(zkl_striped_lock_open(client, "", 1, NULL, &striped_lock), "must not be empty");
    EXPECT_INT(zkl_striped_lock_open(NULL, "stock", 1, NULL, &striped_lock), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_striped_lock_open(client, "stock", 1, NULL, NULL), ZKL_INVALID_ARGUMENT);
    options.permits = 1;
    EXPECT_REFUSED(zkl_striped_lock_open(client, "stock", 1, &options, &striped_lock), "options");
    options.permits = 0;
    options.tell_contended = 1;
    EXPECT_REFUSED(zkl_striped_lock_open(client, "stock", 1, &options, &striped_lock), "options");
    options.tell_contended = 0;
    options.state_arg = &options;
    EXPECT_REFUSED(zkl_striped_lock_open(client, "stock", 1, &options, &striped_lock), "options");
    char name[ZKL_RESOURCE_MAX + 1];
    memset(name, 'x', ZKL_RESOURCE_MAX);
    name[ZKL_RESOURCE_MAX] = '\0';
    EXPECT_REFUSED(zkl_striped_lock_open(client, name, 1, NULL, &striped_lock), "resource \"xx");
    EXPECT(striped_lock == NULL);
    name[ZKL_RESOURCE_MAX - strlen("/locks/") - strlen("/stripe-0000")] = '\0';
    EXPECT_INT(zkl_striped_lock_open(client, name, 1, NULL, &striped_lock), ZKL_OK);
    zkl_striped_lock_close(striped_lock);
    EXPECT_INT(zkl_striped_lock_open(client, "/other/stock", 1, NULL, &striped_lock), ZKL_OK);
    EXPECT_REFUSED(zkl_striped_lock_acquire(striped_lock, 1, ZKL_EXCLUSIVE, 0, NULL),
                   "stripe 1: must be from -2 to 0");
    EXPECT_REFUSED(zkl_striped_lock_acquire(striped_lock, 0, ZKL_EXCLUSIVE, -2, NULL),
                   "timeout_ms");
    EXPECT_REFUSED(zkl_striped_lock_acquire(striped_lock, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, -2, NULL),
                   "timeout_ms");
    EXPECT_INT(zkl_striped_lock_acquire(striped_lock, 0, ZKL_EXCLUSIVE, 0, NULL), ZKL_OK);
    EXPECT_INT(zkl_testing_count_children("/other/stock/stripe-0000"), 1);
    EXPECT_REFUSED(zkl_lock_release(zkl_striped_lock_held(striped_lock), -2), "timeout_ms");
    EXPECT_INT(zkl_lock_check(zkl_striped_lock_held(striped_lock), NULL), ZKL_OK);
    zkl_striped_lock_close(striped_lock);
    zkl_striped_lock_close(NULL);
    end();
}
