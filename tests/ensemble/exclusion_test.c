/* Processes on different servers, and a ledger that only exclusion keeps right. */
#include "support/ledger.h"
#include "support/process.h"
#include "support/scene.h"
#include "support/servers.h"

#define PROCESSES 6
#define ROUNDS 20

struct crowd {
    struct process processes[PROCESSES];
    zkl_mode modes[PROCESSES];
    char ledger[64];
};

/* hosts NULL: spread over the servers, and pinned to them. */
static void crowd_begin(struct crowd *crowd, const struct scene *scene, const char *hosts) {
    ledger_make(crowd->ledger);
    for (int i = 0; i < PROCESSES; i++) {
        struct process_options options = {
            .hosts = hosts != NULL ? hosts : server_host(i % SERVERS + 1),
            .resource = scene->resource,
            .session_timeout_ms = LONG_SESSION_MS,
        };
        process_start(&crowd->processes[i], &options);
    }
}

static void crowd_tell(struct crowd *crowd, zkl_mode even, zkl_mode odd) {
    for (int i = 0; i < PROCESSES; i++) {
        crowd->modes[i] = i % 2 == 0 ? even : odd;
        process_tell(&crowd->processes[i], "count %d %d %s\n", (int)crowd->modes[i], ROUNDS,
                     crowd->ledger);
    }
}

/* Asserts that all went through, and that no count is missing. */
static void crowd_end(struct crowd *crowd) {
    int64_t writes = 0;
    for (int i = 0; i < PROCESSES; i++) {
        int status = process_answer(&crowd->processes[i]);
        CU_ASSERT_NOT_EQUAL(status, CONTENDER_OVERLAPPED);
        ASSERT_STATUS(status, ZKL_OK);
        writes += crowd->modes[i] == ZKL_READ ? 0 : ROUNDS;
        process_end(&crowd->processes[i]);
    }
    int64_t number = -1;
    CU_ASSERT_TRUE(ledger_look(crowd->ledger, &number));
    ASSERT_NUMBER(number, writes);
    ledger_remove(crowd->ledger);
}

static void count_on_healthy_servers(const char *stem, zkl_mode even, zkl_mode odd) {
    struct scene scene;
    struct crowd crowd;
    scene_begin(&scene, stem);
    crowd_begin(&crowd, &scene, NULL);
    crowd_tell(&crowd, even, odd);
    crowd_end(&crowd);
    scene_end(&scene);
}

static void processes_on_three_servers_lose_no_count(void) {
    count_on_healthy_servers("exclusive", ZKL_EXCLUSIVE, ZKL_EXCLUSIVE);
}

static void readers_never_see_a_writer_in_the_middle(void) {
    count_on_healthy_servers("readers-writers", ZKL_READ, ZKL_WRITE);
}

static void writers_and_exclusive_holders_exclude_one_another(void) {
    count_on_healthy_servers("writers", ZKL_EXCLUSIVE, ZKL_WRITE);
}

static int64_t ledger_number(const struct crowd *crowd) {
    int64_t number;
    (void)ledger_look(crowd->ledger, &number);
    return number;
}

static void leader_killed_while_processes_count_and_no_count_is_lost(void) {
    struct scene scene;
    struct crowd crowd;
    scene_begin(&scene, "leader-killed");
    crowd_begin(&crowd, &scene, servers_hosts());
    crowd_tell(&crowd, ZKL_EXCLUSIVE, ZKL_EXCLUSIVE);
    WAIT_UNTIL(ledger_number(&crowd) >= ROUNDS);
    int leader = servers_leader();
    int64_t epoch = servers_epoch();
    server_kill(leader);
    int64_t at_the_kill = ledger_number(&crowd);
    CU_ASSERT_TRUE(at_the_kill < PROCESSES * ROUNDS);
    WAIT_UNTIL(servers_epoch() > epoch);
    WAIT_UNTIL(ledger_number(&crowd) > at_the_kill);
    server_start(leader);
    crowd_end(&crowd);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(processes_on_three_servers_lose_no_count),
        TEST_CASE(readers_never_see_a_writer_in_the_middle),
        TEST_CASE(writers_and_exclusive_holders_exclude_one_another),
        TEST_CASE(leader_killed_while_processes_count_and_no_count_is_lost),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
