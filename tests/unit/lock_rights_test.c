/*
 * Locks where rights are withheld at nodes that others own: the lock root is another team's, and
 * what is deleted or read there is refused, by the leader or, where servers check rights early, by
 * the server that is asked. On simulated servers.
 */
#include "base/threads.h"
#include "support/unit.h"
#include "testing/ensemble.h"
#include "testing/world.h"
#include "zklock/zklock.h"

enum { US_PER_MS = 1000, TICK_MS = 200, SESSION_MS = 1200, SERVERS = 3, ENOUGH_MS = 5000 };

static const unsigned all_but_write = ZKL_RIGHT_READ | ZKL_RIGHT_CREATE | ZKL_RIGHT_DELETE;

static zkl_ensemble *ensemble;

static void make(const char *path) {
    EXPECT_INT(zkl_ensemble_create(ensemble, 0, path, NULL, false, false, NULL, 0),
               ZKL_SERVER_ERROR_NONE);
}

static void begin(bool checks_early) {
    zkl_world_begin(7);
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.servers = SERVERS;
    options.tick_ms = TICK_MS;
    options.checks_early = checks_early;
    ensemble = zkl_ensemble_begin(&options);
    make("/locks");
    make("/locks/stock");
    make("/locks/sales");
}

static void end(void) {
    zkl_ensemble_end();
    zkl_world_end();
}

static void sleep_ms(int64_t ms) {
    zkl_world_sleep_us(ms * US_PER_MS);
}

static zkl_client *open_client(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    options.lease_tick_ms = TICK_MS;
    zkl_client *client = NULL;
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_OK);
    return client;
}

static zkl_lock *open_lock(zkl_client *client) {
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open(client, "stock", NULL, &lock), ZKL_OK);
    return lock;
}

static size_t count_contenders(const char *path) {
    const zkl_node *node = zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID);
    return zkl_node_get_stat(node).child_count;
}

/* The first grant is by the lease that the session begins with, the others need others. */
static void expect_grants(zkl_client *client, int64_t timeout_ms) {
    zkl_lock *lock = open_lock(client);
    for (int i = 0; i < 3; i++) {
        EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, timeout_ms, NULL), ZKL_OK);
        sleep_ms(4 * SESSION_MS);
        EXPECT_INT(zkl_lock_check(lock, NULL), ZKL_OK);
        EXPECT_INT(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
        EXPECT_INT(count_contenders("/locks/stock"), 0);
        sleep_ms(2 * SESSION_MS);
    }
    zkl_lock_close(lock);
}

/* It goes with the session, and with nothing else. */
TEST(close_does_not_wait_for_a_node_that_may_not_be_deleted) {
    begin(false);
    zkl_client *client = open_client();
    zkl_lock *lock = open_lock(client);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    zkl_ensemble_withhold(ensemble, "/locks/stock", ZKL_RIGHT_DELETE, ZKL_FOREVER);
    int64_t began_ms = zkl_clock_ms();
    EXPECT_INT(zkl_client_close(client, 10 * ENOUGH_MS), ZKL_PENDING);
    EXPECT(zkl_clock_ms() - began_ms < ENOUGH_MS);
    sleep_ms(TICK_MS);
    EXPECT_INT(count_contenders("/locks/stock"), 0);
    zkl_lock_close(lock);
    end();
}

TEST(lease_is_kept_whatever_is_withheld_at_the_lock_root) {
    for (int checks_early = 0; checks_early < 2; checks_early++) {
        begin(checks_early != 0);
        zkl_ensemble_withhold(ensemble, "/locks", all_but_write, ZKL_FOREVER);
        zkl_client *client = open_client();
        expect_grants(client, ENOUGH_MS);
        expect_grants(client, 0);
        EXPECT_INT(zkl_client_close(client, ENOUGH_MS), ZKL_OK);
        end();
    }
}

/* ---- Tries that get no lease ------------------------------------------------------------- */

/* Each write takes so long that no lease is left once it is proved. */
static void begin_without_leases(zkl_client **client) {
    begin(false);
    *client = open_client();
    zkl_ensemble_slow_commits(ensemble, SESSION_MS / 2 * US_PER_MS, INT32_MAX);
    sleep_ms(2 * SESSION_MS);
}

static void end_without_leases(zkl_client *client) {
    zkl_ensemble_heal(ensemble);
    sleep_ms(SESSION_MS);
    EXPECT_INT(count_contenders("/locks/stock"), 0);
    EXPECT_INT(count_contenders("/locks/sales"), 0);
    EXPECT_INT(zkl_client_close(client, ENOUGH_MS), ZKL_OK);
    end();
}

TEST(try_that_gets_no_lease_in_time_ends_when_its_node_is_gone) {
    zkl_client *client = NULL;
    begin_without_leases(&client);
    zkl_lock *lock = open_lock(client);
    int64_t began_us = zkl_world_now_us();
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_SERVER_REFUSED);
    EXPECT(zkl_world_now_us() - began_us < 4 * SESSION_MS * (int64_t)US_PER_MS);
    EXPECT_INT(count_contenders("/locks/stock"), 0);
    zkl_lock_close(lock);
    end_without_leases(client);
}

TEST(try_of_several_that_gets_no_lease_in_time_ends) {
    zkl_client *client = NULL;
    begin_without_leases(&client);
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    members[0].resource = "stock";
    members[1].resource = "sales";
    zkl_lock *lock = NULL;
    EXPECT_INT(zkl_lock_open_set(client, members, COUNT_OF(members), NULL, &lock), ZKL_OK);
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_AS_OPENED, 0, NULL), ZKL_SERVER_REFUSED);
    zkl_lock_close(lock);
    end_without_leases(client);
}

/* ---- Barriers ------------------------------------------------------------------------------ */

static void *acquire_in_a_task(void *lock) {
    EXPECT_INT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_CANCELLED);
    return NULL;
}

/* The refusal of a server that has not asked the leader says nothing of what is on its way there.
 */
TEST(create_that_is_applied_late_is_found_where_deletions_are_refused_early) {
    begin(true);
    zkl_client *client = open_client();
    zkl_lock *lock = open_lock(client);
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(client, &information), ZKL_OK);
    zkl_ensemble_withhold(ensemble, "/locks/stock", ZKL_RIGHT_DELETE, 150 * US_PER_MS);
    zkl_ensemble_cut_next(ensemble, information.session_id, ZKL_CALL_CREATE, ZKL_CUT_REPLIES_LOST,
                          300 * US_PER_MS);
    pthread_t task;
    EXPECT(zkl_thread_start(&task, acquire_in_a_task, lock));
    zkl_world_sleep_us(US_PER_MS / 10);
    EXPECT_INT(zkl_lock_cancel(lock), ZKL_OK);
    zkl_thread_join(task);
    sleep_ms(4 * SESSION_MS);
    EXPECT_INT(count_contenders("/locks/stock"), 0);
    zkl_lock_close(lock);
    EXPECT_INT(zkl_client_close(client, ENOUGH_MS), ZKL_OK);
    end();
}

/* ---- Waiters who may not read any more --------------------------------------------------------
 */

static struct {
    zkl_client *holders, *waiters;
    zkl_lock *held, *wanted;
    zkl_grant grant;
    pthread_t task;
    int status; /* of the one who waits; ZKL_PENDING: it does */
} queue;

static void *wait_in_a_task(void *arg) {
    (void)arg;
    queue.status = zkl_lock_acquire(queue.wanted, ZKL_EXCLUSIVE, 2 * ENOUGH_MS, NULL);
    return NULL;
}

static void begin_queue(void) {
    begin(false);
    queue.holders = open_client();
    queue.waiters = open_client();
    queue.held = open_lock(queue.holders);
    queue.wanted = open_lock(queue.waiters);
    queue.grant = (zkl_grant)ZKL_GRANT_INIT;
    queue.status = ZKL_PENDING;
    EXPECT_INT(zkl_lock_acquire(queue.held, ZKL_EXCLUSIVE, ENOUGH_MS, &queue.grant), ZKL_OK);
    EXPECT(zkl_thread_start(&queue.task, wait_in_a_task, NULL));
    sleep_ms(SESSION_MS);
    EXPECT_INT(queue.status, ZKL_PENDING);
}

static void end_queue(void) {
    zkl_thread_join(queue.task);
    zkl_lock_close(queue.held);
    zkl_lock_close(queue.wanted);
    EXPECT_INT(zkl_client_close(queue.holders, ENOUGH_MS), ZKL_OK);
    EXPECT_INT(zkl_client_close(queue.waiters, ENOUGH_MS), ZKL_OK);
    end();
}

static void cut_waiter(void) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(queue.waiters, &information), ZKL_OK);
    EXPECT(zkl_ensemble_cut(ensemble, information.session_id, ZKL_CUT_REQUESTS_LOST));
    sleep_ms(SESSION_MS);
}

/* Its watch is set again without a word, and its event would be dropped. */
TEST(waiter_who_may_not_read_any_more_is_told_when_it_reconnects) {
    begin_queue();
    zkl_ensemble_withhold(ensemble, queue.grant.node, ZKL_RIGHT_READ, ZKL_FOREVER);
    cut_waiter();
    EXPECT_INT(queue.status, ZKL_NO_PERMISSION);
    end_queue();
}

TEST(waiter_who_may_not_read_for_a_while_is_granted_when_it_reconnects) {
    begin_queue();
    zkl_ensemble_withhold(ensemble, queue.grant.node, ZKL_RIGHT_READ, SESSION_MS * US_PER_MS);
    EXPECT_INT(zkl_lock_release(queue.held, ENOUGH_MS), ZKL_OK);
    sleep_ms(2 * SESSION_MS);
    EXPECT_INT(queue.status, ZKL_PENDING);
    cut_waiter();
    EXPECT_INT(queue.status, ZKL_OK);
    end_queue();
}
