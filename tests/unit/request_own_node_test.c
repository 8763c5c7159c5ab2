/*
 * The request machine, as conversations: our own node is deleted by somebody
 * else while we wait. trace.h explains the words.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };

/* ---- The own node is deleted by somebody else ------------------------------------------ */

TEST(own_node_deleted_while_waiting_joins_again_at_once) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "watched OK          -> ",
        "own_watched OK      -> ",
        "own_watch_fired     -> WATCH_OWN me3",
        "own_watched NO_NODE -> UNWATCH REJOIN CREATE LIST",
        "created me5         -> ",
        "listed x2 me5 x4    -> WATCH x4",
    };
    PLAY(exclusive, lines);
}

TEST(own_node_gone_before_it_was_watched_joins_again_at_once) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "watched OK          -> ",
        "own_watched NO_NODE -> UNWATCH REJOIN CREATE LIST",
    };
    PLAY(exclusive, lines);
}

/* The watch on the blocker that is still being set is taken away when it is there. */
TEST(own_node_gone_while_the_blocker_is_being_watched_joins_again) {
    static const char *const there[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "own_watched NO_NODE -> REJOIN",
        "watched OK          -> UNWATCH CREATE LIST",
        "created me4         -> ",
        "listed x2 me4       -> WATCH x2 WATCH_OWN me4",
    };
    static const char *const gone[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "own_watched NO_NODE -> REJOIN",
        "watched NO_NODE     -> CREATE LIST",
        "created me4         -> ",
        "listed me4          -> GRANT",
    };
    PLAY(exclusive, there);
    PLAY(exclusive, gone);
}

TEST(own_node_deleted_again_and_again_is_made_again_after_pauses) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "watched OK          -> ",
        "own_watched NO_NODE -> UNWATCH REJOIN CREATE LIST",
        "created me4         -> ",
        "listed x2 me4       -> WATCH x2 WATCH_OWN me4",
        "watched OK          -> ",
        "own_watched NO_NODE -> UNWATCH REJOIN BACK_OFF",
        "backed_off          -> CREATE LIST",
        "created me5         -> ",
        "listed nobody       -> REJOIN BACK_OFF",
        "backed_off          -> CREATE LIST",
    };
    PLAY(exclusive, lines);
}

/* A list finds it out first: the own watch of the old node goes. */
TEST(list_without_our_node_takes_the_own_watch_away) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "watched OK          -> ",
        "own_watched OK      -> ",
        "watch_fired changed -> LIST",
        "listed x2           -> UNWATCH_OWN REJOIN CREATE LIST",
        "created me4         -> ",
        "listed x2 me4       -> WATCH x2 WATCH_OWN me4",
    };
    PLAY(exclusive, lines);
}

/* The list finds it out while the own watch is being set again: that answer tells nothing new. */
TEST(place_found_lost_by_a_list_and_by_the_own_watch_is_lost_once) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "watched OK          -> ",
        "own_watched OK      -> ",
        "watch_fired changed -> LIST",
        "own_watch_fired     -> WATCH_OWN me3",
        "listed x2           -> REJOIN",
        "own_watched NO_NODE -> CREATE LIST",
    };
    PLAY(exclusive, lines);
}

TEST(own_node_deleted_on_the_way_out_is_no_rejoining) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "watched OK          -> ",
        "own_watched OK      -> ",
        "own_watch_fired     -> WATCH_OWN me3",
        "timed_out           -> FAIL TIMEOUT",
        "own_watched NO_NODE -> UNWATCH DELETE me3",
        "deleted NO_NODE     -> END",
    };
    PLAY(exclusive, lines);
}

/* No runner feeds such replies; the fuzzer does. What was never inspected stays untouched. */
TEST(reply_that_nobody_awaits_takes_no_node) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "inspected ours  -> ",
        "deleted OK      -> ",
        "connected       -> CREATE LIST",
        "created me5     -> ",
        "created me7     -> ",
        "listed me5      -> GRANT",
        "own_watched NO_NODE -> ",
        "released        -> DELETE me5",
        "deleted OK      -> END",
    };
    PLAY(exclusive, lines);
}
