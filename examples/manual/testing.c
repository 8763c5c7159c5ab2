/* Small tests of a program that holds a lock, which the manual's pages on zklock/testing.h show. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <zklock/testing.h>

enum { SESSION_MS = 10000, PATIENCE_MS = 5000 };

static const char lock_path[] = "/locks/stock";

/* ---- What each of them needs ----------------------------------------------------------------- */

/* Connects to the servers, whichever they are said to be. */
static zkl_client *connect(void) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = SESSION_MS;
    ZKL_TESTING_EXPECT(zkl_client_open("any:2181", &options, &client) == ZKL_OK);
    return client;
}

static zkl_lock *hold(zkl_client *client) {
    zkl_lock *lock = NULL;
    ZKL_TESTING_EXPECT(zkl_lock_open(client, "stock", NULL, &lock) == ZKL_OK);
    ZKL_TESTING_EXPECT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL) == ZKL_OK);
    return lock;
}

static void leave(zkl_client *client, zkl_lock *lock) {
    zkl_lock_close(lock);
    (void)zkl_client_close(client, PATIENCE_MS);
}

/* ---- Faults of a client ------------------------------------------------------------------------
 */

static void holder_hears_that_its_session_expired(void) {
    zkl_client *client = connect();
    zkl_lock *lock = hold(client);
    zkl_testing_expire_session(client);
    ZKL_TESTING_EXPECT(zkl_testing_wait_for_state(lock, ZKL_STATE_LOST, SESSION_MS));
    ZKL_TESTING_EXPECT(zkl_lock_release(lock, PATIENCE_MS) == ZKL_LOST);
    leave(client, lock);
}

static void hiccup_makes_the_lock_suspect_for_a_while(void) {
    zkl_client *client = connect();
    zkl_lock *lock = hold(client);
    zkl_testing_disconnect(client, SESSION_MS / 5);
    ZKL_TESTING_EXPECT(zkl_testing_wait_for_state(lock, ZKL_STATE_SUSPECT, 100));
    ZKL_TESTING_EXPECT(zkl_testing_wait_for_state(lock, ZKL_STATE_HELD, SESSION_MS));
    leave(client, lock);
}

static void silence_is_noticed_after_two_thirds_of_the_timeout(void) {
    zkl_client *client = connect();
    zkl_lock *lock = hold(client);
    zkl_testing_partition(client, 3LL * SESSION_MS);
    ZKL_TESTING_EXPECT(zkl_testing_wait_for_state(lock, ZKL_STATE_SUSPECT, SESSION_MS));
    ZKL_TESTING_EXPECT(zkl_testing_wait_for_state(lock, ZKL_STATE_LOST, 6LL * SESSION_MS));
    leave(client, lock);
}

static void lost_reply_leaves_one_node(void) {
    zkl_client *client = connect();
    zkl_testing_lose_reply(client, ZKL_TESTING_CREATE, 1); /* it is carried out */
    zkl_lock *lock = hold(client);
    ZKL_TESTING_EXPECT(zkl_testing_count_children(lock_path) == 1);
    leave(client, lock);
}

static void node_that_is_deleted_by_hand_is_lost(void) {
    zkl_client *client = connect();
    zkl_lock *lock = NULL;
    zkl_grant grant = ZKL_GRANT_INIT;
    ZKL_TESTING_EXPECT(zkl_lock_open(client, "stock", NULL, &lock) == ZKL_OK);
    ZKL_TESTING_EXPECT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant) == ZKL_OK);
    ZKL_TESTING_EXPECT(zkl_testing_delete_node(grant.node) == 1);
    ZKL_TESTING_EXPECT(zkl_lock_verify(lock, PATIENCE_MS) == ZKL_LOST);
    leave(client, lock);
}

static void waiter_gives_up_behind_another_contender(void) {
    char node[ZKL_NODE_PATH_SIZE];
    zkl_client *client = connect();
    zkl_lock *lock = NULL;
    zkl_testing_add_contender(lock_path, ZKL_EXCLUSIVE, node); /* it holds the lock */
    ZKL_TESTING_EXPECT(zkl_lock_open(client, "stock", NULL, &lock) == ZKL_OK);
    int64_t begun_ms = zkl_testing_now_ms();
    ZKL_TESTING_EXPECT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 2000, NULL) == ZKL_TIMEOUT);
    ZKL_TESTING_EXPECT(zkl_testing_now_ms() - begun_ms < 2100);
    ZKL_TESTING_EXPECT(zkl_testing_delete_node(node) == 1);
    leave(client, lock);
}

static void nothing_is_left_behind(void) {
    zkl_client *client = connect();
    zkl_lock *lock = hold(client);
    ZKL_TESTING_EXPECT(zkl_lock_release(lock, PATIENCE_MS) == ZKL_OK);
    zkl_testing_expect_clean(1000); /* no node, no watch, no task */
    ZKL_TESTING_EXPECT(zkl_testing_count_watches(client) == 0);
    leave(client, lock);
    zkl_testing_sleep(2LL * SESSION_MS); /* of clients that were cut off */
    ZKL_TESTING_EXPECT(zkl_testing_count_sessions() == 0);
}

/* ---- Faults of the servers
 * ------------------------------------------------------------------------ */

static void lock_outlives_an_election(void) {
    zkl_client *client = connect();
    zkl_lock *lock = hold(client);
    zkl_testing_elect_leader();
    ZKL_TESTING_EXPECT(zkl_testing_wait_for_state(lock, ZKL_STATE_SUSPECT, 1000));
    ZKL_TESTING_EXPECT(zkl_testing_wait_for_state(lock, ZKL_STATE_HELD, SESSION_MS));
    leave(client, lock);
}

static void lock_outlives_a_stop_of_all_servers(void) {
    zkl_client *client = connect();
    zkl_lock *lock = hold(client);
    zkl_testing_stop_servers();
    zkl_testing_sleep(60000); /* it is nobody's: all sessions stand still */
    zkl_testing_start_servers();
    ZKL_TESTING_EXPECT(zkl_testing_wait_for_state(lock, ZKL_STATE_HELD, SESSION_MS));
    leave(client, lock);
}

static void slow_disks_delay_the_grant(void) {
    zkl_client *client = connect();
    zkl_testing_slow_servers(500, 10000); /* each commit, for ten seconds */
    int64_t begun_ms = zkl_testing_now_ms();
    zkl_lock *lock = hold(client);
    ZKL_TESTING_EXPECT(zkl_testing_now_ms() - begun_ms >= 500);
    zkl_testing_heal();
    leave(client, lock);
}

static void job_ends_though_things_go_wrong(void) {
    zkl_client *client = connect();
    zkl_testing_set_failure_rate(1000); /* one message in a thousand */
    zkl_lock *lock = NULL;
    ZKL_TESTING_EXPECT(zkl_lock_open(client, "stock", NULL, &lock) == ZKL_OK);
    for (int i = 0; i < 10; i++) {
        if (zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL) == ZKL_OK) {
            (void)zkl_lock_release(lock, ZKL_FOREVER);
        }
    }
    zkl_testing_set_failure_rate(0);
    zkl_testing_heal();
    zkl_testing_expect_clean(4LL * SESSION_MS);
    leave(client, lock);
}

/* ---- Tasks and processes
 * -------------------------------------------------------------------------- */

typedef struct worker {
    zkl_testing_process *process; /* NULL: that of main */
    bool has_lock;
} worker;

static void work(void *arg) {
    worker *self = arg;
    zkl_testing_process_enter(self->process);
    zkl_client *client = connect();
    zkl_lock *lock = hold(client);
    self->has_lock = true;
    zkl_testing_sleep((int64_t)zkl_testing_random(100)); /* the seed draws how long it works */
    zkl_lock_close(lock);
    (void)zkl_client_close(client, PATIENCE_MS);
}

static void threads_take_turns(void) {
    worker workers[2] = { { .process = NULL }, { .process = NULL } };
    zkl_testing_task *first = zkl_testing_start(work, &workers[0]);
    zkl_testing_task *second = zkl_testing_start(work, &workers[1]);
    zkl_testing_join(first);
    zkl_testing_join(second);
    ZKL_TESTING_EXPECT(zkl_testing_has_ended(first) && zkl_testing_has_ended(second));
    ZKL_TESTING_EXPECT(workers[0].has_lock && workers[1].has_lock);
}

static int has_lock(void *arg) {
    const worker *self = arg;
    return self->has_lock;
}

/* Stops, as with SIGSTOP, or while a virtual machine is moved: its session ends, and the next one
 * works.
 */
static void stopped_process_loses_its_lock(void) {
    worker other = { .process = zkl_testing_process_make() };
    zkl_client *client = connect();
    zkl_lock *lock = hold(client);
    zkl_testing_task *task = zkl_testing_start(work, &other);
    zkl_testing_pause(NULL, 2LL * SESSION_MS); /* ours: this returns when it continues */
    ZKL_TESTING_EXPECT(zkl_lock_check(lock, NULL) != ZKL_OK);
    ZKL_TESTING_EXPECT(zkl_testing_wait_until(has_lock, &other, SESSION_MS));
    zkl_testing_join(task);
    leave(client, lock);
}

/* ---- All of them
 * ----------------------------------------------------------------------------------- */

static void test_all(void *arg) {
    (void)arg;
    holder_hears_that_its_session_expired();
    hiccup_makes_the_lock_suspect_for_a_while();
    silence_is_noticed_after_two_thirds_of_the_timeout();
    node_that_is_deleted_by_hand_is_lost();
    waiter_gives_up_behind_another_contender();
    nothing_is_left_behind();
    lock_outlives_an_election();
    lock_outlives_a_stop_of_all_servers();
    slow_disks_delay_the_grant();
    job_ends_though_things_go_wrong();
    threads_take_turns();
    stopped_process_loses_its_lock();
}

/* Runs it once, with servers of our choice, and a trace of what happened. */
static void run_once(FILE *trace) {
    zkl_testing_options options = ZKL_TESTING_OPTIONS_INIT;
    options.seed = 7;
    options.servers = 5;
    options.tick_ms = 1000;
    zkl_testing_begin(&options);
    zkl_testing_trace_to(trace); /* NULL: none */
    nothing_is_left_behind();
    zkl_testing_end();
    zkl_testing_trace_to(NULL);
}

static void test_one_seed(void *arg) {
    (void)arg;
    zkl_testing_note("a reply is lost with seed %d", (int)zkl_testing_seed());
    lost_reply_leaves_one_node();
}

/* Runs the same test with the delays and the order of events that each seed draws. */
static void run_many_seeds(void) {
    zkl_testing_run_seeds(1, 500, NULL, test_one_seed, NULL);
}

int main(void) {
    run_once(NULL);
    run_many_seeds();
    zkl_testing_run_seeds(1, 20, NULL, test_all, NULL);
    printf("ok\n");
    return 0;
}
