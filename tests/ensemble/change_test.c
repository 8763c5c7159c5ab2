/*
 * A writer that goes on as a reader, and a reader that goes on as a writer, on real servers: beside
 * others that wait, with every request and reply lost in turn, and with the session over.
 */
#include "support/proxy.h"
#include "support/rounds.h"
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>
#include <string.h>

/* For what must not happen; a wrong grant would come within a round trip. */
#define QUIET_MS 300
/* Where connections are cut: reconnecting must be done within it. */
#define SESSION_MS 6000
#define ENOUGH_MS (2 * SESSION_MS)
/* For whom the deadline strikes while the client is away. */
#define SHORT_WAIT_MS 400

/* Who holds, behind a proxy, and two others on servers of their own. */
struct cast {
    struct scene scene;
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *others_client;
    zkl_client *thirds_client;
    zkl_lock *holder;
    zkl_lock *other;
    zkl_lock *third;
    zkl_grant grant;
};

static void cast_begin(struct cast *cast, zkl_mode mode) {
    scene_begin(&cast->scene, "change");
    cast->proxy = proxy_start(0);
    cast->client = client_open(proxy_hosts(cast->proxy), SESSION_MS);
    cast->others_client = client_open_on(1);
    cast->thirds_client = client_open_on(2);
    cast->holder = lock_open(cast->client, cast->scene.resource);
    cast->other = lock_open(cast->others_client, cast->scene.resource);
    cast->third = lock_open(cast->thirds_client, cast->scene.resource);
    cast->grant = (zkl_grant)ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(cast->holder, mode, PATIENCE_MS, &cast->grant), ZKL_OK);
}

/* Returns the number of cuts. */
static int cast_end(struct cast *cast) {
    int cuts = proxy_end_plan(cast->proxy);
    zkl_lock_close(cast->holder);
    zkl_lock_close(cast->other);
    zkl_lock_close(cast->third);
    client_close(cast->client);
    client_close(cast->others_client);
    client_close(cast->thirds_client);
    proxy_stop(cast->proxy);
    scene_end(&cast->scene);
    return cuts;
}

/* It waits for as many nodes as there are in the queue before it, in the end for one. */
static void start_behind(struct cast *cast, struct waiter *waiter, zkl_lock *lock, zkl_mode mode) {
    int queued = scene_queue(&cast->scene);
    int watches = scene_watches(&cast->scene);
    waiter_start(waiter, lock, mode, 2 * PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&cast->scene) == queued + 1 && scene_watches(&cast->scene) > watches);
}

static void release(zkl_lock *lock) {
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
}

static zkl_lock_information information_on(const zkl_lock *lock) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    ASSERT_STATUS(zkl_lock_info(lock, &information), ZKL_OK);
    return information;
}

static void assert_holds(struct cast *cast, zkl_mode mode, int64_t token) {
    ASSERT_STATUS(zkl_lock_verify(cast->holder, ENOUGH_MS), ZKL_OK);
    zkl_lock_information information = information_on(cast->holder);
    ASSERT_NUMBER(information.mode, mode);
    ASSERT_NUMBER(information.state, ZKL_STATE_HELD);
    ASSERT_NUMBER(information.token, token);
}

/* The reader's node in the writer's place: the same name but for its kind. */
static void name_of_reader(const struct cast *cast, char node[ZKL_NODE_PATH_SIZE]) {
    const char *kind = strstr(cast->grant.node, "__WRIT__");
    if (kind == NULL) {
        give_up("%s is no writer's", cast->grant.node);
    }
    snprintf(node, ZKL_NODE_PATH_SIZE, "%.*s__READ__%s", (int)(kind - cast->grant.node),
             cast->grant.node, kind + strlen("__WRIT__"));
}

/* The parent's pzxid is of the last birth or death of a child: one transaction has done both. */
static void assert_replaced_in_one_transaction(struct cast *cast) {
    char node[ZKL_NODE_PATH_SIZE];
    struct Stat reader = { 0 };
    struct Stat parent = { 0 };
    name_of_reader(cast, node);
    raw_catch_up(cast->scene.raw);
    CU_ASSERT_TRUE(raw_stat(cast->scene.raw, node, &reader));
    CU_ASSERT_TRUE(raw_stat(cast->scene.raw, cast->scene.path, &parent));
    CU_ASSERT_FALSE(raw_stat(cast->scene.raw, cast->grant.node, NULL));
    ASSERT_NUMBER(parent.pzxid, reader.czxid);
    ASSERT_NUMBER(parent.numChildren, 1);
    ASSERT_NUMBER(reader.ephemeralOwner, client_information(cast->client).session_id);
}

/* ---- Downgrade -------------------------------------------------------------------------- */

static void downgrade_replaces_the_node_in_one_transaction_and_keeps_the_token(void) {
    struct cast cast;
    cast_begin(&cast, ZKL_WRITE);
    ASSERT_STATUS(zkl_lock_downgrade(cast.holder, PATIENCE_MS), ZKL_OK);
    assert_holds(&cast, ZKL_READ, cast.grant.token);
    assert_replaced_in_one_transaction(&cast);
    release(cast.holder);
    ASSERT_NUMBER(scene_queue(&cast.scene), 0);
    (void)cast_end(&cast);
}

static void downgrade_lets_readers_in_and_not_the_writer_behind_them(void) {
    struct cast cast;
    struct waiter reader;
    struct waiter writer;
    cast_begin(&cast, ZKL_WRITE);
    start_behind(&cast, &reader, cast.other, ZKL_READ);
    start_behind(&cast, &writer, cast.third, ZKL_WRITE);
    ASSERT_STATUS(zkl_lock_downgrade(cast.holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&reader), ZKL_OK);
    CU_ASSERT_TRUE(reader.grant.token > cast.grant.token);
    assert_holds(&cast, ZKL_READ, cast.grant.token);
    release(cast.other);
    WAIT_UNTIL(scene_queue(&cast.scene) == 2 && scene_watches(&cast.scene) == 1);
    STAYS(!waiter_is_done(&writer), QUIET_MS);
    release(cast.holder);
    ASSERT_STATUS(waiter_join(&writer), ZKL_OK);
    CU_ASSERT_TRUE(writer.grant.token > reader.grant.token);
    (void)cast_end(&cast);
}

/* Readers that come behind a writer do not overtake it. */
static void writer_next_in_line_waits_for_the_downgraded_reader(void) {
    struct cast cast;
    struct waiter writer;
    struct waiter reader;
    char node[ZKL_NODE_PATH_SIZE];
    cast_begin(&cast, ZKL_WRITE);
    start_behind(&cast, &writer, cast.other, ZKL_WRITE);
    start_behind(&cast, &reader, cast.third, ZKL_READ);
    ASSERT_STATUS(zkl_lock_downgrade(cast.holder, PATIENCE_MS), ZKL_OK);
    name_of_reader(&cast, node);
    WAIT_UNTIL(scene_watches_on(&cast.scene, node) == 1);
    STAYS(!waiter_is_done(&writer) && !waiter_is_done(&reader), QUIET_MS);
    assert_holds(&cast, ZKL_READ, cast.grant.token);
    release(cast.holder);
    ASSERT_STATUS(waiter_join(&writer), ZKL_OK);
    STAYS(!waiter_is_done(&reader), QUIET_MS);
    release(cast.other);
    ASSERT_STATUS(waiter_join(&reader), ZKL_OK);
    (void)cast_end(&cast);
}

/* ---- Downgrade with lost requests and replies ------------------------------------------- */

/* A writer waits all the time, and is not let in. */
static int downgrade_with_a_cut(enum proxy_fault fault, int request) {
    const struct proxy_plan plan = { { { fault, request } }, 1, false };
    struct cast cast;
    struct waiter writer;
    cast_begin(&cast, ZKL_WRITE);
    start_behind(&cast, &writer, cast.other, ZKL_WRITE);
    proxy_set_plan(cast.proxy, &plan);
    ASSERT_STATUS(zkl_lock_downgrade(cast.holder, ENOUGH_MS), ZKL_OK);
    assert_holds(&cast, ZKL_READ, cast.grant.token);
    WAIT_UNTIL(scene_queue(&cast.scene) == 2 && scene_watches(&cast.scene) == 1);
    CU_ASSERT_FALSE(waiter_is_done(&writer));
    ASSERT_STATUS(zkl_lock_release(cast.holder, ENOUGH_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&writer), ZKL_OK);
    ASSERT_NUMBER(client_information(cast.client).sessions_expired, 0);
    return cast_end(&cast);
}

/* The transaction; that of verify; the deletion. */
enum { LEAST_REQUESTS = 3 };

static void request_lost_at_every_step_of_a_downgrade_lets_no_writer_in(void) {
    cut_at_every_request(downgrade_with_a_cut, PROXY_REQUEST_LOST, LEAST_REQUESTS);
}

static void reply_lost_at_every_request_of_a_downgrade_lets_no_writer_in(void) {
    cut_at_every_request(downgrade_with_a_cut, PROXY_REPLY_LOST, LEAST_REQUESTS);
}

static void connection_lost_under_every_request_of_a_downgrade_lets_no_writer_in(void) {
    cut_at_every_request(downgrade_with_a_cut, PROXY_LOST_UNDER_WAY, LEAST_REQUESTS);
}

/* The servers have carried it out, or not: nobody here knows until the next connection. */
static void assert_goes_on_after_its_time(enum proxy_fault fault) {
    const struct proxy_plan plan = { { { fault, 1 } }, 1, true };
    struct cast cast;
    cast_begin(&cast, ZKL_WRITE);
    proxy_set_plan(cast.proxy, &plan);
    ASSERT_STATUS(zkl_lock_downgrade(cast.holder, SHORT_WAIT_MS), ZKL_PENDING);
    ASSERT_NUMBER(information_on(cast.holder).mode, ZKL_WRITE);
    ASSERT_STATUS(zkl_lock_try_upgrade(cast.holder, NULL), ZKL_HANDLE_IN_USE);
    proxy_admit(cast.proxy);
    WAIT_UNTIL(information_on(cast.holder).mode == ZKL_READ);
    assert_holds(&cast, ZKL_READ, cast.grant.token);
    assert_replaced_in_one_transaction(&cast);
    ASSERT_NUMBER(cast_end(&cast), 1);
}

static void downgrade_whose_reply_is_lost_is_pending_and_found_out(void) {
    assert_goes_on_after_its_time(PROXY_REPLY_LOST);
}

static void downgrade_whose_request_is_lost_is_pending_and_sent_again(void) {
    assert_goes_on_after_its_time(PROXY_REQUEST_LOST);
}

static void session_that_ends_under_a_downgrade_loses_the_lock(void) {
    const struct proxy_plan plan = { { { PROXY_REPLY_LOST, 1 } }, 1, true };
    struct cast cast;
    struct waiter writer;
    cast_begin(&cast, ZKL_WRITE);
    start_behind(&cast, &writer, cast.other, ZKL_WRITE);
    proxy_set_plan(cast.proxy, &plan);
    ASSERT_STATUS(zkl_lock_downgrade(cast.holder, SHORT_WAIT_MS), ZKL_PENDING);
    CU_ASSERT_FALSE(waiter_is_done(&writer));
    clientid_t session = proxy_session(cast.proxy);
    raw_expire(servers_hosts(), &session);
    ASSERT_STATUS(waiter_join(&writer), ZKL_OK);
    proxy_admit(cast.proxy);
    ASSERT_STATUS(zkl_lock_downgrade(cast.holder, PATIENCE_MS), ZKL_LOST);
    ASSERT_STATUS(information_on(cast.holder).lost_reason, ZKL_SESSION_EXPIRED);
    ASSERT_STATUS(zkl_lock_release(cast.holder, PATIENCE_MS), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_check(cast.other, NULL), ZKL_OK);
    (void)cast_end(&cast);
}

/* ---- Upgrade ---------------------------------------------------------------------------- */

static void reader_that_is_alone_goes_on_as_a_writer_with_a_greater_token(void) {
    struct cast cast;
    struct waiter reader;
    zkl_grant now = ZKL_GRANT_INIT;
    cast_begin(&cast, ZKL_READ);
    ASSERT_STATUS(zkl_lock_try_upgrade(cast.holder, &now), ZKL_OK);
    CU_ASSERT_TRUE(now.token > cast.grant.token);
    assert_holds(&cast, ZKL_WRITE, now.token);
    WAIT_UNTIL(scene_queue(&cast.scene) == 1);
    start_behind(&cast, &reader, cast.other, ZKL_READ);
    STAYS(!waiter_is_done(&reader), QUIET_MS);
    ASSERT_STATUS(zkl_lock_downgrade(cast.holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&reader), ZKL_OK);
    assert_holds(&cast, ZKL_READ, now.token);
    (void)cast_end(&cast);
}

static void reader_behind_whom_a_writer_waits_stays_a_reader(void) {
    struct cast cast;
    struct waiter writer;
    cast_begin(&cast, ZKL_READ);
    start_behind(&cast, &writer, cast.other, ZKL_WRITE);
    /* What it reads may be old, but not older than its own node; it is asked after a write. */
    assert_holds(&cast, ZKL_READ, cast.grant.token);
    ASSERT_STATUS(zkl_lock_try_upgrade(cast.holder, NULL), ZKL_BUSY);
    assert_holds(&cast, ZKL_READ, cast.grant.token);
    CU_ASSERT_FALSE(waiter_is_done(&writer));
    release(cast.holder);
    ASSERT_STATUS(waiter_join(&writer), ZKL_OK);
    WAIT_UNTIL(scene_queue(&cast.scene) == 1);
    (void)cast_end(&cast);
}

struct upgrader {
    zkl_lock *lock;
    pthread_barrier_t *start;
    int status;
    pthread_t thread;
};

static void *try_upgrade(void *arg) {
    struct upgrader *self = arg;
    pthread_barrier_wait(self->start);
    self->status = zkl_lock_try_upgrade(self->lock, NULL);
    return NULL;
}

static void upgrade_both_at_once(struct upgrader both[2]) {
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, 2);
    for (int i = 0; i < 2; i++) {
        both[i].start = &start;
        thread_start(&both[i].thread, try_upgrade, &both[i]);
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(both[i].thread, NULL);
    }
    pthread_barrier_destroy(&start);
}

enum { UPGRADES = 25 };

/* Each is in the other's way: neither waits for the other to go, and who is left alone gets it. */
static void two_readers_that_upgrade_at_once_are_refused_and_go_on(void) {
    struct cast cast;
    unsigned failures = CU_get_number_of_failures();
    cast_begin(&cast, ZKL_READ);
    for (int i = 0; i < UPGRADES && CU_get_number_of_failures() == failures; i++) {
        struct upgrader both[] = { { .lock = cast.holder }, { .lock = cast.other } };
        ASSERT_STATUS(zkl_lock_acquire(cast.other, ZKL_READ, PATIENCE_MS, NULL), ZKL_OK);
        upgrade_both_at_once(both);
        ASSERT_STATUS(both[0].status, ZKL_BUSY);
        ASSERT_STATUS(both[1].status, ZKL_BUSY);
        assert_holds(&cast, ZKL_READ, cast.grant.token);
        ASSERT_STATUS(zkl_lock_verify(cast.other, PATIENCE_MS), ZKL_OK);
        release(cast.other);
    }
    WAIT_UNTIL(scene_queue(&cast.scene) == 1);
    /* After a write of its own it sees that the other has gone. */
    ASSERT_STATUS(zkl_lock_verify(cast.holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_try_upgrade(cast.holder, &cast.grant), ZKL_OK);
    assert_holds(&cast, ZKL_WRITE, cast.grant.token);
    (void)cast_end(&cast);
}

/* Another has written since: what was read does not count any more. */
static void reader_whose_session_has_ended_is_no_writer(void) {
    struct cast cast;
    cast_begin(&cast, ZKL_READ);
    clientid_t session = proxy_session(cast.proxy);
    raw_expire(servers_hosts(), &session);
    ASSERT_STATUS(zkl_lock_acquire(cast.other, ZKL_WRITE, PATIENCE_MS, NULL), ZKL_OK);
    release(cast.other);
    WAIT_UNTIL(zkl_lock_check(cast.holder, NULL) == ZKL_LOST);
    ASSERT_STATUS(zkl_lock_try_upgrade(cast.holder, NULL), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(cast.holder, PATIENCE_MS), ZKL_LOST);
    ASSERT_NUMBER(scene_queue(&cast.scene), 0);
    (void)cast_end(&cast);
}

/* It says that it does not know, or that the lock is lost; and never that it writes. */
static void session_that_ends_under_an_upgrade_leaves_no_writer(void) {
    const struct proxy_plan plan = { { { PROXY_LOST_WHEN_TOLD, 1 } }, 1, true };
    struct cast cast;
    cast_begin(&cast, ZKL_READ);
    struct upgrader upgrader = { .lock = cast.holder };
    pthread_barrier_t start;
    pthread_barrier_init(&start, NULL, 1);
    upgrader.start = &start;
    proxy_set_plan(cast.proxy, &plan);
    thread_start(&upgrader.thread, try_upgrade, &upgrader);
    clientid_t session = proxy_session(cast.proxy);
    raw_expire(servers_hosts(), &session);
    ASSERT_STATUS(zkl_lock_acquire(cast.other, ZKL_WRITE, PATIENCE_MS, NULL), ZKL_OK);
    proxy_cut_now(cast.proxy);
    pthread_join(upgrader.thread, NULL);
    pthread_barrier_destroy(&start);
    CU_ASSERT_TRUE(upgrader.status == ZKL_DISCONNECTED || upgrader.status == ZKL_LOST ||
                   upgrader.status == ZKL_SESSION_EXPIRED);
    proxy_admit(cast.proxy);
    WAIT_UNTIL(zkl_lock_check(cast.holder, NULL) == ZKL_LOST);
    ASSERT_STATUS(zkl_lock_verify(cast.other, PATIENCE_MS), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&cast.scene), 1);
    (void)cast_end(&cast);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(downgrade_replaces_the_node_in_one_transaction_and_keeps_the_token),
        TEST_CASE(downgrade_lets_readers_in_and_not_the_writer_behind_them),
        TEST_CASE(writer_next_in_line_waits_for_the_downgraded_reader),
        TEST_CASE(request_lost_at_every_step_of_a_downgrade_lets_no_writer_in),
        TEST_CASE(reply_lost_at_every_request_of_a_downgrade_lets_no_writer_in),
        TEST_CASE(connection_lost_under_every_request_of_a_downgrade_lets_no_writer_in),
        TEST_CASE(downgrade_whose_reply_is_lost_is_pending_and_found_out),
        TEST_CASE(downgrade_whose_request_is_lost_is_pending_and_sent_again),
        TEST_CASE(session_that_ends_under_a_downgrade_loses_the_lock),
        TEST_CASE(reader_that_is_alone_goes_on_as_a_writer_with_a_greater_token),
        TEST_CASE(reader_behind_whom_a_writer_waits_stays_a_reader),
        TEST_CASE(two_readers_that_upgrade_at_once_are_refused_and_go_on),
        TEST_CASE(reader_whose_session_has_ended_is_no_writer),
        TEST_CASE(session_that_ends_under_an_upgrade_leaves_no_writer),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
