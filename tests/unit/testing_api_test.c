/* zklock/testing.h: beginning and end, seeds, time, tasks, processes, trace. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/participant.h"

enum { LINE_SIZE = 1024 };

/* ---- Time --------------------------------------------------------------------------- */

TEST(time_begins_at_zero_and_passes_in_sleep_only) {
    zkl_testing_begin(NULL);
    EXPECT_INT(zkl_testing_now_ms(), 0);
    zkl_testing_sleep(60000);
    EXPECT_INT(zkl_testing_now_ms(), 60000);
    zkl_testing_begin(NULL);
    EXPECT_INT(zkl_testing_now_ms(), 0);
    zkl_testing_end();
    zkl_testing_end();
}

static void set_flag(void *arg) {
    bool *flag = arg;
    *flag = true;
}

static int is_three_seconds_later(void *arg) {
    (void)arg;
    return zkl_testing_now_ms() >= 3000;
}

TEST(wait_until_tells_whether_it_came_to_be_so_in_time) {
    zkl_testing_begin(NULL);
    EXPECT_INT(zkl_testing_wait_until(is_three_seconds_later, NULL, 1000), 0);
    EXPECT_INT(zkl_testing_now_ms(), 1000);
    EXPECT_INT(zkl_testing_wait_until(is_three_seconds_later, NULL, 5000), 1);
    EXPECT_INT(zkl_testing_now_ms(), 3000);
    EXPECT_INT(zkl_testing_wait_until(is_three_seconds_later, NULL, 0), 1);
    zkl_testing_end();
}

/* ---- Tasks and processes ------------------------------------------------------------ */

static void use_much_stack(void *arg) {
    volatile char large[512 * 1024];
    for (size_t i = 0; i < sizeof(large); i += 1024) {
        large[i] = 1;
    }
    zkl_testing_sleep(1);
    large[0]++;
    set_flag(arg);
}

static void sleep_in_deep_frames(void *arg) {
    char text[1024];
    snprintf(text, sizeof(text), "%lld", (long long)zkl_testing_now_ms());
    zkl_testing_sleep(1000);
    EXPECT(text[0] != '0'); /* never: the simulation ends before */
    (void)arg;
}

TEST(tasks_that_have_not_ended_are_gone_and_their_stacks_are_used_again) {
    for (int round = 0; round < 3; round++) {
        bool ran = false;
        zkl_testing_begin(NULL);
        zkl_testing_join(zkl_testing_start(use_much_stack, &ran));
        EXPECT(ran);
        for (int i = 0; i < 8; i++) {
            (void)zkl_testing_start(sleep_in_deep_frames, NULL);
        }
        zkl_testing_sleep(10);
        zkl_testing_end();
    }
}

typedef struct ticks {
    zkl_testing_process *process;
    int64_t last_ms;
    int64_t longest_ms;
} ticks;

static void tick(void *arg) {
    ticks *self = arg;
    zkl_testing_process_enter(self->process);
    self->last_ms = zkl_testing_now_ms();
    for (int i = 0; i < 100; i++) {
        zkl_testing_sleep(10);
        int64_t passed_ms = zkl_testing_now_ms() - self->last_ms;
        self->longest_ms = passed_ms > self->longest_ms ? passed_ms : self->longest_ms;
        self->last_ms = zkl_testing_now_ms();
    }
}

TEST(pause_stops_one_process_and_no_other) {
    zkl_testing_begin(NULL);
    ticks paused = { .process = zkl_testing_process_make() };
    ticks other = { .process = zkl_testing_process_make() };
    (void)zkl_testing_start(tick, &paused);
    (void)zkl_testing_start(tick, &other);
    zkl_testing_sleep(100);
    zkl_testing_pause(paused.process, 500);
    EXPECT_INT(zkl_testing_now_ms(), 100);
    zkl_testing_sleep(100);
    zkl_testing_pause(paused.process, 900); /* overlaps, and ends later */
    zkl_testing_pause(paused.process, 10);
    zkl_testing_sleep(5000);
    EXPECT(paused.longest_ms >= 1000 && paused.longest_ms <= 1010);
    EXPECT_INT(other.longest_ms, 10);
    zkl_testing_end();
}

/* ---- Seeds and trace ---------------------------------------------------------------- */

/* Two contenders, of two processes, that take turns while things go wrong. */

enum { TURNS = 3 };

typedef struct turns {
    unsigned number;
    unsigned done;
} turns;

static int holders;

static void take_turns(void *arg) {
    turns *self = arg;
    participant one;
    if (self->number > 0) {
        zkl_testing_process_enter(zkl_testing_process_make());
    }
    participant_open(&one, 0, false);
    while (self->done < TURNS) {
        if (participant_acquire(&one, 30000) != ZKL_OK) {
            continue;
        }
        EXPECT_INT(++holders, 1);
        zkl_testing_note("contender %u has token %lld", self->number, (long long)one.grant.token);
        zkl_testing_sleep((int64_t)zkl_testing_random(20));
        holders--;
        self->done += zkl_lock_release(one.lock, ZKL_FOREVER) == ZKL_OK ? 1 : 0;
    }
    participant_close(&one);
}

static int no_session_is_left(void *arg) {
    (void)arg;
    return zkl_testing_count_sessions() == 0;
}

static void run_two_contenders(void *arg) {
    (void)arg;
    turns both[2] = { { 0, 0 }, { 1, 0 } };
    holders = 0;
    zkl_testing_task *tasks[2];
    for (unsigned i = 0; i < COUNT_OF(both); i++) {
        tasks[i] = zkl_testing_start(take_turns, &both[i]);
    }
    zkl_testing_set_failure_rate(20000);
    zkl_testing_sleep(200);
    zkl_testing_set_failure_rate(0);
    for (unsigned i = 0; i < COUNT_OF(both); i++) {
        zkl_testing_join(tasks[i]);
        EXPECT_INT(both[i].done, TURNS);
    }
    EXPECT_INT(zkl_testing_count_children(PARTICIPANT_RESOURCE), 0);
    zkl_testing_expect_clean(0);
    /* A client that is closed while it is disconnected leaves its session to its timeout. */
    EXPECT_INT(zkl_testing_wait_until(no_session_is_left, NULL, PARTICIPANT_TIMEOUT_MS + 4000), 1);
}

TEST(two_contenders_take_turns_under_a_thousand_seeds) {
    zkl_testing_run_seeds(1, SEEDS, NULL, run_two_contenders, NULL);
}

static char *trace_of(uint64_t seed) {
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    zkl_testing_trace_to(file);
    zkl_testing_run_seeds(seed, seed, NULL, run_two_contenders, NULL);
    zkl_testing_trace_to(NULL);
    (void)fclose(file);
    return text;
}

TEST(same_seed_tells_the_same_byte_for_byte) {
    for (uint64_t seed = 1; seed <= 20; seed++) {
        char *first = trace_of(seed);
        char *other = trace_of(seed + 1);
        char *again = trace_of(seed);
        EXPECT(strlen(first) > 2000);
        EXPECT_TEXT(again, first);
        EXPECT(strcmp(other, first) != 0);
        free(first);
        free(other);
        free(again);
    }
}

static void first_line_of_record(char line[LINE_SIZE]) {
    char path[] = "/tmp/zklock-testing-api-XXXXXX";
    int file = mkstemp(path);
    EXPECT(file >= 0 && close(file) == 0);
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    zkl_testing_begin(NULL);
    zkl_testing_sleep(5000);
    EXPECT_INT(zkl_client_open("server:2181", &options, &client), ZKL_OK);
    EXPECT_INT(zkl_client_write_record(client, path), ZKL_OK);
    EXPECT_INT(zkl_client_close(client, 1000), ZKL_OK);
    zkl_testing_end();
    FILE *record = fopen(path, "r");
    EXPECT(record != NULL && fgets(line, LINE_SIZE, record) != NULL && fclose(record) == 0);
    EXPECT_INT(remove(path), 0);
}

TEST(record_of_a_client_is_of_the_simulations_time) {
    char line[LINE_SIZE];
    first_line_of_record(line);
    unit_check(strstr(line, "opened=2025-01-01T00:00:05Z") != NULL, __FILE__, __LINE__, "%s", line);
}

static uint64_t seen[8];
static size_t seen_count;

static void note_seed(void *arg) {
    EXPECT_INT(arg == (void *)seen, 1);
    seen[seen_count++] = zkl_testing_seed();
}

TEST(run_seeds_runs_each_seed_once_or_the_one_of_the_environment) {
    seen_count = 0;
    zkl_testing_run_seeds(UINT64_MAX - 2, UINT64_MAX, NULL, note_seed, seen);
    EXPECT_INT(seen_count, 3);
    EXPECT(seen[0] == UINT64_MAX - 2 && seen[2] == UINT64_MAX);
    seen_count = 0;
    (void)setenv("ZKLOCK_TESTING_SEED", "77", 1);
    zkl_testing_run_seeds(1, 5, NULL, note_seed, seen);
    (void)unsetenv("ZKLOCK_TESTING_SEED");
    EXPECT_INT(seen_count, 1);
    EXPECT_INT(seen[0], 77);
}
