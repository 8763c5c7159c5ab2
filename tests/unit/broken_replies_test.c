/*
 * Replies that no server gives which follows the protocol: libzookeeper passes on what it could not
 * read, as strings that are NULL and lengths that are wrong. Here it asks nobody, and the test
 * answers in its place.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <zookeeper/zookeeper.h>

#include "base/threads.h"
#include "connection/connection.h"
#include "support/asked.h"
#include "support/unit.h"

/* ---- Who asks ------------------------------------------------------------------------------- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static zkl_connection *connection;
static zkl_reply reply;
static char text[32]; /* the data of the reply, or its first name */

static void on_session(void *arg, const zkl_session_news *news) {
    (void)arg, (void)news;
}

static void on_answered(void *arg) {
    (void)arg;
}

static void begin(void) {
    zkl_listener listener = { .session = on_session, .answered = on_answered };
    connection = zkl_connection_make(&mutex, &listener);
    EXPECT_INT(zkl_connection_open(connection, "127.0.0.1:1", 1000), ZKL_OK);
}

static void end(void) {
    zkl_connection_close(connection);
    zkl_connection_free(connection);
}

static void on_reply(void *arg, const zkl_reply *given) {
    (void)arg;
    reply = *given;
    text[0] = '\0';
    if (given->data != NULL) {
        EXPECT(given->data_length < sizeof(text));
        memcpy(text, given->data, given->data_length);
        text[given->data_length] = '\0';
    } else if (given->children.count > 0) {
        snprintf(text, sizeof(text), "%s", given->children.names[0]);
    }
}

static void ask(const zkl_operation *operation) {
    zkl_operations *operations = zkl_connection_operations(connection);
    ZKL_WITH_MUTEX(&mutex);
    EXPECT_INT(operations->table->send(operations, operation, on_reply, NULL), ZKL_OUTCOME_OK);
}

/* ---- Creates --------------------------------------------------------------------------------- */

/* What was made, if anything, nobody knows. */
TEST(create_without_the_path_of_a_node_is_a_lost_reply) {
    static const char *const paths[] = { NULL, "", "node", "/locks/" };
    const zkl_operation create = { .kind = ZKL_OPERATION_CREATE, .path = "/locks/n-", .data = "" };
    struct Stat stat = { .czxid = 7 };
    begin();
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        ask(&create);
        asked.created(ZOK, paths[i], &stat, asked.data);
        EXPECT_INT(reply.outcome, ZKL_OUTCOME_UNKNOWN);
        EXPECT(reply.path == NULL);
    }
    ask(&create);
    asked.created(ZOK, "/locks/n-0000000001", &stat, asked.data);
    EXPECT_INT(reply.outcome, ZKL_OUTCOME_OK);
    EXPECT_INT(reply.zxid, 7);
    end();
}

TEST(parent_that_exists_has_no_path) {
    const zkl_operation create = { .kind = ZKL_OPERATION_CREATE_PARENT, .path = "/locks" };
    begin();
    ask(&create);
    asked.created(ZNODEEXISTS, NULL, NULL, asked.data);
    EXPECT_INT(reply.outcome, ZKL_OUTCOME_OK);
    end();
}

/* libzookeeper writes the path where the operation says. */
static char *room_for_made(void) {
    asked.results[1].value = asked.operations[1].create_op.buf;
    return asked.results[1].value;
}

TEST(transaction_without_the_path_of_a_node_that_it_made_is_a_lost_reply) {
    static const zkl_multi_operation all[] = {
        { .kind = ZKL_MULTI_CHECK, .path = "/locks/stock/node", .version = ZKL_ANY_VERSION },
        { .kind = ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL, .path = "/locks/stock/n-" },
    };
    const zkl_operation transaction = { .kind = ZKL_OPERATION_TRANSACTION,
                                        .all = all,
                                        .count = COUNT_OF(all) };
    begin();
    for (int i = 0; i < 2; i++) {
        ask(&transaction);
        bool has_room = i == 0 && room_for_made() != NULL; /* it could read none, or no result */
        EXPECT_INT(has_room, i == 0);
        asked.transacted(ZOK, asked.data);
        EXPECT_INT(reply.outcome, ZKL_OUTCOME_UNKNOWN);
        EXPECT(reply.results == NULL);
    }
    ask(&transaction);
    snprintf(room_for_made(), sizeof(text), "/locks/stock/n-0000000001");
    asked.transacted(ZOK, asked.data);
    EXPECT_INT(reply.outcome, ZKL_OUTCOME_OK);
    EXPECT(reply.results != NULL);
    end();
}

/* ---- Reads ----------------------------------------------------------------------------------- */

/* One that is left out may be the one before ours. */
TEST(list_with_a_name_that_is_missing_is_a_lost_reply) {
    char one[] = "one";
    char *names[] = { one, NULL, one };
    const struct String_vector lists[] = { { 3, names }, { 3, NULL }, { INT_MAX, NULL } };
    const struct String_vector good = { 1, names };
    const struct String_vector negative = { -1, NULL };
    const zkl_operation list = { .kind = ZKL_OPERATION_LIST_CHILDREN, .path = "/locks" };
    begin();
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        ask(&list);
        asked.listed(ZOK, &lists[i], asked.data);
        EXPECT_INT(reply.outcome, ZKL_OUTCOME_UNKNOWN);
        EXPECT_INT(reply.children.count, 0);
    }
    ask(&list);
    asked.listed(ZOK, NULL, asked.data);
    EXPECT_INT(reply.outcome, ZKL_OUTCOME_UNKNOWN);
    ask(&list);
    asked.listed(ZOK, &negative, asked.data);
    EXPECT_INT(reply.outcome, ZKL_OUTCOME_UNKNOWN);
    ask(&list);
    asked.listed(ZOK, &good, asked.data);
    EXPECT_INT(reply.outcome, ZKL_OUTCOME_OK);
    EXPECT_TEXT(text, "one");
    end();
}

/* The node's own word for its length is another number than that of the bytes that came. */
TEST(data_are_as_long_as_what_came) {
    static const int32_t lengths[] = { 1000000, 0, -1, INT32_MIN };
    const zkl_operation get = { .kind = ZKL_OPERATION_GET, .path = "/locks/stock" };
    begin();
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct Stat stat = { .dataLength = lengths[i] };
        ask(&get);
        asked.got(ZOK, "four", 4, &stat, asked.data);
        EXPECT_INT(reply.outcome, ZKL_OUTCOME_OK);
        EXPECT_TEXT(text, "four");
        ask(&get);
        asked.got(ZOK, NULL, -1, &stat, asked.data);
        EXPECT(reply.data == NULL);
        EXPECT_INT(reply.data_length, 0);
        ask(&get);
        asked.got(ZOK, NULL, 4, &stat, asked.data);
        EXPECT(reply.data == NULL);
        EXPECT_INT(reply.data_length, 0);
    }
    end();
}

TEST(length_of_what_was_not_asked_for_is_not_negative) {
    struct Stat stat = { .dataLength = -5 };
    const zkl_operation exists = { .kind = ZKL_OPERATION_EXISTS, .path = "/locks/stock" };
    begin();
    ask(&exists);
    asked.looked(ZOK, &stat, asked.data);
    EXPECT_INT(reply.data_length, 0);
    stat.dataLength = 5;
    ask(&exists);
    asked.looked(ZOK, &stat, asked.data);
    EXPECT_INT(reply.data_length, 5);
    EXPECT(reply.data == NULL);
    end();
}

TEST(acl_with_an_identity_that_is_missing_is_a_lost_reply) {
    char world[] = "world";
    char anyone[] = "anyone";
    struct ACL no_scheme = { .perms = 31, .id = { NULL, anyone } };
    struct ACL no_id = { .perms = 31, .id = { world, NULL } };
    struct ACL whole = { .perms = 31, .id = { world, anyone } };
    struct ACL_vector broken[] = { { 1, &no_scheme }, { 1, &no_id }, { 1, NULL }, { -1, NULL } };
    struct ACL_vector good = { 1, &whole };
    const zkl_operation get = { .kind = ZKL_OPERATION_GET_ACL, .path = "/locks" };
    begin();
    for (size_t i = 0; i < COUNT_OF(broken); i++) {
        ask(&get);
        asked.got_acl(ZOK, &broken[i], NULL, asked.data);
        EXPECT_INT(reply.outcome, ZKL_OUTCOME_UNKNOWN);
        EXPECT(reply.data == NULL);
    }
    ask(&get);
    asked.got_acl(ZOK, &good, NULL, asked.data);
    EXPECT_INT(reply.outcome, ZKL_OUTCOME_OK);
    EXPECT_TEXT(text, "world:anyone:cdrwa");
    end();
}
