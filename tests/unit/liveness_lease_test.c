/*
 * The lease of a session: the writes for it, and what the requests are told of
 * it, on time and late; with real requests, over scripted operations and their
 * clock (live_stage.h).
 */
#include "session/guarded_write.h"
#include "support/live_stage.h"

/* ---- The writes ---------------------------------------------------------------------- */

TEST(session_without_a_lease_writes_nothing) {
    run_stage *stage = live_open(0);
    unsigned probes = 0;
    stage_hold(stage, &stage->a);
    EXPECT_INT(live_pass_served(stage, 4 * (int64_t)PERIOD_MS, &probes), 0);
    EXPECT_INT(probes, 4);
    EXPECT_INT(live_lease_left(stage), -1);
    live_finish(stage);
}

/* Our create served as the probe. */
TEST(two_writes_extend_the_lease) {
    run_stage *stage = live_open(TICK_MS);
    EXPECT_INT(live_lease_left(stage), LEASE_MS - CONNECTING_MS); /* what the session began with */
    stage_hold(stage, &stage->a);
    stage_pass(stage, WRITE_DUE_MS - 1);
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, WRITE);
    stage_pass(stage, 10);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, WRITE);
    EXPECT_INT(live_lease_left(stage), LEASE_MS - CONNECTING_MS - WRITE_DUE_MS - 11);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    EXPECT_INT(live_lease_left(stage), LEASE_MS - WRITE_DUE_MS - 11);
    stage_pass(stage, PERIOD_MS - WRITE_DUE_MS - 12);
    FAKE_HEARD(&stage->fake, ""); /* until the next probe */
    live_finish(stage);
}

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

TEST(session_without_requests_keeps_no_lease_up) {
    run_stage *stage = live_open(TICK_MS);
    unsigned probes = 0;
    stage_hold(stage, &stage->a);
    stage_release(stage, &stage->a);
    EXPECT_INT(live_pass_served(stage, 2 * (int64_t)SESSION_TIMEOUT_MS, &probes), 0);
    EXPECT_INT(probes, 0);
    EXPECT_INT(live_lease_left(stage), 0);
    EXPECT(stage->session.timers.earliest == NULL);
    stage_close(stage);
}

TEST(own_create_and_delete_serve_as_the_writes) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a); /* its create is the probe */
    stage_pass(stage, TICK_MS + 1);
    stage_hold(stage, &stage->b); /* its create the first write */
    live_stop_for(stage, 1);
    stage_feed(&stage->a, ZKL_EVENT_RELEASED);
    stage_answer(stage, "remove /r", ZKL_OUTCOME_OK);
    EXPECT_INT(live_lease_left(stage), LEASE_MS - TICK_MS - 2);
    stage_pass(stage, WRITE_DUE_MS - 3);
    FAKE_HEARD(&stage->fake, "remove " OWN_NODE "; ended"); /* and no write of its own */
    live_finish(stage);
}

TEST(own_create_that_comes_too_early_serves_for_nothing) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    stage_pass(stage, TICK_MS);
    stage_hold(stage, &stage->b);
    stage_pass(stage, WRITE_DUE_MS - TICK_MS);
    FAKE_HEARD(&stage->fake, WRITE); /* the first, still */
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, WRITE);
    live_finish(stage);
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

TEST(write_that_is_not_answered_is_not_sent_twice) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    stage_pass(stage, WRITE_DUE_MS);
    FAKE_HEARD(&stage->fake, WRITE);
    stage_pass(stage, PERIOD_MS - WRITE_DUE_MS);
    stage_answer(stage, PROBE, ZKL_OUTCOME_OK);
    stage_hush(stage);
    stage_pass(stage, PERIOD_MS / 2);
    FAKE_HEARD(&stage->fake, "");
    live_finish(stage);
}

TEST(write_that_cannot_be_sent_is_sent_after_a_pause) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    stage->fake.sends = ZKL_OUTCOME_NOT_NOW;
    stage_pass(stage, WRITE_DUE_MS);
    FAKE_HEARD(&stage->fake, "unsent " WRITE);
    stage->fake.sends = ZKL_OUTCOME_OK;
    stage_pass(stage, PERIOD_MS / 8 - 1);
    FAKE_HEARD(&stage->fake, "");
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

TEST(write_that_fails_proves_nothing_and_is_sent_again_after_a_pause) {
    static const zkl_outcome failures[] = { ZKL_OUTCOME_UNKNOWN, ZKL_OUTCOME_NOT_NOW,
                                            ZKL_OUTCOME_REFUSED };
    for (size_t i = 0; i < COUNT_OF(failures); i++) {
        run_stage *stage = live_open(TICK_MS);
        stage_hold(stage, &stage->a);
        stage_pass(stage, WRITE_DUE_MS);
        stage_answer(stage, WRITE, failures[i]);
        stage_hush(stage);
        stage_pass(stage, PERIOD_MS / 8 - 1);
        FAKE_HEARD(&stage->fake, "");
        stage_pass(stage, 1);
        FAKE_HEARD(&stage->fake, WRITE); /* the first: */
        stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
        EXPECT_INT(live_lease_left(stage), LEASE_MS - CONNECTING_MS - WRITE_DUE_MS - PERIOD_MS / 8);
        stage_pass(stage, 1);
        stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
        EXPECT_INT(live_lease_left(stage), LEASE_MS - WRITE_DUE_MS - PERIOD_MS / 8 - 1);
        live_finish(stage);
    }
}

TEST(new_connection_gathers_anew) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    stage_pass(stage, WRITE_DUE_MS);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE); /* one more was needed */
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_connect(stage, SESSION_ID);
    stage_hush(stage);
    EXPECT_INT(live_lease_left(stage), LEASE_MS - CONNECTING_MS - WRITE_DUE_MS);
    stage_answer(stage, PROBE, ZKL_OUTCOME_OK);
    stage_pass(stage, WRITE_DUE_MS - 1);
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, WRITE);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    stage_pass(stage, 1);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    EXPECT_INT(live_lease_left(stage), LEASE_MS - WRITE_DUE_MS - 1);
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

/* It keeps others out no longer than the holder asked for. */
TEST(hold_limit_deletes_a_node_that_was_kept_after_the_lease) {
    run_stage *stage = live_open(TICK_MS);
    stage->a.max_hold_ms = 8000;
    stage_hold(stage, &stage->a);
    stage_pass(stage, LEASE_MS - CONNECTING_MS);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, WRITE "; " PROBE "; watch " OWN_NODE "; lost -10");
    live_stop_for(stage, 8000 - LEASE_MS + CONNECTING_MS - 1);
    zkl_timers_fire_due(&stage->session.timers, stage->fake.now_ms);
    EXPECT(!live_is_asked(stage, "remove " OWN_NODE));
    stage_pass(stage, 1);
    EXPECT(live_is_asked(stage, "remove " OWN_NODE));
    live_finish(stage);
}

TEST(lease_that_runs_out_while_disconnected_loses_the_lock_on_time) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_pass(stage, LEASE_MS - CONNECTING_MS - 1);
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, "lost -10");
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "ended"); /* lost once */
    stage_close(stage);
}

/* Without requests nobody keeps it up: the next one waits until it is earned. */
TEST(request_after_an_idle_time_earns_a_lease_first) {
    run_stage *stage = live_open(TICK_MS);
    stage_pass(stage, SESSION_TIMEOUT_MS);
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    stage_created(stage, 1, "lock-0000000003", 1);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r"); /* not granted */
    stage_pass(stage, WRITE_DUE_MS);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, WRITE "; " WRITE);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "list /r");
    EXPECT_INT(live_lease_left(stage), LEASE_MS - WRITE_DUE_MS - 1);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "decided 0");
    EXPECT_INT(zkl_timers_next(&stage->session.timers) - stage->fake.now_ms,
               PERIOD_MS - WRITE_DUE_MS - 1);
    stage_pass(stage, LEASE_MS - WRITE_DUE_MS - 1);
    FAKE_HEARD(&stage->fake, PROBE "; watch " OWN_NODE "; lost -10");
    live_finish(stage);
}

/* What was gathered before would earn a lease that is over: it begins anew. */
TEST(request_after_others_and_an_idle_time_earns_as_fast) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    stage_release(stage, &stage->a);
    stage_pass(stage, PERIOD_MS); /* here the probes end */
    live_stop_for(stage, SESSION_TIMEOUT_MS);
    stage_start(stage, &stage->b, "/r", ZKL_FOREVER);
    stage_created(stage, 2, "lock-0000000004", 1);
    stage_listed_own(stage, 2, "lock-0000000004", NULL);
    unsigned probes = 0;
    EXPECT_INT(live_lease_left(stage), 0);
    EXPECT_INT(live_pass_served(stage, WRITE_DUE_MS + 1, &probes), 2);
    EXPECT_INT(live_lease_left(stage), LEASE_MS - WRITE_DUE_MS - 1);
    stage_listed_own(stage, 2, "lock-0000000004", NULL);
    FAKE_HEARD(&stage->fake, "b decided 0");
    live_finish(stage);
}

/* The chain took longer than what it proves. */
TEST(lease_that_is_over_when_it_is_earned_is_not_told) {
    run_stage *stage = live_open(TICK_MS);
    stage_pass(stage, SESSION_TIMEOUT_MS);
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    stage_created(stage, 1, "lock-0000000003", 1);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    stage_pass(stage, WRITE_DUE_MS);
    stage_hush(stage);
    live_stop_for(stage, SESSION_TIMEOUT_MS);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    live_stop_for(stage, 1);
    zkl_timers_fire_due(&stage->session.timers, stage->fake.now_ms);
    stage_hush(stage);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "");
    EXPECT_INT(live_lease_left(stage), 0);
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
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
    uint64_t blocker_watch = stage->fake.last_watch_id - 1;
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_hush(stage);
    live_stop_for(stage, LEASE_MS - CONNECTING_MS);
    EXPECT(live_is_fresh(stage));
    zkl_session_on_watch_fired(&stage->session, blocker_watch, true);
    FAKE_HEARD(&stage->fake, "lost -10");
    EXPECT_INT(stage->b.verdicts, 0);
    live_finish(stage);
}

TEST(request_that_starts_after_the_end_of_the_lease_is_not_granted) {
    run_stage *stage = open_for_a_late_timer();
    live_stop_for(stage, LEASE_MS - CONNECTING_MS);
    stage_start(stage, &stage->b, "/r", ZKL_FOREVER);
    FAKE_HEARD(&stage->fake, "lost -10; create /r/#2-lock-; list /r");
    stage_created(stage, 2, "lock-0000000004", 1);
    stage_listed_own(stage, 2, "lock-0000000004", NULL);
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

TEST(connection_that_comes_back_after_the_end_of_the_lease_tells_the_loss_first) {
    run_stage *stage = live_open(TICK_MS);
    stage->a.listens = true;
    stage_hold(stage, &stage->a);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    live_stop_for(stage, LEASE_MS - CONNECTING_MS);
    stage_connect(stage, SESSION_ID);
    FAKE_HEARD(&stage->fake, "disconnected; lost -10; " PROBE);
    live_finish(stage);
}
