/* Guarded transactions that are committed without a thread that waits, and whose they are. */
#include <stdio.h>
#include <string.h>

#include "client/client.h"
#include "support/async_caller.h"
#include "testing/ensemble.h"

enum { SOON_MS = 200, LONG_MS = 60000 };

static async_caller self;
static zkl_transaction *transaction;

/* ---- The stage ------------------------------------------------------------------------ */

static zkl_transaction *begin_transaction(void) {
    zkl_transaction *begun = NULL;
    EXPECT_INT(zkl_transaction_begin(self.lock, &begun), ZKL_OK);
    return begun;
}

static int set(const char *data) {
    return zkl_transaction_set(transaction, "/data", data, strlen(data), ZKL_ANY_VERSION);
}

static int commit(int64_t timeout_ms) {
    return zkl_transaction_commit_async(transaction, timeout_ms, async_on_committed, &self);
}

/* Somebody holds the lock, and wants to write "new" into /data. */
static void begin(zkl_dispatch dispatch) {
    zkl_testing_begin(NULL);
    EXPECT_INT(
        zkl_ensemble_create(zkl_ensemble_current(), 0, "/data", "old", false, false, NULL, 0),
        ZKL_SERVER_ERROR_NONE);
    async_open(&self, dispatch, NULL);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_EXCLUSIVE, ZKL_FOREVER, &self.grant), ZKL_OK);
    transaction = begin_transaction();
    EXPECT_INT(set("new"), ZKL_OK);
}

static void begin_disconnected(int64_t for_ms) {
    begin(ZKL_DISPATCH_CALLER);
    zkl_testing_disconnect(self.client, for_ms);
    zkl_testing_sleep(0);
    (void)async_dispatch(&self);
    ASYNC_HEARD(&self, "suspect ");
}

static void end(void) {
    zkl_transaction_free(transaction);
    async_close(&self);
    EXPECT_TEXT(self.heard, ""); /* nothing comes twice, or late */
    EXPECT_INT(zkl_testing_count_sessions(), 0);
    zkl_testing_end();
}

static const char *data_at(const char *path) {
    const zkl_node *node =
        zkl_tree_find(zkl_ensemble_tree(zkl_ensemble_current()), path, ZKL_LATEST_ZXID);
    return node != NULL ? zkl_node_data(node) : "(no node)";
}

/* ---- How it ends ---------------------------------------------------------------------- */

TEST(commit_is_told_in_the_callback_with_what_it_made) {
    begin(ZKL_DISPATCH_THREAD);
    EXPECT_INT(zkl_transaction_create(transaction, "/data/n-", NULL, 0, ZKL_CREATE_SEQUENTIAL),
               ZKL_OK);
    EXPECT_INT(commit(ZKL_FOREVER), ZKL_OK);
    EXPECT_TEXT(self.heard, "");
    async_wait(&self);
    ASYNC_HEARD(&self, "committed ");
    EXPECT_TEXT(data_at("/data"), "new");
    EXPECT(self.transaction == transaction);
    EXPECT_TEXT(self.created[0], "");
    EXPECT_TEXT(self.created[1], "/data/n-0000000000");
    EXPECT_TEXT(zkl_transaction_created_path(transaction, 1), "/data/n-0000000000");
    EXPECT_INT(self.result.failed_operation, -1);
    EXPECT_INT(commit(ZKL_FOREVER), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "transaction \"\": it was committed already");
    end();
}

TEST(commits_of_one_handle_are_applied_in_order) {
    begin(ZKL_DISPATCH_CALLER);
    EXPECT_INT(commit(LONG_MS), ZKL_OK);
    zkl_transaction_free(transaction);
    transaction = begin_transaction();
    EXPECT_INT(set("newer"), ZKL_OK);
    EXPECT_INT(commit(LONG_MS), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 2);
    ASYNC_HEARD(&self, "committed committed ");
    EXPECT_TEXT(data_at("/data"), "newer");
    end();
}

/* Though nobody has dispatched its callback when the connection is there again. */
TEST(nothing_is_sent_behind_the_deadline) {
    begin_disconnected(3000);
    EXPECT_INT(commit(1000), ZKL_OK);
    zkl_testing_sleep(5000);
    EXPECT_TEXT(data_at("/data"), "old");
    (void)async_dispatch(&self);
    ASYNC_HEARD(&self, "committed(-2) held ");
    EXPECT_TEXT(data_at("/data"), "old");
    EXPECT_INT(commit(1000), ZKL_OK);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "committed ");
    end();
}

/* ---- Whose it is ------------------------------------------------------------------------ */

TEST(outstanding_transaction_is_the_calls) {
    begin(ZKL_DISPATCH_CALLER);
    EXPECT_INT(commit(LONG_MS), ZKL_OK);
    EXPECT_INT(set("newer"), ZKL_HANDLE_IN_USE);
    EXPECT_TEXT(zkl_error_message(),
                "transaction \"\": it belongs to the commit that is outstanding");
    EXPECT_INT(commit(LONG_MS), ZKL_HANDLE_IN_USE);
    EXPECT_INT(zkl_transaction_commit(transaction, LONG_MS, NULL), ZKL_HANDLE_IN_USE);
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(set("newer"), ZKL_HANDLE_IN_USE); /* until its callback begins */
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "committed ");
    EXPECT_TEXT(data_at("/data"), "new");
    EXPECT_INT(set("newer"), ZKL_OK);
    end();
}

/* ---- Close ------------------------------------------------------------------------------- */

TEST(handle_closed_meanwhile_is_told_what_may_be) {
    begin_disconnected(1000);
    EXPECT_INT(commit(2000), ZKL_OK);
    async_close_handle(&self);
    zkl_testing_sleep(5000);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "committed(-3) "); /* it was not sent */
    EXPECT_TEXT(data_at("/data"), "old");
    end();
    begin(ZKL_DISPATCH_CALLER);
    EXPECT_INT(commit(2000), ZKL_OK);
    async_close_handle(&self);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "committed(-14) "); /* it was, and is applied before the release */
    zkl_testing_sleep(5000);
    EXPECT_TEXT(data_at("/data"), "new");
    end();
}

TEST(refused_commits_are_not_told) {
    begin(ZKL_DISPATCH_CALLER);
    EXPECT_INT(zkl_transaction_commit_async(NULL, 1, async_on_committed, &self),
               ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_transaction_commit_async(transaction, 1, NULL, &self), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "callback: must not be NULL");
    EXPECT_REFUSED(commit(0), "timeout_ms");
    EXPECT_INT(zkl_lock_release(self.lock, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(commit(1), ZKL_NOT_HELD);
    EXPECT_INT(set("newer"), ZKL_OK); /* it is the caller's still */
    zkl_testing_sleep(SOON_MS);
    EXPECT_INT(async_dispatch(&self), 0);
    end();
}
