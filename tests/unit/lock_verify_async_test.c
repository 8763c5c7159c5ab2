/* The servers are asked whether the lock is held, without a thread that waits for their answer. */
#include <string.h>

#include "client/client.h"
#include "support/async_caller.h"
#include "testing/ensemble.h"

enum { SOON_MS = 200, LONG_MS = 60000, MANY = 1000 };

static async_caller self;

static void begin(zkl_dispatch dispatch) {
    zkl_testing_begin(NULL);
    async_open(&self, dispatch, NULL);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_WRITE, ZKL_FOREVER, &self.grant), ZKL_OK);
}

static void end(void) {
    async_close(&self);
    EXPECT_TEXT(self.heard, ""); /* nothing comes twice, or late */
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

static int verify(int64_t timeout_ms) {
    return zkl_lock_verify_async(self.lock, timeout_ms, async_on_verified, &self);
}

static void begin_disconnected(int64_t for_ms) {
    begin(ZKL_DISPATCH_CALLER);
    zkl_testing_disconnect(self.client, for_ms);
    zkl_testing_sleep(0);
    (void)async_dispatch(&self);
    ASYNC_HEARD(&self, "suspect ");
}

TEST(no_answer_in_time_is_suspect) {
    begin_disconnected(3000);
    EXPECT_INT(verify(1000), ZKL_OK);
    zkl_testing_sleep(990);
    EXPECT_INT(async_dispatch(&self), 0);
    zkl_testing_sleep(20);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "verified(-8) ");
    zkl_testing_sleep(5000);
    (void)async_dispatch(&self);
    ASYNC_HEARD(&self, "held ");
    end();
}

/* The release waits for its node to be gone; what was not sent before it is not sent behind it. */
TEST(release_that_waits_ends_what_was_not_sent) {
    begin_disconnected(1000);
    EXPECT_INT(verify(ZKL_FOREVER), ZKL_OK);
    async_release(&self, ZKL_FOREVER);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "verified(-20) ");
    zkl_testing_sleep(5000);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "released ");
    end();
}

static unsigned told[MANY];

static void on_one_of_many(void *arg, int status) {
    EXPECT_INT(status, ZKL_OK);
    ++*(unsigned *)arg;
}

/* Each with a deadline of its own: there is room for the timers of them all. */
TEST(many_of_one_handle_are_told_once_each) {
    begin(ZKL_DISPATCH_CALLER);
    for (size_t i = 0; i < MANY; i++) {
        told[i] = 0;
        EXPECT_INT(zkl_lock_verify_async(self.lock, LONG_MS - (int64_t)i, on_one_of_many, &told[i]),
                   ZKL_OK);
    }
    zkl_testing_sleep(2 * LONG_MS);
    EXPECT_INT(async_dispatch(&self), MANY);
    for (size_t i = 0; i < MANY; i++) {
        EXPECT_INT(told[i], 1);
    }
    end();
}

TEST(refused_calls_are_not_told) {
    begin(ZKL_DISPATCH_CALLER);
    EXPECT_INT(zkl_lock_verify_async(NULL, 1, async_on_verified, &self), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_verify_async(self.lock, 1, NULL, &self), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "callback: must not be NULL");
    EXPECT_REFUSED(verify(0), "timeout_ms");
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 0);
    end();
}
