/*
 * Whoever follows the first of a queue, over scripted operations: what it asks for, and what it
 * makes of each answer. "sees 5 /r/x" is what it tells: the term and the node, or "sees nobody".
 */
#include "session/leader_watch.h"

#include <string.h>

#include "support/run_stage.h"
#include "zklock/election.h"

enum { OWNER = 42 };

static run_stage *stage;
static zkl_leader_watch watch;

static void on_seen(void *arg, const zkl_leader *leader) {
    (void)arg;
    if (leader->status != ZKL_OK) {
        fake_note(&stage->fake, "sees no more: %d", leader->status);
    } else if (leader->term == 0) {
        fake_note(&stage->fake, "sees nobody");
    } else {
        EXPECT_INT(leader->session_id, OWNER);
        fake_note(&stage->fake, "sees %d %s", (int)leader->term, leader->node);
    }
}

static void begin(void) {
    stage = stage_open();
    stage->fake.jitter = 0;
    memset(&watch, 0, sizeof(watch));
    zkl_leader_watch_begin(&watch, &stage->session, "/r", on_seen, NULL);
}

static void expect_no_timer(void) {
    EXPECT_INT(zkl_timers_next(&stage->timers), INT64_MAX);
}

static void end(void) {
    zkl_leader_watch_end(&watch);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_OK); /* a watch that was armed too late is removed */
    EXPECT_INT(zkl_watch_table_count(&stage->session.watches), 0);
    EXPECT_INT(stage->session.watched_bytes, 0);
    expect_no_timer();
    stage_hush(stage);
    stage_close(stage);
}

static void inspected(const char *call, int64_t term) {
    FAKE_ANSWER(&stage->fake, call, .outcome = ZKL_OUTCOME_OK, .zxid = term,
                .ephemeral_owner = OWNER);
}

/* The first is x-lock-0000000001. */
static void listed(void) {
    stage_listed(stage, "y-lock-0000000002", "x-lock-0000000001");
}

static void begin_following(void) {
    begin();
    listed();
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    inspected("get", 5);
    FAKE_HEARD(&stage->fake, "list /r; watch /r/x-lock-0000000001; get /r/x-lock-0000000001; "
                             "sees 5 /r/x-lock-0000000001");
}

/* ---- Calm ---------------------------------------------------------------------------- */

TEST(first_of_the_queue_is_watched_and_then_read) {
    begin_following();
    end();
}

TEST(next_is_seen_when_the_first_goes) {
    begin_following();
    stage_fire(stage, true);
    stage_listed(stage, "y-lock-0000000002", NULL);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    inspected("get", 6);
    FAKE_HEARD(&stage->fake, "list /r; watch /r/y-lock-0000000002; get /r/y-lock-0000000002; "
                             "sees 6 /r/y-lock-0000000002");
    end();
}

/* Its term may be higher than those behind it: it was a writer, and is made anew. */
TEST(reader_that_is_first_leads_nobody) {
    begin();
    stage_listed(stage, "_c_x-__READ__0000000001", "_c_y-lock-0000000002");
    FAKE_HEARD(&stage->fake, "list /r; sees nobody");
    stage_pass(stage, ZKL_LEADER_PAUSE_MS);
    stage_listed(stage, "_c_x-permit-2-0000000001", NULL);
    FAKE_HEARD(&stage->fake, "list /r; sees nobody");
    stage_pass(stage, ZKL_LEADER_PAUSE_MS);
    listed();
    FAKE_HEARD(&stage->fake, "list /r; watch /r/x-lock-0000000001; get /r/x-lock-0000000001");
    end();
}

/* ---- What happens in between ----------------------------------------------------------- */

/* Its data were set: the watch is gone with that, and the answer says nothing of it. */
TEST(change_before_the_answer_is_looked_at) {
    begin();
    listed();
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_fire(stage, false);
    inspected("get", 5);
    FAKE_HEARD(&stage->fake, "list /r; watch /r/x-lock-0000000001; get /r/x-lock-0000000001; "
                             "list /r");
    listed();
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    inspected("get", 5);
    FAKE_HEARD(&stage->fake, "watch /r/x-lock-0000000001; get /r/x-lock-0000000001; "
                             "sees 5 /r/x-lock-0000000001");
    end();
}

TEST(leader_that_outlives_the_session_is_seen_in_the_next_without_a_write) {
    begin_following();
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    stage_connect(stage, OTHER_SESSION_ID);
    listed();
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    inspected("get", 5);
    FAKE_HEARD(&stage->fake, "list /r; watch /r/x-lock-0000000001; get /r/x-lock-0000000001; "
                             "sees 5 /r/x-lock-0000000001");
    end();
}

/* ---- A lower term ------------------------------------------------------------------------ */

/* The next session's server names w-lock-0000000000, with a lower term than was reported. */
static void begin_with_lower_term(void) {
    begin_following();
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    stage_connect(stage, OTHER_SESSION_ID);
    stage_listed(stage, "w-lock-0000000000", NULL);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    inspected("get", 4);
    FAKE_HEARD(&stage->fake, "list /r; watch /r/w-lock-0000000000; get /r/w-lock-0000000000; "
                             "check /locks");
}

static void expect_another_look(void) {
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, ZKL_LEADER_PAUSE_MS);
    FAKE_HEARD(&stage->fake, "unwatch /r/w-lock-0000000000; list /r");
}

/* The lower term is still there behind the write: so the higher one is not. */
static void begin_after_loss(void) {
    begin_with_lower_term();
    stage_answer(stage, "check", ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "unwatch /r/w-lock-0000000000; list /r");
    stage_answer(stage, "unwatch", ZKL_OUTCOME_OK);
    stage_listed(stage, "w-lock-0000000000", NULL);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    inspected("get", 4);
    FAKE_HEARD(&stage->fake, "watch /r/w-lock-0000000000; get /r/w-lock-0000000000; "
                             "sees 4 /r/w-lock-0000000000");
}

TEST(lower_term_of_a_server_that_lags_behind_is_not_told) {
    begin_with_lower_term();
    stage_answer(stage, "check", ZKL_OUTCOME_NO_NODE);
    stage_answer(stage, "unwatch", ZKL_OUTCOME_OK);
    listed();
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    inspected("get", 5);
    FAKE_HEARD(&stage->fake, "unwatch /r/w-lock-0000000000; list /r; watch /r/x-lock-0000000001; "
                             "get /r/x-lock-0000000001; sees 5 /r/x-lock-0000000001");
    end();
}

TEST(lower_term_is_told_behind_a_committed_write) {
    begin_after_loss();
    expect_no_timer();
    end();
}

/* They are compared with the term that was told last: the higher one is lost. */
TEST(terms_after_a_lower_one_are_told_without_a_write) {
    begin_after_loss();
    stage_fire(stage, true);
    listed();
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    inspected("get", 4);
    FAKE_HEARD(&stage->fake, "list /r; watch /r/x-lock-0000000001; get /r/x-lock-0000000001; "
                             "sees 4 /r/x-lock-0000000001");
    end();
}

TEST(each_lower_term_needs_a_write_of_its_own) {
    begin_after_loss();
    stage_fire(stage, true);
    listed();
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    inspected("get", 3);
    FAKE_HEARD(&stage->fake, "list /r; watch /r/x-lock-0000000001; get /r/x-lock-0000000001; "
                             "check /locks");
    end();
}

/* A server that lags can refuse it by itself. */
TEST(write_that_is_refused_proves_nothing) {
    begin_with_lower_term();
    stage_answer(stage, "check", ZKL_OUTCOME_REFUSED);
    expect_another_look();
    end();
}

TEST(write_that_is_lost_proves_nothing) {
    begin_with_lower_term();
    stage_answer(stage, "check", ZKL_OUTCOME_UNKNOWN);
    expect_another_look();
    end();
}

TEST(write_that_cannot_be_sent_is_tried_again) {
    begin_with_lower_term();
    stage_answer(stage, "check", ZKL_OUTCOME_UNKNOWN);
    expect_another_look();
    stage_answer(stage, "unwatch", ZKL_OUTCOME_OK);
    stage_listed(stage, "w-lock-0000000000", NULL);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage->fake.sends = ZKL_OUTCOME_NOT_NOW;
    inspected("get", 4);
    stage->fake.sends = ZKL_OUTCOME_OK;
    FAKE_HEARD(&stage->fake, "watch /r/w-lock-0000000000; get /r/w-lock-0000000000; "
                             "unsent check /locks");
    expect_another_look();
    end();
}

/* It watches a node of which it has told nothing. */
TEST(observer_that_pauses_looks_on_the_next_connection) {
    begin_with_lower_term();
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_answer(stage, "check", ZKL_OUTCOME_UNKNOWN);
    stage_connect(stage, OTHER_SESSION_ID);
    FAKE_HEARD(&stage->fake, "watch /r/w-lock-0000000000; list /r");
    end();
}

/* ---- Faults ------------------------------------------------------------------------------ */

TEST(refusal_is_told_and_tried_again) {
    begin();
    FAKE_ANSWER(&stage->fake, "list", .outcome = ZKL_OUTCOME_REFUSED, .status = ZKL_NO_PERMISSION);
    FAKE_HEARD(&stage->fake, "list /r; sees no more: -32");
    stage_pass(stage, ZKL_LEADER_PAUSE_MS);
    FAKE_HEARD(&stage->fake, "list /r");
    end();
}

TEST(closed_one_waits_for_its_last_reply) {
    begin();
    zkl_leader_watch_end(&watch);
    expect_no_timer();
    listed();
    FAKE_HEARD(&stage->fake, "list /r");
    stage_close(stage);
}
