/*
 * Asking the servers whether the lock is held, and writes that go through together with that
 * question or not at all: over lost connections and sessions, nodes deleted by hand, servers that
 * die, and a holder that is stopped past its session.
 */
#include "support/process.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#define SESSION_MS 6000
/* The client looks after the node of a free lock a third of this after its grant: until then only
 * the servers know that somebody has deleted it. It outlives servers that are all down, too. */
#define UNWATCHED_SESSION_MS 60000
/* For what must not happen; it would come within a round trip. */
#define QUIET_MS 300

/* ---- The stage -------------------------------------------------------------------------- */

/* A holder behind a proxy, a rival, and what the lock guards: a node that both write. */
struct stage {
    struct scene scene;
    char store[160];
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *rivals_client;
    zkl_lock *lock;
    zkl_lock *rival;
    zkl_grant grant;
};

static void stage_begin(struct stage *stage, const char *stem, int32_t session_timeout_ms) {
    scene_begin(&stage->scene, stem);
    snprintf(stage->store, sizeof stage->store, "/store-%s", stage->scene.resource);
    raw_make_with(stage->scene.raw, stage->store, "0");
    stage->proxy = proxy_start(0);
    stage->client = client_open(proxy_hosts(stage->proxy), session_timeout_ms);
    stage->rivals_client = client_open(servers_hosts(), LONG_SESSION_MS);
    stage->lock = lock_open(stage->client, stage->scene.resource);
    stage->rival = lock_open(stage->rivals_client, stage->scene.resource);
}

static void acquire(struct stage *stage) {
    stage->grant = (zkl_grant)ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(stage->lock, ZKL_EXCLUSIVE, PATIENCE_MS, &stage->grant), ZKL_OK);
}

static void stage_begin_held(struct stage *stage, const char *stem, int32_t session_timeout_ms) {
    stage_begin(stage, stem, session_timeout_ms);
    acquire(stage);
}

static void stage_end(struct stage *stage) {
    zkl_lock_close(stage->lock);
    zkl_lock_close(stage->rival);
    client_close(stage->client);
    client_close(stage->rivals_client);
    proxy_stop(stage->proxy);
    raw_delete(stage->scene.raw, stage->store);
    scene_end(&stage->scene);
}

/* It was made with "0", and its version counts the writes. */
static void assert_store(struct stage *stage, const char *value, int writes) {
    struct Stat stat = { 0 };
    char text[64];
    raw_catch_up(stage->scene.raw);
    CU_ASSERT_TRUE(raw_stat(stage->scene.raw, stage->store, &stat));
    raw_data(stage->scene.raw, stage->store, text, sizeof text);
    CU_ASSERT_STRING_EQUAL(text, value);
    ASSERT_NUMBER(stat.version, writes);
}

static bool is_there(struct stage *stage, const char *path) {
    struct Stat stat = { 0 };
    raw_catch_up(stage->scene.raw);
    return raw_stat(stage->scene.raw, path, &stat);
}

static zkl_transaction *begin_write(zkl_lock *lock, const char *store, const char *value) {
    zkl_transaction *transaction = NULL;
    ASSERT_STATUS(zkl_transaction_begin(lock, &transaction), ZKL_OK);
    ASSERT_STATUS(zkl_transaction_set(transaction, store, value, strlen(value), ZKL_ANY_VERSION),
                  ZKL_OK);
    return transaction;
}

static void rival_writes(struct stage *stage, const char *value) {
    zkl_transaction *transaction = begin_write(stage->rival, stage->store, value);
    ASSERT_STATUS(zkl_transaction_commit(transaction, PATIENCE_MS, NULL), ZKL_OK);
    zkl_transaction_free(transaction);
}

static void expire(struct stage *stage) {
    clientid_t session = proxy_session(stage->proxy);
    raw_expire(servers_hosts(), &session);
}

/* No request reaches the servers from the next one on. */
static void cut_at_next_request(struct stage *stage, enum proxy_fault fault, bool stay_away) {
    const struct proxy_plan plan = { { { fault, 1 } }, 1, stay_away };
    proxy_set_plan(stage->proxy, &plan);
}

static void let_back(struct stage *stage) {
    (void)proxy_end_plan(stage->proxy);
    WAIT_UNTIL(client_information(stage->client).connected);
}

/* Nobody but the servers knows it, until it is asked for. */
static void delete_node_by_hand(struct stage *stage) {
    ASSERT_NUMBER(servers_watches(stage->grant.node), 0);
    raw_delete(stage->scene.raw, stage->grant.node);
    ASSERT_STATUS(zkl_lock_check(stage->lock, NULL), ZKL_OK);
}

/* ---- Verify ----------------------------------------------------------------------------- */

/* A verify in a thread of its own. */
struct question {
    zkl_lock *lock;
    int64_t timeout_ms;
    int status;
    atomic_bool done;
    pthread_t thread;
};

static void *ask(void *arg) {
    struct question *question = arg;
    question->status = zkl_lock_verify(question->lock, question->timeout_ms);
    atomic_store(&question->done, true);
    return NULL;
}

static void question_start(struct question *question, zkl_lock *lock, int64_t timeout_ms) {
    *question = (struct question){ .lock = lock, .timeout_ms = timeout_ms };
    thread_start(&question->thread, ask, question);
}

static int question_join(struct question *question) {
    pthread_join(question->thread, NULL);
    return question->status;
}

static void verify_is_ok_while_it_is_held_and_only_then(void) {
    struct stage stage;
    stage_begin(&stage, "verify", SESSION_MS);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_NOT_HELD);
    acquire(&stage);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, ZKL_FOREVER), ZKL_OK);
    ASSERT_STATUS(zkl_lock_verify(stage.rival, PATIENCE_MS), ZKL_NOT_HELD);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_NOT_HELD);
    stage_end(&stage);
}

static void verify_after_the_session_was_ended_is_lost_and_the_next_holders_ok(void) {
    struct stage stage;
    struct waiter rival;
    stage_begin_held(&stage, "verify-expired", SESSION_MS);
    waiter_start(&rival, stage.rival, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&stage.scene) == 1);
    expire(&stage);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_STATUS(waiter_join(&rival), ZKL_OK);
    ASSERT_STATUS(zkl_lock_verify(stage.rival, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_NOT_HELD);
    stage_end(&stage);
}

static void verify_after_its_node_was_deleted_by_hand_is_lost_by_the_servers_word(void) {
    struct stage stage;
    stage_begin_held(&stage, "verify-deleted", UNWATCHED_SESSION_MS);
    delete_node_by_hand(&stage);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_LOST);
    WAIT_UNTIL(zkl_lock_check(stage.lock, NULL) == ZKL_LOST);
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    ASSERT_STATUS(zkl_lock_info(stage.lock, &information), ZKL_OK);
    ASSERT_STATUS(information.lost_reason, ZKL_NODE_DELETED);
    stage_end(&stage);
}

static void verify_over_a_cut(const char *stem, enum proxy_fault fault) {
    struct stage stage;
    struct question question;
    stage_begin_held(&stage, stem, LONG_SESSION_MS);
    cut_at_next_request(&stage, fault, true);
    question_start(&question, stage.lock, PATIENCE_MS);
    WAIT_UNTIL(proxy_cuts_made(stage.proxy) == 1);
    STAYS(!atomic_load(&question.done), QUIET_MS);
    let_back(&stage);
    ASSERT_STATUS(question_join(&question), ZKL_OK);
    ASSERT_NUMBER(client_information(stage.client).sessions_expired, 0);
    stage_end(&stage);
}

static void verify_whose_request_was_lost_is_asked_again(void) {
    verify_over_a_cut("verify-request", PROXY_REQUEST_LOST);
}

static void verify_whose_reply_was_lost_is_asked_again(void) {
    verify_over_a_cut("verify-reply", PROXY_REPLY_LOST);
}

static void verify_without_an_answer_is_suspect_at_its_deadline(void) {
    struct stage stage;
    stage_begin_held(&stage, "verify-suspect", LONG_SESSION_MS);
    cut_at_next_request(&stage, PROXY_REQUEST_LOST, true);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, QUIET_MS), ZKL_SUSPECT);
    let_back(&stage);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_OK);
    stage_end(&stage);
}

static void verify_while_its_server_dies_is_answered_by_another(void) {
    struct scene scene;
    scene_begin(&scene, "verify-server");
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    int server = servers_of_session(client_information(client).session_id);
    CU_ASSERT_NOT_EQUAL(server, 0);
    server_kill(server);
    ASSERT_STATUS(zkl_lock_verify(lock, PATIENCE_MS), ZKL_OK);
    server_start(server);
    ASSERT_NUMBER(client_information(client).sessions_expired, 0);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

static void verify_while_all_servers_are_down_waits_for_them(void) {
    struct scene scene;
    struct question question;
    scene_begin(&scene, "verify-servers");
    zkl_client *client = client_open(servers_hosts(), UNWATCHED_SESSION_MS);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    servers_kill();
    question_start(&question, lock, 2 * PATIENCE_MS);
    STAYS(!atomic_load(&question.done), QUIET_MS);
    servers_start();
    ASSERT_STATUS(question_join(&question), ZKL_OK);
    ASSERT_NUMBER(client_information(client).sessions_expired, 0);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

/* ---- Guarded transactions: all or nothing ------------------------------------------------- */

static void path_below(const struct stage *stage, const char *name, char path[256]) {
    snprintf(path, 256, "%s/%s", stage->store, name);
}

static void commit_carries_all_out_with_the_lock_held(void) {
    struct stage stage;
    char order[256];
    char old[256];
    struct Stat stat = { 0 };
    stage_begin_held(&stage, "commit-all", SESSION_MS);
    path_below(&stage, "order-", order);
    path_below(&stage, "old", old);
    raw_make_with(stage.scene.raw, old, "0");
    zkl_transaction *transaction = begin_write(stage.lock, stage.store, "41");
    ASSERT_STATUS(zkl_transaction_create(transaction, order, "7", 1, ZKL_CREATE_SEQUENTIAL),
                  ZKL_OK);
    ASSERT_STATUS(zkl_transaction_delete(transaction, old, 0), ZKL_OK);
    ASSERT_STATUS(zkl_transaction_check(transaction, stage.store, 1), ZKL_OK);
    ASSERT_STATUS(zkl_transaction_commit(transaction, PATIENCE_MS, NULL), ZKL_OK);
    const char *made = zkl_transaction_created_path(transaction, 1);
    CU_ASSERT_TRUE(strncmp(made, order, strlen(order)) == 0 && strlen(made) == strlen(order) + 10);
    assert_store(&stage, "41", 1);
    CU_ASSERT_TRUE(is_there(&stage, made) && !is_there(&stage, old));
    CU_ASSERT_TRUE(raw_stat(stage.scene.raw, made, &stat));
    ASSERT_NUMBER(stat.ephemeralOwner, 0);
    raw_delete(stage.scene.raw, made);
    zkl_transaction_free(transaction);
    stage_end(&stage);
}

/* The first two could be carried out, the third cannot. */
static void assert_third_fails(struct stage *stage, zkl_transaction *transaction, int status,
                               int wanted) {
    char order[256];
    zkl_transaction_result result = ZKL_TRANSACTION_RESULT_INIT;
    path_below(stage, "order", order);
    ASSERT_STATUS(status, ZKL_OK);
    ASSERT_STATUS(zkl_transaction_commit(transaction, PATIENCE_MS, &result), ZKL_OPERATION_FAILED);
    ASSERT_NUMBER(result.failed_operation, 2);
    ASSERT_STATUS(result.failed_status, wanted);
    assert_store(stage, "0", 0);
    CU_ASSERT_FALSE(is_there(stage, order));
    zkl_transaction_free(transaction);
}

static zkl_transaction *begin_two(struct stage *stage) {
    char order[256];
    path_below(stage, "order", order);
    zkl_transaction *transaction = begin_write(stage->lock, stage->store, "41");
    ASSERT_STATUS(zkl_transaction_create(transaction, order, "7", 1, ZKL_CREATE_PERSISTENT),
                  ZKL_OK);
    return transaction;
}

static void commit_of_which_one_operation_fails_writes_nothing(void) {
    struct stage stage;
    char missing[256];
    char present[256];
    stage_begin_held(&stage, "commit-none", SESSION_MS);
    path_below(&stage, "missing", missing);
    path_below(&stage, "present", present);
    raw_make_with(stage.scene.raw, present, "0");
    zkl_transaction *two = begin_two(&stage);
    assert_third_fails(&stage, two, zkl_transaction_check(two, stage.store, 7), ZKL_BAD_VERSION);
    two = begin_two(&stage);
    assert_third_fails(&stage, two, zkl_transaction_delete(two, missing, ZKL_ANY_VERSION),
                       ZKL_NO_NODE);
    two = begin_two(&stage);
    assert_third_fails(&stage, two,
                       zkl_transaction_create(two, present, NULL, 0, ZKL_CREATE_PERSISTENT),
                       ZKL_NODE_EXISTS);
    two = begin_two(&stage);
    assert_third_fails(&stage, two, zkl_transaction_delete(two, stage.store, ZKL_ANY_VERSION),
                       ZKL_NOT_EMPTY);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_OK);
    raw_delete(stage.scene.raw, present);
    stage_end(&stage);
}

/* ---- Guarded transactions that come late ------------------------------------------------------
 */

static void commit_after_its_node_was_deleted_by_hand_is_lost_and_writes_nothing(void) {
    struct stage stage;
    zkl_transaction_result result = ZKL_TRANSACTION_RESULT_INIT;
    stage_begin_held(&stage, "commit-deleted", UNWATCHED_SESSION_MS);
    zkl_transaction *late = begin_write(stage.lock, stage.store, "late");
    delete_node_by_hand(&stage);
    ASSERT_STATUS(zkl_transaction_commit(late, PATIENCE_MS, &result), ZKL_LOST);
    ASSERT_NUMBER(result.failed_operation, -1);
    assert_store(&stage, "0", 0);
    WAIT_UNTIL(zkl_lock_check(stage.lock, NULL) == ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_LOST);
    acquire(&stage);
    ASSERT_STATUS(zkl_transaction_commit(late, PATIENCE_MS, NULL), ZKL_LOST); /* of another grant */
    assert_store(&stage, "0", 0);
    zkl_transaction_free(late);
    stage_end(&stage);
}

/* It may not have heard of it yet: then the request is lost with the connection. */
static void commit_in_a_session_that_was_just_ended_writes_nothing(void) {
    struct stage stage;
    stage_begin_held(&stage, "commit-expired", SESSION_MS);
    zkl_transaction *late = begin_write(stage.lock, stage.store, "late");
    expire(&stage);
    ASSERT_STATUS(zkl_lock_acquire(stage.rival, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    int status = zkl_transaction_commit(late, PATIENCE_MS, NULL);
    CU_ASSERT_TRUE(status == ZKL_LOST || status == ZKL_UNKNOWN);
    rival_writes(&stage, "rival");
    STAYS(zkl_lock_verify(stage.lock, PATIENCE_MS) == ZKL_LOST, QUIET_MS);
    assert_store(&stage, "rival", 1);
    zkl_transaction_free(late);
    stage_end(&stage);
}

/* The commit is the first that it does when it goes on: the command waits in its pipe. */
static void holder_stopped_past_its_session_commits_nothing_between_the_nexts_read_and_write(void) {
    struct stage stage;
    struct process holder;
    zkl_grant held;
    stage_begin(&stage, "commit-stopped", SESSION_MS);
    process_start(&holder, &(struct process_options){ .hosts = servers_hosts(),
                                                      .resource = stage.scene.resource,
                                                      .session_timeout_ms = SHORT_SESSION_MS });
    ASSERT_STATUS(process_acquire(&holder, ZKL_EXCLUSIVE, PATIENCE_MS, &held), ZKL_OK);
    process_tell(&holder, "plan %s late\n", stage.store);
    ASSERT_STATUS(process_answer(&holder), ZKL_OK);
    process_signal(&holder, SIGSTOP);
    process_tell(&holder, "commit %d\n", PATIENCE_MS);
    acquire(&stage);
    CU_ASSERT_TRUE(stage.grant.token > held.token);
    assert_store(&stage, "0", 0); /* the next one's read */
    process_signal(&holder, SIGCONT);
    ASSERT_STATUS(process_answer(&holder), ZKL_LOST);
    assert_store(&stage, "0", 0);
    zkl_transaction *next = begin_write(stage.lock, stage.store, "next");
    ASSERT_STATUS(zkl_transaction_commit(next, PATIENCE_MS, NULL), ZKL_OK);
    process_tell(&holder, "verify %d\n", PATIENCE_MS);
    ASSERT_STATUS(process_answer(&holder), ZKL_LOST);
    ASSERT_STATUS(process_release(&holder), ZKL_LOST);
    assert_store(&stage, "next", 1);
    zkl_transaction_free(next);
    process_end(&holder);
    stage_end(&stage);
}

/* ---- Guarded transactions whose fate is not known ------------------------------------------- */

static void commit_over_a_cut(const char *stem, enum proxy_fault fault, bool applied) {
    struct stage stage;
    stage_begin_held(&stage, stem, LONG_SESSION_MS);
    zkl_transaction *transaction = begin_write(stage.lock, stage.store, "41");
    cut_at_next_request(&stage, fault, false);
    ASSERT_STATUS(zkl_transaction_commit(transaction, PATIENCE_MS, NULL), ZKL_UNKNOWN);
    ASSERT_NUMBER(proxy_cuts_made(stage.proxy), 1);
    let_back(&stage);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_OK);
    assert_store(&stage, applied ? "41" : "0", applied ? 1 : 0);
    ASSERT_STATUS(zkl_transaction_commit(transaction, PATIENCE_MS, NULL), ZKL_INVALID_ARGUMENT);
    zkl_transaction_free(transaction);
    stage_end(&stage);
}

static void commit_whose_reply_was_lost_is_unknown_and_applied_once(void) {
    commit_over_a_cut("commit-reply", PROXY_REPLY_LOST, true);
}

static void commit_whose_request_was_lost_is_unknown_and_not_applied(void) {
    commit_over_a_cut("commit-request", PROXY_REQUEST_LOST, false);
}

static void commit_without_a_reply_is_unknown_at_its_deadline(void) {
    struct stage stage;
    stage_begin_held(&stage, "commit-silence", LONG_SESSION_MS);
    zkl_transaction *transaction = begin_write(stage.lock, stage.store, "41");
    cut_at_next_request(&stage, PROXY_LOST_WHEN_TOLD, false);
    ASSERT_STATUS(zkl_transaction_commit(transaction, QUIET_MS, NULL), ZKL_UNKNOWN);
    proxy_cut_now(stage.proxy);
    let_back(&stage);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_OK);
    assert_store(&stage, "41", 1);
    zkl_transaction_free(transaction);
    stage_end(&stage);
}

/* What was never sent is not sent later. */
static void commit_without_a_connection_times_out_unsent_and_can_be_committed_again(void) {
    struct stage stage;
    stage_begin_held(&stage, "commit-away", LONG_SESSION_MS);
    zkl_transaction *transaction = begin_write(stage.lock, stage.store, "41");
    cut_at_next_request(&stage, PROXY_REQUEST_LOST, true);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, QUIET_MS), ZKL_SUSPECT); /* meets the cut */
    WAIT_UNTIL(!client_information(stage.client).connected);
    ASSERT_STATUS(zkl_transaction_commit(transaction, QUIET_MS, NULL), ZKL_TIMEOUT);
    let_back(&stage);
    ASSERT_STATUS(zkl_lock_verify(stage.lock, PATIENCE_MS), ZKL_OK);
    assert_store(&stage, "0", 0);
    ASSERT_STATUS(zkl_transaction_commit(transaction, PATIENCE_MS, NULL), ZKL_OK);
    assert_store(&stage, "41", 1);
    zkl_transaction_free(transaction);
    stage_end(&stage);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(verify_is_ok_while_it_is_held_and_only_then),
        TEST_CASE(verify_after_the_session_was_ended_is_lost_and_the_next_holders_ok),
        TEST_CASE(verify_after_its_node_was_deleted_by_hand_is_lost_by_the_servers_word),
        TEST_CASE(verify_whose_request_was_lost_is_asked_again),
        TEST_CASE(verify_whose_reply_was_lost_is_asked_again),
        TEST_CASE(verify_without_an_answer_is_suspect_at_its_deadline),
        TEST_CASE(verify_while_its_server_dies_is_answered_by_another),
        TEST_CASE(verify_while_all_servers_are_down_waits_for_them),
        TEST_CASE(commit_carries_all_out_with_the_lock_held),
        TEST_CASE(commit_of_which_one_operation_fails_writes_nothing),
        TEST_CASE(commit_after_its_node_was_deleted_by_hand_is_lost_and_writes_nothing),
        TEST_CASE(commit_in_a_session_that_was_just_ended_writes_nothing),
        TEST_CASE(holder_stopped_past_its_session_commits_nothing_between_the_nexts_read_and_write),
        TEST_CASE(commit_whose_reply_was_lost_is_unknown_and_applied_once),
        TEST_CASE(commit_whose_request_was_lost_is_unknown_and_not_applied),
        TEST_CASE(commit_without_a_reply_is_unknown_at_its_deadline),
        TEST_CASE(commit_without_a_connection_times_out_unsent_and_can_be_committed_again),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
