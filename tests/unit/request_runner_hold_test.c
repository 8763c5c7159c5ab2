/*
 * The request runner and its session, over scripted operations (run_stage.h): a
 * lock that is held, its limit, the watch on its own node, and what its owner is
 * told of the connection; and how waiters are handed the lock over.
 */
#include "support/run_stage.h"

#include <string.h>

enum { MAX_HOLD_MS = 1500 };

static void probe(run_stage *stage) {
    stage->session.liveness.on_news(&stage->session, ZKL_EVENT_PROBE);
}

/* Holds, with the own watch armed. */
static void hold_and_watch(run_stage *stage, lock_owner *owner) {
    stage_hold(stage, owner);
    probe(stage);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_hush(stage);
}

/* An answer about the session itself, on which freshness rests. */
static void hear_of_the_server(run_stage *stage) {
    zkl_liveness_answered(&stage->session.liveness, &(zkl_reply){ .outcome = ZKL_OUTCOME_OK },
                          stage->fake.now_ms, false);
}

/* ---- The hold limit ------------------------------------------------------------ */

TEST(hold_limit_fires_and_the_node_is_removed) {
    run_stage *stage = stage_open();
    stage->a.max_hold_ms = MAX_HOLD_MS;
    stage_hold(stage, &stage->a);
    EXPECT_INT(stage_next_timer_in(stage), MAX_HOLD_MS);
    stage_pass(stage, MAX_HOLD_MS - 1);
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, "lost -11; remove /r/#1-lock-0000000003");
    EXPECT(stage->timers.earliest == NULL);
    stage_answer(stage, "remove", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "ended");
    stage_close(stage);
}

/* Counted from the grant, however long the wait for it was. */
TEST(wait_for_the_lock_does_not_count_as_holding) {
    run_stage *stage = stage_open();
    stage->a.max_hold_ms = MAX_HOLD_MS;
    stage_wait_behind(stage, &stage->a, "__WRIT__0000000002");
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_pass(stage, TIMEOUT_MS - 1);
    stage_fire(stage, true);
    unsigned wakes = stage->wakes;
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "list /r; decided 0");
    EXPECT_INT(stage_next_timer_in(stage), MAX_HOLD_MS);
    EXPECT(stage->wakes > wakes);
    stage_release(stage, &stage->a);
    stage_close(stage);
}

TEST(longest_hold_limit_does_not_overflow) {
    run_stage *stage = stage_open();
    stage->a.max_hold_ms = INT64_MAX;
    stage_hold(stage, &stage->a);
    EXPECT(stage_next_timer_in(stage) > TIMEOUT_MS);
    stage_pass(stage, (int64_t)1 << 60U);
    FAKE_HEARD(&stage->fake, "");
    stage_release(stage, &stage->a);
    stage_close(stage);
}

/* ---- The watch on the own node -------------------------------------------------- */

TEST(node_of_a_held_lock_is_watched_and_its_deletion_told) {
    run_stage *stage = stage_open();
    stage_hold(stage, &stage->a);
    probe(stage);
    FAKE_HEARD(&stage->fake, "watch /r/#1-lock-0000000003");
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    probe(stage);
    FAKE_HEARD(&stage->fake, "");
    stage_fire(stage, true);
    FAKE_HEARD(&stage->fake, "watch /r/#1-lock-0000000003");
    stage_answer(stage, "watch", ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "unwatch /r/#1-lock-0000000003; lost -12; ended");
    stage_answer(stage, "unwatch", ZKL_OUTCOME_OK);
    stage_close(stage);
}

/* b waits for a, and both watch a's node: the server keeps one watch for them. */
static void begin_successor(run_stage *stage) {
    char blocker[FAKE_NAME_SIZE];
    fake_name(blocker, 1, "lock-0000000003");
    stage_start(stage, &stage->b, "/r", ZKL_FOREVER);
    stage_created(stage, 2, "lock-0000000004", 1);
    stage_listed_own(stage, 2, "lock-0000000004", blocker);
}

TEST(our_end_does_not_take_the_successors_watch_away) {
    run_stage *stage = stage_open();
    hold_and_watch(stage, &stage->a);
    uint64_t shared_watch = stage->fake.last_watch_id;
    begin_successor(stage);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    hear_of_the_server(stage);
    stage_hush(stage);
    stage_feed(&stage->a, ZKL_EVENT_RELEASED);
    stage_answer(stage, "remove", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "remove /r/#1-lock-0000000003; ended"); /* no unwatch */
    zkl_session_on_watch_fired(&stage->session, shared_watch, ZKL_WATCH_EVENT_DELETED);
    FAKE_HEARD(&stage->fake, "list /r"); /* of one session: no hand-off */
    stage_listed_own(stage, 2, "lock-0000000004", NULL);
    FAKE_HEARD(&stage->fake, "b decided 0");
    stage_feed(&stage->b, ZKL_EVENT_RELEASED);
    stage_answer(stage, "remove", ZKL_OUTCOME_OK);
    stage_answer(stage, "unwatch", ZKL_OUTCOME_OK);
    stage_hush(stage);
    stage_close(stage);
}

TEST(node_that_our_session_is_deleting_hands_nothing_over) {
    run_stage *stage = stage_open();
    stage_hold(stage, &stage->a);
    stage_feed(&stage->a, ZKL_EVENT_RELEASED);
    begin_successor(stage);
    uint64_t blocker_watch = stage->fake.earlier_watch_id;
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    hear_of_the_server(stage);
    stage_hush(stage);
    zkl_session_on_watch_fired(&stage->session, blocker_watch, ZKL_WATCH_EVENT_DELETED);
    FAKE_HEARD(&stage->fake, "list /r");
    stage_answer(stage, "remove", ZKL_OUTCOME_OK);
    stage_listed_own(stage, 2, "lock-0000000004", NULL);
    stage_feed(&stage->b, ZKL_EVENT_RELEASED);
    stage_answer(stage, "remove", ZKL_OUTCOME_OK);
    stage_answer(stage, "unwatch", ZKL_OUTCOME_OK);
    stage_hush(stage);
    stage_close(stage);
}

/* ---- The hand-off ------------------------------------------------------------------ */

/* Next in line, with both watches armed; the blocker's number is returned. */
static uint64_t wait_next_in_line(run_stage *stage) {
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    stage_created(stage, 1, "lock-0000000003", 1);
    stage_listed_own(stage, 1, "lock-0000000003", "lock-0000000002");
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r; watch /r/lock-0000000002; "
                             "watch /r/#1-lock-0000000003");
    uint64_t blocker_watch = stage->fake.earlier_watch_id;
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    return blocker_watch;
}

static void end_handed_over(run_stage *stage) {
    stage_feed(&stage->a, ZKL_EVENT_RELEASED);
    stage_answer(stage, "remove", ZKL_OUTCOME_OK);
    stage_answer(stage, "unwatch", ZKL_OUTCOME_OK);
    stage_hush(stage);
    stage_close(stage);
}

TEST(deletion_is_a_hand_off_without_a_list) {
    run_stage *stage = stage_open();
    uint64_t blocker_watch = wait_next_in_line(stage);
    zkl_session_on_watch_fired(&stage->session, blocker_watch, ZKL_WATCH_EVENT_DELETED);
    FAKE_HEARD(&stage->fake, "decided 0");
    end_handed_over(stage);
}

/* The process was stopped, and reads what was sent to it long ago. */
TEST(news_that_may_be_older_than_the_session_is_no_hand_off) {
    run_stage *stage = stage_open();
    uint64_t blocker_watch = wait_next_in_line(stage);
    stage->fake.now_ms += 10000;
    zkl_session_on_watch_fired(&stage->session, blocker_watch, ZKL_WATCH_EVENT_DELETED);
    /* A list alone might be answered by a server that does not know of the end of the session. */
    FAKE_HEARD(&stage->fake, "check /locks; list /r");
    stage_answer(stage, "check", ZKL_OUTCOME_OK);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    end_handed_over(stage);
}

/* Next in line, with the watches asked for; `own_first`: the one on its own node is answered. */
static run_stage *ask_next_in_line(bool own_first) {
    run_stage *stage = stage_open();
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    stage_created(stage, 1, "lock-0000000003", 1);
    stage_listed_own(stage, 1, "lock-0000000003", "lock-0000000002");
    if (own_first) {
        stage_answer(stage, "watch /r/#1", ZKL_OUTCOME_OK);
    }
    stage_hush(stage);
    return stage;
}

/* The exists of a node that is gone has left a watch. */
static void end_without_a_blocker(run_stage *stage) {
    stage_answer(stage, "unwatch /r/lock-0000000002", ZKL_OUTCOME_OK);
    end_handed_over(stage);
}

TEST(blocker_that_is_gone_already_is_a_hand_off_without_a_list) {
    run_stage *stage = ask_next_in_line(false);
    stage_answer(stage, "watch /r/lock-0000000002", ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "unwatch /r/lock-0000000002");
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "decided 0");
    end_without_a_blocker(stage);
}

TEST(blocker_that_is_gone_already_hands_nothing_to_a_node_that_was_replaced) {
    run_stage *stage = ask_next_in_line(false);
    stage_answer(stage, "watch /r/lock-0000000002", ZKL_OUTCOME_NO_NODE);
    stage_hush(stage);
    FAKE_ANSWER(&stage->fake, "watch /r/#1", .zxid = 2, .ephemeral_owner = OTHER_SESSION_ID);
    FAKE_HEARD(&stage->fake, "unwatch /r/#1-lock-0000000003; create /r/#1-lock-; list /r");
    stage_cancel_and_close(stage);
}

TEST(answer_of_long_ago_that_our_own_node_lives_is_no_hand_off) {
    run_stage *stage = ask_next_in_line(false);
    stage->fake.now_ms += 10000;
    stage_answer(stage, "watch /r/lock-0000000002", ZKL_OUTCOME_NO_NODE);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "unwatch /r/lock-0000000002; check /locks; list /r");
    stage_answer(stage, "check", ZKL_OUTCOME_OK);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    end_without_a_blocker(stage);
}

TEST(answer_of_long_ago_that_the_blocker_is_gone_is_no_hand_off) {
    run_stage *stage = ask_next_in_line(true);
    stage->fake.now_ms += 10000;
    stage_answer(stage, "watch /r/lock-0000000002", ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "unwatch /r/lock-0000000002; check /locks; list /r");
    stage_answer(stage, "check", ZKL_OUTCOME_OK);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    end_without_a_blocker(stage);
}

/* ---- Counted ----------------------------------------------------------------------- */

/* Counts what the request does from now on; NULL: nothing any more. Returns where it did before. */
static zkl_class_metrics *count_in(run_stage *stage, zkl_class_metrics *metrics) {
    zkl_request_origin *origin = stage->a.runner->sender.options.origin;
    zkl_class_metrics *before = origin->metrics;
    origin->metrics = metrics;
    return before;
}

TEST(hand_off_by_a_deletion_is_counted) {
    run_stage *stage = stage_open();
    zkl_class_metrics metrics = { .hand_offs = 0 };
    uint64_t blocker_watch = wait_next_in_line(stage);
    count_in(stage, &metrics);
    zkl_session_on_watch_fired(&stage->session, blocker_watch, ZKL_WATCH_EVENT_DELETED);
    EXPECT_INT(count_in(stage, NULL)->hand_offs, 1);
    stage_hush(stage);
    end_handed_over(stage);
}

TEST(hand_off_by_a_blocker_that_is_gone_already_is_counted) {
    for (int own_first = 0; own_first < 2; own_first++) {
        run_stage *stage = ask_next_in_line(own_first != 0);
        zkl_class_metrics metrics = { .hand_offs = 0 };
        count_in(stage, &metrics);
        stage_answer(stage, "watch /r/lock-0000000002", ZKL_OUTCOME_NO_NODE);
        if (own_first == 0) {
            stage_answer(stage, "watch /r/#1", ZKL_OUTCOME_OK);
        }
        EXPECT_INT(count_in(stage, NULL)->hand_offs, 1);
        stage_hush(stage);
        end_without_a_blocker(stage);
    }
}

TEST(grant_by_a_list_is_not_counted_as_a_hand_off) {
    run_stage *stage = stage_open();
    zkl_class_metrics metrics = { .hand_offs = 0 };
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    count_in(stage, &metrics);
    stage_created(stage, 1, "lock-0000000003", 1);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    EXPECT_INT(stage->a.verdict, ZKL_OK);
    EXPECT_INT(count_in(stage, NULL)->hand_offs, 0);
    stage_hush(stage);
    stage_release(stage, &stage->a);
    stage_close(stage);
}

/* ---- Old lists --------------------------------------------------------------------- */

/* What was sent before the stop says nothing of the session as it is after it. */
TEST(list_goes_behind_a_write_that_was_sent_after_the_stop) {
    run_stage *stage = stage_open();
    uint64_t blocker_watch = wait_next_in_line(stage);
    EXPECT_INT(zkl_liveness_settle(&stage->session.liveness), ZKL_OUTCOME_OK);
    EXPECT_INT(zkl_liveness_settle(&stage->session.liveness), ZKL_OUTCOME_OK); /* under way */
    FAKE_HEARD(&stage->fake, "check /locks");
    stage->fake.now_ms += 10000;
    zkl_session_on_watch_fired(&stage->session, blocker_watch, ZKL_WATCH_EVENT_DELETED);
    FAKE_HEARD(&stage->fake, "check /locks; list /r");
    stage_answer(stage, "check", ZKL_OUTCOME_OK);
    stage_answer(stage, "check", ZKL_OUTCOME_OK);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    end_handed_over(stage);
}

/* Whoever has to wait need not ask anew, nor whoever leaves: after a burst of requests all lists
 * are old. */
TEST(old_list_that_grants_nothing_is_believed) {
    run_stage *stage = stage_open();
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r");
    stage->fake.now_ms += 10000;
    stage_created(stage, 1, "lock-0000000003", 1);
    stage_listed_own(stage, 1, "lock-0000000003", "lock-0000000002");
    FAKE_HEARD(&stage->fake, "watch /r/lock-0000000002; watch /r/#1-lock-0000000003");
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    for (int i = 0; i < 3; i++) { /* its watches are removed, and its node */
        fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    }
    stage_hush(stage);
    stage_close(stage);
}

/* The process was stopped after it had asked: what is listed may be of before its end. */
TEST(list_that_may_be_older_than_the_session_is_no_grant) {
    run_stage *stage = stage_open();
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r");
    stage->fake.now_ms += 10000;
    stage_created(stage, 1, "lock-0000000003", 1);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "check /locks; list /r");
    stage_answer(stage, "check", ZKL_OUTCOME_OK);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "decided 0");
    stage_release(stage, &stage->a);
    stage_close(stage);
}

/* Found by the simulation, seed 4006169: a try was told that it was refused. */
TEST(try_whose_session_is_over_when_it_asks_anew_waits_for_the_news_of_that) {
    run_stage *stage = stage_open();
    stage_start(stage, &stage->a, "/r", 0);
    FAKE_ANSWER(&stage->fake, "list", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "list /r; create /r/#1-lock-; list /r");
    stage->fake.now_ms += 10000;
    stage_created(stage, 1, "lock-0000000003", 1);
    stage->fake.sends = ZKL_OUTCOME_SESSION_OVER;
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "unsent check /locks");
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "decided -9; ended");
    stage_close(stage);
}

TEST(own_node_deleted_while_waiting_joins_again_at_once) {
    run_stage *stage = stage_open();
    wait_next_in_line(stage);
    stage_fire(stage, true);
    FAKE_HEARD(&stage->fake, "watch /r/#1-lock-0000000003");
    stage_answer(stage, "watch", ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "unwatch /r/#1-lock-0000000003; unwatch /r/lock-0000000002; "
                             "create /r/#1-lock-; list /r");
    stage_cancel_and_close(stage);
}

/* The new node is watched in its turn, and the old one no more. */
TEST(place_that_a_list_does_not_show_takes_its_own_watch_away) {
    run_stage *stage = stage_open();
    uint64_t blocker_watch = wait_next_in_line(stage);
    zkl_session_on_watch_fired(&stage->session, blocker_watch, ZKL_WATCH_EVENT_CHANGED);
    stage_hush(stage);
    stage_listed(stage, "lock-0000000002", NULL);
    FAKE_HEARD(&stage->fake, "unwatch /r/#1-lock-0000000003; create /r/#1-lock-; list /r");
    stage_answer(stage, "unwatch", ZKL_OUTCOME_OK);
    stage_created(stage, 1, "lock-0000000005", 1);
    stage_listed_own(stage, 1, "lock-0000000005", "lock-0000000002");
    FAKE_HEARD(&stage->fake, "watch /r/lock-0000000002; watch /r/#1-lock-0000000005");
    blocker_watch = stage->fake.earlier_watch_id;
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    stage_answer(stage, "watch", ZKL_OUTCOME_OK);
    EXPECT_INT(zkl_watch_table_count(&stage->session.watches), 2);
    zkl_session_on_watch_fired(&stage->session, blocker_watch, ZKL_WATCH_EVENT_DELETED);
    FAKE_HEARD(&stage->fake, "decided 0");
    end_handed_over(stage);
}
