/* zklock/testing.h: mistakes end the program, and say what they are. */
#include <pthread.h>

#include "support/death.h"
#include "support/participant.h"

static participant self;

/* ---- Before and after --------------------------------------------------------------- */

static void sleep_before_begin(void) {
    zkl_testing_sleep(1);
}

static void open_before_begin(void) {
    zkl_client *client = NULL;
    EXPECT(zkl_client_open("server:2181", NULL, &client) != ZKL_OK); /* it does not return */
}

static void check_after_end(void) {
    zkl_testing_begin(NULL);
    zkl_testing_end();
    (void)zkl_testing_count_children("/locks");
}

static void end_simulation(void *arg) {
    (void)arg;
    zkl_testing_end();
}

static void end_from_a_task(void) {
    zkl_testing_begin(NULL);
    zkl_testing_join(zkl_testing_start(end_simulation, NULL));
}

TEST(calls_without_a_simulation_say_so) {
    EXPECT_DEATH(sleep_before_begin, "zkl_testing_sleep: zkl_testing_begin comes first\n");
    EXPECT_DEATH(open_before_begin, "zklock was called, but no simulation has begun");
    EXPECT_DEATH(check_after_end, "zkl_testing_count_children: zkl_testing_begin comes first");
    EXPECT_DEATH(end_from_a_task, "zkl_testing_end: not from a task");
}

/* ---- Arguments ---------------------------------------------------------------------- */

static void begin_with(uint32_t servers, int32_t tick_ms, int64_t time_limit_ms, size_t size) {
    zkl_testing_options options = { size, 1, servers, tick_ms, time_limit_ms };
    zkl_testing_begin(&options);
}

static void begin_without_size(void) {
    begin_with(3, 2000, 1000, 0);
}

static void begin_with_ten_servers(void) {
    begin_with(10, 2000, 1000, sizeof(zkl_testing_options));
}

static void begin_with_tick_of_nine(void) {
    begin_with(3, 9, 1000, sizeof(zkl_testing_options));
}

static void begin_without_time(void) {
    begin_with(3, 2000, -1, sizeof(zkl_testing_options));
}

static void sleep_backwards(void) {
    zkl_testing_begin(NULL);
    zkl_testing_sleep(-1);
}

static void expire_nobody(void) {
    zkl_testing_begin(NULL);
    zkl_testing_expire_session(NULL);
}

static void delete_relative(void) {
    zkl_testing_begin(NULL);
    (void)zkl_testing_delete_node("locks");
}

static void contend_for_what_is_no_path(void) {
    zkl_testing_begin(NULL);
    zkl_testing_add_contender("/locks//stock", ZKL_READ, NULL);
}

static void contend_without_servers(void) {
    zkl_testing_begin(NULL);
    zkl_testing_stop_servers();
    zkl_testing_add_contender("/locks/stock", ZKL_READ, NULL);
}

static void draw_from_nothing(void) {
    zkl_testing_begin(NULL);
    (void)zkl_testing_random(0);
}

TEST(arguments_out_of_range_are_named) {
    EXPECT_DEATH(begin_without_size, "zkl_testing_begin: struct_size must be");
    EXPECT_DEATH(begin_with_ten_servers, "servers must be from 1 to 9");
    EXPECT_DEATH(begin_with_tick_of_nine, "tick_ms must be from 10 to 60000");
    EXPECT_DEATH(begin_without_time, "time_limit_ms must be at least 1");
    EXPECT_DEATH(sleep_backwards, "zkl_testing_sleep: a duration must not be negative (seed 1, at");
    EXPECT_DEATH(expire_nobody, "zkl_testing_expire_session: client must not be NULL");
    EXPECT_DEATH(delete_relative, "zkl_testing_delete_node: the path must be a full one");
    EXPECT_DEATH(contend_for_what_is_no_path, "zkl_testing_add_contender: resource");
    EXPECT_DEATH(contend_without_servers, "the servers have no leader; start them first");
    EXPECT_DEATH(draw_from_nothing, "bound must be at least 1");
}

/* ---- What does not end, or is left -------------------------------------------------- */

static void wait_for_ever(void) {
    zkl_testing_begin(NULL);
    participant_open(&self, 0, false);
    zkl_testing_add_contender(PARTICIPANT_RESOURCE, ZKL_EXCLUSIVE, NULL);
    zkl_testing_join(participant_start(&self, ZKL_FOREVER));
}

static void leave_a_node(void) {
    zkl_testing_begin(NULL);
    participant_open(&self, 0, false);
    (void)participant_acquire(&self, 1000);
    zkl_testing_expect_clean(1000);
}

static void sleep_long(void *arg) {
    (void)arg;
    zkl_testing_sleep(10000);
}

static void leave_a_task(void) {
    zkl_testing_begin(NULL);
    (void)zkl_testing_start(sleep_long, NULL);
    zkl_testing_expect_clean(1000);
}

static void *call_from_elsewhere(void *arg) {
    (void)participant_acquire(&self, 1000);
    return arg;
}

static void call_from_another_thread(void) {
    pthread_t thread;
    zkl_testing_begin(NULL);
    participant_open(&self, 0, false);
    (void)pthread_create(&thread, NULL, call_from_elsewhere, NULL);
    (void)pthread_join(thread, NULL);
}

static void fail_an_expectation(void) {
    zkl_testing_options options = ZKL_TESTING_OPTIONS_INIT;
    options.seed = 4711;
    zkl_testing_begin(&options);
    zkl_testing_sleep(12);
    ZKL_TESTING_EXPECT(options.seed == 1);
}

TEST(what_does_not_end_or_is_left_is_told) {
    EXPECT_DEATH(wait_for_ever, "does somebody wait for ever? (1 of its tasks have not ended)");
    EXPECT_DEATH(leave_a_node, "zkl_testing_expect_clean: the node /locks/stock/_c_");
    EXPECT_DEATH(leave_a_task, "zkl_testing_expect_clean: a task has not ended");
    EXPECT_DEATH(call_from_another_thread, "start a task instead (zkl_testing_start)");
    EXPECT_DEATH(fail_an_expectation, "expected options.seed == 1 (seed 4711, at 12 ms)");
}
