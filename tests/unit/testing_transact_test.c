/* Transactions on the simulated connection: ZooKeeper's multi. */
#include "support/caller.h"

#include <string.h>

enum { TIMEOUT_MS = 1000 };

static zkl_ensemble *ensemble;

static void begin(void) {
    zkl_ensemble_options options = caller_options();
    ensemble = caller_world_begin(1, &options);
}

static void open_connected(caller *self) {
    caller_open(self, TIMEOUT_MS);
    run_ms(20);
    EXPECT_LOG(self, "connected");
}

static const zkl_multi_operation writes[] = {
    { .kind = ZKL_MULTI_CHECK, .path = "/p", .version = ZKL_ANY_VERSION },
    { .kind = ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL, .path = "/p/n-", .data = "a\0b", .size = 3 },
    { .kind = ZKL_MULTI_SET, .path = "/p", .data = "new", .size = 3, .version = 0 },
    { .kind = ZKL_MULTI_CREATE_PERSISTENT, .path = "/p/x" },
    { .kind = ZKL_MULTI_REMOVE, .path = "/p/x", .version = 0 },
};

static const char *data_of(const char *path) {
    return zkl_node_data(zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID));
}

static bool is_there(const char *path) {
    return zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID) != NULL;
}

TEST(transaction_makes_changes_and_removes_all_at_one_zxid) {
    caller self;
    begin();
    open_connected(&self);
    (void)zkl_ensemble_create(ensemble, 0, "/p", "old", false, false, NULL, 0);
    run_ms(5);
    caller_exists(&self, "/p", 1);
    run_ms(5);
    caller_forget_log(&self);
    int64_t before = zkl_ensemble_committed_zxid(ensemble);
    EXPECT_INT(caller_transact(&self, writes, COUNT_OF(writes)), ZKL_OUTCOME_OK);
    run_ms(5);
    EXPECT_LOG(&self, "watch 1 changed", "transact OK : OK, OK /p/n-0000000000, OK, OK /p/x, OK");
    EXPECT_INT(zkl_ensemble_committed_zxid(ensemble), before + 1);
    EXPECT_TEXT(data_of("/p"), "new");
    const zkl_node *made =
        zkl_tree_find(zkl_ensemble_tree(ensemble), "/p/n-0000000000", ZKL_LATEST_ZXID);
    EXPECT_INT(zkl_node_data_size(made), 3);
    EXPECT(memcmp(zkl_node_data(made), "a\0b", 4) == 0);
    EXPECT_INT(zkl_node_get_stat(made).ephemeral_owner, self.session_id);
    EXPECT(!is_there("/p/x"));
    caller_close(&self);
    caller_world_end();
}

static void expect_failure(const zkl_multi_operation *operation, const char *line) {
    caller self;
    begin();
    (void)zkl_ensemble_create(ensemble, 0, "/p", "old", false, false, NULL, 0);
    (void)zkl_ensemble_create(ensemble, 0, "/p/y", "", false, false, NULL, 0);
    zkl_ensemble_withhold(ensemble, "/p/y", ZKL_RIGHT_CREATE, ZKL_FOREVER);
    open_connected(&self);
    const zkl_multi_operation operations[] = { writes[2], *operation, writes[3] };
    EXPECT_INT(caller_transact(&self, operations, COUNT_OF(operations)), ZKL_OUTCOME_OK);
    run_ms(5);
    EXPECT_LOG(&self, line);
    EXPECT_TEXT(data_of("/p"), "old");
    EXPECT(!is_there("/p/x"));
    caller_close(&self);
    caller_world_end();
}

TEST(transaction_of_which_one_operation_fails_changes_nothing) {
    expect_failure(&(zkl_multi_operation){ ZKL_MULTI_CHECK, "/none", NULL, 0, ZKL_ANY_VERSION },
                   "transact NO_NODE : NOT_NOW, NO_NODE!, NOT_NOW");
    expect_failure(&(zkl_multi_operation){ ZKL_MULTI_CREATE_EPHEMERAL, "/none/x", NULL, 0, 0 },
                   "transact NO_NODE : NOT_NOW, NO_NODE!, NOT_NOW");
    expect_failure(&(zkl_multi_operation){ ZKL_MULTI_CREATE_PERSISTENT, "/p", NULL, 0, 0 },
                   "transact REFUSED : NOT_NOW, REFUSED!, NOT_NOW");
    expect_failure(&(zkl_multi_operation){ ZKL_MULTI_SET, "/p", NULL, 0, 7 },
                   "transact REFUSED : NOT_NOW, REFUSED!, NOT_NOW");
    expect_failure(&(zkl_multi_operation){ ZKL_MULTI_REMOVE, "/p", NULL, 0, ZKL_ANY_VERSION },
                   "transact NOT_EMPTY : NOT_NOW, NOT_EMPTY!, NOT_NOW");
    expect_failure(&(zkl_multi_operation){ ZKL_MULTI_CREATE_PERSISTENT, "/p/y/z", NULL, 0, 0 },
                   "transact REFUSED : NOT_NOW, REFUSED!, NOT_NOW");
}

TEST(transaction_whose_reply_is_lost_may_be_applied_or_not) {
    static const zkl_cut cuts[] = { ZKL_CUT_REQUESTS_LOST, ZKL_CUT_WHEN_ANSWERED };
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        caller self;
        begin();
        open_connected(&self);
        (void)zkl_ensemble_create(ensemble, 0, "/p", "old", false, false, NULL, 0);
        zkl_ensemble_cut_next(ensemble, self.session_id, ZKL_CALL_MULTI, cuts[i], 0);
        EXPECT_INT(caller_transact(&self, writes, COUNT_OF(writes)), ZKL_OUTCOME_OK);
        run_ms(50);
        EXPECT_LOG(&self, "connecting", "transact UNKNOWN", "connected");
        EXPECT_TEXT(data_of("/p"), cuts[i] == ZKL_CUT_WHEN_ANSWERED ? "new" : "old");
        caller_close(&self);
        caller_world_end();
    }
}
