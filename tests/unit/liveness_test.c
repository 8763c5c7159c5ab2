/*
 * What watches over a session: its probes, how fresh what it hears is, and its
 * end; with real requests, over scripted operations and their clock.
 */
#include "base/callback_queue.h"
#include "session/leader_watch.h"
#include "support/live_stage.h"

/* ---- Probes ---------------------------------------------------------------------- */

TEST(session_with_a_request_is_probed_three_times_in_its_timeout) {
    run_stage *stage = live_open(0);
    stage_hold(stage, &stage->a);
    unsigned wakes = stage->wakes;
    stage_pass(stage, PERIOD_MS - 1);
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, PROBE "; watch " OWN_NODE);
    EXPECT(stage->wakes > wakes);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    stage_pass(stage, PERIOD_MS - 1);
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, PROBE);
    live_finish(stage);
}

TEST(probes_end_with_the_last_request) {
    run_stage *stage = live_open(0);
    stage_hold(stage, &stage->a);
    stage_release(stage, &stage->a);
    stage_pass(stage, PERIOD_MS);
    FAKE_HEARD(&stage->fake, "");
    EXPECT(stage->timers.earliest == NULL);
    stage_hold(stage, &stage->b);
    stage_pass(stage, PERIOD_MS);
    FAKE_HEARD(&stage->fake, PROBE "; watch /r/#2-lock-0000000003"); /* and begin again */
    live_finish(stage);
}

/* ---- Fresh and silent --------------------------------------------------------------------- */

TEST(what_is_heard_is_fresh_for_two_periods_after_a_question_was_sent) {
    run_stage *stage = live_open(0);
    EXPECT(!live_is_fresh(stage));
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    EXPECT(!live_is_fresh(stage));
    live_stop_for(stage, 1000); /* the answer travels: it counts from when it was asked for */
    stage_created(stage, 1, "lock-0000000003", 1);
    EXPECT(live_is_fresh(stage));
    live_stop_for(stage, 2 * PERIOD_MS - 1001);
    EXPECT(live_is_fresh(stage));
    live_stop_for(stage, 1);
    EXPECT(!live_is_fresh(stage));
    stage_listed_own(stage, 1, "lock-0000000003", NULL); /* was sent as long ago */
    EXPECT(!live_is_fresh(stage));
    live_finish(stage);
}

TEST(nothing_is_fresh_on_a_new_connection_before_a_write_is_committed) {
    run_stage *stage = live_open(0);
    stage_hold(stage, &stage->a);
    EXPECT(live_is_fresh(stage));
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_connect(stage, SESSION_ID);
    EXPECT(!live_is_fresh(stage));
    stage_answer(stage, PROBE, ZKL_OUTCOME_OK);
    EXPECT(!live_is_fresh(stage));
    EXPECT_INT(zkl_liveness_settle(&stage->session.liveness), ZKL_OUTCOME_OK);
    stage_answer(stage, WRITE, ZKL_OUTCOME_NO_NODE);
    EXPECT(live_is_fresh(stage));
    stage_hush(stage);
    live_finish(stage);
}

TEST(session_is_silent_two_periods_after_its_connection_or_last_answer) {
    run_stage *stage = live_open(0);
    live_stop_for(stage, 2 * PERIOD_MS - 1);
    EXPECT(!live_is_silent(stage));
    live_stop_for(stage, 1);
    EXPECT(live_is_silent(stage));
    stage_hold(stage, &stage->a);
    EXPECT(!live_is_silent(stage));
    live_stop_for(stage, 2 * PERIOD_MS);
    EXPECT(live_is_silent(stage));
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_connect(stage, SESSION_ID);
    EXPECT(!live_is_silent(stage));
    stage_hush(stage);
    live_finish(stage);
}

/* It lasts from what was answered last, or from its pings, of which we do not hear. */
TEST(session_that_is_lost_lasts_its_timeout_from_when_the_servers_heard_of_it) {
    run_stage *stage = live_open(0);
    stage_hold(stage, &stage->a);
    live_stop_for(stage, 1000);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    EXPECT_INT(zkl_session_left_ms(&stage->session), SESSION_TIMEOUT_MS - 1000);
    live_stop_for(stage, SESSION_TIMEOUT_MS);
    EXPECT_INT(zkl_session_left_ms(&stage->session), -1000);
    stage_connect(stage, SESSION_ID);
    live_stop_for(stage, 10 * SESSION_TIMEOUT_MS);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    EXPECT_INT(zkl_session_left_ms(&stage->session), SESSION_TIMEOUT_MS / 3);
    live_stop_for(stage, 1000);
    EXPECT_INT(zkl_session_left_ms(&stage->session), SESSION_TIMEOUT_MS / 3 - 1000);
    stage_connect(stage, SESSION_ID);
    stage_hush(stage);
    live_finish(stage);
}

/* ---- The session's end ------------------------------------------------------------------------
 */

TEST(end_of_the_session_ends_lease_and_timers) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "lost -9; ended");
    EXPECT(stage->timers.earliest == NULL);
    EXPECT_INT(live_lease_left(stage), 0);
    EXPECT(!live_is_fresh(stage));
    stage_close(stage);
}

TEST(replies_to_requests_of_the_last_session_prove_nothing_in_the_next) {
    run_stage *stage = live_open(TICK_MS);
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    stage_connect(stage, OTHER_SESSION_ID);
    stage_created(stage, 1, "lock-0000000003", 1);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    EXPECT(!live_is_fresh(stage));
    stage_hush(stage);
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_SESSION_OVER);
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    stage_hush(stage);
    stage_close(stage);
}

/* ---- The warning ---------------------------------------------------------------------------- */

static void count_warning(void *arg, const zkl_log_record *record) {
    unsigned *warnings = arg;
    *warnings += record->event == ZKL_LOG_SHORT_SESSION ? 1U : 0U;
}

static unsigned warnings_of(int32_t session_timeout_ms, int32_t lease_tick_ms) {
    unsigned warnings = 0;
    zkl_log *log = zkl_log_open(count_warning, &warnings, ZKL_LOG_WARN);
    run_stage *stage = stage_open_live(session_timeout_ms, lease_tick_ms, log);
    stage_connect(stage, SESSION_ID);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_connect(stage, SESSION_ID); /* the same session: not again */
    stage_close(stage);
    zkl_log_close(log); /* all is delivered */
    return warnings;
}

TEST(session_shorter_than_five_ticks_is_warned_of_once) {
    EXPECT_INT(warnings_of(9999, 2000), 1);
    EXPECT_INT(warnings_of(10000, 2000), 0);
    EXPECT_INT(warnings_of(4000, 2000), 1);
    EXPECT_INT(warnings_of(100, 0), 0); /* no lease is kept */
}

/* ---- A connection on which nothing is answered --------------------------------------- */

static void count_abandoned(void *arg) {
    ((run_stage *)arg)->abandoned++;
}

static unsigned abandoned_after(run_stage *stage, unsigned periods) {
    stage->abandoned = 0;
    stage->session.abandon = count_abandoned;
    for (unsigned i = 0; i < periods; i++) {
        stage_pass(stage, PERIOD_MS);
    }
    stage->session.abandon = NULL;
    return stage->abandoned;
}

/* Whoever asks for locks or not: the connection may stand for ever, and the watch with it. */
TEST(removal_of_a_watch_that_the_server_does_not_take_is_sent_again) {
    run_stage *stage = live_open(0);
    stage_wait_behind(stage, &stage->a, "__WRIT__0000000002");
    stage_answer(stage, "watch", ZKL_OUTCOME_NO_NODE);
    stage_answer(stage, "unwatch", ZKL_OUTCOME_NOT_NOW);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    stage_release(stage, &stage->a);
    stage_pass(stage, PERIOD_MS);
    stage_answer(stage, "unwatch", ZKL_OUTCOME_OK);
    EXPECT_INT(zkl_watch_table_count(&stage->session.watches), 0);
    stage_hush(stage);
    live_finish(stage);
}

TEST(session_that_answers_nothing_is_given_up_for_its_waiters) {
    run_stage *stage = live_open(0);
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    EXPECT_INT(abandoned_after(stage, 8), 0);
    EXPECT_INT(abandoned_after(stage, 1), 1); /* three timeouts */
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    stage_hush(stage);
    live_finish(stage);
}

TEST(session_that_answers_nothing_is_kept_while_something_is_held) {
    run_stage *stage = live_open(0);
    stage_hold(stage, &stage->a);
    EXPECT_INT(abandoned_after(stage, 30), 0);
    live_finish(stage);
}

/* Its holder may be at work still, and nobody else may come in. */
TEST(session_that_answers_nothing_is_kept_while_what_is_lost_is_not_released) {
    run_stage *stage = live_open(TICK_MS);
    stage_hold(stage, &stage->a);
    EXPECT_INT(abandoned_after(stage, 30), 0);
    EXPECT_INT(stage->a.runner->request.stage, ZKL_STAGE_KEPT);
    live_finish(stage);
}

static void see_nothing(void *arg, const zkl_leader *leader) {
    (void)arg;
    (void)leader;
}

/* Who only follows a leader hears of the next over the same connection. */
TEST(session_of_an_observer_is_probed_and_given_up_too) {
    run_stage *stage = live_open(0);
    zkl_leader_watch watch = { 0 };
    zkl_leader_watch_begin(&watch, &stage->session, "/r", see_nothing, NULL);
    FAKE_HEARD(&stage->fake, "list /r");
    stage_pass(stage, PERIOD_MS);
    FAKE_HEARD(&stage->fake, PROBE);
    EXPECT_INT(abandoned_after(stage, 8), 1);
    zkl_leader_watch_end(&watch);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    live_finish(stage);
}

/* Nobody works under half of a set, and who waits for the other half would wait for ever. */
TEST(session_that_answers_nothing_is_given_up_though_half_of_a_set_is_granted) {
    run_stage *stage = live_open(0);
    stage_hold(stage, &stage->a);
    stage->a.runner->others_are_awaited = true;
    EXPECT_INT(abandoned_after(stage, 9), 1);
    zkl_request_runner_hold_from_now(stage->a.runner, 0); /* the others are granted, too */
    EXPECT_INT(abandoned_after(stage, 9), 0);
    live_finish(stage);
}
