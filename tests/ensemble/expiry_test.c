/*
 * Sessions that expire at once, while their client is connected: somebody else
 * ends them in its name. (session_test.c has those of a process that stops.)
 */
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>
#include <string.h>

/* A reconnect takes a sixtieth of it. */
#define SESSION_MS 6000
/* For what must not happen; it would come within a round trip. */
#define QUIET_MS 300

/* The client whose session expires, and another whose session does not. */
struct stage {
    struct scene scene;
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *rivals_client;
    zkl_lock *lock;
    zkl_lock *rival;
};

static void stage_begin_with(struct stage *stage, const char *stem, int fail_on_session_expiry) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.fail_on_session_expiry = fail_on_session_expiry;
    scene_begin(&stage->scene, stem);
    stage->proxy = proxy_start(0);
    stage->client = client_open(proxy_hosts(stage->proxy), SESSION_MS);
    stage->rivals_client = client_open(servers_hosts(), LONG_SESSION_MS);
    ASSERT_STATUS(zkl_lock_open(stage->client, stage->scene.resource, &options, &stage->lock),
                  ZKL_OK);
    stage->rival = lock_open(stage->rivals_client, stage->scene.resource);
}

static void stage_begin(struct stage *stage, const char *stem) {
    stage_begin_with(stage, stem, 0);
}

static void stage_end(struct stage *stage) {
    zkl_lock_close(stage->lock);
    zkl_lock_close(stage->rival);
    client_close(stage->client);
    ASSERT_NUMBER(client_information(stage->rivals_client).sessions_expired, 0);
    client_close(stage->rivals_client);
    proxy_stop(stage->proxy);
    scene_end(&stage->scene);
}

static void expire_on_the_servers(struct stage *stage) {
    clientid_t session = proxy_session(stage->proxy);
    raw_expire(servers_hosts(), &session);
}

static uint64_t sessions_expired(struct stage *stage) {
    return client_information(stage->client).sessions_expired;
}

static bool is_back(struct stage *stage) {
    zkl_client_information now = client_information(stage->client);
    return now.connected && now.session_id == proxy_session(stage->proxy).client_id;
}

/* Returns when the client has its next session. */
static void expire(struct stage *stage) {
    uint64_t before = sessions_expired(stage);
    expire_on_the_servers(stage);
    WAIT_UNTIL(sessions_expired(stage) == before + 1);
    WAIT_UNTIL(is_back(stage));
}

static void rival_acquires(struct stage *stage, zkl_mode mode, zkl_grant *grant) {
    *grant = (zkl_grant)ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(stage->rival, mode, PATIENCE_MS, grant), ZKL_OK);
}

static void rival_releases(struct stage *stage) {
    ASSERT_STATUS(zkl_lock_check(stage->rival, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(stage->rival, PATIENCE_MS), ZKL_OK);
}

/* The grant is of the session that the client has now, and of a node that is there. */
static void assert_grant_is_of_the_present_session(struct stage *stage, const zkl_grant *grant) {
    struct Stat stat = { 0 };
    raw_catch_up(stage->scene.raw);
    bool there = grant->node[0] != '\0' && raw_stat(stage->scene.raw, grant->node, &stat);
    CU_ASSERT_TRUE(there);
    ASSERT_NUMBER(stat.czxid, grant->token);
    ASSERT_NUMBER(stat.ephemeralOwner, client_information(stage->client).session_id);
    ASSERT_STATUS(zkl_lock_check(stage->lock, NULL), ZKL_OK);
}

/* ---- A holder ----------------------------------------------------------- */

/* Looks at a lock as often as it can. */
struct observer {
    zkl_lock *lock;
    atomic_bool stop;
    bool lost;
    bool relapsed; /* anything else after LOST */
    pthread_t thread;
};

static void *observe(void *arg) {
    struct observer *observer = arg;
    while (!atomic_load(&observer->stop)) {
        int status = zkl_lock_check(observer->lock, NULL);
        observer->relapsed |= observer->lost && status != ZKL_LOST;
        observer->lost |= status == ZKL_LOST;
    }
    return NULL;
}

static void observer_start(struct observer *observer, zkl_lock *lock) {
    *observer = (struct observer){ .lock = lock };
    thread_start(&observer->thread, observe, observer);
}

static void assert_it_was_lost_for_good(struct observer *observer) {
    atomic_store(&observer->stop, true);
    pthread_join(observer->thread, NULL);
    CU_ASSERT_TRUE(observer->lost);
    CU_ASSERT_FALSE(observer->relapsed);
}

/* Each of the two modes shuts the other out. */
static void lose_and_acquire_again(const char *stem, zkl_mode mode, zkl_mode rivals_mode) {
    struct stage stage;
    struct waiter rival;
    struct waiter again;
    struct observer observer;
    zkl_grant first = ZKL_GRANT_INIT;
    stage_begin(&stage, stem);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, mode, PATIENCE_MS, &first), ZKL_OK);
    waiter_start(&rival, stage.rival, rivals_mode, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&stage.scene) == 1);
    CU_ASSERT_FALSE(waiter_is_done(&rival));
    observer_start(&observer, stage.lock);
    expire(&stage);
    ASSERT_STATUS(waiter_join(&rival), ZKL_OK);
    CU_ASSERT_TRUE(rival.grant.token > first.token);
    STAYS(zkl_lock_check(stage.lock, NULL) == ZKL_LOST, QUIET_MS);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, mode, PATIENCE_MS, NULL), ZKL_ALREADY_HELD);
    assert_it_was_lost_for_good(&observer);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_check(stage.lock, NULL), ZKL_NOT_HELD);
    waiter_start(&again, stage.lock, mode, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&stage.scene) == 1);
    CU_ASSERT_FALSE(waiter_is_done(&again));
    rival_releases(&stage);
    ASSERT_STATUS(waiter_join(&again), ZKL_OK);
    CU_ASSERT_TRUE(again.grant.token > rival.grant.token);
    assert_grant_is_of_the_present_session(&stage, &again.grant);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_OK);
    stage_end(&stage);
}

static void expired_holder_has_lost_for_good_and_the_next_token_is_greater(void) {
    lose_and_acquire_again("expired-holder", ZKL_EXCLUSIVE, ZKL_EXCLUSIVE);
}

static void expired_reader_has_lost_for_good_and_the_writers_token_is_greater(void) {
    lose_and_acquire_again("expired-reader", ZKL_READ, ZKL_WRITE);
}

static void expired_writer_has_lost_for_good_and_the_readers_token_is_greater(void) {
    lose_and_acquire_again("expired-writer", ZKL_WRITE, ZKL_READ);
}

/* Not a loss: the holder had let it go, and with the session the node is gone. */
static void release_lost_with_its_session_is_ok(void) {
    static const struct proxy_plan plan = { { { PROXY_REQUEST_LOST, 1 } }, 1, true };
    struct stage stage;
    stage_begin(&stage, "expired-release");
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    proxy_set_plan(stage.proxy, &plan);
    ASSERT_STATUS(zkl_lock_release(stage.lock, 0), ZKL_OK);
    WAIT_UNTIL(proxy_cuts_made(stage.proxy) == 1);
    ASSERT_NUMBER(scene_queue(&stage.scene), 1);
    expire_on_the_servers(&stage);
    ASSERT_NUMBER(scene_queue(&stage.scene), 0);
    proxy_admit(stage.proxy);
    WAIT_UNTIL(sessions_expired(&stage) == 1);
    ASSERT_STATUS(zkl_lock_check(stage.lock, NULL), ZKL_NOT_HELD);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(stage.lock, PATIENCE_MS), ZKL_OK);
    stage_end(&stage);
}

/* ---- Many handles of one session ------------------------------------------ */

/* The session's end deletes the nodes of all of them in one transaction, and the
 * news of each deletion come while the connection still stands: who is next in
 * line must not take the holder's for a hand-off. */
#define SIBLINGS 8

/* What the log says, in its order; the log's thread alone writes it. */
struct siblings_log {
    char holder[256]; /* the node of the grant that has not ended; "": none */
    atomic_int grants;
    atomic_int overlaps; /* granted, and the one before had neither lost it nor let it go */
};

static void follow_grants(void *arg, const zkl_log_record *record) {
    struct siblings_log *log = arg;
    bool ended = record->event == ZKL_LOG_LOST || record->event == ZKL_LOG_RELEASED;
    if (record->event == ZKL_LOG_ACQUIRED) {
        atomic_fetch_add(&log->grants, 1);
        atomic_fetch_add(&log->overlaps, log->holder[0] != '\0' ? 1 : 0);
        snprintf(log->holder, sizeof log->holder, "%s", record->node);
    } else if (ended && strcmp(log->holder, record->node) == 0) {
        log->holder[0] = '\0';
    }
}

struct sibling {
    zkl_lock *lock;
    atomic_bool *stop;
    int status; /* of the last acquire */
    pthread_t thread;
};

/* Holds until the lock is lost, again and again. */
static void *hold_until_lost(void *arg) {
    struct sibling *sibling = arg;
    do {
        sibling->status = zkl_lock_acquire(sibling->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL);
        while (!atomic_load(sibling->stop) && zkl_lock_check(sibling->lock, NULL) != ZKL_LOST) {
            nap();
        }
        (void)zkl_lock_release(sibling->lock, 0);
    } while (!atomic_load(sibling->stop) && sibling->status == ZKL_OK);
    return NULL;
}

static void siblings_start(struct sibling *siblings, zkl_client *client, const char *resource,
                           atomic_bool *stop) {
    for (int i = 0; i < SIBLINGS; i++) {
        siblings[i] = (struct sibling){ .lock = lock_open(client, resource), .stop = stop };
        thread_start(&siblings[i].thread, hold_until_lost, &siblings[i]);
    }
}

/* Each lets the next one in. */
static void siblings_end(struct sibling *siblings) {
    for (int i = 0; i < SIBLINGS; i++) {
        pthread_join(siblings[i].thread, NULL);
        ASSERT_STATUS(siblings[i].status, ZKL_OK);
        zkl_lock_close(siblings[i].lock);
    }
}

static zkl_client *open_logging_to(struct siblings_log *log, const char *hosts) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = SESSION_MS;
    options.log_callback = follow_grants;
    options.log_arg = log;
    ASSERT_STATUS(zkl_client_open(hosts, &options, &client), ZKL_OK);
    return client;
}

/* Each but the last is watched by the next one. */
static void wait_until_all_are_in_line(struct scene *scene) {
    WAIT_UNTIL(scene_queue(scene) == SIBLINGS && servers_watches(scene->path) >= SIBLINGS - 1);
}

static void expired_session_hands_nothing_over_between_its_own_handles(void) {
    const int rounds = 20;
    struct siblings_log log = { .holder = "" };
    struct sibling siblings[SIBLINGS];
    struct scene scene;
    atomic_bool stop = false;
    scene_begin(&scene, "expired-siblings");
    struct proxy *proxy = proxy_start(0);
    zkl_client *client = open_logging_to(&log, proxy_hosts(proxy));
    siblings_start(siblings, client, scene.resource, &stop);
    for (int round = 1; round <= rounds; round++) {
        wait_until_all_are_in_line(&scene);
        clientid_t session = proxy_session(proxy);
        raw_expire(servers_hosts(), &session);
        WAIT_UNTIL(client_information(client).sessions_expired == (uint64_t)round);
    }
    wait_until_all_are_in_line(&scene);
    ASSERT_NUMBER(atomic_load(&log.overlaps), 0);
    ASSERT_NUMBER(atomic_load(&log.grants), 1 + rounds); /* one in each session */
    atomic_store(&stop, true);
    siblings_end(siblings);
    client_close(client);
    ASSERT_NUMBER(atomic_load(&log.overlaps), 0);
    proxy_stop(proxy);
    scene_end(&scene);
}

/* ---- A waiter ----------------------------------------------------------- */

/* Another waits behind it, and is before it from then on. */
static void rejoin_at_the_tail(const char *stem, zkl_mode mode, zkl_mode rivals_mode) {
    struct stage stage;
    struct waiter waiter;
    struct waiter behind;
    zkl_grant rivals;
    stage_begin(&stage, stem);
    zkl_lock *lock = lock_open(stage.rivals_client, stage.scene.resource);
    rival_acquires(&stage, rivals_mode, &rivals);
    waiter_start(&waiter, stage.lock, mode, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&stage.scene) == 2);
    waiter_start(&behind, lock, rivals_mode, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&stage.scene) == 3);
    expire(&stage);
    WAIT_UNTIL(scene_queue(&stage.scene) == 3);
    rival_releases(&stage);
    ASSERT_STATUS(waiter_join(&behind), ZKL_OK);
    STAYS(!waiter_is_done(&waiter), QUIET_MS);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    CU_ASSERT_TRUE(waiter.grant.token > behind.grant.token);
    assert_grant_is_of_the_present_session(&stage, &waiter.grant);
    zkl_lock_close(lock);
    stage_end(&stage);
}

static void expired_waiter_rejoins_at_the_tail(void) {
    rejoin_at_the_tail("expired-waiter", ZKL_EXCLUSIVE, ZKL_EXCLUSIVE);
}

static void expired_waiting_reader_rejoins_at_the_tail(void) {
    rejoin_at_the_tail("waiting-reader", ZKL_READ, ZKL_WRITE);
}

static void expired_waiting_writer_lets_the_reader_behind_it_in_and_rejoins(void) {
    struct stage stage;
    struct waiter writer;
    struct waiter reader;
    zkl_grant rivals;
    stage_begin(&stage, "waiting-writer");
    zkl_lock *lock = lock_open(stage.rivals_client, stage.scene.resource);
    rival_acquires(&stage, ZKL_READ, &rivals);
    waiter_start(&writer, stage.lock, ZKL_WRITE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&stage.scene) == 2);
    waiter_start(&reader, lock, ZKL_READ, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&stage.scene) == 2);
    CU_ASSERT_FALSE(waiter_is_done(&reader));
    expire(&stage);
    ASSERT_STATUS(waiter_join(&reader), ZKL_OK);
    WAIT_UNTIL(scene_queue(&stage.scene) == 3);
    rival_releases(&stage);
    STAYS(!waiter_is_done(&writer), QUIET_MS);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&writer), ZKL_OK);
    CU_ASSERT_TRUE(writer.grant.token > reader.grant.token);
    assert_grant_is_of_the_present_session(&stage, &writer.grant);
    zkl_lock_close(lock);
    stage_end(&stage);
}

static void expired_waiter_fails_where_that_is_asked_for(void) {
    struct stage stage;
    struct waiter waiter;
    zkl_grant rivals;
    zkl_grant grant = ZKL_GRANT_INIT;
    stage_begin_with(&stage, "expired-fails", 1);
    rival_acquires(&stage, ZKL_EXCLUSIVE, &rivals);
    waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&stage.scene) == 1);
    expire(&stage);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_SESSION_EXPIRED);
    ASSERT_STATUS(zkl_lock_check(stage.lock, NULL), ZKL_NOT_HELD);
    ASSERT_NUMBER(scene_queue(&stage.scene), 1);
    rival_releases(&stage);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    assert_grant_is_of_the_present_session(&stage, &grant);
    stage_end(&stage);
}

/* A deadline that began anew with the session would be too late by more than
 * the slack. */
static void expired_waiter_times_out_at_its_first_deadline(void) {
    const int64_t timeout_ms = 2 * SLACK_MS;
    struct stage stage;
    struct waiter waiter;
    zkl_grant rivals;
    stage_begin(&stage, "expired-timeout");
    rival_acquires(&stage, ZKL_EXCLUSIVE, &rivals);
    int64_t begun = now_ms();
    waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, timeout_ms);
    WAIT_UNTIL(now_ms() - begun > SLACK_MS + QUIET_MS);
    expire(&stage);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_TIMEOUT);
    int64_t took = waiter.returned_at_ms - begun;
    CU_ASSERT_TRUE(took >= timeout_ms);
    CU_ASSERT_TRUE(took <= timeout_ms + SLACK_MS);
    WAIT_UNTIL(scene_queue(&stage.scene) == 1);
    rival_releases(&stage);
    stage_end(&stage);
}

static void waiter_expired_ten_times_is_granted_in_the_end(void) {
    const int times = 10;
    struct stage stage;
    struct waiter waiter;
    zkl_grant rivals;
    stage_begin(&stage, "expired-often");
    rival_acquires(&stage, ZKL_EXCLUSIVE, &rivals);
    waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    for (int i = 0; i < times; i++) {
        WAIT_UNTIL(scene_queue(&stage.scene) == 2);
        expire(&stage);
    }
    WAIT_UNTIL(scene_watches(&stage.scene) == 1);
    CU_ASSERT_FALSE(waiter_is_done(&waiter));
    rival_releases(&stage);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_NUMBER(sessions_expired(&stage), times);
    ASSERT_NUMBER(scene_queue(&stage.scene), 1);
    assert_grant_is_of_the_present_session(&stage, &waiter.grant);
    stage_end(&stage);
}

/* Each is faster than the rejoining: it strikes wherever that happens to be. */
static void waiter_expired_again_while_it_rejoins_is_granted_in_the_end(void) {
    const int times = 10;
    struct stage stage;
    struct waiter waiter;
    zkl_grant rivals;
    stage_begin(&stage, "expired-rejoining");
    rival_acquires(&stage, ZKL_EXCLUSIVE, &rivals);
    waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    int64_t last = 0;
    for (int i = 0; i < times; i++) {
        WAIT_UNTIL(proxy_session(stage.proxy).client_id != last);
        last = proxy_session(stage.proxy).client_id;
        expire_on_the_servers(&stage);
    }
    WAIT_UNTIL(scene_watches(&stage.scene) == 1);
    rival_releases(&stage);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&stage.scene), 1);
    assert_grant_is_of_the_present_session(&stage, &waiter.grant);
    stage_end(&stage);
}

/* ---- An acquire in the middle ------------------------------------------- */

/* The connection is lost at a request, and the session expires before the next. */
static void cut_and_expire(struct stage *stage) {
    WAIT_UNTIL(proxy_cuts_made(stage->proxy) == 1);
    expire_on_the_servers(stage);
    ASSERT_NUMBER(scene_queue(&stage->scene), 1);
    proxy_admit(stage->proxy);
    WAIT_UNTIL(sessions_expired(stage) == 1);
}

static void acquire_expired_at(enum proxy_fault fault, int request) {
    const struct proxy_plan plan = { { { fault, request } }, 1, true };
    struct stage stage;
    struct waiter waiter;
    zkl_grant rivals;
    stage_begin(&stage, "expired-at");
    rival_acquires(&stage, ZKL_EXCLUSIVE, &rivals);
    proxy_set_plan(stage.proxy, &plan);
    waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    cut_and_expire(&stage);
    WAIT_UNTIL(scene_queue(&stage.scene) == 2);
    CU_ASSERT_FALSE(waiter_is_done(&waiter));
    rival_releases(&stage);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&stage.scene), 1);
    assert_grant_is_of_the_present_session(&stage, &waiter.grant);
    stage_end(&stage);
}

/* The create, the list, the watch. */
static void acquire_expired_at_each_request(enum proxy_fault fault) {
    for (int request = 1; request <= 3; request++) {
        acquire_expired_at(fault, request);
    }
}

static void request_of_an_acquire_lost_with_its_session_leaves_one_node_in_the_next(void) {
    acquire_expired_at_each_request(PROXY_REQUEST_LOST);
}

static void reply_of_an_acquire_lost_with_its_session_leaves_one_node_in_the_next(void) {
    acquire_expired_at_each_request(PROXY_REPLY_LOST);
}

static void request_under_way_lost_with_its_session_leaves_one_node_in_the_next(void) {
    acquire_expired_at_each_request(PROXY_LOST_UNDER_WAY);
}

static void create_lost_with_its_session_fails_where_that_is_asked_for(void) {
    static const struct proxy_plan plan = { { { PROXY_REPLY_LOST, 1 } }, 1, true };
    struct stage stage;
    struct waiter waiter;
    zkl_grant rivals;
    stage_begin_with(&stage, "expired-create", 1);
    rival_acquires(&stage, ZKL_EXCLUSIVE, &rivals);
    proxy_set_plan(stage.proxy, &plan);
    waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    cut_and_expire(&stage);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_SESSION_EXPIRED);
    ASSERT_STATUS(zkl_lock_check(stage.lock, NULL), ZKL_NOT_HELD);
    STAYS(scene_queue(&stage.scene) == 1, QUIET_MS);
    rival_releases(&stage);
    stage_end(&stage);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(expired_holder_has_lost_for_good_and_the_next_token_is_greater),
        TEST_CASE(expired_reader_has_lost_for_good_and_the_writers_token_is_greater),
        TEST_CASE(expired_writer_has_lost_for_good_and_the_readers_token_is_greater),
        TEST_CASE(release_lost_with_its_session_is_ok),
        TEST_CASE(expired_session_hands_nothing_over_between_its_own_handles),
        TEST_CASE(expired_waiter_rejoins_at_the_tail),
        TEST_CASE(expired_waiting_reader_rejoins_at_the_tail),
        TEST_CASE(expired_waiting_writer_lets_the_reader_behind_it_in_and_rejoins),
        TEST_CASE(expired_waiter_fails_where_that_is_asked_for),
        TEST_CASE(expired_waiter_times_out_at_its_first_deadline),
        TEST_CASE(waiter_expired_ten_times_is_granted_in_the_end),
        TEST_CASE(waiter_expired_again_while_it_rejoins_is_granted_in_the_end),
        TEST_CASE(request_of_an_acquire_lost_with_its_session_leaves_one_node_in_the_next),
        TEST_CASE(reply_of_an_acquire_lost_with_its_session_leaves_one_node_in_the_next),
        TEST_CASE(request_under_way_lost_with_its_session_leaves_one_node_in_the_next),
        TEST_CASE(create_lost_with_its_session_fails_where_that_is_asked_for),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
