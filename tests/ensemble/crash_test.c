/* Processes and servers that die without a word. */
#include "support/process.h"
#include "support/scene.h"
#include "support/servers.h"

#include <signal.h>

/* How long after a crash the lock may take to pass on. */
static int64_t passes_on_within_ms(const struct process *crashed) {
    return crashed->session_timeout_ms + 2 * servers_tick_ms() + SLACK_MS;
}

static void start_short_lived(struct process *process, const struct scene *scene, int server) {
    struct process_options options = {
        .hosts = server_host(server),
        .resource = scene->resource,
        .session_timeout_ms = SHORT_SESSION_MS,
    };
    process_start(process, &options);
    ASSERT_NUMBER(process->session_timeout_ms, SHORT_SESSION_MS);
}

static int64_t kill_process(struct process *process) {
    int64_t at = now_ms();
    process_signal(process, SIGKILL);
    process_end(process);
    return at;
}

static void holder_killed_by_sigkill_passes_the_lock_on(void) {
    struct scene scene;
    struct process holder;
    zkl_grant grant;
    struct waiter waiter;
    scene_begin(&scene, "holder-killed");
    start_short_lived(&holder, &scene, 1);
    ASSERT_STATUS(process_acquire(&holder, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    zkl_client *client = client_open_on(2);
    zkl_lock *lock = lock_open(client, scene.resource);
    waiter_start(&waiter, lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&scene) == 1);
    int64_t killed_at = kill_process(&holder);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    CU_ASSERT_TRUE(waiter.returned_at_ms - killed_at <= passes_on_within_ms(&holder));
    CU_ASSERT_TRUE(waiter.grant.token > grant.token);
    ASSERT_NUMBER(scene_queue(&scene), 1);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

static void waiter_killed_by_sigkill_does_not_block_those_behind_it(void) {
    struct scene scene;
    struct process killed;
    struct waiter behind;
    scene_begin(&scene, "waiter-killed");
    zkl_client *client = client_open_on(2);
    zkl_lock *holder = lock_open(client, scene.resource);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    start_short_lived(&killed, &scene, 3);
    process_tell(&killed, "acquire %d %d\n", (int)ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&scene) == 2);
    waiter_start(&behind, lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&scene) == 2);
    int64_t killed_at = kill_process(&killed);
    ASSERT_STATUS(zkl_lock_release(holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&behind), ZKL_OK);
    CU_ASSERT_TRUE(behind.returned_at_ms - killed_at <= passes_on_within_ms(&killed));
    zkl_lock_close(holder);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

static int32_t changes_of_the_queue(struct scene *scene) {
    struct Stat stat = { 0 };
    return raw_stat(scene->raw, scene->path, &stat) ? stat.cversion : 0;
}

#define CONTENDERS 4

/* Each dies wherever it happens to be: it creates, waits, holds or deletes. */
static void processes_killed_anywhere_in_their_cycle_pass_the_lock_on(void) {
    struct scene scene;
    struct process contenders[CONTENDERS];
    scene_begin(&scene, "cycle-killed");
    for (int i = 0; i < CONTENDERS; i++) {
        start_short_lived(&contenders[i], &scene, i % SERVERS + 1);
        process_tell(&contenders[i], "count %d %d %s\n", (int)ZKL_EXCLUSIVE, 1000000,
                     CONTENDER_NO_LEDGER);
    }
    int64_t killed_at = 0;
    for (int i = 0; i < CONTENDERS; i++) {
        int32_t before = changes_of_the_queue(&scene);
        WAIT_UNTIL(changes_of_the_queue(&scene) >= before + 20);
        killed_at = kill_process(&contenders[i]);
    }
    zkl_client *client = client_open_on(1);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    CU_ASSERT_TRUE(now_ms() - killed_at <= passes_on_within_ms(&contenders[CONTENDERS - 1]));
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

/* ---- Servers ----------------------------------------------------------- */

#define WAITERS 3

/* A holder and waiters, each a client that knows all servers. */
struct election {
    struct scene scene;
    zkl_client *clients[WAITERS + 1];
    zkl_lock *locks[WAITERS + 1];
    struct waiter waiters[WAITERS + 1];
};

static void election_begin(struct election *election, const char *stem) {
    scene_begin(&election->scene, stem);
    for (int i = 0; i <= WAITERS; i++) {
        election->clients[i] = client_open(servers_hosts(), LONG_SESSION_MS);
        election->locks[i] = lock_open(election->clients[i], election->scene.resource);
        waiter_start(&election->waiters[i], election->locks[i], ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
        WAIT_UNTIL(scene_queue(&election->scene) == i + 1);
    }
    WAIT_UNTIL(scene_watches(&election->scene) == WAITERS);
    ASSERT_STATUS(waiter_join(&election->waiters[0]), ZKL_OK);
}

static bool all_still_wait(struct election *election) {
    for (int i = 1; i <= WAITERS; i++) {
        if (waiter_is_done(&election->waiters[i])) {
            return false;
        }
    }
    return true;
}

/* The holder still holds, and the lock passes on in order. */
static void assert_goes_on(struct election *election) {
    WAIT_UNTIL(zkl_lock_check(election->locks[0], NULL) == ZKL_OK);
    CU_ASSERT_TRUE(all_still_wait(election));
    for (int i = 0; i <= WAITERS; i++) {
        ASSERT_STATUS(i > 0 ? waiter_join(&election->waiters[i]) : ZKL_OK, ZKL_OK);
        ASSERT_NUMBER(scene_queue(&election->scene), WAITERS + 1 - i);
        ASSERT_STATUS(zkl_lock_release(election->locks[i], PATIENCE_MS), ZKL_OK);
    }
}

static void election_end(struct election *election) {
    for (int i = 0; i <= WAITERS; i++) {
        ASSERT_NUMBER(client_information(election->clients[i]).sessions_expired, 0);
        zkl_lock_close(election->locks[i]);
        client_close(election->clients[i]);
    }
    scene_end(&election->scene);
}

static void leader_killed_while_others_wait_the_holder_keeps_and_passes_on(void) {
    struct election election;
    election_begin(&election, "leader-killed");
    int leader = servers_leader();
    int64_t epoch = servers_epoch();
    server_kill(leader);
    WAIT_UNTIL(servers_epoch() > epoch);
    assert_goes_on(&election);
    server_start(leader);
    election_end(&election);
}

static void holders_server_killed_the_holder_moves_and_keeps_the_lock(void) {
    struct election election;
    election_begin(&election, "holders-server");
    int64_t session_id = client_information(election.clients[0]).session_id;
    int server = servers_of_session(session_id);
    CU_ASSERT_NOT_EQUAL(server, 0);
    server_kill(server);
    WAIT_UNTIL(servers_of_session(session_id) != 0);
    assert_goes_on(&election);
    server_start(server);
    election_end(&election);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(holder_killed_by_sigkill_passes_the_lock_on),
        TEST_CASE(waiter_killed_by_sigkill_does_not_block_those_behind_it),
        TEST_CASE(processes_killed_anywhere_in_their_cycle_pass_the_lock_on),
        TEST_CASE(leader_killed_while_others_wait_the_holder_keeps_and_passes_on),
        TEST_CASE(holders_server_killed_the_holder_moves_and_keeps_the_lock),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
