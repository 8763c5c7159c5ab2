/*
 * What is done with a set that is held, as with a lock of one resource: information, verification,
 * guarded transactions, events, and what a set refuses.
 */
#include <string.h>

#include "support/async_caller.h"

enum { SOON_MS = 200, LONG_MS = 60000 };

static async_caller self;

static void begin(const zkl_lock_options *options) {
    zkl_testing_begin(NULL);
    async_open_set(&self, ZKL_DISPATCH_CALLER, options);
    self.grant = (zkl_grant)ZKL_GRANT_INIT;
}

static void begin_held(void) {
    begin(NULL);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_AS_OPENED, ZKL_FOREVER, &self.grant), ZKL_OK);
}

static void end(void) {
    (void)zkl_lock_release(self.lock, LONG_MS);
    async_close(&self);
    zkl_testing_end();
}

/* Its news of it are on their way. */
static void lose_the_second(void) {
    set_delete_last_of(SET_ORDERS);
}

/* ---- Verification and transactions ----------------------------------------------------------- */

TEST(set_that_is_held_is_verified) {
    begin_held();
    EXPECT_INT(zkl_lock_verify(self.lock, LONG_MS), ZKL_OK);
    end();
}

TEST(verification_finds_that_any_of_them_is_lost) {
    begin_held();
    lose_the_second();
    EXPECT_INT(zkl_lock_verify(self.lock, LONG_MS), ZKL_LOST);
    EXPECT_INT(zkl_testing_wait_for_state(self.lock, ZKL_STATE_LOST, SOON_MS), 1);
    EXPECT_INT(async_dispatch(&self), 1);
    ASYNC_HEARD(&self, "lost(-12) of orders ");
    end();
}

static int commit_a_node(zkl_transaction_result *result) {
    zkl_transaction *transaction = NULL;
    EXPECT_INT(zkl_transaction_begin(self.lock, &transaction), ZKL_OK);
    EXPECT_INT(zkl_transaction_create(transaction, "/moved", "1", 1, ZKL_CREATE_PERSISTENT),
               ZKL_OK);
    EXPECT_INT(zkl_transaction_create(transaction, "/moved/n-", "1", 1, ZKL_CREATE_SEQUENTIAL),
               ZKL_OK);
    int status = zkl_transaction_commit(transaction, LONG_MS, result);
    EXPECT_TEXT(zkl_transaction_created_path(transaction, 1),
                status == ZKL_OK ? "/moved/n-0000000000" : "");
    zkl_transaction_free(transaction);
    return status;
}

TEST(transaction_is_carried_out_while_all_are_held) {
    begin_held();
    EXPECT_INT(commit_a_node(NULL), ZKL_OK);
    EXPECT_INT(zkl_testing_count_children("/moved"), 1);
    end();
}

TEST(transaction_is_not_carried_out_once_one_is_lost) {
    begin_held();
    lose_the_second();
    EXPECT_INT(commit_a_node(NULL), ZKL_LOST);
    EXPECT_INT(zkl_testing_count_children("/moved"), 0);
    end();
}

TEST(operation_that_fails_is_counted_without_the_guards) {
    zkl_transaction_result result = ZKL_TRANSACTION_RESULT_INIT;
    begin_held();
    EXPECT_INT(commit_a_node(NULL), ZKL_OK);
    EXPECT_INT(commit_a_node(&result), ZKL_OPERATION_FAILED);
    EXPECT_INT(result.failed_operation, 0);
    EXPECT_INT(result.failed_status, ZKL_NODE_EXISTS);
    EXPECT_INT(zkl_lock_check(self.lock, NULL), ZKL_OK);
    end();
}

/* ---- What it refuses ------------------------------------------------------------------------- */

TEST(set_has_the_modes_that_it_was_opened_with) {
    begin(NULL);
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_READ, 0, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(),
                "mode \"read\": a set is acquired ZKL_AS_OPENED: each resource has its own");
    EXPECT_INT(zkl_lock_acquire(self.lock, ZKL_AS_OPENED, 0, &self.grant), ZKL_OK);
    EXPECT_INT(zkl_lock_downgrade(self.lock, LONG_MS), ZKL_INVALID_ARGUMENT);
    EXPECT_TEXT(zkl_error_message(), "lock: is a set: the modes of its resources stay");
    EXPECT_INT(zkl_lock_try_upgrade(self.lock, NULL), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_lock_check(self.lock, NULL), ZKL_OK);
    end();
}

TEST(mode_of_a_set_is_none_of_a_single_lock) {
    zkl_lock *lock = NULL;
    begin(NULL);
    EXPECT_INT(zkl_lock_open(self.client, "stock", NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_AS_OPENED, 0, NULL), ZKL_INVALID_ARGUMENT);
    zkl_lock_close(lock);
    end();
}
