/*
 * The request runner and its session, over scripted operations (run_stage.h):
 * parents that are missing, requests that cannot be sent, sessions that end.
 */
#include "support/run_stage.h"

/* ---- The parent ----------------------------------------------------------------------- */

static void begin_without_parent(run_stage *stage) {
    stage_start(stage, &stage->a, "/a/b/c", ZKL_FOREVER);
    stage_answer(stage, "create", ZKL_OUTCOME_NO_NODE);
    stage_answer(stage, "list", ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&stage->fake, "create /a/b/c/#1-lock-; list /a/b/c; make /a/b/c");
}

TEST(parent_is_made_from_the_bottom_up_and_down_again) {
    run_stage *stage = stage_open();
    begin_without_parent(stage);
    stage_answer(stage, "make /a/b/c", ZKL_OUTCOME_NO_NODE);
    stage_answer(stage, "make /a/b", ZKL_OUTCOME_NO_NODE);
    stage_answer(stage, "make /a", ZKL_OUTCOME_OK);
    stage_answer(stage, "make /a/b", ZKL_OUTCOME_OK);
    stage_answer(stage, "make /a/b/c", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "make /a/b; make /a; make /a/b; make /a/b/c; "
                             "create /a/b/c/#1-lock-; list /a/b/c");
    stage_cancel_and_close(stage);
}

/* ---- A resource that is used up --------------------------------------------------------- */

static run_stage *begin_with_a_used_up_sequence(void) {
    run_stage *stage = stage_open();
    EXPECT_INT(stage_start(stage, &stage->a, "/r", ZKL_FOREVER), ZKL_OK);
    stage_created(stage, stage->fake.guids, "lock-2147483647", 900);
    stage_listed_own(stage, stage->fake.guids, "lock-2147483647", NULL);
    stage_answer(stage, "remove /r", ZKL_OUTCOME_OK);
    stage_hush(stage);
    return stage;
}

TEST(used_up_resource_is_removed_only_as_it_was_seen) {
    run_stage *stage = begin_with_a_used_up_sequence();
    FAKE_ANSWER(&stage->fake, "exists /r", .zxid = 800, .version = 7);
    FAKE_HEARD(&stage->fake, "remove version 7 of /r");
    FAKE_ANSWER(&stage->fake, "remove version", .outcome = ZKL_OUTCOME_REFUSED,
                .status = ZKL_BAD_VERSION);
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, 50);
    FAKE_HEARD(&stage->fake, "exists /r");
    FAKE_ANSWER(&stage->fake, "exists /r", .zxid = 800, .version = 8, .data_length = 1);
    FAKE_HEARD(&stage->fake, "decided -6; ended");
    stage_close(stage);
}

TEST(inspection_and_removal_that_cannot_be_sent_are_tried_again) {
    run_stage *stage = begin_with_a_used_up_sequence();
    stage->fake.sends = ZKL_OUTCOME_NOT_NOW;
    FAKE_ANSWER(&stage->fake, "exists /r", .zxid = 800);
    FAKE_HEARD(&stage->fake, "unsent remove version 0 of /r");
    stage_pass(stage, 50);
    FAKE_HEARD(&stage->fake, "unsent exists /r");
    stage->fake.sends = ZKL_OUTCOME_OK;
    stage_pass(stage, 100);
    FAKE_HEARD(&stage->fake, "exists /r");
    FAKE_ANSWER(&stage->fake, "exists /r", .zxid = 901);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r");
    stage_cancel_and_close(stage);
}

/* ---- Replies of an earlier session ---------------------------------------------------- */

TEST(replies_of_an_earlier_session_are_void) {
    run_stage *stage = stage_open();
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    stage_created(stage, 1, "lock-0000000003", 1);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r"); /* no grant */
    stage_connect(stage, OTHER_SESSION_ID);
    FAKE_HEARD(&stage->fake, "create /r/#2-lock-; list /r");
    stage_created(stage, 2, "lock-0000000007", 2);
    stage_listed_own(stage, 2, "lock-0000000007", NULL);
    FAKE_HEARD(&stage->fake, "decided 0");
    stage_release(stage, &stage->a);
    stage_close(stage);
}

/* The server may answer reads until the connection ends. */
TEST(list_of_a_server_that_has_denied_the_session_is_no_grant) {
    run_stage *stage = stage_open();
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    stage_start(stage, &stage->b, "/q", ZKL_FOREVER);
    stage_created(stage, 1, "lock-0000000003", 1);
    FAKE_ANSWER(&stage->fake, "create /q", .outcome = ZKL_OUTCOME_UNKNOWN, .moved = true);
    stage_hush(stage);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    stage_answer(stage, "list /q", ZKL_OUTCOME_UNKNOWN);
    FAKE_HEARD(&stage->fake, ""); /* no grant */
    stage_connect(stage, SESSION_ID);
    FAKE_HEARD(&stage->fake, "check /locks; list /r; create /q/#2-lock-; list /q");
    stage_answer(stage, "check /locks", ZKL_OUTCOME_OK);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    FAKE_HEARD(&stage->fake, "decided 0");
    zkl_session_finish(&stage->session, ZKL_CLOSED);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_SESSION_OVER);
    stage_hush(stage);
    stage_close(stage);
}

/* ---- A lost create that may come later ------------------------------------------------- */

enum { SESSION_MS = 10000, LINGER_MS = 5 * SESSION_MS };

/* It holds with its second node. */
static run_stage *begin_with_a_lost_create(void) {
    run_stage *stage = stage_open();
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    fake_answer_all(&stage->fake, ZKL_OUTCOME_UNKNOWN);
    stage_connect(stage, SESSION_ID);
    stage_created(stage, 1, "lock-0000000004", 900);
    stage_listed_own(stage, 1, "lock-0000000004", NULL);
    stage_feed(&stage->a, ZKL_EVENT_RELEASED);
    stage_hush(stage);
    return stage;
}

TEST(owner_is_told_before_the_request_lingers) {
    run_stage *stage = begin_with_a_lost_create();
    const zkl_request_origin *origin = stage->a.runner->sender.options.origin;
    EXPECT_INT(origin->leaving, 1);
    stage_answer(stage, "remove", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "ended");
    EXPECT_INT(origin->leaving, 0);
    EXPECT_INT(stage->session.watched_bytes, 0);
    EXPECT(stage->session.runners != NULL);
    EXPECT_INT(stage_next_timer_in(stage), LINGER_MS);
    stage_pass(stage, LINGER_MS);
    FAKE_HEARD(&stage->fake, "check /locks; list /r");
    stage_answer(stage, "check", ZKL_OUTCOME_OK);
    stage_listed_own(stage, 1, "lock-0000000007", NULL);
    FAKE_HEARD(&stage->fake, "exists /r/#1-lock-0000000007");
    FAKE_ANSWER(&stage->fake, "exists", .zxid = 950, .ephemeral_owner = SESSION_ID);
    FAKE_HEARD(&stage->fake, "remove /r/#1-lock-0000000007");
    stage_answer(stage, "remove", ZKL_OUTCOME_OK);
    stage_answer(stage, "check", ZKL_OUTCOME_OK);
    stage_answer(stage, "list", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "check /locks; list /r"); /* and its owner hears no more */
    stage_close(stage);
}

TEST(session_end_ends_a_request_that_lingers) {
    run_stage *stage = begin_with_a_lost_create();
    stage_answer(stage, "remove", ZKL_OUTCOME_OK);
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "ended");
    stage_close(stage);
}

/* ---- Sends that fail ------------------------------------------------------------------ */

TEST(sends_that_fail_for_now_are_repeated_after_a_pause) {
    run_stage *stage = stage_open();
    stage->fake.sends = ZKL_OUTCOME_NOT_NOW;
    stage_start(stage, &stage->a, "/r", ZKL_FOREVER);
    FAKE_HEARD(&stage->fake, "unsent create /r/#1-lock-; unsent list /r");
    stage->fake.sends = ZKL_OUTCOME_OK;
    stage_pass(stage, 50);
    FAKE_HEARD(&stage->fake, "create /r/#1-lock-; list /r");
    stage_created(stage, 1, "lock-0000000003", 1);
    stage_listed_own(stage, 1, "lock-0000000003", NULL);
    stage_release(stage, &stage->a);
    stage_close(stage);
}

/* A failure must never be told with the status of a success. */

static void expect_failure(run_stage *stage) {
    EXPECT_INT(stage->a.verdicts, 1);
    EXPECT(stage->a.verdict < ZKL_OK);
    stage->fake.sends = ZKL_OUTCOME_OK;
    stage_pass(stage, 5000);
    EXPECT(stage->a.ended);
    stage_hush(stage);
    stage_close(stage);
}

TEST(send_that_is_refused_on_the_way_up_is_no_grant) {
    run_stage *stage = stage_open();
    begin_without_parent(stage);
    stage->fake.sends = ZKL_OUTCOME_REFUSED;
    stage_answer(stage, "make /a/b/c", ZKL_OUTCOME_NO_NODE);
    expect_failure(stage);
}

/* ---- The session's end ---------------------------------------------------------------- */

TEST(session_end_without_random_numbers_ends_the_request) {
    run_stage *stage = stage_open();
    stage_wait_behind(stage, &stage->a, "__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage->fake.random_fails = true;
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "decided -38; ended");
    stage_close(stage);
}

TEST(finish_gives_the_waiters_their_verdict_and_ends_them) {
    run_stage *stage = stage_open();
    stage_wait_behind(stage, &stage->a, "__WRIT__0000000002");
    FAKE_ANSWER(&stage->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_start(stage, &stage->b, "/r", TIMEOUT_MS);
    zkl_session_finish(&stage->session, ZKL_CLOSED);
    FAKE_HEARD(&stage->fake, "decided -29; unwatch /r/__WRIT__0000000002; b decided -29; b ended; "
                             "ended");
    fake_answer_all(&stage->fake, ZKL_OUTCOME_SESSION_OVER);
    stage_close(stage);
}

TEST(failed_authentication_ends_the_waiters) {
    run_stage *stage = stage_open_offline();
    stage_start(stage, &stage->a, "/r", TIMEOUT_MS);
    stage_tell(stage, ZKL_SESSION_STATE_AUTH_FAILED);
    FAKE_HEARD(&stage->fake, "decided -31; ended");
    EXPECT(stage->session.auth_failed);
    stage_close(stage);
}

/* Last of all: under a sanitizer this one may not return. */
TEST(session_end_without_random_numbers_ends_a_request_that_has_nothing) {
    run_stage *stage = stage_open_offline();
    stage_start(stage, &stage->a, "/r", TIMEOUT_MS);
    stage->fake.random_fails = true;
    stage_tell(stage, ZKL_SESSION_STATE_EXPIRED);
    FAKE_HEARD(&stage->fake, "decided -38; ended");
    EXPECT(stage->a.ended);
    stage_close(stage);
}
