/*
 * Downgrades and upgrades without a thread that waits: each that was accepted is told exactly once,
 * whatever it meets, and what is told is true in the callback.
 */
#include "support/async_caller.h"

enum { SOON_MS = 200, LONG_MS = 60000 };

static async_caller self;
static zkl_lock *other; /* of the same client; NULL: none */

static void begin_with(zkl_dispatch dispatch, zkl_mode mode, const zkl_lock_options *options) {
    zkl_testing_begin(NULL);
    async_open(&self, dispatch, options);
    EXPECT_INT(zkl_lock_acquire(self.lock, mode, ZKL_FOREVER, NULL), ZKL_OK);
    other = NULL;
}

static void begin(zkl_dispatch dispatch, zkl_mode mode) {
    begin_with(dispatch, mode, NULL);
}

static void end(void) {
    zkl_lock_close(other);
    async_close(&self);
    EXPECT_TEXT(self.heard, ""); /* nothing comes twice, or late */
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

static int downgrade(int64_t timeout_ms) {
    return zkl_lock_downgrade_async(self.lock, timeout_ms, NULL, async_on_downgraded, &self);
}

static int upgrade(void) {
    return zkl_lock_try_upgrade_async(self.lock, NULL, async_on_upgraded, &self);
}

static zkl_lock_information info(void) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_info(self.lock, &information), ZKL_OK);
    return information;
}

static void expect_held(zkl_mode mode) {
    EXPECT_INT(zkl_lock_verify(self.lock, LONG_MS), ZKL_OK);
    EXPECT_INT(info().mode, mode);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), other != NULL ? 2 : 1);
}

static void open_other(zkl_mode mode) {
    EXPECT_INT(zkl_lock_open(self.client, "stock", NULL, &other), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(other, mode, ZKL_FOREVER, NULL), ZKL_OK);
}

/* ---- Downgrade ---------------------------------------------------------------------- */

TEST(downgrade_is_told_in_the_callback_and_lets_readers_in) {
    begin(ZKL_DISPATCH_THREAD, ZKL_WRITE);
    int64_t token = info().token;
    EXPECT_INT(downgrade(ZKL_FOREVER), ZKL_OK);
    EXPECT_TEXT(self.heard, "");
    async_wait(&self);
    ASYNC_HEARD(&self, "downgraded ");
    open_other(ZKL_READ);
    expect_held(ZKL_READ);
    EXPECT_INT(info().token, token);
    end();
}

/* Another hold is none of its business. */
TEST(downgrade_that_the_lock_is_released_under_is_over_for_good) {
    begin(ZKL_DISPATCH_CALLER, ZKL_WRITE);
    EXPECT_INT(downgrade(ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_lock_release(self.lock, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_WRITE, ZKL_FOREVER, NULL), ZKL_OK);
    EXPECT_INT(downgrade(ZKL_FOREVER), ZKL_HANDLE_IN_USE);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "downgraded(-20) ");
    expect_held(ZKL_WRITE);
    EXPECT_INT(downgrade(ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "downgraded ");
    end();
}

/* ---- Upgrade ------------------------------------------------------------------------ */

/* Decided in its first step. */
TEST(upgrade_without_a_connection_is_told_later_all_the_same) {
    begin(ZKL_DISPATCH_CALLER, ZKL_READ);
    zkl_testing_disconnect(self.client, 1000);
    zkl_testing_sleep(0);
    (void)async_dispatch(&self);
    ASYNC_HEARD(&self, "suspect ");
    EXPECT_INT(upgrade(), ZKL_OK);
    EXPECT_TEXT(self.heard, "");
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "upgraded(-30) ");
    zkl_testing_sleep(5000);
    expect_held(ZKL_READ);
    (void)async_dispatch(&self);
    ASYNC_HEARD(&self, "held ");
    end();
}

/* The writer was granted, and its callback waits: it must not replace what is held since. */
TEST(upgrade_that_the_lock_is_released_under_is_over_for_good) {
    begin(ZKL_DISPATCH_CALLER, ZKL_READ);
    EXPECT_INT(upgrade(), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 2);
    EXPECT_INT(zkl_lock_release(self.lock, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_READ, ZKL_FOREVER, NULL), ZKL_OK);
    int64_t token = info().token;
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "upgraded(-20) ");
    expect_held(ZKL_READ);
    EXPECT_INT(info().token, token);
    end();
}

TEST(upgrade_of_a_reader_that_is_lost_says_so_and_leaves_nothing) {
    begin(ZKL_DISPATCH_CALLER, ZKL_READ);
    EXPECT_INT(upgrade(), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    zkl_testing_expire_session(self.client);
    zkl_testing_sleep(LONG_MS);
    (void)async_dispatch(&self);
    ASYNC_HEARD(&self, "upgraded(-7) suspect lost(-9) ");
    EXPECT_INT(zkl_lock_release(self.lock, 0), ZKL_LOST);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_READ, ZKL_FOREVER, NULL), ZKL_OK);
    EXPECT_INT(upgrade(), ZKL_OK); /* the handle is as good as new */
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "upgraded ");
    end();
}

static void on_verified(void *arg, int status) {
    EXPECT_INT(status, ZKL_OK);
    ++*(int *)arg;
}

/* Nobody has looked at the new node when the check of the earlier one is answered. */
TEST(verify_that_an_upgrade_overtakes_looks_at_the_new_node) {
    enum { SLOWER_MS = 10, MANY = 100 };
    int verified = 0;
    begin(ZKL_DISPATCH_THREAD, ZKL_READ);
    zkl_testing_slow_servers(SLOWER_MS, LONG_MS);
    EXPECT_INT(upgrade(), ZKL_OK);
    for (int i = 0; i < MANY; i++) {
        EXPECT_INT(zkl_lock_verify_async(self.lock, LONG_MS, on_verified, &verified), ZKL_OK);
        zkl_testing_sleep(1);
    }
    async_wait(&self);
    ASYNC_HEARD(&self, "upgraded ");
    zkl_testing_sleep(LONG_MS);
    EXPECT_INT(verified, MANY);
    end();
}

/* ---- Close -------------------------------------------------------------------------- */

static void handle_closed_meanwhile_by(zkl_dispatch dispatch) {
    begin(dispatch, ZKL_WRITE);
    EXPECT_INT(downgrade(1000), ZKL_OK);
    async_close_handle(&self);
    zkl_testing_sleep(5000);
    if (dispatch == ZKL_DISPATCH_CALLER) {
        EXPECT_INT(async_dispatch(&self), 1);
    }
    ASYNC_HEARD(&self, "downgraded(-20) ");
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    end();
    begin(dispatch, ZKL_READ);
    EXPECT_INT(upgrade(), ZKL_OK);
    async_close_handle(&self);
    zkl_testing_sleep(5000);
    if (dispatch == ZKL_DISPATCH_CALLER) {
        EXPECT_INT(async_dispatch(&self), 1);
    }
    ASYNC_HEARD(&self, "upgraded(-20) ");
    EXPECT_INT(zkl_testing_count_children(ASYNC_RESOURCE), 0);
    end();
}

TEST(handle_closed_meanwhile_is_told_not_held) {
    handle_closed_meanwhile_by(ZKL_DISPATCH_THREAD);
    handle_closed_meanwhile_by(ZKL_DISPATCH_CALLER);
}

static void client_closed_meanwhile_by(zkl_dispatch dispatch) {
    begin(dispatch, ZKL_WRITE);
    zkl_testing_stop_servers();
    EXPECT_INT(downgrade(ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_client_close(self.client, 100), ZKL_PENDING);
    EXPECT_TEXT(self.heard, "downgraded(-29) "); /* before close has returned */
    zkl_lock_close(self.lock);
    zkl_testing_end();
    begin(dispatch, ZKL_READ);
    EXPECT_INT(upgrade(), ZKL_OK);
    EXPECT_INT(zkl_client_close(self.client, LONG_MS), ZKL_OK);
    EXPECT_TEXT(self.heard, "upgraded(-29) ");
    zkl_lock_close(self.lock);
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

TEST(client_closed_meanwhile_tells_closed) {
    client_closed_meanwhile_by(ZKL_DISPATCH_THREAD);
    client_closed_meanwhile_by(ZKL_DISPATCH_CALLER);
}

/* ---- Inside of a callback ------------------------------------------------------------ */

static void react_by_the_next_change(async_caller *caller) {
    static const zkl_mode modes[] = { ZKL_READ, ZKL_WRITE };
    if (caller->said >= 4) {
        return;
    }
    EXPECT_INT(info().mode, modes[caller->said % 2]);
    EXPECT_INT(zkl_lock_downgrade(caller->lock, 0), ZKL_IN_CALLBACK);
    EXPECT_INT(zkl_lock_try_upgrade(caller->lock, NULL), ZKL_IN_CALLBACK);
    EXPECT_INT(caller->said++ % 2 == 0 ? upgrade() : downgrade(ZKL_FOREVER), ZKL_OK);
}

TEST(changes_can_be_begun_in_the_callback_of_another) {
    begin(ZKL_DISPATCH_THREAD, ZKL_WRITE);
    self.react = react_by_the_next_change;
    EXPECT_INT(downgrade(ZKL_FOREVER), ZKL_OK);
    zkl_testing_sleep(5000);
    ASYNC_HEARD(&self, "downgraded upgraded downgraded upgraded downgraded ");
    end();
}
