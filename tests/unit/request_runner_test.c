/*
 * The request runner and its session, over scripted operations (run_stage.h):
 * from start to end, with its deadlines and pauses, alone and with others.
 */
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "support/run_stage.h"

/* ---- From start to end ---------------------------------------------------------------- */

TEST(free_lock_is_created_listed_granted_and_removed) {
    run_stage *stage = stage_open();
    EXPECT_INT(stage_start(stage, &stage->a, "/r", ZKL_FOREVER), ZKL_OK);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r");
    stage_created(stage, 1, "lock-0000000003", 4711);
    FAKE_HEARD(&stage->fake, "");
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "decided 0");
    EXPECT_INT(stage->a.runner->request.own.zxid, 4711);
    stage_feed(&stage->a, ZKL_EVENT_RELEASED);
    FAKE_HEARD(&stage->fake, "remove /r/#1-lock-0000000003");
    EXPECT(!stage->a.ended);
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "ended");
    EXPECT(stage->a.ended);
    EXPECT_INT(stage->a.verdicts, 1);
    stage_close(stage);
}

TEST(node_says_who_and_when) {
    run_stage *stage = stage_open();
    char earliest[ZKL_TIME_SIZE];
    char latest[ZKL_TIME_SIZE];
    char time[ZKL_TIME_SIZE] = "";
    char expected[128];
    zkl_format_time(earliest, zkl_wall_clock_ms());
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    zkl_format_time(latest, zkl_wall_clock_ms());
    EXPECT_INT(sscanf(stage->fake.data, "host=h\npid=1\nowner=1:handle:2\ntime=%31s", time), 1);
    EXPECT(strcmp(earliest, time) <= 0 && strcmp(time, latest) <= 0);
    snprintf(expected, sizeof(expected), "host=h\npid=1\nowner=1:handle:2\ntime=%s\n", time);
    EXPECT_TEXT(stage->fake.data, expected);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_SESSION_OVER);
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    stage_hush(stage);
    stage_close(stage);
}

TEST(node_path_is_known_as_long_as_there_is_a_node) {
    run_stage *stage = stage_open();
    char path[ZKL_NODE_PATH_SIZE];
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    zkl_request_runner_node_path(stage->a.runner, path);
    EXPECT_TEXT(path, "");
    stage_created(stage, 1, "lock-0000000003", 1);
    zkl_request_runner_node_path(stage->a.runner, path);
    EXPECT_TEXT(path, "/r/_c_11111111-1111-4111-9111-111111111111-lock-0000000003");
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    stage_release(stage, &stage->a);
    stage_close(stage);
}

TEST(guids_are_random_uuids_of_version_4) {
    run_stage *stage = stage_open();
    char guid[ZKL_GUID_SIZE];
    EXPECT(zkl_session_make_guid(&stage->session, false, guid));
    EXPECT_TEXT(guid, "11111111-1111-4111-9111-111111111111");
    stage->fake.guids = 14;
    EXPECT(zkl_session_make_guid(&stage->session, false, guid));
    EXPECT_TEXT(guid, "ffffffff-ffff-4fff-bfff-ffffffffffff");
    EXPECT(zkl_session_make_guid(&stage->session, false, guid));
    EXPECT_TEXT(guid, "00000000-0000-4000-8000-000000000000");
    stage->fake.random_fails = true;
    EXPECT(!zkl_session_make_guid(&stage->session, false, guid));
    stage_close(stage);
}

TEST(request_without_random_numbers_is_not_started) {
    run_stage *stage = stage_open();
    stage->fake.random_fails = true;
    EXPECT_INT(stage_start(stage, &stage->a, "/r", TIMEOUT_MS), ZKL_SYSTEM);
    EXPECT(stage->a.runner == NULL);
    FAKE_HEARD(&stage->fake, "");
    stage_close(stage);
}

/* ---- Deadlines ------------------------------------------------------------------------ */

TEST(deadline_fires_and_the_node_is_removed) {
    run_stage *stage = stage_open();
    stage_wait_behind(stage, &stage->a, "__WRIT__0000000002");
    EXPECT(stage->wakes > 0);
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    EXPECT_INT(stage_next_timer_in(stage), TIMEOUT_MS);
    stage_pass(stage, TIMEOUT_MS - 1);
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake,
               "decided -2; unwatch /r/__WRIT__0000000002; remove /r/#1-lock-0000000003");
    stage_pass(stage, 10 * TIMEOUT_MS);
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "ended");
    FAKE_ANSWER(&stage->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    EXPECT_INT(stage->a.verdicts, 1);
    stage_close(stage);
}

TEST(deadline_does_not_move_when_the_session_expires) {
    run_stage *stage = stage_open();
    stage_wait_behind(stage, &stage->a, "__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    stage_pass(stage, 1000);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    EXPECT_INT(stage_next_timer_in(stage), TIMEOUT_MS - 1000);
    stage_pass(stage, TIMEOUT_MS - 1000);
    FAKE_HEARD(&stage->fake, "decided -30; ended");
    stage_close(stage);
}

/* ---- Pauses --------------------------------------------------------------------------- */

static const int64_t longest_pauses[] = { 50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000 };

/* One more failure, and the pause that follows. */
static int64_t next_pause(run_stage *stage) {
    fake_answer_all(&stage->fake, ZKL_OUTCOME_NOT_NOW);
    stage_hush(stage);
    return stage_next_timer_in(stage);
}

static void end_by_cancel_in_a_pause(run_stage *stage) {
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    stage_pass(stage, 5000);
    FAKE_HEARD(&stage->fake, "decided -3; ended");
    stage_close(stage);
}

TEST(pauses_double_up_to_five_seconds) {
    run_stage *stage = stage_open();
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    for (size_t i = 0; i < COUNT_OF(longest_pauses); i++) {
        unsigned wakes = stage->wakes;
        int64_t pause = next_pause(stage);
        EXPECT_INT(pause, longest_pauses[i]);
        EXPECT(stage->wakes > wakes);
        stage_pass(stage, pause - 1);
        FAKE_HEARD(&stage->fake, "");
        if (i + 1 < COUNT_OF(longest_pauses)) {
            stage_pass(stage, 1);
            FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r");
        }
    }
    end_by_cancel_in_a_pause(stage);
}

TEST(pauses_are_short_again_after_a_grant) {
    run_stage *stage = stage_open();
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    for (size_t i = 0; i < 4; i++) {
        stage_pass(stage, next_pause(stage));
    }
    stage_created(stage, 1, "lock-0000000003", 900);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    EXPECT_INT(stage->a.verdict, ZKL_OK);
    stage_feed(&stage->a, ZKL_EVENT_RELEASED);
    EXPECT_INT(next_pause(stage), longest_pauses[0]);
    stage_pass(stage, longest_pauses[0]);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_NO_NODE);
    EXPECT(stage->a.ended);
    stage_hush(stage);
    stage_close(stage);
}

TEST(jitter_shortens_pauses_by_up_to_half) {
    run_stage *stage = stage_open();
    unit_random random = unit_random_begin(7);
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    unsigned different = 0;
    for (unsigned i = 0; i < 300; i++) {
        int64_t longest = longest_pauses[i < 9 ? i : 9];
        stage->fake.jitter = unit_random_below(&random, UINT32_MAX);
        int64_t pause = next_pause(stage);
        EXPECT(pause <= longest);
        EXPECT(pause >= longest / 2);
        different += pause != longest ? 1U : 0U;
        if (i < 299) {
            stage_pass(stage, pause);
        }
        stage_hush(stage);
    }
    EXPECT(different > 250);
    end_by_cancel_in_a_pause(stage);
}

/* ---- Owners that go ------------------------------------------------------------------- */

TEST(owner_that_went_is_told_nothing_and_the_node_is_removed_all_the_same) {
    run_stage *stage = stage_open();
    stage_hold(stage, &stage->a);
    stage_feed(&stage->a, ZKL_EVENT_RELEASED);
    zkl_request_runner_disown(stage->a.runner);
    FAKE_HEARD(&stage->fake, "remove /r/#1-lock-0000000003");
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_UNKNOWN);
    stage_connect(stage, SESSION_ID);
    FAKE_HEARD(&stage->fake, "remove /r/#1-lock-0000000003");
    FAKE_ANSWER(&stage->fake, "remove", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "");
    EXPECT(stage->session.runners == NULL);
    stage_close(stage);
}

TEST(owner_may_go_as_it_gets_its_verdict) {
    run_stage *stage = stage_open();
    stage->a.disowns = true;
    stage_wait_behind(stage, &stage->a, "__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    stage_pass(stage, TIMEOUT_MS);
    FAKE_HEARD(&stage->fake,
               "decided -2; unwatch /r/__WRIT__0000000002; remove /r/#1-lock-0000000003");
    fake_answer_all(&stage->fake, ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "");
    stage_close(stage);
}

TEST(lock_that_nobody_owns_any_more_is_lost_in_silence) {
    run_stage *stage = stage_open();
    stage_hold(stage, &stage->a);
    zkl_request_runner_disown(stage->a.runner);
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "");
    stage_close(stage);
}
