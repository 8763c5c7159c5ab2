/*
 * The lease of a session: the writes for it, and what the requests are told of
 * it, on time and late; with real requests, over scripted operations and their
 * clock (live_stage.h).
 */
#include "session/guarded_write.h"
#include "support/live_stage.h"

/* ---- The writes ---------------------------------------------------------------------- */

TEST(lease_costs_two_writes_a_period_and_never_ends) {
    run_stage *stage = live_open(TICK_MS);
    unsigned probes = 0;
    stage_hold(stage, &stage->a);
    live_pass_served(stage, PERIOD_MS - 1, &probes);
    for (unsigned i = 0; i < 5; i++) {
        probes = 0;
        EXPECT_INT(live_pass_served(stage, PERIOD_MS, &probes), 2);
        EXPECT_INT(probes, 1);
        EXPECT(live_lease_left(stage) > LEASE_MS - PERIOD_MS - 1);
    }
    EXPECT_INT(stage->a.verdicts, 1);
    live_finish(stage);
}

/* A proof that began with a read between two probes put the next one off by half a period: a
 * command under `zklock once` was ended with all servers well. */
TEST(lease_has_as_much_left_whenever_other_traffic_comes) {
    for (int64_t phase = 10; phase < PERIOD_MS; phase += 99) {
        run_stage *stage = live_open(TICK_MS);
        unsigned probes = 0;
        stage_hold(stage, &stage->a);
        live_pass_served(stage, phase, &probes);
        stage_start(stage, &stage->b, "/r", 0); /* a try: lists first */
        stage_listed(stage, "lock-0000000001", NULL);
        stage_hush(stage);
        for (int64_t i = 0; i < 2 * (int64_t)PERIOD_MS + WRITE_DUE_MS; i++) {
            live_pass_served(stage, 1, &probes);
            EXPECT(live_lease_left(stage) > LEASE_MS - PERIOD_MS - WRITE_DUE_MS - 2);
        }
        live_finish(stage);
    }
}

/* A list is no write, however late it comes. */
TEST(own_reads_serve_as_no_write) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    stage_pass(stage, TICK_MS + 1);
    stage_start(stage, &stage->b, "/r", 0); /* a try: lists first */
    stage_listed(stage, "lock-0000000001", NULL);
    FAKE_HEARD(&stage->fake, "list /r; b decided -1; b ended");
    stage_pass(stage, WRITE_DUE_MS - TICK_MS - 2);
    FAKE_HEARD(&stage->fake, ""); /* a second one would be due at once */
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, WRITE);
    live_finish(stage);
}

/* What a single request, and what a transaction, say of themselves. */
TEST(what_only_the_leader_can_say_is_committed) {
    static const struct {
        zkl_outcome outcome;
        bool alone;
        bool with_results;
    } rows[] = {
        { ZKL_OUTCOME_OK, true, true },        { ZKL_OUTCOME_NO_NODE, true, true },
        { ZKL_OUTCOME_NOT_EMPTY, true, true }, { ZKL_OUTCOME_REFUSED, false, true },
        { ZKL_OUTCOME_NOT_NOW, false, true },  { ZKL_OUTCOME_UNKNOWN, false, true },
    };
    static const zkl_multi_result result = { .outcome = ZKL_OUTCOME_OK };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        zkl_reply reply = { .outcome = rows[i].outcome };
        EXPECT_INT(zkl_is_committed(&reply), rows[i].alone);
        reply.results = &result;
        EXPECT_INT(zkl_is_committed(&reply), rows[i].with_results);
    }
}

static bool goes_on(void *arg) {
    (void)arg;
    return true;
}

static void ended(void *arg, const zkl_reply *reply) {
    (void)reply;
    *(bool *)arg = true;
}

/* Its guard is gone, which the leader has said: a write like any other. */
TEST(guarded_write_that_was_not_applied_serves_as_a_write) {
    static const zkl_multi_result result = { .outcome = ZKL_OUTCOME_NO_NODE };
    static const zkl_multi_operation check = { .kind = ZKL_MULTI_CHECK, .path = "/r/own" };
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a); /* its create is the probe */
    for (int i = 0; i < 2; i++) {
        bool done = false;
        zkl_guarded_write write = {
            .operations = &check, .count = 1, .prepare = goes_on, .ended = ended, .arg = &done
        };
        live_stop_for(stage, TICK_MS + 1);
        zkl_guarded_write_start(&write, &stage->session);
        FAKE_ANSWER(&stage->fake, "check /r/own", .outcome = ZKL_OUTCOME_NO_NODE,
                    .results = &result, .result_count = 1);
        EXPECT(done);
    }
    EXPECT_INT(live_lease_left(stage), LEASE_MS - 2 * (TICK_MS + 1));
    stage_hush(stage);
    live_finish(stage);
}

/* ---- The lease ends and begins -------------------------------------------------------- */

TEST(lease_that_runs_out_loses_the_lock_on_time_and_keeps_its_node) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    stage_pass(stage, LEASE_MS - CONNECTING_MS - 1);
    stage_hush(stage);
    EXPECT_INT(live_lease_left(stage), 1);
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, "lost -10");
    EXPECT_INT(live_lease_left(stage), 0);
    EXPECT(stage->a.runner != NULL);
    live_finish(stage);
}

/* ---- A late timer ----------------------------------------------------------------------- */

static run_stage *open_for_a_late_timer(void) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    return stage;
}

TEST(list_that_arrives_after_the_end_of_the_lease_grants_nothing) {
    run_stage *stage = open_for_a_late_timer();
    stage_start(stage, &stage->b, "/r", ZKL_FOREVER);
    stage_created(stage, 2, "lock-0000000004", 1);
    stage_hush(stage);
    live_stop_for(stage, LEASE_MS - CONNECTING_MS);
    stage_listed_own(stage, 2, "lock-0000000004", NULL);
    FAKE_HEARD(&stage->fake, "lost -10");
    EXPECT_INT(stage->b.verdicts, 0);
    live_finish(stage);
}

/* It is fresh, but the lease is over. */
TEST(deletion_that_arrives_after_the_end_of_the_lease_grants_nothing) {
    run_stage *stage = open_for_a_late_timer();
    stage_start(stage, &stage->b, "/r", ZKL_FOREVER);
    stage_created(stage, 2, "lock-0000000004", 1);
    stage_listed_own(stage, 2, "lock-0000000004", "lock-0000000002");
    uint64_t blocker_watch = stage->fake.earlier_watch_id;
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_hush(stage);
    live_stop_for(stage, LEASE_MS - CONNECTING_MS);
    EXPECT(live_is_fresh(stage));
    zkl_session_on_watch_fired(&stage->session, blocker_watch, ZKL_WATCH_EVENT_DELETED);
    FAKE_HEARD(&stage->fake, "lost -10");
    EXPECT_INT(stage->b.verdicts, 0);
    live_finish(stage);
}

TEST(answer_to_a_probe_after_the_end_of_the_lease_tells_the_loss) {
    run_stage *stage = open_for_a_late_timer();
    stage_pass(stage, PERIOD_MS);
    stage_hush(stage);
    live_stop_for(stage, LEASE_MS);
    stage_answer(stage, PROBE, ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "lost -10");
    live_finish(stage);
}

/* Not even when that very answer brings a lease again. */
TEST(write_that_earns_a_lease_after_its_end_does_not_hide_the_loss) {
    run_stage *stage = live_open(TICK_MS);
    stage_pass(stage, 50);
    stage_hold(stage, &stage->a); /* a probe that is 50 ms and CONNECTING_MS younger */
    stage_pass(stage, WRITE_DUE_MS);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    stage_pass(stage, 1);
    stage_hush(stage);
    live_stop_for(stage, LEASE_MS - CONNECTING_MS - 50 - WRITE_DUE_MS - 1);
    EXPECT_INT(live_lease_left(stage), 0);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "lost -10");
    EXPECT_INT(live_lease_left(stage), CONNECTING_MS + 50); /* for others, from here on */
    live_finish(stage);
}

/* ---- A reconnect makes the timeout shorter ------------------------------------------------- */

enum { LATE_MS = 2000 };

/* The news of the loss came late: the servers count from before it, the latest from what they
 * answered last. */
static run_stage *reconnect_with(int32_t timeout_ms) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    live_stop_for(stage, LATE_MS);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_hush(stage);
    stage->session_timeout_ms = timeout_ms;
    stage_connect(stage, SESSION_ID);
    return stage;
}

static int64_t lease_of(int32_t timeout_ms) {
    return timeout_ms - timeout_ms / 3 - timeout_ms / 1000;
}

TEST(lease_that_a_reconnect_has_cut_ends_where_it_was_cut) {
    const int32_t shorter_ms = 6000;
    run_stage *stage = reconnect_with(shorter_ms);
    int64_t left_ms = lease_of(shorter_ms) - LATE_MS;
    EXPECT(left_ms < LEASE_MS - CONNECTING_MS - LATE_MS);
    EXPECT_INT(live_lease_left(stage), left_ms);
    stage_pass(stage, left_ms - 1);
    stage_hush(stage);
    stage_pass(stage, 1); /* without any answer */
    FAKE_HEARD(&stage->fake, "lost -10");
    live_finish(stage);
}

TEST(lease_that_a_reconnect_has_cut_to_nothing_is_lost_with_it) {
    run_stage *stage = reconnect_with(LATE_MS + LATE_MS / 2);
    FAKE_HEARD(&stage->fake, "lost -10; " PROBE);
    EXPECT_INT(live_lease_left(stage), 0);
    live_finish(stage);
}
