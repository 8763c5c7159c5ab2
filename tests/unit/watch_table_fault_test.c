/*
 * The watches of a session, over scripted operations (watch_desk.h): news out of
 * turn, lost connections, sessions that end, and many of them.
 */
#include "support/watch_desk.h"

#include <stdio.h>

/* ---- News out of turn --------------------------------------------------------------- */

/* On one session it is older than the reply, which shows what has happened. */
TEST(news_before_the_reply_is_left_to_the_reply) {
    watch_desk *desk = watch_desk_open();
    watch_desk_add(desk, &desk->a, "/r/x");
    watch_desk_fire(desk, false);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed a OK");
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "fired a");
    watch_desk_close(desk);
}

TEST(newcomer_is_not_told_of_the_old_watch) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_leave(desk, &desk->a);
    watch_desk_add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "unwatch /r/x; watch /r/x");
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_NO_NODE); /* which finds out */
    FAKE_HEARD(&desk->fake, "unwatch /r/x; armed b NO_NODE");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

TEST(watch_that_nobody_knows_is_ignored) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    zkl_watch_table_fired(&desk->session.watches, desk->fake.last_watch_id + 1,
                          ZKL_WATCH_EVENT_DELETED);
    zkl_watch_table_fired(&desk->session.watches, 0, ZKL_WATCH_EVENT_DELETED);
    FAKE_HEARD(&desk->fake, "");
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "fired a");
    watch_desk_close(desk);
}

/* ---- Disconnected --------------------------------------------------------------------- */

TEST(removal_lost_in_disconnect_is_sent_again_after_reconnect) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    for (int i = 0; i < 3; i++) {
        FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_UNKNOWN);
        FAKE_HEARD(&desk->fake, "");
        EXPECT_INT(zkl_watch_table_count(&desk->session.watches), 1);
        zkl_watch_table_review(&desk->session.watches, false);
        FAKE_HEARD(&desk->fake, "unwatch /r/x");
    }
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

TEST(newcomer_needs_no_removal_that_was_lost) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_leave(desk, &desk->a);
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_UNKNOWN);
    watch_desk_add(desk, &desk->b, "/r/x");
    zkl_watch_table_review(&desk->session.watches, false);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed b OK");
    watch_desk_leave(desk, &desk->b);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

/* ---- The session's end ------------------------------------------------------------------- */

TEST(session_end_forgets_watches_in_every_state) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/armed");
    watch_desk_arm(desk, &desk->b, "/r/removal-lost");
    watch_desk_leave(desk, &desk->b);
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_UNKNOWN);
    watch_desk_arm(desk, &desk->b, "/r/removing");
    watch_desk_leave(desk, &desk->b);
    watch_desk_add(desk, &desk->b, "/r/arming");
    watch_desk_add(desk, &desk->c, "/r/removing");
    EXPECT_INT(zkl_watch_table_count(&desk->session.watches), 4);
    FAKE_HEARD(&desk->fake, "unwatch /r/removing; watch /r/arming; watch /r/removing");
    zkl_watch_table_clear(&desk->session.watches);
    EXPECT_INT(zkl_watch_table_count(&desk->session.watches), 0);
    zkl_watch_table_review(&desk->session.watches, false);
    for (uint64_t id = 0; id <= desk->fake.last_watch_id; id++) {
        zkl_watch_table_fired(&desk->session.watches, id, ZKL_WATCH_EVENT_DELETED);
    }
    FAKE_HEARD(&desk->fake, "armed c SESSION_OVER; armed b SESSION_OVER");
    fake_answer_all(&desk->fake, ZKL_OUTCOME_SESSION_OVER);
    FAKE_HEARD(&desk->fake, "");
    watch_desk_close(desk);
}

TEST(reply_of_the_last_session_does_not_touch_the_watch_of_the_next) {
    watch_desk *desk = watch_desk_open();
    watch_desk_add(desk, &desk->a, "/r/x");
    uint64_t first = desk->fake.last_watch_id;
    FAKE_HEARD(&desk->fake, "watch /r/x");
    zkl_watch_table_clear(&desk->session.watches);
    FAKE_HEARD(&desk->fake, "armed a SESSION_OVER");
    watch_desk_add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "watch /r/x");
    EXPECT(desk->fake.last_watch_id != first);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK); /* the old one: the oldest */
    zkl_watch_table_fired(&desk->session.watches, first, ZKL_WATCH_EVENT_DELETED);
    FAKE_HEARD(&desk->fake, "");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed b OK");
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "fired b");
    watch_desk_close(desk);
}

/* ---- On a new connection ---------------------------------------------------------------- */

static void reconnect(watch_desk *desk) {
    zkl_watch_table_review(&desk->session.watches, true);
}

/* A list that tells a holder who is behind it comes after the watch on its own node. */
TEST(nodes_are_watched_before_children_are_listed_on_a_new_connection) {
    static const char *const names[] = { "x" };
    watch_desk *desk = watch_desk_open();
    watch_desk_add_children(desk, &desk->a, "/r");
    FAKE_ANSWER(&desk->fake, "list", .outcome = ZKL_OUTCOME_OK, .children = { names, 1 });
    watch_desk_arm(desk, &desk->b, "/r/x");
    desk->fake.heard[0] = '\0';
    reconnect(desk);
    FAKE_HEARD(&desk->fake, "watch /r/x; unwatch children of /r; look again a");
    watch_desk_leave(desk, &desk->b);
    fake_answer_all(&desk->fake, ZKL_OUTCOME_OK);
    fake_answer_all(&desk->fake, ZKL_OUTCOME_OK);
    desk->fake.heard[0] = '\0';
    watch_desk_close(desk);
}

TEST(armed_watch_is_looked_at_on_a_new_connection_and_fires_where_it_is_refused) {
    static const zkl_outcome news[] = { ZKL_OUTCOME_REFUSED, ZKL_OUTCOME_NO_NODE };
    for (size_t i = 0; i < COUNT_OF(news); i++) {
        watch_desk *desk = watch_desk_open();
        watch_desk_arm(desk, &desk->a, "/r/x");
        reconnect(desk);
        FAKE_HEARD(&desk->fake, "watch /r/x");
        FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
        FAKE_HEARD(&desk->fake, "");
        reconnect(desk);
        FAKE_ANSWER(&desk->fake, "watch", .outcome = news[i]);
        FAKE_HEARD(&desk->fake, "watch /r/x; unwatch /r/x; look again a");
        FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
        watch_desk_close(desk);
    }
}

TEST(watch_whose_node_was_set_meanwhile_fires) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    reconnect(desk);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK, .version = 1);
    FAKE_HEARD(&desk->fake, "watch /r/x; unwatch /r/x; look again a");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

/* Nobody knows whether it would fire: who waits for it looks at once, and asks for it again. */
TEST(watch_that_is_lost_or_turned_away_on_a_new_connection_is_none) {
    static const zkl_outcome outcomes[] = { ZKL_OUTCOME_NOT_NOW, ZKL_OUTCOME_UNKNOWN };
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        watch_desk *desk = watch_desk_open();
        watch_desk_arm(desk, &desk->a, "/r/x");
        reconnect(desk);
        FAKE_ANSWER(&desk->fake, "watch", .outcome = outcomes[i]);
        FAKE_HEARD(&desk->fake, "watch /r/x; unwatch /r/x; look again a");
        FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
        watch_desk_close(desk);
    }
}

TEST(watch_that_cannot_be_asked_for_on_a_new_connection_is_none) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    desk->fake.sends = ZKL_OUTCOME_NOT_NOW;
    reconnect(desk);
    FAKE_HEARD(&desk->fake, "unsent watch /r/x; unsent unwatch /r/x; look again a");
    desk->fake.sends = ZKL_OUTCOME_OK;
    zkl_watch_table_review(&desk->session.watches, false);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

/* That it is armed was said on the last connection. */
TEST(newcomer_after_a_reconnect_is_told_by_the_servers_of_this_connection) {
    static const zkl_outcome outcomes[] = { ZKL_OUTCOME_OK, ZKL_OUTCOME_NOT_NOW };
    static const char *const heard[] = {
        "watch /r/x; armed b OK", "watch /r/x; unwatch /r/x; look again a; armed b NOT_NOW"
    };
    for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
        watch_desk *desk = watch_desk_open();
        watch_desk_arm(desk, &desk->a, "/r/x");
        reconnect(desk);
        watch_desk_add(desk, &desk->b, "/r/x");
        FAKE_ANSWER(&desk->fake, "watch", .outcome = outcomes[i]);
        FAKE_HEARD(&desk->fake, heard[i]);
        watch_desk_leave(desk, &desk->a);
        watch_desk_leave(desk, &desk->b);
        desk->fake.heard[0] = '\0';
        FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
        watch_desk_close(desk);
    }
}

TEST(waiter_that_asks_again_is_told_again) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_add(desk, &desk->b, "/r/x");
    watch_desk_add(desk, &desk->a, "/r/x");
    FAKE_HEARD(&desk->fake, "armed b OK; armed a OK");
    reconnect(desk);
    watch_desk_add(desk, &desk->a, "/r/x");
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed a OK");
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "fired a; fired b");
    watch_desk_close(desk);
}

TEST(waiter_that_asks_for_another_path_leaves_the_first) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_add(desk, &desk->a, "/r/y");
    FAKE_HEARD(&desk->fake, "unwatch /r/x; watch /r/y");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "armed a OK; fired a");
    watch_desk_close(desk);
}

/* Who waits since before looks; for who has asked since it stands. */
TEST(node_that_was_set_meanwhile_is_news_only_to_those_who_waited) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    reconnect(desk);
    watch_desk_add(desk, &desk->b, "/r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK, .version = 1);
    FAKE_HEARD(&desk->fake, "watch /r/x; armed b OK; look again a");
    EXPECT_INT(zkl_watch_table_node(&desk->b.link).data_version, 1);
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "fired b");
    watch_desk_close(desk);
}

/* Only who has yet to be told waits for the answer. */
TEST(session_end_while_a_watch_is_asked_for_again_tells_newcomers) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    reconnect(desk);
    watch_desk_add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "watch /r/x");
    zkl_watch_table_clear(&desk->session.watches);
    FAKE_HEARD(&desk->fake, "armed b SESSION_OVER");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

/* What libzookeeper has set again may fire before the answer, which shows what has happened; and
 * where there is no node any more it leaves a watch for its creation. */
TEST(watch_that_fires_while_it_is_asked_for_again_is_told_by_the_answer) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    reconnect(desk);
    watch_desk_fire(desk, true);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; look again a");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    EXPECT_INT(zkl_watch_table_count(&desk->session.watches), 0);
    watch_desk_close(desk);
}

/* ---- What libzookeeper keeps -------------------------------------------------------------- */

/* A server that drops an event, or does not set a watch again, has none then. */
TEST(watch_that_no_server_has_is_forgotten_by_the_client_as_well) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_leave(desk, &desk->a);
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; forget /r/x; unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "");
    watch_desk_close(desk);
}

TEST(watch_that_fires_before_its_removal_is_forgotten_already) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_leave(desk, &desk->a);
    watch_desk_fire(desk, true);
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    watch_desk_close(desk);
}

/* The newer watch is libzookeeper's, too: nothing is forgotten under it. */
TEST(removal_that_finds_nothing_forgets_no_newer_watch) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    watch_desk_leave(desk, &desk->a);
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_NO_NODE);
    watch_desk_add(desk, &desk->b, "/r/x");
    FAKE_HEARD(&desk->fake, "unwatch /r/x; forget /r/x; unwatch /r/x; watch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_OK);
    FAKE_HEARD(&desk->fake, "armed b OK");
    watch_desk_leave(desk, &desk->b);
    watch_desk_add(desk, &desk->c, "/r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_NOT_NOW);
    FAKE_HEARD(&desk->fake, "unwatch /r/x; armed c NOT_NOW");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "forget /r/x; unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    watch_desk_close(desk);
}

TEST(waiter_leaves_while_its_watch_is_asked_for_again) {
    watch_desk *desk = watch_desk_open();
    watch_desk_arm(desk, &desk->a, "/r/x");
    reconnect(desk);
    watch_desk_leave(desk, &desk->a);
    FAKE_HEARD(&desk->fake, "watch /r/x");
    FAKE_ANSWER(&desk->fake, "watch", .outcome = ZKL_OUTCOME_NO_NODE);
    FAKE_HEARD(&desk->fake, "unwatch /r/x");
    FAKE_ANSWER(&desk->fake, "unwatch", .outcome = ZKL_OUTCOME_OK);
    EXPECT_INT(zkl_watch_table_count(&desk->session.watches), 0);
    watch_desk_close(desk);
}
