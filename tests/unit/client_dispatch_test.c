/*
 * Callbacks that the application runs itself: the descriptor that says when, the
 * call that does it, and what it does when it is called at the wrong time.
 */
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support/async_caller.h"
#include "zklock/administration.h"

enum { SOON_MS = 200 };

static async_caller self;

static void begin(zkl_dispatch dispatch) {
    zkl_testing_begin(NULL);
    async_open(&self, dispatch, NULL);
}

static void end(void) {
    async_close(&self);
    EXPECT_TEXT(self.heard, "");
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

/* A callback waits to be run. */
static void acquire_and_wait(void) {
    async_acquire(&self, ZKL_FOREVER);
    zkl_testing_sleep(SOON_MS);
}

static int descriptor(void) {
    int its = -1;
    EXPECT_INT(zkl_client_event_descriptor(self.client, &its), ZKL_OK);
    EXPECT(its >= 0);
    return its;
}

static bool is_readable(int which) {
    struct pollfd one = { .fd = which, .events = POLLIN };
    return poll(&one, 1, 0) == 1 && one.revents == POLLIN;
}

/* ---- The descriptor --------------------------------------------------------------------- */

TEST(descriptor_is_readable_while_callbacks_wait) {
    begin(ZKL_DISPATCH_CALLER);
    int its = descriptor();
    EXPECT(!is_readable(its));
    acquire_and_wait();
    EXPECT(is_readable(its));
    EXPECT(is_readable(its)); /* until they are run */
    EXPECT_INT(async_dispatch(&self), 1);
    EXPECT(!is_readable(its));
    ASYNC_HEARD(&self, "acquired ");
    EXPECT_INT(async_dispatch(&self), 0);
    zkl_testing_expire_session(self.client);
    zkl_testing_sleep(SOON_MS);
    EXPECT(is_readable(its));
    EXPECT_INT(async_dispatch(&self), 2);
    EXPECT(!is_readable(its));
    ASYNC_HEARD(&self, "suspect lost(-9) ");
    EXPECT_INT(descriptor(), its);
    end();
    EXPECT_INT(fcntl(its, F_GETFD), -1); /* it has ended with the client */
}

/* ---- Dispatch ----------------------------------------------------------------------------- */

TEST(nothing_runs_unless_it_is_dispatched) {
    begin(ZKL_DISPATCH_CALLER);
    acquire_and_wait();
    zkl_testing_sleep(60000);
    EXPECT_TEXT(self.heard, "");
    EXPECT_INT(zkl_client_dispatch(self.client, NULL), ZKL_OK);
    ASYNC_HEARD(&self, "acquired ");
    end();
}

static void react_by_release(async_caller *caller) {
    caller->react = NULL;
    async_release(caller, 0);
}

TEST(what_comes_to_wait_meanwhile_is_for_the_next_dispatch) {
    begin(ZKL_DISPATCH_CALLER);
    int its = descriptor();
    self.react = react_by_release;
    acquire_and_wait();
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired ");
    EXPECT(is_readable(its));
    EXPECT_INT(async_dispatch(&self), 1);
    EXPECT(!is_readable(its));
    ASYNC_HEARD(&self, "released ");
    end();
}

static void react_by_blocking(async_caller *caller) {
    size_t count = 99;
    caller->react = NULL;
    EXPECT_INT(zkl_client_dispatch(caller->client, &count), ZKL_IN_CALLBACK);
    EXPECT_INT(count, 0);
    EXPECT_INT(zkl_lock_release(caller->lock, 1000), ZKL_IN_CALLBACK);
    EXPECT_INT(zkl_lock_acquire(caller->lock, ZKL_READ, 0, NULL), ZKL_IN_CALLBACK);
    EXPECT_INT(zkl_client_close(caller->client, 0), ZKL_IN_CALLBACK);
    caller->said = zkl_lock_check(caller->lock, NULL);
}

TEST(calls_that_block_are_refused_in_a_dispatch_and_fine_after_it) {
    begin(ZKL_DISPATCH_CALLER);
    self.said = -99;
    self.react = react_by_blocking;
    acquire_and_wait();
    EXPECT_INT(async_dispatch(&self), 1);
    EXPECT_INT(self.said, ZKL_OK);
    ASYNC_HEARD(&self, "acquired ");
    EXPECT_INT(zkl_lock_release(self.lock, 1000), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_READ, 1000, NULL), ZKL_OK);
    end();
}

static void react_slowly(async_caller *caller) {
    caller->react = NULL;
    zkl_testing_sleep(5000);
    caller->said = 1;
}

static void dispatch_in_a_task(void *arg) {
    (void)arg;
    (void)async_dispatch(&self);
}

static void begin_slow_dispatch(void) {
    begin(ZKL_DISPATCH_CALLER);
    self.react = react_slowly;
    acquire_and_wait();
    (void)zkl_testing_start(dispatch_in_a_task, NULL);
    zkl_testing_sleep(10);
    ASYNC_HEARD(&self, "acquired "); /* and its callback goes on */
}

TEST(of_two_that_dispatch_one_runs_them_all) {
    begin_slow_dispatch();
    async_release(&self, 0);
    EXPECT_INT(async_dispatch(&self), 0);
    EXPECT_INT(self.said, 0);
    EXPECT_TEXT(self.heard, "");
    zkl_testing_sleep(6000);
    EXPECT_INT(self.said, 1);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "released ");
    end();
}

TEST(client_close_waits_for_a_dispatch_that_runs) {
    begin_slow_dispatch();
    EXPECT_INT(zkl_client_close(self.client, 1000), ZKL_OK);
    self.client = NULL;
    EXPECT_INT(self.said, 1);
    end();
}

TEST(clients_with_a_thread_have_nothing_to_dispatch) {
    begin(ZKL_DISPATCH_THREAD);
    int its = 0;
    size_t count = 99;
    EXPECT_REFUSED(zkl_client_event_descriptor(self.client, &its), "ZKL_DISPATCH_CALLER");
    EXPECT_INT(its, -1);
    EXPECT_REFUSED(zkl_client_dispatch(self.client, &count), "ZKL_DISPATCH_CALLER");
    EXPECT_INT(count, 0);
    end();
}

TEST(wrong_arguments_are_refused) {
    int its = 0;
    zkl_client *client = NULL;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    EXPECT_INT(options.dispatch, ZKL_DISPATCH_THREAD);
    begin(ZKL_DISPATCH_CALLER);
    EXPECT_INT(zkl_client_event_descriptor(NULL, &its), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_client_event_descriptor(self.client, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_client_dispatch(NULL, NULL), ZKL_INVALID_ARGUMENT);
    options.dispatch = (zkl_dispatch)2;
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "dispatch 2: must be from 0 to 1");
    end();
}

/* ---- News that nobody takes --------------------------------------------------------------- */

/* Holds, and nobody has heard of what has become of that. */
static void begin_held(void) {
    begin(ZKL_DISPATCH_CALLER);
    acquire_and_wait();
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "acquired ");
}

static void flap(int times) {
    for (int i = 0; i < times; i++) {
        zkl_testing_disconnect(self.client, 1);
        zkl_testing_sleep(SOON_MS);
        EXPECT_INT(zkl_lock_check(self.lock, NULL), ZKL_OK);
    }
}

TEST(flapping_connection_leaves_two_news_of_a_handle) {
    begin_held();
    flap(100);
    EXPECT_INT(async_dispatch(&self), 2);
    ASYNC_HEARD(&self, "suspect held ");
    flap(1);
    EXPECT_INT(async_dispatch(&self), 2);
    ASYNC_HEARD(&self, "suspect held ");
    end();
}

TEST(loss_behind_a_flapping_connection_is_told_last) {
    begin_held();
    flap(20);
    zkl_testing_expire_session(self.client);
    EXPECT_INT(zkl_testing_wait_for_state(self.lock, ZKL_STATE_LOST, SOON_MS), 1);
    EXPECT(async_dispatch(&self) <= 4);
    ASYNC_HEARD(&self, "suspect lost(-9) ");
    end();
}

TEST(news_of_the_next_grant_are_not_taken_for_those_of_the_last) {
    begin_held();
    flap(2);
    EXPECT_INT(zkl_lock_release(self.lock, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_OK);
    flap(2);
    EXPECT_INT(async_dispatch(&self), 4);
    ASYNC_HEARD(&self, "suspect held suspect held ");
    end();
}
