/*
 * The watches of a session, over scripted operations. What the table asks of
 * ZooKeeper and what it tells its waiters is one text (fake_operations.h); the
 * waiters' part of it is "armed <waiter> <outcome>" and "fired <waiter>".
 */
#include "zookeeper/watch_table.h"

#include <stdio.h>

#include "support/fake_operations.h"
#include "support/unit.h"

typedef struct table_user {
    zkl_watch_waiter link;
    struct front_desk *desk;
    const char *name;
    const char *adds; /* a path to wait for as soon as the next news comes */
    bool leaves;      /* leaves as soon as it is armed */
} table_user;

typedef struct front_desk {
    fake_operations fake;
    zkl_watch_table table;
    table_user a, b, c;
} front_desk;

static const char *outcome_name(zkl_outcome outcome) {
    static const char *const names[] = { "OK",      "NO_NODE", "UNKNOWN",
                                         "NOT_NOW", "REFUSED", "SESSION_OVER" };
    return names[outcome];
}

static void react(table_user *self) {
    if (self->leaves) {
        zkl_watch_table_remove(&self->link);
    }
    if (self->adds != NULL) {
        const char *path = self->adds;
        self->adds = NULL;
        zkl_watch_table_add(&self->desk->table, path, &self->link);
    }
}

static void on_armed(void *arg, zkl_outcome outcome, int status) {
    table_user *self = arg;
    fake_note(&self->desk->fake, "armed %s %s", self->name, outcome_name(outcome));
    EXPECT_INT(status, outcome == ZKL_OUTCOME_REFUSED ? ZKL_NO_PERMISSION : ZKL_OK);
    react(self);
}

static void on_fired(void *arg, bool deleted) {
    table_user *self = arg;
    EXPECT(deleted);
    fake_note(&self->desk->fake, "fired %s", self->name);
    react(self);
}

static void begin_waiter(table_user *waiter, front_desk *at, const char *name) {
    waiter->desk = at;
    waiter->name = name;
    waiter->link = (zkl_watch_waiter){ .arg = waiter, .armed = on_armed, .fired = on_fired };
}

static front_desk *open_desk(void) {
    static front_desk desk;
    desk.a = desk.b = desk.c = (table_user){ .adds = NULL };
    fake_begin(&desk.fake);
    zkl_watch_table_begin(&desk.table, &desk.fake.operations);
    begin_waiter(&desk.a, &desk, "a");
    begin_waiter(&desk.b, &desk, "b");
    begin_waiter(&desk.c, &desk, "c");
    return &desk;
}

/* A table that is used up has forgotten everything. */
static void close_desk(front_desk *desk) {
    EXPECT_INT(zkl_watch_table_count(&desk->table), 0);
    zkl_watch_table_clear(&desk->table);
    fake_end(&desk->fake);
}

static zkl_watch_added add(front_desk *desk, table_user *waiter, const char *path) {
    return zkl_watch_table_add(&desk->table, path, &waiter->link);
}

static void leave(front_desk *desk, table_user *waiter) {
    (void)desk;
    zkl_watch_table_remove(&waiter->link);
}

static void arm(front_desk *desk, table_user *waiter, const char *path) {
    EXPECT_INT(add(desk, waiter, path), ZKL_WATCH_ARMING);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    desk->fake.heard[0] = '\0';
}

/* ---- One waiter ------------------------------------------------------------- */

static void watch_is_armed_by_its_reply_and_fires_once(void) {
    front_desk *desk = open_desk();
    EXPECT_INT(add(desk, &desk->a, "/r/x"), ZKL_WATCH_ARMING);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed a OK");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired a");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "");
    close_desk(desk);
}

static void fired_watch_needs_no_removal(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired a");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "");
    close_desk(desk);
}

static void waiter_that_leaves_takes_its_watch_away(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "");
    EXPECT_INT(zkl_watch_table_count(&desk->table), 1);
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "");
    close_desk(desk);
}

static void waiter_that_waits_for_nothing_may_leave(void) {
    front_desk *desk = open_desk();
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "");
    close_desk(desk);
}

static void node_that_is_gone_leaves_a_watch_that_is_removed(void) {
    front_desk *desk = open_desk();
    add(desk, &desk->a, "/r/x");
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; armed a NO_NODE");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void failed_watch_is_told_and_forgotten(void) {
    static const zkl_outcome outcomes[] = { ZKL_OUTCOME_UNKNOWN, ZKL_OUTCOME_NOT_NOW,
                                            ZKL_OUTCOME_REFUSED, ZKL_OUTCOME_SESSION_OVER };
    static const char *const told[] = { "armed a UNKNOWN", "armed a NOT_NOW", "armed a REFUSED",
                                        "armed a SESSION_OVER" };
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        front_desk *desk = open_desk();
        int status = outcomes[i] == ZKL_OUTCOME_REFUSED ? ZKL_NO_PERMISSION : ZKL_OK;
        add(desk, &desk->a, "/r/x");
        FAKE_HEARD(&desk->fake, "watch /r/x");
        FAKE_ANSWER(&desk->fake, "watch", .outcome = outcomes[i], .status = status);
        FAKE_HEARD(&desk->fake, told[i]);
        close_desk(desk);
    }
}

static void watch_that_cannot_be_sent_changes_nothing(void) {
    front_desk *desk = open_desk();
    desk->fake.sends = ZKL_OUTCOME_SESSION_OVER;
    EXPECT_INT(add(desk, &desk->a, "/r/x"), ZKL_WATCH_NOT_SENT);
    FAKE_HEARD(&desk->fake, "unsent watch /r/x");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "");
    close_desk(desk);
}

static void waiter_that_leaves_before_the_reply_is_not_told_and_leaves_no_watch(void) {
    static const zkl_outcome outcomes[] = { ZKL_OUTCOME_OK, ZKL_OUTCOME_NO_NODE };
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        front_desk *desk = open_desk();
        add(desk, &desk->a, "/r/x");
        FAKE_HEARD(&desk->fake, "watch /r/x");
        leave(desk, &desk->a);
        FAKE_HEARD(&desk->fake, "");
        FAKE_ANSWER(&desk->fake, "watch", .outcome = outcomes[i]);
        FAKE_HEARD(&desk->fake, "unwatch /r/x");
        FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
        close_desk(desk);
    }
}

static void waiter_may_leave_as_it_is_told(void) {
    front_desk *desk = open_desk();
    desk->a.leaves = true;
    add(desk, &desk->a, "/r/x");
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed a OK; unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void waiter_may_wait_again_as_it_is_told(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    uint64_t first = desk->fake.last_watch_id;
    desk->a.adds = "/r/x";
    zkl_watch_table_fired(&desk->table, first, true);
    FAKE_HEARD(&desk->fake, "fired a; watch /r/x");
    EXPECT(desk->fake.last_watch_id != first);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed a OK");
    zkl_watch_table_fired(&desk->table, first, true); /* of the old watch, late */
    FAKE_HEARD(&desk->fake, "");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired a");
    close_desk(desk);
}

/* ---- Siblings ----------------------------------------------------------------- */

static void siblings_share_one_watch(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    EXPECT_INT(add(desk, &desk->b, "/r/x"), ZKL_WATCH_ARMED);
    EXPECT_INT(add(desk, &desk->c, "/r/x"), ZKL_WATCH_ARMED);
    FAKE_HEARD(&desk->fake, "");
    EXPECT_INT(zkl_watch_table_count(&desk->table), 1);
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired a; fired b; fired c");
    close_desk(desk);
}

static void siblings_that_come_before_the_reply_are_all_told(void) {
    front_desk *desk = open_desk();
    EXPECT_INT(add(desk, &desk->a, "/r/x"), ZKL_WATCH_ARMING);
    EXPECT_INT(add(desk, &desk->b, "/r/x"), ZKL_WATCH_ARMING);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed a OK; armed b OK");
    leave(desk, &desk->a);
    leave(desk, &desk->b);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void siblings_are_all_told_of_a_node_that_is_gone(void) {
    front_desk *desk = open_desk();
    add(desk, &desk->a, "/r/x");
    add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; armed a NO_NODE; armed b NO_NODE");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void watch_is_never_removed_under_a_sibling(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    add(desk, &desk->b, "/r/x");
    add(desk, &desk->c, "/r/x");
    leave(desk, &desk->a);
    leave(desk, &desk->c);
    FAKE_HEARD(&desk->fake, "");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired b");
    close_desk(desk);
}

static void last_of_the_siblings_takes_the_watch_away(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    add(desk, &desk->b, "/r/x");
    leave(desk, &desk->b);
    FAKE_HEARD(&desk->fake, "");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void sibling_that_leaves_before_the_reply_does_not_disarm_the_other(void) {
    front_desk *desk = open_desk();
    add(desk, &desk->a, "/r/x");
    add(desk, &desk->b, "/r/x");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed b OK");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired b");
    close_desk(desk);
}

static void first_sibling_may_leave_as_all_are_told(void) {
    front_desk *desk = open_desk();
    desk->a.leaves = true;
    add(desk, &desk->a, "/r/x");
    add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed a OK; armed b OK");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired b");
    close_desk(desk);
}

static void watches_of_other_paths_are_left_alone(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    uint64_t first = desk->fake.last_watch_id;
    arm(desk, &desk->b, "/r/xy");
    EXPECT_INT(zkl_watch_table_count(&desk->table), 2);
    zkl_watch_table_fired(&desk->table, first, true);
    FAKE_HEARD(&desk->fake, "fired a");
    leave(desk, &desk->b);
    FAKE_HEARD(&desk->fake, "unwatch /r/xy");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

/* ---- Somebody comes while the watch is being removed ----------------------------- */

static void newcomer_waits_for_the_removal_and_watches_anew(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    EXPECT_INT(add(desk, &desk->b, "/r/x"), ZKL_WATCH_ARMING);
    FAKE_HEARD(&desk->fake, ""); /* a watch set now might go with the removal */
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed b OK");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired b");
    close_desk(desk);
}

static void newcomer_that_leaves_again_costs_nothing(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    leave(desk, &desk->a);
    add(desk, &desk->b, "/r/x");
    leave(desk, &desk->b);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "");
    close_desk(desk);
}

static void newcomer_is_told_when_the_removal_is_lost(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    leave(desk, &desk->a);
    add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_UNKNOWN);
    FAKE_HEARD(&desk->fake, "armed b UNKNOWN");
    zkl_watch_table_reconnected(&desk->table);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void newcomer_is_told_when_its_watch_cannot_be_sent(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    leave(desk, &desk->a);
    add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    desk->fake.sends = ZKL_OUTCOME_NOT_NOW;
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "unsent watch /r/x; armed b NOT_NOW");
    close_desk(desk);
}

static void waiter_of_a_node_that_is_gone_may_come_back_at_once(void) {
    front_desk *desk = open_desk();
    desk->a.adds = "/r/x";
    add(desk, &desk->a, "/r/x");
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; armed a NO_NODE");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed a OK");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired a");
    close_desk(desk);
}

/* ---- News out of turn --------------------------------------------------------------- */

static void watch_that_fires_before_its_reply_says_that_the_node_is_gone(void) {
    front_desk *desk = open_desk();
    add(desk, &desk->a, "/r/x");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; armed a NO_NODE");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

/* The next watch of that path has not fired: it has to be believed. */
static void watch_after_one_that_fired_before_its_reply_is_armed(void) {
    front_desk *desk = open_desk();
    add(desk, &desk->a, "/r/x");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; armed a NO_NODE");
    add(desk, &desk->b, "/r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed b OK");
    leave(desk, &desk->b);
    fake_answer_all(&desk->fake, ZKL_OUTCOME_OK);
    desk->fake.heard[0] = '\0';
    close_desk(desk);
}

static void watch_that_fires_while_it_is_being_removed_tells_nobody(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void newcomer_is_not_told_of_the_old_watch(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    leave(desk, &desk->a);
    add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "watch /r/x"); /* which will find out */
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; armed b NO_NODE");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void watch_that_nobody_knows_is_ignored(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id + 1, true);
    zkl_watch_table_fired(&desk->table, 0, true);
    FAKE_HEARD(&desk->fake, "");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired a");
    close_desk(desk);
}

/* ---- Disconnected --------------------------------------------------------------------- */

static void removal_lost_in_disconnect_is_sent_again_after_reconnect(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    for (int i = 0; i < 3; i++) {
        FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_UNKNOWN);
        FAKE_HEARD(&desk->fake, "");
        EXPECT_INT(zkl_watch_table_count(&desk->table), 1);
        zkl_watch_table_reconnected(&desk->table);
        FAKE_HEARD(&desk->fake, "unwatch /r/x");
    }
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void removal_that_cannot_be_sent_is_sent_after_reconnect(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    desk->fake.sends = ZKL_OUTCOME_NOT_NOW;
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unsent unwatch /r/x");
    desk->fake.sends = ZKL_OUTCOME_OK;
    zkl_watch_table_reconnected(&desk->table);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void reconnect_leaves_watches_and_running_removals_alone(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    arm(desk, &desk->b, "/r/y");
    add(desk, &desk->c, "/r/z");
    leave(desk, &desk->b);
    FAKE_HEARD(&desk->fake, "watch /r/z; unwatch /r/y");
    zkl_watch_table_reconnected(&desk->table);
    FAKE_HEARD(&desk->fake, "");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_UNKNOWN);
    FAKE_HEARD(&desk->fake, "armed c UNKNOWN");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    close_desk(desk);
}

static void newcomer_finds_a_lost_removal_and_sends_it_again(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_UNKNOWN);
    EXPECT_INT(add(desk, &desk->b, "/r/x"), ZKL_WATCH_ARMING);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    zkl_watch_table_reconnected(&desk->table);
    FAKE_HEARD(&desk->fake, "");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed b OK");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired b");
    close_desk(desk);
}

/* ---- The session's end ------------------------------------------------------------------- */

static void session_end_forgets_watches_in_every_state(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/armed");
    arm(desk, &desk->b, "/r/removal-lost");
    leave(desk, &desk->b);
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_UNKNOWN);
    arm(desk, &desk->b, "/r/removing");
    leave(desk, &desk->b);
    add(desk, &desk->b, "/r/arming");
    add(desk, &desk->c, "/r/removing");
    EXPECT_INT(zkl_watch_table_count(&desk->table), 4);
    FAKE_HEARD(&desk->fake, "unwatch /r/removing; watch /r/arming");
    zkl_watch_table_clear(&desk->table);
    EXPECT_INT(zkl_watch_table_count(&desk->table), 0);
    zkl_watch_table_reconnected(&desk->table);
    for (uint64_t id = 0; id <= desk->fake.last_watch_id; id++) {
        zkl_watch_table_fired(&desk->table, id, true);
    }
    FAKE_HEARD(&desk->fake, "armed c SESSION_OVER; armed b SESSION_OVER");
    fake_answer_all(&desk->fake, ZKL_OUTCOME_SESSION_OVER);
    FAKE_HEARD(&desk->fake, "");
    close_desk(desk);
}

static void waiters_may_leave_after_the_sessions_end(void) {
    front_desk *desk = open_desk();
    arm(desk, &desk->a, "/r/x");
    add(desk, &desk->b, "/r/y");
    desk->fake.heard[0] = '\0';
    zkl_watch_table_clear(&desk->table);
    leave(desk, &desk->a);
    leave(desk, &desk->b);
    FAKE_HEARD(&desk->fake, "armed b SESSION_OVER"); /* who waits for a reply gets one */
    fake_answer_all(&desk->fake, ZKL_OUTCOME_SESSION_OVER);
    close_desk(desk);
}

static void reply_of_the_last_session_does_not_touch_the_watch_of_the_next(void) {
    front_desk *desk = open_desk();
    add(desk, &desk->a, "/r/x");
    uint64_t first = desk->fake.last_watch_id;
    FAKE_HEARD(&desk->fake, "watch /r/x");
    zkl_watch_table_clear(&desk->table);
    FAKE_HEARD(&desk->fake, "armed a SESSION_OVER");
    EXPECT_INT(add(desk, &desk->b, "/r/x"), ZKL_WATCH_ARMING);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    EXPECT(desk->fake.last_watch_id != first);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK); /* the old one: the oldest */
    zkl_watch_table_fired(&desk->table, first, true);
    FAKE_HEARD(&desk->fake, "");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed b OK");
    zkl_watch_table_fired(&desk->table, desk->fake.last_watch_id, true);
    FAKE_HEARD(&desk->fake, "fired b");
    close_desk(desk);
}

/* ---- Many ------------------------------------------------------------------------------------ */

static void many_watches_are_told_apart(void) {
    enum { MANY = 200 };
    static table_user waiters[MANY];
    static uint64_t ids[MANY];
    static char names[MANY][16];
    front_desk *desk = open_desk();
    for (size_t i = 0; i < MANY; i++) {
        char path[32];
        snprintf(path, sizeof(path), "/r/%zu", i);
        snprintf(names[i], sizeof(names[i]), "%zu", i);
        begin_waiter(&waiters[i], desk, names[i]);
        arm(desk, &waiters[i], path);
        ids[i] = desk->fake.last_watch_id;
    }
    EXPECT_INT(zkl_watch_table_count(&desk->table), MANY);
    for (size_t i = 0; i < MANY; i++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "fired %zu", MANY - 1 - i);
        zkl_watch_table_fired(&desk->table, ids[MANY - 1 - i], true);
        FAKE_HEARD(&desk->fake, expected);
    }
    close_desk(desk);
}

static CU_TestInfo tests[] = {
    TEST(watch_is_armed_by_its_reply_and_fires_once),
    TEST(fired_watch_needs_no_removal),
    TEST(waiter_that_leaves_takes_its_watch_away),
    TEST(waiter_that_waits_for_nothing_may_leave),
    TEST(node_that_is_gone_leaves_a_watch_that_is_removed),
    TEST(failed_watch_is_told_and_forgotten),
    TEST(watch_that_cannot_be_sent_changes_nothing),
    TEST(waiter_that_leaves_before_the_reply_is_not_told_and_leaves_no_watch),
    TEST(waiter_may_leave_as_it_is_told),
    TEST(waiter_may_wait_again_as_it_is_told),
    TEST(siblings_share_one_watch),
    TEST(siblings_that_come_before_the_reply_are_all_told),
    TEST(siblings_are_all_told_of_a_node_that_is_gone),
    TEST(watch_is_never_removed_under_a_sibling),
    TEST(last_of_the_siblings_takes_the_watch_away),
    TEST(sibling_that_leaves_before_the_reply_does_not_disarm_the_other),
    TEST(first_sibling_may_leave_as_all_are_told),
    TEST(watches_of_other_paths_are_left_alone),
    TEST(newcomer_waits_for_the_removal_and_watches_anew),
    TEST(newcomer_that_leaves_again_costs_nothing),
    TEST(newcomer_is_told_when_the_removal_is_lost),
    TEST(newcomer_is_told_when_its_watch_cannot_be_sent),
    TEST(waiter_of_a_node_that_is_gone_may_come_back_at_once),
    TEST(watch_that_fires_before_its_reply_says_that_the_node_is_gone),
    TEST(watch_after_one_that_fired_before_its_reply_is_armed),
    TEST(watch_that_fires_while_it_is_being_removed_tells_nobody),
    TEST(newcomer_is_not_told_of_the_old_watch),
    TEST(watch_that_nobody_knows_is_ignored),
    TEST(removal_lost_in_disconnect_is_sent_again_after_reconnect),
    TEST(removal_that_cannot_be_sent_is_sent_after_reconnect),
    TEST(reconnect_leaves_watches_and_running_removals_alone),
    TEST(newcomer_finds_a_lost_removal_and_sends_it_again),
    TEST(session_end_forgets_watches_in_every_state),
    TEST(waiters_may_leave_after_the_sessions_end),
    TEST(reply_of_the_last_session_does_not_touch_the_watch_of_the_next),
    TEST(many_watches_are_told_apart),
    TEST_END,
};

int main(void) {
    return unit_main("watch_table", tests);
}
