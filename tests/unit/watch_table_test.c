/*
 * The watches of a session, over scripted operations (watch_desk.h): one waiter,
 * siblings that share a watch, newcomers while one is being removed.
 */
#include "support/watch_desk.h"

/* ---- One waiter ------------------------------------------------------------- */

TEST(watch_is_armed_by_its_reply_and_fires_once) {
    watch_desk *desk = watch_desk_open();
    watch_desk_add(desk, &desk->a, "/r/x");
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed a OK");
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "fired a");
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "");
    watch_desk_close(desk);
}

TEST(node_that_is_gone_leaves_a_watch_that_is_removed) {
    watch_desk *desk = watch_desk_open();
    watch_desk_add(desk, &desk->a, "/r/x");
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; armed a NO_NODE");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

TEST(waiter_that_leaves_before_the_reply_is_not_told_and_leaves_no_watch) {
    static const zkl_outcome outcomes[] = { ZKL_OUTCOME_OK, ZKL_OUTCOME_NO_NODE };
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        watch_desk *desk = watch_desk_open();
        watch_desk_add(desk, &desk->a, "/r/x");
        FAKE_HEARD(&desk->fake, "watch /r/x");
        watch_desk_leave(desk, &desk->a);
        FAKE_HEARD(&desk->fake, "");
        FAKE_ANSWER(&desk->fake, "watch", .outcome = outcomes[i]);
        FAKE_HEARD(&desk->fake, "unwatch /r/x");
        FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
        watch_desk_close(desk);
    }
}

/* ---- Siblings ----------------------------------------------------------------- */

TEST(siblings_share_one_watch) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_add(desk, &desk->b, "/r/x");
    watch_desk_add(desk, &desk->c, "/r/x");
    FAKE_HEARD(&desk->fake, "armed b OK; armed c OK");
    EXPECT_INT(zkl_watch_table_count(&desk->session.watches), 1);
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "fired a; fired b; fired c");
    watch_desk_close(desk);
}

TEST(watch_is_never_removed_under_a_sibling) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_add(desk, &desk->b, "/r/x");
    watch_desk_add(desk, &desk->c, "/r/x");
    watch_desk_leave(desk, &desk->a);
    watch_desk_leave(desk, &desk->c);
    FAKE_HEARD(&desk->fake, "armed b OK; armed c OK");
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "fired b");
    watch_desk_close(desk);
}

TEST(last_of_the_siblings_takes_the_watch_away) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_add(desk, &desk->b, "/r/x");
    watch_desk_leave(desk, &desk->b);
    FAKE_HEARD(&desk->fake, "armed b OK");
    watch_desk_leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

/* What a watch brings is how its node changed; all are told the same. */
TEST(waiters_are_told_a_change_from_a_deletion) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_add(desk, &desk->b, "/r/x");
    watch_desk_fire(desk, false);
    FAKE_HEARD(&desk->fake, "armed b OK; changed a; changed b");
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_add(desk, &desk->b, "/r/x");
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "armed b OK; fired a; fired b");
    watch_desk_close(desk);
}

/* ---- Somebody comes while the watch is being removed ----------------------------- */

TEST(newcomer_that_leaves_again_leaves_no_watch) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_leave(desk, &desk->a);
    watch_desk_add(desk, &desk->b, "/r/x");
    watch_desk_leave(desk, &desk->b);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; watch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

/* The removal may be lost as well, or turned away. */
TEST(newcomer_whose_watch_fails_leaves_the_removal_to_be_sent_again) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_leave(desk, &desk->a);
    watch_desk_add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "unwatch /r/x; watch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_NOT_NOW);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_NOT_NOW);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; armed b NOT_NOW");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

TEST(newcomer_whose_watch_cannot_be_sent_leaves_the_removal_to_be_sent_again) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    desk->fake.sends = ZKL_OUTCOME_NOT_NOW;
    watch_desk_add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "unsent watch /r/x; armed b NOT_NOW");
    desk->fake.sends = ZKL_OUTCOME_OK;
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_NOT_NOW);
    zkl_watch_table_review(&desk->session.watches, false);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}
