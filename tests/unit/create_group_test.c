/*
 * The members of a set and the transaction that makes their nodes, over scripted
 * operations (run_stage.h): what becomes of those who ask when it cannot be sent, or never is.
 */
#include "support/run_stage.h"

static run_stage *open_members(void) {
    run_stage *stage = stage_open();
    stage->a.group = zkl_create_group_make(2);
    stage->b.group = stage->a.group;
    return stage;
}

static void start(run_stage *stage, lock_owner *owner, const char *parent) {
    EXPECT_INT(stage_start(stage, owner, parent, ZKL_FOREVER), ZKL_OK);
}

static void close_members(run_stage *stage) {
    zkl_create_group_drop(stage->a.group);
    stage_close(stage);
}

TEST(who_asks_and_is_called_off_ends_at_once) {
    run_stage *stage = open_members();
    start(stage, &stage->a, "/a");
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    FAKE_HEARD(&stage->fake, "decided -3; ended");
    close_members(stage);
}

/* Its node may be made. */
TEST(who_is_called_off_while_its_node_is_being_made_waits_for_the_reply) {
    run_stage *stage = open_members();
    start(stage, &stage->a, "/a");
    start(stage, &stage->b, "/b");
    stage_hush(stage);
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    FAKE_HEARD(&stage->fake, "decided -3");
    EXPECT(!stage->a.ended);
    stage_answer(stage, "transact", ZKL_OUTCOME_NO_NODE);
    EXPECT(stage->a.ended);
    stage_answer(stage, "make /b", ZKL_OUTCOME_OK);
    stage_feed(&stage->b, ZKL_EVENT_CANCELLED);
    EXPECT(stage->b.ended);
    stage_hush(stage);
    close_members(stage);
}

/* The thread that waits for the members may be the last to hear of it. */
TEST(who_asks_ends_with_the_last_session) {
    run_stage *stage = open_members();
    start(stage, &stage->a, "/a");
    zkl_session_finish(&stage->session, ZKL_CLOSED);
    EXPECT(stage->a.ended);
    EXPECT_INT(stage->a.verdict, ZKL_CLOSED);
    stage_hush(stage);
    close_members(stage);
}

/* In the loop that tells all requests of the connection, the first one is the last to ask, and
 * the loop has the second one in hand. */
TEST(transaction_that_cannot_be_sent_ends_nobody_but_the_last_to_ask) {
    run_stage *stage = open_members();
    start(stage, &stage->a, "/a");
    start(stage, &stage->b, "/b");
    stage_answer(stage, "transact", ZKL_OUTCOME_NO_NODE);
    stage_answer(stage, "make /b", ZKL_OUTCOME_OK);
    stage_tell(stage, ZKL_SESSION_STATE_CONNECTING);
    stage_answer(stage, "make /a", ZKL_OUTCOME_OK);
    stage_hush(stage);
    stage->fake.sends = ZKL_OUTCOME_REFUSED;
    stage_connect(stage, SESSION_ID);
    stage->fake.sends = ZKL_OUTCOME_OK;
    EXPECT(stage->a.ended);
    EXPECT(!stage->b.ended);
    EXPECT_INT(stage->b.verdicts, 0);
    stage_feed(&stage->b, ZKL_EVENT_CANCELLED);
    EXPECT(stage->b.ended);
    stage_hush(stage);
    close_members(stage);
}

/* Whoever made its parent first would leave it empty until the next one has made its own. One of
 * the two has paused before, so that its own pause would be the longer one. */
TEST(members_whose_parents_have_vanished_again_pause_and_make_them_together) {
    run_stage *stage = open_members();
    start(stage, &stage->a, "/a");
    start(stage, &stage->b, "/b");
    stage_answer(stage, "transact", ZKL_OUTCOME_NO_NODE);
    stage_answer(stage, "make /b", ZKL_OUTCOME_OK);
    stage_answer(stage, "make /a", ZKL_OUTCOME_NOT_NOW);
    stage_pass(stage, 50);
    stage_answer(stage, "make /a", ZKL_OUTCOME_OK);
    stage_hush(stage);
    stage_answer(stage, "transact", ZKL_OUTCOME_NO_NODE);
    stage_pass(stage, 99);
    FAKE_HEARD(&stage->fake, "");
    stage_pass(stage, 1);
    FAKE_HEARD(&stage->fake, "make /a; make /b");
    stage_answer(stage, "make /a", ZKL_OUTCOME_OK);
    stage_answer(stage, "make /b", ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "transact /a/#1-lock-");
    FAKE_ANSWER(&stage->fake, "transact", .outcome = ZKL_OUTCOME_REFUSED,
                .status = ZKL_NO_PERMISSION);
    stage_hush(stage);
    close_members(stage);
}

/* Whose own was deleted by hand: a new one would not be of the same transaction. */
TEST(who_asks_beside_one_that_has_its_node_is_refused) {
    run_stage *stage = open_members();
    start(stage, &stage->a, "/a");
    stage->a.runner->request.own.state = ZKL_OWN_NODE_OURS;
    start(stage, &stage->b, "/b");
    EXPECT_INT(stage->b.verdict, ZKL_NODE_DELETED);
    EXPECT(stage->b.ended);
    stage->a.runner->request.own.state = ZKL_OWN_NODE_NONE;
    stage_feed(&stage->a, ZKL_EVENT_CANCELLED);
    stage_hush(stage);
    close_members(stage);
}

/* Servers look at the rights before they look for the node: a client that may not make what is
 * above the nodes of all is told that, though one of the parents is there. */
TEST(who_may_not_make_a_parent_that_is_there_goes_on) {
    run_stage *stage = open_members();
    start(stage, &stage->a, "/a");
    start(stage, &stage->b, "/b");
    stage_answer(stage, "transact", ZKL_OUTCOME_NO_NODE);
    stage_answer(stage, "make /b", ZKL_OUTCOME_OK);
    stage_hush(stage);
    FAKE_ANSWER(&stage->fake, "make /a", .outcome = ZKL_OUTCOME_REFUSED,
                .status = ZKL_NO_PERMISSION);
    FAKE_HEARD(&stage->fake, "exists /a");
    FAKE_ANSWER(&stage->fake, "exists /a", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&stage->fake, "transact /a/#1-lock-");
    FAKE_ANSWER(&stage->fake, "transact", .outcome = ZKL_OUTCOME_REFUSED,
                .status = ZKL_NO_PERMISSION);
    stage_hush(stage);
    close_members(stage);
}
