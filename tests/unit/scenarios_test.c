/*
 * Scenarios in which the simulation found something wrong, each as a story of its
 * own: tests/simulation draws its runs from seeds, and what a seed means changes with it.
 */
#include "base/threads.h"
#include "client/client.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/zklock.h"

enum { US_PER_MS = 1000, TICK_MS = 200, SESSION_MS = 1200, SLOW_SESSIONS = 60, SERVERS = 3 };
enum { LATE_IN_A_LEASE_MS = 2 * SESSION_MS / 3 - 100 };

static zkl_ensemble *ensemble;

static void begin(uint64_t seed) {
    zkl_world_begin(seed);
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.servers = SERVERS;
    options.tick_ms = TICK_MS;
    ensemble = zkl_ensemble_begin(&options);
}

static void end(void) {
    zkl_ensemble_end();
    zkl_world_end();
}

static zkl_client *open_client_with(int32_t lease_tick_ms) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    options.lease_tick_ms = lease_tick_ms;
    zkl_client *client = NULL;
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_OK);
    return client;
}

static zkl_client *open_client(void) {
    return open_client_with(0);
}

static zkl_lock *hold(zkl_client *client) {
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    return lock;
}

static int64_t session_of(zkl_client *client) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(client, &information), ZKL_OK);
    return information.session_id;
}

static void throttle_all(int64_t for_ms) {
    for (uint32_t i = 0; i < SERVERS; i++) {
        zkl_ensemble_throttle(ensemble, i, for_ms * US_PER_MS);
    }
}

/* Seed 135: the answers "not now" did not count as answers, so the session was given up, */
TEST(servers_that_turn_requests_away_for_long_keep_the_session) {
    begin(135);
    zkl_client *client = open_client();
    zkl_lock *lock = hold(client);
    int64_t session_id = session_of(client);
    throttle_all(6 * SESSION_MS);
    EXPECT_INT(zkl_lock_release(lock, 5 * SESSION_MS), ZKL_PENDING);
    zkl_world_sleep_us(10 * SESSION_MS * (int64_t)US_PER_MS);
    EXPECT_INT(session_of(client), session_id);
    EXPECT_INT(zkl_tree_owned_count(zkl_ensemble_tree(ensemble), session_id), 0);
    zkl_lock_close(lock);
    EXPECT_INT(zkl_client_close(client, 1000), ZKL_OK);
    end();
}

static int released;

static void *release_in_a_task(void *lock) {
    released = zkl_lock_release(lock, ZKL_FOREVER);
    return NULL;
}

static void *wait_in_a_task(void *lock) {
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_CANCELLED);
    return NULL;
}

static void stop_all(void) {
    for (uint32_t i = 0; i < SERVERS; i++) {
        zkl_ensemble_stop_server(ensemble, i);
    }
    zkl_world_sleep_us(US_PER_MS);
}

static void slow_down(void) {
    zkl_ensemble_slow_commits(ensemble, SLOW_SESSIONS * SESSION_MS * (int64_t)US_PER_MS,
                              SLOW_SESSIONS * SESSION_MS * (int64_t)US_PER_MS);
}

static void give_up_during_a_release(void (*hurt)(void), int64_t close_after_ms, int closed) {
    begin(135);
    zkl_client *client = open_client();
    zkl_lock *lock = hold(client);
    int64_t session_id = session_of(client);
    hurt();
    pthread_t task;
    EXPECT(zkl_thread_start(&task, release_in_a_task, lock));
    zkl_world_sleep_us(US_PER_MS);
    pthread_mutex_lock(&client->mutex);
    zkl_session *session = &client->sessions->session;
    session->abandon(session->arg);
    pthread_mutex_unlock(&client->mutex);
    zkl_thread_join(task);
    EXPECT_INT(released, ZKL_PENDING);
    EXPECT(zkl_ensemble_session_is_alive(ensemble, session_id));
    zkl_ensemble_heal(ensemble);
    zkl_lock_close(lock);
    zkl_world_sleep_us(close_after_ms * (int64_t)US_PER_MS);
    int left =
        zkl_tree_owned_count(zkl_ensemble_tree(ensemble), session_id) > 0 ? ZKL_PENDING : ZKL_OK;
    EXPECT_INT(left, closed);
    EXPECT_INT(zkl_client_close(client, 1000), closed);
    end();
}

/* ... and the release said that the node was gone, when it was not. */
TEST(release_whose_session_is_given_up_is_not_confirmed) {
    give_up_during_a_release(stop_all, 4 * SESSION_MS, ZKL_OK);
}

/* Seed 118816: and the same when the deletion is on its way. */
TEST(release_under_way_whose_session_is_given_up_is_not_confirmed) {
    give_up_during_a_release(slow_down, (SLOW_SESSIONS + 4) * SESSION_MS, ZKL_OK);
}

/* Seed 85506: a client was closed soon after, and said that none of its nodes was left. */
TEST(close_after_a_session_is_given_up_is_not_confirmed) {
    give_up_during_a_release(stop_all, SESSION_MS / 2, ZKL_PENDING);
}

/* Seed 110631: nobody sent the removal of a watch again. */
TEST(removal_of_a_watch_that_is_turned_away_is_sent_again) {
    begin(110631);
    zkl_client *client = open_client();
    zkl_client *holder = open_client();
    zkl_lock *first = hold(holder);
    zkl_lock *second = NULL;
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &second), ZKL_OK);
    pthread_t task;
    EXPECT(zkl_thread_start(&task, wait_in_a_task, second));
    zkl_world_sleep_us(50 * US_PER_MS);
    int64_t session_id = session_of(client);
    EXPECT(zkl_ensemble_watch_count(ensemble, session_id) > 0);
    throttle_all(SESSION_MS / 2);
    EXPECT_INT(zkl_lock_cancel(second), ZKL_OK);
    zkl_thread_join(task);
    zkl_world_sleep_us(2 * SESSION_MS * (int64_t)US_PER_MS);
    EXPECT_INT(zkl_ensemble_watch_count(ensemble, session_id), 0);
    zkl_lock_close(second);
    EXPECT_INT(zkl_lock_release(first, ZKL_FOREVER), ZKL_OK);
    zkl_lock_close(first);
    EXPECT_INT(zkl_client_close(holder, 1000), ZKL_OK);
    EXPECT_INT(zkl_client_close(client, 1000), ZKL_OK);
    end();
}

static void try_at(int64_t us, zkl_lock *lock) {
    zkl_world_sleep_us(us - zkl_world_now_us());
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_BUSY);
}

/* Seed 1068042: tries that write nothing, one when the session began and one when it was to be
 * probed; and then a grant late in the first lease, on the proof that the first of them began. */
TEST(grant_late_in_the_first_lease_is_kept) {
    begin(1068042);
    zkl_client *holder = open_client();
    zkl_lock *held = hold(holder);
    zkl_client *client = open_client_with(TICK_MS);
    zkl_lock *busy = NULL;
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &busy), ZKL_OK);
    int64_t began_us = (zkl_world_now_us() / US_PER_MS + 1) * US_PER_MS;
    try_at(began_us, busy);
    try_at(began_us + SESSION_MS / 3 * US_PER_MS + US_PER_MS - 200, busy);
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open(client, "sales", NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_ensemble_create(ensemble, 0, "/locks/sales", NULL, false, false, NULL, 0), 0);
    zkl_world_sleep_us(began_us + LATE_IN_A_LEASE_MS * US_PER_MS - zkl_world_now_us());
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL), ZKL_OK);
    zkl_world_sleep_us(2 * SESSION_MS * (int64_t)US_PER_MS);
    EXPECT_INT(zkl_lock_check(lock, NULL), ZKL_OK);
    zkl_lock_close(lock);
    zkl_lock_close(busy);
    zkl_lock_close(held);
    EXPECT_INT(zkl_client_close(client, 1000), ZKL_OK);
    EXPECT_INT(zkl_client_close(holder, 1000), ZKL_OK);
    end();
}
