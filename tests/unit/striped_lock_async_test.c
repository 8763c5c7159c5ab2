/*
 * The asynchronous calls of striped locks: each that was accepted is told exactly once, whatever it
 * meets, also between one stripe and the next.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/unit.h"
#include "zklock/striped_lock.h"
#include "zklock/testing.h"

enum { STRIPES = 3, SESSION_MS = 4000, SOON_MS = 200, LONG_MS = 60000 };

static zkl_client *client;
static zkl_client *others;       /* whose handle keeps stripes from ours */
static zkl_striped_lock *self;   /* ours; NULL: closed */
static zkl_striped_lock *holder; /* theirs */
static zkl_grant granted;
static char heard[256];
static void (*react)(void); /* inside of each callback, once it is written down */
static int said;            /* for it */

static zkl_striped_lock *open_striped(zkl_client *of) {
    zkl_striped_lock *striped_lock = NULL;
    EXPECT_INT(zkl_striped_lock_open(of, "stock", STRIPES, NULL, &striped_lock), ZKL_OK);
    return striped_lock;
}

static void begin(zkl_dispatch dispatch) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    zkl_testing_begin(NULL);
    EXPECT_INT(zkl_client_open("server:2181", &options, &others), ZKL_OK);
    options.dispatch = dispatch;
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_OK);
    self = open_striped(client);
    holder = open_striped(others);
    heard[0] = '\0';
    react = NULL;
}

static void close_handle(void) {
    zkl_striped_lock *striped_lock = self;
    self = NULL;
    zkl_striped_lock_close(striped_lock);
}

static void end(void) {
    close_handle();
    zkl_striped_lock_close(holder);
    EXPECT_INT(zkl_client_close(client, LONG_MS), ZKL_OK);
    EXPECT_INT(zkl_client_close(others, LONG_MS), ZKL_OK);
    EXPECT_TEXT(heard, ""); /* nothing comes twice, or late */
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

static void write_down(const char *what, int status) {
    size_t length = strlen(heard);
    snprintf(heard + length, sizeof(heard) - length, status == ZKL_OK ? "%s " : "%s(%d) ", what,
             status);
    if (react != NULL) {
        react();
    }
}

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    (void)arg;
    EXPECT((grant != NULL) == (status == ZKL_OK));
    if (grant != NULL) {
        granted = *grant;
    }
    write_down("acquired", status);
}

static void on_released(void *arg, int status) {
    (void)arg;
    write_down("released", status);
}

#define HEARD(expected)                                                                            \
    do {                                                                                           \
        EXPECT_TEXT(heard, (expected));                                                            \
        heard[0] = '\0';                                                                           \
    } while (0)

static int has_heard(void *arg) {
    (void)arg;
    return heard[0] != '\0';
}

static void wait_for_callback(void) {
    EXPECT_INT(zkl_testing_wait_until(has_heard, NULL, LONG_MS), 1);
}

static size_t dispatch(void) {
    size_t count = 99;
    EXPECT_INT(zkl_client_dispatch(client, &count), ZKL_OK);
    return count;
}

/* As a loop does while something waits. */
static void dispatch_for(int64_t ms) {
    for (int64_t until_ms = zkl_testing_now_ms() + ms; zkl_testing_now_ms() < until_ms;) {
        (void)dispatch();
        zkl_testing_sleep(1);
    }
}

typedef int acquire_way(int64_t timeout_ms);

static int acquire_key(int64_t timeout_ms) {
    return zkl_striped_lock_acquire_async(self, zkl_stripe_of_key("a", 1, STRIPES), ZKL_EXCLUSIVE,
                                          timeout_ms, on_acquired, NULL);
}

static int acquire_any(int64_t timeout_ms) {
    return zkl_striped_lock_acquire_async(self, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, timeout_ms,
                                          on_acquired, NULL);
}

static int acquire_all(int64_t timeout_ms) {
    return zkl_striped_lock_acquire_async(self, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, timeout_ms,
                                          on_acquired, NULL);
}

static acquire_way *const ways[] = { acquire_key, acquire_any, acquire_all };

static int release(int64_t timeout_ms) {
    return zkl_lock_release_async(zkl_striped_lock_held(self), timeout_ms, NULL, on_released, NULL);
}

static void others_take_all(void) {
    EXPECT_INT(zkl_striped_lock_acquire(holder, ZKL_ALL_STRIPES, ZKL_EXCLUSIVE, LONG_MS, NULL),
               ZKL_OK);
}

static void others_go(void) {
    EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(holder), LONG_MS), ZKL_OK);
}

static size_t count_nodes(void) {
    return zkl_testing_count_children("/locks/stock/stripe-0000") +
           zkl_testing_count_children("/locks/stock/stripe-0001") +
           zkl_testing_count_children("/locks/stock/stripe-0002");
}

/* ---- Acquire and release ------------------------------------------------------------------- */

TEST(every_way_is_granted_in_the_callback_and_released_in_another) {
    static const size_t nodes[] = { 1, 1, STRIPES };
    begin(ZKL_DISPATCH_THREAD);
    for (size_t turn = 0; turn < 2 * COUNT_OF(ways); turn++) {
        size_t i = turn % COUNT_OF(ways);
        EXPECT_INT(ways[i](LONG_MS), ZKL_OK);
        EXPECT_TEXT(heard, "");
        wait_for_callback();
        HEARD("acquired ");
        EXPECT(granted.token > 0);
        EXPECT_INT(count_nodes(), nodes[i]);
        EXPECT_INT(granted.stripe == ZKL_ALL_STRIPES, nodes[i] == STRIPES);
        EXPECT_INT(zkl_lock_check(zkl_striped_lock_held(self), NULL), ZKL_OK);
        EXPECT_INT(release(ZKL_FOREVER), ZKL_OK);
        EXPECT_INT(zkl_lock_check(zkl_striped_lock_held(self), NULL), ZKL_NOT_HELD);
        EXPECT_INT(release(ZKL_FOREVER), ZKL_HANDLE_IN_USE);
        wait_for_callback();
        HEARD("released ");
        EXPECT_INT(count_nodes(), 0);
    }
    end();
}

TEST(refused_calls_are_not_told) {
    begin(ZKL_DISPATCH_THREAD);
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        EXPECT_REFUSED(ways[i](-2), "timeout_ms");
    }
    EXPECT_INT(zkl_striped_lock_acquire_async(self, STRIPES, ZKL_READ, 0, on_acquired, NULL),
               ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_striped_lock_acquire_async(self, 0, ZKL_READ, 0, NULL, NULL),
               ZKL_INVALID_ARGUMENT);
    EXPECT_REFUSED(
        zkl_striped_lock_acquire_async(self, ZKL_ANY_STRIPE, ZKL_AS_OPENED, 0, on_acquired, NULL),
        "mode");
    EXPECT_REFUSED(
        zkl_striped_lock_acquire_async(self, ZKL_ALL_STRIPES, (zkl_mode)7, 0, on_acquired, NULL),
        "mode");
    EXPECT_INT(zkl_striped_lock_acquire_async(NULL, ZKL_ANY_STRIPE, ZKL_READ, 0, on_acquired, NULL),
               ZKL_INVALID_ARGUMENT);
    EXPECT_INT(release(0), ZKL_NOT_HELD);
    EXPECT_REFUSED(release(-2), "timeout_ms");
    EXPECT_INT(zkl_striped_lock_acquire(self, ZKL_ANY_STRIPE, ZKL_EXCLUSIVE, 0, NULL), ZKL_OK);
    EXPECT_INT(acquire_key(0), ZKL_ALREADY_HELD);
    EXPECT_INT(zkl_lock_release(zkl_striped_lock_held(self), ZKL_FOREVER), ZKL_OK);
    others_take_all();
    EXPECT_INT(acquire_any(ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(acquire_all(ZKL_FOREVER), ZKL_HANDLE_IN_USE);
    EXPECT_INT(release(0), ZKL_HANDLE_IN_USE);
    EXPECT_INT(zkl_striped_lock_cancel(self), ZKL_OK);
    wait_for_callback();
    HEARD("acquired(-3) ");
    end();
}

/* ---- Cancel -------------------------------------------------------------------------------- */

TEST(cancel_ends_every_wait) {
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        begin(ZKL_DISPATCH_CALLER);
        others_take_all();
        EXPECT_INT(ways[i](ZKL_FOREVER), ZKL_OK);
        dispatch_for(SOON_MS);
        EXPECT_INT(zkl_striped_lock_cancel(self), ZKL_OK);
        EXPECT_INT(zkl_striped_lock_cancel(self), ZKL_NOT_WAITING);
        others_go();
        zkl_testing_sleep(SOON_MS);
        EXPECT_INT(dispatch(), 1);
        HEARD("acquired(-3) ");
        EXPECT_INT(count_nodes(), 0);
        end();
    }
}

TEST(cancel_after_the_grant_is_too_late) {
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        begin(ZKL_DISPATCH_CALLER);
        EXPECT_INT(ways[i](ZKL_FOREVER), ZKL_OK);
        zkl_testing_sleep(SOON_MS);
        EXPECT_INT(zkl_striped_lock_cancel(self), ZKL_NOT_WAITING);
        EXPECT_INT(dispatch(), 1);
        HEARD("acquired ");
        end();
    }
}

TEST(stripe_lost_before_its_callback_was_never_held) {
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        begin(ZKL_DISPATCH_CALLER);
        EXPECT_INT(ways[i](LONG_MS), ZKL_OK);
        zkl_testing_sleep(SOON_MS);
        zkl_testing_expire_session(client);
        zkl_testing_sleep(SOON_MS);
        dispatch_for(SOON_MS);
        /* Any has other stripes left, in its new session. */
        HEARD(ways[i] == acquire_any ? "acquired " : "acquired(-9) ");
        end();
    }
}

/* Whoever is told that it no longer waits may wait for the callback. */
TEST(grant_that_no_cancel_could_end_and_that_is_lost_is_told_as_lost) {
    begin(ZKL_DISPATCH_CALLER);
    EXPECT_INT(acquire_any(ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_striped_lock_cancel(self), ZKL_NOT_WAITING);
    zkl_testing_expire_session(client);
    zkl_testing_sleep(SOON_MS);
    others_take_all();
    dispatch_for(SESSION_MS);
    char lost[32];
    snprintf(lost, sizeof(lost), "acquired(%d) ", ZKL_SESSION_EXPIRED);
    HEARD(lost);
    others_go();
    end();
}

/* ---- Close of the handle ------------------------------------------------------------------- */

TEST(handle_closed_between_two_stripes_is_told_cancelled) {
    begin(ZKL_DISPATCH_CALLER);
    others_take_all();
    EXPECT_INT(acquire_any(ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    close_handle();
    EXPECT_INT(dispatch(), 1);
    HEARD("acquired(-3) ");
    end();
}

static void react_slowly_and_try_again(void) {
    react = NULL;
    zkl_testing_sleep(SESSION_MS);
    EXPECT_INT(zkl_lock_check(zkl_striped_lock_held(self), NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_release_async(zkl_striped_lock_held(self), 0, NULL, NULL, NULL), ZKL_OK);
    said = acquire_any(ZKL_FOREVER);
}

TEST(close_waits_for_a_callback_that_runs_and_that_begins_no_acquire) {
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        begin(ZKL_DISPATCH_THREAD);
        react = react_slowly_and_try_again;
        EXPECT_INT(ways[i](ZKL_FOREVER), ZKL_OK);
        wait_for_callback();
        zkl_striped_lock_close(self);
        EXPECT_INT(said, ZKL_HANDLE_IN_USE);
        self = NULL;
        zkl_testing_sleep(SOON_MS);
        HEARD("acquired ");
        EXPECT_INT(count_nodes(), 0);
        end();
    }
}

static void take_stripe(int32_t stripe) {
    EXPECT_INT(zkl_striped_lock_acquire(self, stripe, ZKL_EXCLUSIVE, LONG_MS, NULL), ZKL_OK);
}

static zkl_striped_lock *used; /* by react_slowly_and_look */

static void react_slowly_and_look(void) {
    react = NULL;
    zkl_testing_sleep(SESSION_MS);
    EXPECT_INT(zkl_lock_check(zkl_striped_lock_held(used), NULL), ZKL_OK);
    EXPECT_INT(zkl_striped_lock_acquire_async(used, 0, ZKL_EXCLUSIVE, 0, on_acquired, NULL),
               ZKL_ALREADY_HELD);
    said = zkl_lock_release(zkl_striped_lock_held(used), 0);
}

/* The callback is of another stripe than the one that is held, which goes last. */
TEST(callback_that_close_waits_for_finds_what_is_held) {
    for (int32_t held = ZKL_ALL_STRIPES; held < STRIPES; held++) {
        begin(ZKL_DISPATCH_THREAD);
        int32_t before = held == 1 ? 2 : 1;
        take_stripe(before);
        react = react_slowly_and_look;
        used = self;
        EXPECT_INT(release(0), ZKL_OK);
        take_stripe(held);
        wait_for_callback();
        zkl_striped_lock_close(self);
        self = NULL;
        HEARD("released ");
        EXPECT_INT(said, ZKL_OK);
        zkl_testing_sleep(SOON_MS);
        EXPECT_INT(count_nodes(), 0);
        end();
    }
}

/* ---- Close of the client ------------------------------------------------------------------- */

static void client_close_tells_who_waits(zkl_dispatch mode) {
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        begin(mode);
        others_take_all();
        EXPECT_INT(ways[i](ZKL_FOREVER), ZKL_OK);
        zkl_testing_sleep(SOON_MS);
        EXPECT_INT(zkl_client_close(client, LONG_MS), ZKL_OK);
        client = NULL;
        HEARD("acquired(-29) ");
        EXPECT_INT(ways[i](0), ZKL_CLOSED);
        EXPECT_INT(release(0), ZKL_CLOSED);
        end();
    }
}

TEST(callbacks_are_called_before_client_close_returns) {
    client_close_tells_who_waits(ZKL_DISPATCH_THREAD);
    client_close_tells_who_waits(ZKL_DISPATCH_CALLER); /* any: between two stripes */
}

/* ---- Many ---------------------------------------------------------------------------------- */

typedef struct request {
    zkl_striped_lock *striped_lock;
    unsigned granted;
    unsigned released;
} request;
