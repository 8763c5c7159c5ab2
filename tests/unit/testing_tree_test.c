/* What the simulated servers agree on: creates, deletions, sequences, sessions, multis. */
#include "testing/tree.h"

#include <stdio.h>
#include <string.h>

#include "support/unit.h"

enum { OWNER = 77, TIME_STEP_MS = 1000 };

static zkl_tree *tree;
static int64_t zxid;
static int64_t seen_zxid; /* what the leader has carried out; -1: all */
static char made[128];

static void begin(void) {
    tree = zkl_tree_make();
    zxid = 0;
    seen_zxid = -1;
}

static void end(void) {
    zkl_tree_free(tree);
}

static zkl_tree_transaction *write_all(int64_t session_id, zkl_write_kind kind,
                                       const zkl_write *operations, size_t count) {
    zkl_write_request request = {
        .kind = kind,
        .session_id = session_id,
        .time_ms = TIME_STEP_MS * (zxid + 1),
        .operations = operations,
        .operation_count = count,
        .seen_zxid = seen_zxid < 0 ? zxid : seen_zxid,
    };
    return zkl_tree_write(tree, &request, ++zxid);
}

static zkl_server_error write_one(int64_t session_id, zkl_write operation) {
    zkl_tree_transaction *transaction = write_all(session_id, operation.kind, &operation, 1);
    zkl_server_error error = transaction->error;
    made[0] = '\0';
    if (transaction->results[0].path != NULL) {
        snprintf(made, sizeof(made), "%s", transaction->results[0].path);
    }
    zkl_tree_transaction_free(transaction);
    return error;
}

static zkl_server_error create(const char *path) {
    return write_one(0, (zkl_write){ .kind = ZKL_WRITE_CREATE, .path = path });
}

static zkl_server_error create_sequential(const char *path) {
    return write_one(0, (zkl_write){ .kind = ZKL_WRITE_CREATE, .path = path, .sequential = true });
}

static zkl_server_error create_ephemeral(int64_t session_id, const char *path) {
    return write_one(session_id,
                     (zkl_write){ .kind = ZKL_WRITE_CREATE, .path = path, .ephemeral = true });
}

static zkl_server_error delete (const char *path) {
    return write_one(
        0, (zkl_write){ .kind = ZKL_WRITE_DELETE, .path = path, .version = ZKL_ANY_VERSION });
}

static void open_session(int64_t session_id) {
    zkl_tree_transaction_free(write_all(session_id, ZKL_WRITE_CREATE_SESSION, NULL, 0));
}

static bool exists(const char *path) {
    return zkl_tree_find(tree, path, ZKL_LATEST_ZXID) != NULL;
}

static size_t count_children(const char *path, int64_t at) {
    const zkl_node *node = zkl_tree_find(tree, path, at);
    size_t count = 0;
    for (const zkl_node *child = zkl_node_first_child(node, at); child != NULL;
         child = zkl_node_next_child(child, at)) {
        count++;
    }
    return count;
}

/* ---- Creates and deletions ------------------------------------------------------------------- */

TEST(create_below_a_missing_parent_fails_and_takes_a_zxid) {
    begin();
    EXPECT_INT(create("/a/b"), ZKL_SERVER_ERROR_NO_NODE);
    EXPECT_INT(create("/a"), ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(zkl_node_get_stat(zkl_tree_find(tree, "/a", zxid)).czxid, 2);
    EXPECT_INT(create("/a"), ZKL_SERVER_ERROR_NODE_EXISTS);
    EXPECT_INT(create("a"), ZKL_SERVER_ERROR_BAD_ARGUMENTS);
    EXPECT_INT(create("/a/"), ZKL_SERVER_ERROR_BAD_ARGUMENTS);
    EXPECT_INT(zkl_tree_node_count(tree), 2);
    end();
}

TEST(node_with_children_is_not_deleted) {
    begin();
    create("/a");
    create("/a/b");
    EXPECT_INT(delete ("/a"), ZKL_SERVER_ERROR_NOT_EMPTY);
    EXPECT_INT(delete ("/a/b"), ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(delete ("/a/b"), ZKL_SERVER_ERROR_NO_NODE);
    EXPECT_INT(delete ("/a"), ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(delete ("/"), ZKL_SERVER_ERROR_BAD_ARGUMENTS);
    EXPECT_INT(zkl_tree_node_count(tree), 1);
    end();
}

TEST(ephemeral_node_has_no_children_and_needs_a_session) {
    begin();
    EXPECT_INT(create_ephemeral(OWNER, "/e"), ZKL_SERVER_ERROR_SESSION_EXPIRED);
    open_session(OWNER);
    EXPECT_INT(create_ephemeral(OWNER, "/e"), ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(zkl_node_get_stat(zkl_tree_find(tree, "/e", zxid)).ephemeral_owner, OWNER);
    EXPECT_INT(create("/e/f"), ZKL_SERVER_ERROR_NO_CHILDREN_FOR_EPHEMERALS);
    end();
}

TEST(end_of_a_session_deletes_all_its_nodes_in_one_transaction) {
    begin();
    open_session(OWNER);
    open_session(OWNER + 1);
    create_ephemeral(OWNER, "/a");
    create_ephemeral(OWNER + 1, "/other");
    create_ephemeral(OWNER, "/b");
    delete ("/b");
    create_ephemeral(OWNER, "/c");
    EXPECT_INT(zkl_tree_owned_count(tree, OWNER), 2);
    zkl_tree_transaction *transaction = write_all(OWNER, ZKL_WRITE_CLOSE_SESSION, NULL, 0);
    EXPECT_INT(transaction->change_count, 2);
    zkl_tree_transaction_free(transaction);
    EXPECT(!exists("/a") && !exists("/c") && exists("/other"));
    EXPECT(!zkl_tree_has_session(tree, OWNER));
    EXPECT_INT(zkl_tree_session_count(tree), 1);
    EXPECT(zkl_tree_find(tree, "/a", zxid - 1) != NULL);
    EXPECT(zkl_tree_find(tree, "/c", zxid - 1) != NULL);
    end();
}

/* ---- Earlier states ----------------------------------------------------------------------------
 */

TEST(forgetting_takes_what_was_deleted_until_then_and_no_more) {
    begin();
    create("/a");
    create("/b");
    delete ("/a"); /* 3 */
    delete ("/b"); /* 4 */
    zkl_tree_forget(tree, 3);
    EXPECT(zkl_tree_find(tree, "/a", 2) == NULL);
    EXPECT(zkl_tree_find(tree, "/b", 3) != NULL);
    zkl_tree_forget(tree, 4);
    EXPECT(zkl_tree_find(tree, "/b", 3) == NULL);
    end();
}

/* ---- Sequence numbers --------------------------------------------------------------------------
 */

TEST(sequence_counts_all_children_ever_made) {
    begin();
    create("/p");
    create("/p/plain");
    create_sequential("/p/n-");
    EXPECT_TEXT(made, "/p/n-0000000001");
    delete ("/p/plain");
    create("/p/plain");
    EXPECT_INT(create("/p/plain"), ZKL_SERVER_ERROR_NODE_EXISTS);
    create_sequential("/p/");
    EXPECT_TEXT(made, "/p/0000000003");
    EXPECT_INT(zkl_node_get_stat(zkl_tree_find(tree, "/p", zxid)).creates, 4);
    end();
}

TEST(sequence_of_pipelined_creates_turns_negative_and_comes_back) {
    begin();
    create("/p");
    zkl_tree_set_creates(tree, "/p", INT32_MAX);
    seen_zxid = zxid; /* none of the next is carried out when the others are numbered */
    create_sequential("/p/n-");
    EXPECT_TEXT(made, "/p/n-2147483647");
    create_sequential("/p/n-");
    EXPECT_TEXT(made, "/p/n--2147483648");
    create_sequential("/p/n-");
    EXPECT_TEXT(made, "/p/n--2147483647");
    seen_zxid = -1;
    create_sequential("/p/m-");
    EXPECT_TEXT(made, "/p/m-2147483647");
    end();
}

TEST(negative_count_goes_up_to_zero) {
    begin();
    create("/p");
    zkl_tree_set_creates(tree, "/p", -1);
    create_sequential("/p/n");
    EXPECT_TEXT(made, "/p/n-000000001");
    create_sequential("/p/n");
    EXPECT_TEXT(made, "/p/n0000000000");
    EXPECT(!zkl_tree_set_creates(tree, "/q", 1));
    end();
}

/* ---- Several at once ------------------------------------------------------------------------- */

static zkl_tree_transaction *multi(const zkl_write *operations, size_t count) {
    return write_all(OWNER, ZKL_WRITE_MULTI, operations, count);
}

TEST(multi_that_fails_changes_nothing_and_names_the_operation) {
    begin();
    open_session(OWNER);
    create("/p");
    create_ephemeral(OWNER, "/old");
    const zkl_write operations[] = {
        { .kind = ZKL_WRITE_CREATE, .path = "/p/n-", .ephemeral = true, .sequential = true },
        { .kind = ZKL_WRITE_DELETE, .path = "/old", .version = ZKL_ANY_VERSION },
        { .kind = ZKL_WRITE_CHECK, .path = "/gone", .version = ZKL_ANY_VERSION },
        { .kind = ZKL_WRITE_CREATE, .path = "/p/never" },
    };
    zkl_tree_transaction *transaction = multi(operations, COUNT_OF(operations));
    EXPECT_INT(transaction->error, ZKL_SERVER_ERROR_NO_NODE);
    EXPECT_INT(transaction->change_count, 0);
    EXPECT_INT(transaction->results[0].error, ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(transaction->results[1].error, ZKL_SERVER_ERROR_NONE);
    EXPECT_INT(transaction->results[2].error, ZKL_SERVER_ERROR_NO_NODE);
    EXPECT_INT(transaction->results[3].error, ZKL_SERVER_ERROR_ROLLED_BACK);
    EXPECT(transaction->results[0].path == NULL);
    zkl_tree_transaction_free(transaction);
    EXPECT(exists("/old") && !exists("/p/never"));
    EXPECT_INT(count_children("/p", zxid), 0);
    EXPECT_INT(zkl_tree_owned_count(tree, OWNER), 1);
    EXPECT_INT(zkl_node_get_stat(zkl_tree_find(tree, "/p", zxid)).child_count, 0);
    create_sequential("/p/n-");
    EXPECT_TEXT(made, "/p/n-0000000000");
    zkl_tree_forget(tree, zxid);
    EXPECT(exists("/old"));
    end();
}

TEST(multi_that_checks_another_version_fails) {
    begin();
    create("/p");
    const zkl_write operations[] = {
        { .kind = ZKL_WRITE_DELETE, .path = "/p", .version = 0 },
        { .kind = ZKL_WRITE_CREATE, .path = "/p" },
        { .kind = ZKL_WRITE_CHECK, .path = "/p", .version = 1 },
    };
    zkl_tree_transaction *transaction = multi(operations, COUNT_OF(operations));
    EXPECT_INT(transaction->error, ZKL_SERVER_ERROR_BAD_VERSION);
    EXPECT_INT(transaction->results[2].error, ZKL_SERVER_ERROR_BAD_VERSION);
    zkl_tree_transaction_free(transaction);
    EXPECT_INT(zkl_node_get_stat(zkl_tree_find(tree, "/p", zxid)).czxid, zxid - 1);
    end();
}
