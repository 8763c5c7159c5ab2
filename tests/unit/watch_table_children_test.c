/*
 * Watches on the children of a node, over scripted operations (watch_desk.h): lists that are
 * handed over, at most one under way, and no watch that is left behind.
 */
#include "support/watch_desk.h"

/* The linker puts this in place of calloc (--wrap). */
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool has_no_memory; /* the next allocation fails */

void *__wrap_calloc(size_t count, size_t size) {
    bool fails = has_no_memory;
    has_no_memory = false;
    return fails ? NULL : __real_calloc(count, size);
}

static void answer_list(watch_desk *desk, size_t count) {
    static const char *const names[] = { "one", "two", "three" };
    FAKE_ANSWER(&desk->fake, "list", .outcome = ZKL_OUTCOME_OK, .children = { names, count });
}

static void ignore_list(void *arg, const zkl_list_answer *answer) {
    (void)arg;
    (void)answer;
}

static const zkl_list_listener ignoring = { .listed = ignore_list };

/* With one child. */
static void arm(watch_desk *desk, table_user *waiter) {
    watch_desk_add_children(desk, waiter, "/r");
    answer_list(desk, 1);
    desk->fake.heard[0] = '\0';
}

static void leave_last(watch_desk *desk, table_user *waiter) {
    watch_desk_leave(desk, waiter);
    FAKE_HEARD(&desk->fake, "unwatch children of /r");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

TEST(list_is_handed_over_and_its_watch_fires_once) {
    watch_desk *desk = watch_desk_open();
    watch_desk_add_children(desk, &desk->a, "/r");
    FAKE_HEARD(&desk->fake, "list and watch /r");
    answer_list(desk, 2);
    FAKE_HEARD(&desk->fake, "listed a 2");
    watch_desk_fire(desk, false);
    FAKE_HEARD(&desk->fake, "changed a");
    watch_desk_fire(desk, false);
    FAKE_HEARD(&desk->fake, "");
    watch_desk_close(desk);
}

TEST(waiters_who_list_again_share_one_list) {
    watch_desk *desk = watch_desk_open();
    arm(desk, &desk->a);
    watch_desk_add_children(desk, &desk->b, "/r");
    answer_list(desk, 2);
    FAKE_HEARD(&desk->fake, "list /r; listed b 2");
    desk->a.lists = desk->b.lists = "/r";
    watch_desk_fire(desk, false);
    FAKE_HEARD(&desk->fake, "changed a; list and watch /r; changed b");
    answer_list(desk, 3);
    FAKE_HEARD(&desk->fake, "listed a 3; listed b 3");
    watch_desk_leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "");
    leave_last(desk, &desk->b);
}

TEST(list_of_another_after_an_event_does_not_stand_for_the_one_that_arms) {
    watch_desk *desk = watch_desk_open();
    zkl_list_waiter other = { .listener = &ignoring };
    watch_desk_arm(desk, &desk->a, "/r/n");
    watch_desk_add(desk, &desk->b, "/r/n");
    desk->fake.heard[0] = '\0';
    desk->a.asks = &other; /* without a watch */
    desk->b.lists = "/r";
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "fired a; list /r; fired b");
    answer_list(desk, 1); /* what happens after it fires no watch yet */
    FAKE_HEARD(&desk->fake, "list and watch /r");
    answer_list(desk, 2);
    FAKE_HEARD(&desk->fake, "listed b 2");
    leave_last(desk, &desk->b);
}

TEST(watch_on_a_node_and_watch_on_its_children_are_two) {
    watch_desk *desk = watch_desk_open();
    arm(desk, &desk->a);
    watch_desk_add(desk, &desk->b, "/r");
    FAKE_HEARD(&desk->fake, "watch /r");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed b OK");
    watch_desk_leave(desk, &desk->b);
    FAKE_HEARD(&desk->fake, "unwatch /r");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    leave_last(desk, &desk->a);
}

TEST(who_comes_while_a_list_is_under_way_gets_one_that_is_later) {
    watch_desk *desk = watch_desk_open();
    watch_desk_add_children(desk, &desk->a, "/r");
    watch_desk_add_children(desk, &desk->b, "/r");
    watch_desk_add_children(desk, &desk->c, "/r");
    FAKE_HEARD(&desk->fake, "list and watch /r");
    answer_list(desk, 1);
    FAKE_HEARD(&desk->fake, "listed a 1; list /r");
    answer_list(desk, 2);
    FAKE_HEARD(&desk->fake, "listed b 2; listed c 2");
    watch_desk_leave(desk, &desk->a);
    watch_desk_leave(desk, &desk->b);
    leave_last(desk, &desk->c);
}

TEST(who_leaves_with_the_list_takes_its_watch_away) {
    watch_desk *desk = watch_desk_open();
    desk->a.leaves = true;
    watch_desk_add_children(desk, &desk->a, "/r");
    answer_list(desk, 2);
    FAKE_HEARD(&desk->fake, "list and watch /r; listed a 2; unwatch children of /r");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

TEST(who_leaves_before_the_list_leaves_no_watch) {
    watch_desk *desk = watch_desk_open();
    watch_desk_add_children(desk, &desk->a, "/r");
    watch_desk_leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "list and watch /r");
    answer_list(desk, 2);
    FAKE_HEARD(&desk->fake, "unwatch children of /r");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

/* The servers have set the watch, whether or not there is memory for the names. */
TEST(list_for_which_there_is_no_memory_leaves_no_watch) {
    for (int leaves_before = 0; leaves_before < 2; leaves_before++) {
        watch_desk *desk = watch_desk_open();
        watch_desk_add_children(desk, &desk->a, "/r");
        if (leaves_before != 0) {
            watch_desk_leave(desk, &desk->a);
        }
        desk->fake.heard[0] = '\0';
        has_no_memory = true;
        answer_list(desk, 2);
        EXPECT(!has_no_memory);
        FAKE_HEARD(&desk->fake, leaves_before != 0 ? "unwatch children of /r"
                                                   : "unwatch children of /r; listed a NOT_NOW");
        FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
        watch_desk_close(desk);
    }
}

TEST(change_before_the_answer_is_told_to_all) {
    watch_desk *desk = watch_desk_open();
    arm(desk, &desk->a);
    watch_desk_add_children(desk, &desk->b, "/r");
    watch_desk_fire(desk, false);
    FAKE_HEARD(&desk->fake, "list /r; changed a; changed b");
    answer_list(desk, 1);
    FAKE_HEARD(&desk->fake, ""); /* it may be older than the change */
    watch_desk_close(desk);
}

TEST(failed_list_is_told_to_all_who_wait_for_it) {
    static const zkl_outcome outcomes[] = { ZKL_OUTCOME_UNKNOWN, ZKL_OUTCOME_NOT_NOW };
    static const char *const told[] = { "listed a UNKNOWN; listed b UNKNOWN",
                                        "listed a NOT_NOW; listed b NOT_NOW" };
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        watch_desk *desk = watch_desk_open();
        watch_desk_add_children(desk, &desk->a, "/r");
        watch_desk_add_children(desk, &desk->b, "/r");
        FAKE_HEARD(&desk->fake, "list and watch /r");
        FAKE_ANSWER(&desk->fake, "list", .outcome = outcomes[i]);
        FAKE_HEARD(&desk->fake, told[i]);
        watch_desk_close(desk);
    }
}

TEST(failed_list_takes_no_watch_from_the_others) {
    watch_desk *desk = watch_desk_open();
    arm(desk, &desk->a);
    watch_desk_add_children(desk, &desk->b, "/r");
    FAKE_ANSWER(&desk->fake, "list", .outcome = ZKL_OUTCOME_NOT_NOW);
    FAKE_HEARD(&desk->fake, "list /r; listed b NOT_NOW");
    watch_desk_fire(desk, false);
    FAKE_HEARD(&desk->fake, "changed a");
    watch_desk_close(desk);
}

TEST(list_that_cannot_be_sent_leaves_the_others_watch) {
    watch_desk *desk = watch_desk_open();
    arm(desk, &desk->a);
    uint64_t first = desk->fake.last_watch_id;
    desk->fake.sends = ZKL_OUTCOME_NOT_NOW;
    watch_desk_add_children(desk, &desk->b, "/r");
    FAKE_HEARD(&desk->fake, "unsent list /r; listed b NOT_NOW");
    watch_desk_add_children(desk, &desk->b, "/other");
    FAKE_HEARD(&desk->fake, "unsent list and watch /other; listed b NOT_NOW");
    desk->fake.sends = ZKL_OUTCOME_OK;
    zkl_watch_table_fired(&desk->session.watches, first, ZKL_WATCH_EVENT_CHANGED);
    FAKE_HEARD(&desk->fake, "changed a");
    watch_desk_close(desk);
}

TEST(newcomer_lists_behind_the_removal) {
    watch_desk *desk = watch_desk_open();
    arm(desk, &desk->a);
    watch_desk_leave(desk, &desk->a);
    watch_desk_add_children(desk, &desk->b, "/r");
    FAKE_HEARD(&desk->fake, "unwatch children of /r; list and watch /r");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    answer_list(desk, 1);
    FAKE_HEARD(&desk->fake, "listed b 1");
    leave_last(desk, &desk->b);
}

/* What it shows is older than the watch. */
TEST(list_of_before_the_watch_is_not_for_who_waits_with_it) {
    watch_desk *desk = watch_desk_open();
    zkl_list_waiter other = { .arg = desk, .listener = &ignoring };
    EXPECT_INT(zkl_listings_ask(&desk->session.listings, "/r", &other), ZKL_OUTCOME_OK);
    watch_desk_add_children(desk, &desk->a, "/r");
    FAKE_HEARD(&desk->fake, "list /r");
    answer_list(desk, 1);
    FAKE_HEARD(&desk->fake, "list and watch /r");
    answer_list(desk, 2);
    FAKE_HEARD(&desk->fake, "listed a 2");
    leave_last(desk, &desk->a);
}

TEST(end_of_the_session_tells_who_waits_for_a_list) {
    watch_desk *desk = watch_desk_open();
    arm(desk, &desk->a);
    zkl_watch_table_clear(&desk->session.watches);
    FAKE_HEARD(&desk->fake, "");
    watch_desk_add_children(desk, &desk->b, "/r");
    zkl_watch_table_clear(&desk->session.watches);
    FAKE_HEARD(&desk->fake, "list and watch /r; listed b SESSION_OVER");
    answer_list(desk, 1);
    FAKE_HEARD(&desk->fake, "");
    watch_desk_close(desk);
}
