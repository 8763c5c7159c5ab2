/* Verify and guarded transactions, on the simulated servers. */
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "client/client.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/zklock.h"

enum { US_PER_MS = 1000, TICK_MS = 200, SESSION_MS = 1200, SERVERS = 3, ENOUGH_MS = 5000 };

static zkl_ensemble *ensemble;
static zkl_client *client;
static zkl_lock *lock;

/* ---- The stage ------------------------------------------------------------------- */

static void make(const char *path) {
    EXPECT_INT(zkl_ensemble_create(ensemble, 0, path, "old", false, false, NULL, 0),
               ZKL_SERVER_ERROR_NONE);
}

static zkl_client *open_client(const char *hosts) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    zkl_client *opened = NULL;
    EXPECT_INT(zkl_client_open(hosts, &options, &opened), ZKL_OK);
    return opened;
}

static zkl_lock *hold(zkl_client *of) {
    zkl_lock *held = NULL;
    EXPECT_INT(zkl_lock_open(of, "stock", NULL, &held), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(held, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    return held;
}

static void begin_below(const char *chroot) {
    zkl_world_begin(1);
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.servers = SERVERS;
    options.tick_ms = TICK_MS;
    ensemble = zkl_ensemble_begin(&options);
    char hosts[64];
    snprintf(hosts, sizeof(hosts), "server:2181%s", chroot);
    if (chroot[0] != '\0') {
        make(chroot);
    }
    char path[64];
    snprintf(path, sizeof(path), "%s/data", chroot);
    make(path);
    client = open_client(hosts);
    lock = hold(client);
}

static void begin(void) {
    begin_below("");
}

static void end(void) {
    zkl_lock_close(lock);
    EXPECT_INT(zkl_client_close(client, ENOUGH_MS), ZKL_OK);
    zkl_ensemble_end();
    zkl_world_end();
}

static int64_t session_of(zkl_client *of) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(of, &information), ZKL_OK);
    return information.session_id;
}

static void sleep_ms(int64_t ms) {
    zkl_world_sleep_us(ms * US_PER_MS);
}

static const zkl_node *node_at(const char *path) {
    return zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID);
}

static const char *data_at(const char *path) {
    const zkl_node *node = node_at(path);
    return node != NULL ? zkl_node_data(node) : "(no node)";
}

static void delete_lock_node(void) {
    const zkl_node *child = zkl_node_first_child(node_at("/locks/stock"), ZKL_LATEST_ZXID);
    EXPECT_INT(zkl_ensemble_delete(ensemble, zkl_node_path(child)), ZKL_SERVER_ERROR_NONE);
}

static void stop_servers(void) {
    for (uint32_t i = 0; i < SERVERS; i++) {
        zkl_ensemble_stop_server(ensemble, i);
    }
    sleep_ms(1);
}

static zkl_transaction *begin_transaction(void) {
    zkl_transaction *transaction = NULL;
    EXPECT_INT(zkl_transaction_begin(lock, &transaction), ZKL_OK);
    return transaction;
}

/* That writes "new" into /data. */
static zkl_transaction *begin_write(void) {
    zkl_transaction *transaction = begin_transaction();
    EXPECT_INT(zkl_transaction_set(transaction, "/data", "new", 3, ZKL_ANY_VERSION), ZKL_OK);
    return transaction;
}

static int commit(zkl_transaction *transaction) {
    return zkl_transaction_commit(transaction, ENOUGH_MS, NULL);
}

static void cut_next_commit(zkl_cut cut) {
    zkl_ensemble_cut_next(ensemble, session_of(client), ZKL_CALL_MULTI, cut, 0);
}

/* ---- Verify ---------------------------------------------------------------------- */

/* The deletion is committed, but the news of it has not come yet. */
TEST(verify_after_the_deletion_of_the_node_is_lost) {
    begin();
    delete_lock_node();
    EXPECT_INT(zkl_lock_check(lock, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_verify(lock, ENOUGH_MS), ZKL_LOST);
    EXPECT_INT(zkl_lock_verify(lock, ENOUGH_MS), ZKL_LOST);
    end();
}

/* A server that lags would still show the node to a read. */
TEST(verify_by_a_server_that_lags_is_not_stale) {
    begin();
    uint32_t server = (uint32_t)zkl_ensemble_session_server(ensemble, session_of(client));
    zkl_ensemble_slow_server(ensemble, server, 300 * US_PER_MS, 2000 * US_PER_MS);
    delete_lock_node();
    EXPECT_INT(zkl_lock_check(lock, NULL), ZKL_OK);
    EXPECT_INT(zkl_lock_verify(lock, ENOUGH_MS), ZKL_LOST);
    end();
}

TEST(verify_without_an_answer_is_suspect) {
    begin();
    zkl_ensemble_slow_commits(ensemble, 600 * US_PER_MS, 600 * US_PER_MS);
    EXPECT_INT(zkl_lock_verify(lock, 100), ZKL_SUSPECT); /* it was sent */
    sleep_ms(2 * SESSION_MS);
    stop_servers();
    EXPECT_INT(zkl_lock_verify(lock, 100), ZKL_SUSPECT); /* it was not */
    zkl_ensemble_heal(ensemble);
    EXPECT_INT(zkl_lock_verify(lock, ZKL_FOREVER), ZKL_OK);
    end();
}

TEST(verify_that_is_turned_away_says_so) {
    begin();
    for (uint32_t i = 0; i < SERVERS; i++) {
        zkl_ensemble_throttle(ensemble, i, 10 * US_PER_MS);
    }
    EXPECT_INT(zkl_lock_verify(lock, ENOUGH_MS), ZKL_SERVER_REFUSED);
    sleep_ms(20);
    EXPECT_INT(zkl_lock_verify(lock, ENOUGH_MS), ZKL_OK);
    end();
}

static int verified[4];

static void *verify_in_a_task(void *result) {
    *(int *)result = zkl_lock_verify(lock, ENOUGH_MS);
    return NULL;
}

TEST(any_thread_may_verify) {
    begin();
    pthread_t tasks[COUNT_OF(verified)];
    for (size_t i = 0; i < COUNT_OF(verified); i++) {
        verified[i] = 1;
        EXPECT(zkl_thread_start(&tasks[i], verify_in_a_task, &verified[i]));
    }
    for (size_t i = 0; i < COUNT_OF(verified); i++) {
        zkl_thread_join(tasks[i]);
        EXPECT_INT(verified[i], ZKL_OK);
    }
    end();
}

/* ---- Transactions ------------------------------------------------------------------ */

TEST(transaction_of_a_holder_is_applied_as_a_whole) {
    begin_below("/app");
    zkl_transaction *transaction = begin_transaction();
    int64_t before = zkl_ensemble_committed_zxid(ensemble);
    EXPECT_INT(zkl_transaction_check(transaction, "/data", 0), ZKL_OK);
    EXPECT_INT(zkl_transaction_set(transaction, "/data", "a\0b", 3, 0), ZKL_OK);
    EXPECT_INT(zkl_transaction_create(transaction, "/data/n-", NULL, 0, ZKL_CREATE_SEQUENTIAL),
               ZKL_OK);
    EXPECT_INT(zkl_transaction_create(transaction, "/data/e", "x", 1, ZKL_CREATE_EPHEMERAL),
               ZKL_OK);
    EXPECT_INT(zkl_transaction_create(transaction, "/data/gone", "x", 1, ZKL_CREATE_PERSISTENT),
               ZKL_OK);
    EXPECT_INT(zkl_transaction_delete(transaction, "/data/gone", 0), ZKL_OK);
    EXPECT_INT(zkl_ensemble_committed_zxid(ensemble), before);
    zkl_transaction_result result = { .struct_size = sizeof(result), .failed_operation = 9 };
    EXPECT_INT(zkl_transaction_commit(transaction, ENOUGH_MS, &result), ZKL_OK);
    EXPECT_INT(result.failed_operation, -1);
    EXPECT_INT(result.failed_status, ZKL_OK);
    EXPECT_INT(zkl_ensemble_committed_zxid(ensemble), before + 1);
    EXPECT_INT(zkl_node_data_size(node_at("/app/data")), 3);
    EXPECT(memcmp(data_at("/app/data"), "a\0b", 3) == 0);
    EXPECT_TEXT(zkl_transaction_created_path(transaction, 2), "/data/n-0000000000");
    EXPECT_TEXT(zkl_transaction_created_path(transaction, 3), "/data/e");
    EXPECT_TEXT(zkl_transaction_created_path(transaction, 0), "");
    EXPECT_TEXT(zkl_transaction_created_path(transaction, -1), "");
    EXPECT_TEXT(zkl_transaction_created_path(transaction, 6), "");
    EXPECT_INT(zkl_node_get_stat(node_at("/app/data/e")).ephemeral_owner, session_of(client));
    EXPECT(node_at("/app/data/gone") == NULL);
    EXPECT_INT(commit(transaction), ZKL_INVALID_ARGUMENT);
    zkl_transaction_free(transaction);
    end();
}

static void expect_failure(int (*add)(zkl_transaction *transaction), int failed_status) {
    zkl_transaction *transaction = begin_write();
    EXPECT_INT(add(transaction), ZKL_OK);
    EXPECT_INT(zkl_transaction_create(transaction, "/data/x", NULL, 0, 0), ZKL_OK);
    zkl_transaction_result result = ZKL_TRANSACTION_RESULT_INIT;
    EXPECT_INT(zkl_transaction_commit(transaction, ENOUGH_MS, &result), ZKL_OPERATION_FAILED);
    EXPECT_INT(result.failed_operation, 1);
    EXPECT_INT(result.failed_status, failed_status);
    EXPECT_TEXT(data_at("/data"), "old");
    EXPECT(node_at("/data/x") == NULL);
    EXPECT_TEXT(zkl_transaction_created_path(transaction, 2), "");
    zkl_transaction_free(transaction);
}

static int check_nothing(zkl_transaction *transaction) {
    return zkl_transaction_check(transaction, "/none", ZKL_ANY_VERSION);
}

static int create_again(zkl_transaction *transaction) {
    return zkl_transaction_create(transaction, "/data", NULL, 0, 0);
}

static int set_another_version(zkl_transaction *transaction) {
    return zkl_transaction_set(transaction, "/data", NULL, 0, 7);
}

static int delete_a_parent(zkl_transaction *transaction) {
    return zkl_transaction_delete(transaction, "/locks", ZKL_ANY_VERSION);
}

static int create_a_secret(zkl_transaction *transaction) {
    return zkl_transaction_create(transaction, "/closed/secret", NULL, 0, 0);
}

TEST(failed_operation_is_named_and_nothing_is_applied) {
    begin();
    make("/closed");
    zkl_ensemble_withhold(ensemble, "/closed", ZKL_RIGHT_CREATE, ZKL_FOREVER);
    expect_failure(check_nothing, ZKL_NO_NODE);
    expect_failure(create_again, ZKL_NODE_EXISTS);
    expect_failure(set_another_version, ZKL_BAD_VERSION);
    expect_failure(delete_a_parent, ZKL_NOT_EMPTY);
    expect_failure(create_a_secret, ZKL_NO_PERMISSION);
    EXPECT_INT(zkl_lock_verify(lock, ENOUGH_MS), ZKL_OK);
    end();
}

TEST(transaction_is_refused_once_the_node_is_gone) {
    begin();
    zkl_transaction *transaction = begin_write();
    delete_lock_node();
    EXPECT_INT(zkl_lock_check(lock, NULL), ZKL_OK);
    EXPECT_INT(commit(transaction), ZKL_LOST);
    EXPECT_TEXT(data_at("/data"), "old");
    zkl_transaction_free(transaction);
    sleep_ms(20);
    EXPECT_INT(zkl_transaction_begin(lock, &transaction), ZKL_LOST);
    EXPECT(transaction == NULL);
    end();
}

TEST(transaction_belongs_to_the_grant_that_it_was_begun_under) {
    begin();
    zkl_transaction *transaction = begin_write();
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
    EXPECT_INT(commit(transaction), ZKL_NOT_HELD);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    EXPECT_INT(commit(transaction), ZKL_LOST);
    EXPECT_TEXT(data_at("/data"), "old");
    zkl_transaction_free(transaction);
    end();
}

/* Stops for longer than its session lasts, between its read and its write; its successor reads
 * and writes meanwhile. Whatever its threads do first when it goes on, nothing of it comes late. */
TEST(holder_who_was_paused_past_his_session_writes_nothing) {
    begin();
    zkl_process *holder = zkl_process_begin(0);
    zkl_process *first = zkl_process_enter(holder);
    EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
    zkl_client *paused_client = open_client("server:2181");
    zkl_lock *paused_lock = hold(paused_client);
    zkl_transaction *late = NULL;
    EXPECT_INT(zkl_transaction_begin(paused_lock, &late), ZKL_OK);
    EXPECT_INT(zkl_transaction_set(late, "/data", "late", 4, ZKL_ANY_VERSION), ZKL_OK);
    zkl_process_stop(holder);
    zkl_process_enter(first);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    EXPECT_TEXT(data_at("/data"), "old"); /* the successor reads */
    zkl_process_continue(holder);
    zkl_process_enter(holder);
    EXPECT_INT(zkl_lock_check(paused_lock, NULL), ZKL_SUSPECT);
    EXPECT_INT(zkl_transaction_commit(late, ENOUGH_MS, NULL), ZKL_LOST);
    EXPECT_INT(zkl_lock_verify(paused_lock, ENOUGH_MS), ZKL_LOST);
    EXPECT_TEXT(data_at("/data"), "old");
    zkl_process_enter(first);
    zkl_transaction *transaction = begin_write();
    EXPECT_INT(commit(transaction), ZKL_OK);
    sleep_ms(2 * SESSION_MS);
    EXPECT_TEXT(data_at("/data"), "new");
    zkl_transaction_free(transaction);
    zkl_process_enter(holder);
    zkl_transaction_free(late);
    zkl_lock_close(paused_lock);
    EXPECT_INT(zkl_client_close(paused_client, ENOUGH_MS), ZKL_OK);
    zkl_process_enter(first);
    end();
}

/* The servers have ended the session, and the client is in touch: only the check of the node can
 * keep the write from coming late. */
TEST(write_behind_the_end_of_the_session_is_not_applied) {
    begin();
    zkl_transaction *transaction = begin_write();
    uint32_t server = (uint32_t)zkl_ensemble_session_server(ensemble, session_of(client));
    zkl_ensemble_slow_server(ensemble, server, 100 * US_PER_MS, 1000 * US_PER_MS);
    EXPECT(zkl_ensemble_expire(ensemble, session_of(client)));
    sleep_ms(20);
    EXPECT_INT(zkl_lock_check(lock, NULL), ZKL_OK);
    int status = commit(transaction);
    EXPECT(status == ZKL_LOST || status == ZKL_UNKNOWN);
    sleep_ms(2 * SESSION_MS);
    EXPECT_TEXT(data_at("/data"), "old");
    zkl_transaction_free(transaction);
    end();
}

TEST(lost_reply_leaves_it_unknown) {
    static const zkl_cut cuts[] = { ZKL_CUT_REQUESTS_LOST, ZKL_CUT_WHEN_ANSWERED };
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        begin();
        zkl_transaction *transaction = begin_write();
        cut_next_commit(cuts[i]);
        EXPECT_INT(commit(transaction), ZKL_UNKNOWN);
        EXPECT_TEXT(data_at("/data"), cuts[i] == ZKL_CUT_WHEN_ANSWERED ? "new" : "old");
        EXPECT_INT(commit(transaction), ZKL_INVALID_ARGUMENT);
        EXPECT_TEXT(zkl_error_message(), "transaction \"\": it was committed already");
        zkl_transaction_free(transaction);
        end();
    }
}

static int committed;

static void *commit_in_a_task(void *transaction) {
    committed = zkl_transaction_commit(transaction, ZKL_FOREVER, NULL);
    return NULL;
}

/* Commits while there is no connection, and is ended by somebody else meanwhile. */
static void expect_end_of_the_wait(int (*meanwhile)(void), int done, int expected) {
    begin();
    zkl_transaction *transaction = begin_write();
    stop_servers();
    pthread_t task;
    EXPECT(zkl_thread_start(&task, commit_in_a_task, transaction));
    sleep_ms(1);
    EXPECT_INT(meanwhile(), done);
    zkl_thread_join(task);
    EXPECT_INT(committed, expected);
    zkl_ensemble_heal(ensemble);
    sleep_ms(4 * SESSION_MS);
    EXPECT_TEXT(data_at("/data"), "old");
    zkl_transaction_free(transaction);
}

static int release_at_once(void) {
    return zkl_lock_release(lock, 1);
}

TEST(wait_ends_with_the_release_of_the_lock) {
    expect_end_of_the_wait(release_at_once, ZKL_PENDING, ZKL_NOT_HELD);
    end();
}

/* ---- Input ------------------------------------------------------------------------- */

TEST(wrong_input_is_named) {
    begin();
    zkl_transaction *transaction = begin_transaction();
    EXPECT_REFUSED(zkl_transaction_set(transaction, "data", NULL, 0, 0), "path");
    EXPECT_TEXT(zkl_error_message(), "path \"data\": must be an absolute path");
    EXPECT_REFUSED(zkl_transaction_set(transaction, "/data/", NULL, 0, 0), "path");
    EXPECT_REFUSED(zkl_transaction_set(transaction, "/zookeeper/quota", NULL, 0, 0), "path");
    EXPECT_INT(zkl_transaction_set(transaction, NULL, NULL, 0, 0), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_transaction_set(transaction, "/data", NULL, 1, 0), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_transaction_set(transaction, "/data", NULL, 0, -2), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_transaction_set(NULL, "/data", NULL, 0, 0), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_transaction_create(transaction, "/x", NULL, 0, 4), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(zkl_transaction_create(transaction, "/x", NULL, 0, -1), ZKL_INVALID_ARGUMENT);
    EXPECT_REFUSED(zkl_transaction_commit(transaction, 0, NULL), "timeout_ms");
    EXPECT_REFUSED(zkl_transaction_commit(transaction, -2, NULL), "timeout_ms");
    zkl_transaction_result result = ZKL_TRANSACTION_RESULT_INIT;
    EXPECT_INT(zkl_transaction_commit(NULL, 1, &result), ZKL_INVALID_ARGUMENT);
    EXPECT_INT(result.failed_operation, -1);
    zkl_transaction_result small = { .struct_size = 1 };
    EXPECT_REFUSED(zkl_transaction_commit(transaction, 1, &small), "struct_size");
    EXPECT_INT(zkl_transaction_begin(lock, NULL), ZKL_INVALID_ARGUMENT);
    zkl_transaction *none = transaction;
    EXPECT_INT(zkl_transaction_begin(NULL, &none), ZKL_INVALID_ARGUMENT);
    EXPECT(none == NULL);
    EXPECT_TEXT(zkl_transaction_created_path(NULL, 0), "");
    zkl_transaction_free(NULL);
    EXPECT_INT(zkl_lock_verify(NULL, 1), ZKL_INVALID_ARGUMENT);
    EXPECT_REFUSED(zkl_lock_verify(lock, 0), "timeout_ms");
    EXPECT_INT(commit(transaction), ZKL_OK); /* nothing but the guard */
    zkl_transaction_free(transaction);
    end();
}

static char much[ZKL_TRANSACTION_BYTES_MAX];

TEST(limits_are_kept_and_reached) {
    begin();
    zkl_transaction *transaction = begin_transaction();
    size_t fixed = strlen("/data") + ZKL_TRANSACTION_OVERHEAD;
    EXPECT_REFUSED(zkl_transaction_set(transaction, "/data", much, sizeof(much) - fixed + 1, 0),
                   "ZKL_TRANSACTION_BYTES_MAX");
    EXPECT_REFUSED(zkl_transaction_set(transaction, "/data", much, SIZE_MAX, 0),
                   "ZKL_TRANSACTION_BYTES_MAX");
    EXPECT_INT(zkl_transaction_set(transaction, "/data", much, sizeof(much) - fixed, 0), ZKL_OK);
    EXPECT_REFUSED(zkl_transaction_check(transaction, "/data", 1), "ZKL_TRANSACTION_BYTES_MAX");
    EXPECT_INT(commit(transaction), ZKL_OK);
    zkl_transaction_free(transaction);
    transaction = begin_transaction();
    for (int i = 0; i < ZKL_TRANSACTION_OPERATIONS_MAX; i++) {
        EXPECT_INT(zkl_transaction_check(transaction, "/data", 1), ZKL_OK);
    }
    EXPECT_REFUSED(zkl_transaction_check(transaction, "/data", 1), "number of operations");
    EXPECT_INT(commit(transaction), ZKL_OK);
    zkl_transaction_free(transaction);
    end();
}

/* ---- Changed modes ----------------------------------------------------------------- */

static void hold_for_writing(void) {
    begin();
    EXPECT_INT(zkl_lock_release(lock, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_WRITE, ZKL_FOREVER, NULL), ZKL_OK);
}

/* The token is the same, and nobody has written in between. */
TEST(transaction_goes_on_after_a_downgrade) {
    hold_for_writing();
    zkl_transaction *transaction = begin_write();
    EXPECT_INT(zkl_lock_downgrade(lock, ZKL_FOREVER), ZKL_OK);
    EXPECT_INT(commit(transaction), ZKL_OK);
    EXPECT_TEXT(data_at("/data"), "new");
    zkl_transaction_free(transaction);
    end();
}

static int ask_servers(bool commits, zkl_transaction *transaction) {
    return commits ? commit(transaction) : zkl_lock_verify(lock, ENOUGH_MS);
}

/* Asked with the next connection, before anybody knows which of the two nodes is there. */
TEST(downgrade_whose_reply_was_lost_is_no_loss) {
    static const zkl_cut cuts[] = { ZKL_CUT_REPLIES_LOST, ZKL_CUT_REQUESTS_LOST,
                                    ZKL_CUT_WHEN_ANSWERED };
    for (size_t i = 0; i < 2 * COUNT_OF(cuts); i++) {
        hold_for_writing();
        zkl_transaction *transaction = begin_write();
        cut_next_commit(cuts[i / 2]);
        EXPECT_INT(zkl_lock_downgrade(lock, 1), ZKL_PENDING);
        sleep_ms(100);
        EXPECT_INT(ask_servers(i % 2 == 0, transaction), ZKL_OK);
        EXPECT_INT(ask_servers(i % 2 != 0, transaction), ZKL_OK);
        EXPECT_INT(zkl_lock_downgrade(lock, ZKL_FOREVER), ZKL_OK);
        zkl_transaction_free(transaction);
        end();
    }
}
