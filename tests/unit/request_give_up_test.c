/*
 * The request machine when it gives up: timeout, cancel, and tries. What happens on
 * the left, all that the request does about it on the right. trace.h explains
 * the words. Whatever a trace says, the monitor asserts the rules that hold in
 * each step.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };
static const trace_setup try_exclusive = { .mode = ZKL_EXCLUSIVE, .only_try = true };
static const trace_setup try_reader = { .mode = ZKL_READ, .only_try = true };
static const trace_setup try_offline = { .mode = ZKL_EXCLUSIVE,
                                         .only_try = true,
                                         .disconnected = true };

/* ---- Timeout and cancel
 * -------------------------------------------------------------------------- */

TEST(timeout_while_create_is_outstanding_deletes_the_node_when_it_is_known) {
    static const char *const lines[] = {
        "start         -> CREATE LIST", "timed_out     -> FAIL TIMEOUT", "created me3   -> ",
        "listed me3    -> DELETE me3",  "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

TEST(timeout_while_the_list_is_outstanding_is_no_grant) {
    static const char *const lines[] = {
        "start       -> CREATE LIST", "created me3 -> ",    "timed_out   -> FAIL TIMEOUT",
        "listed me3  -> DELETE me3",  "deleted OK  -> END",
    };
    PLAY(exclusive, lines);
}

TEST(timeout_while_waiting_leaves_the_queue) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2 WATCH_OWN me3",
        "watched OK    -> ",
        "own_watched OK -> ",
        "timed_out     -> FAIL TIMEOUT UNWATCH DELETE me3",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

TEST(timeout_while_the_watch_is_being_set_takes_it_away_again) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2 WATCH_OWN me3",
        "timed_out     -> FAIL TIMEOUT",
        "watched OK    -> ",
        "own_watched OK -> UNWATCH DELETE me3",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

TEST(timeout_offline_is_told_at_once_and_cleaned_up_later) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2 WATCH_OWN me3",
        "watched OK    -> ",
        "own_watched OK -> ",
        "disconnected  -> ",
        "timed_out     -> FAIL DISCONNECTED UNWATCH",
        "connected     -> DELETE me3",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

TEST(timeout_after_a_lost_create_finds_and_deletes_the_node) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "timed_out       -> FAIL DISCONNECTED",
        "connected       -> SETTLE LIST",
        "settled OK      -> ",
        "listed x1 me3   -> INSPECT me3",
        "inspected ours  -> DELETE me3",
        "deleted OK      -> SETTLE LIST",
        "settled OK      -> ",
        "listed x1       -> END",
    };
    PLAY(exclusive, lines);
}

TEST(timeout_with_two_nodes_deletes_both) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "connected       -> CREATE LIST",
        "created me4     -> ",
        "timed_out       -> FAIL TIMEOUT",
        "listed me3 me4  -> INSPECT me3",
        "inspected ours  -> DELETE me4",
        "deleted OK      -> DELETE me3",
        "deleted OK      -> SETTLE LIST",
        "settled OK      -> ",
        "listed nobody   -> END",
    };
    PLAY(exclusive, lines);
}

TEST(fired_watch_after_the_timeout_is_no_grant) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2 WATCH_OWN me3",
        "watched OK    -> ",
        "own_watched OK -> ",
        "watch_fired   -> LIST",
        "timed_out     -> FAIL TIMEOUT",
        "watch_fired   -> ",
        "listed me3    -> DELETE me3",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

TEST(timeout_and_cancel_give_one_verdict_the_first) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2 WATCH_OWN me3",
        "watched OK    -> ",
        "own_watched OK -> ",
        "timed_out     -> FAIL TIMEOUT UNWATCH DELETE me3",
        "cancelled     -> ",
        "timed_out     -> ",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

TEST(cancel_while_waiting_leaves_the_queue) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2 WATCH_OWN me3",
        "watched OK    -> ",
        "own_watched OK -> ",
        "cancelled     -> FAIL CANCELLED UNWATCH DELETE me3",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

TEST(cancel_while_create_is_outstanding_deletes_the_node_when_it_is_known) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "cancelled       -> FAIL CANCELLED",
        "created me3     -> ",
        "listed NOT_NOW  -> BACK_OFF",
        "backed_off      -> DELETE me3",
        "deleted OK      -> END",
    };
    PLAY(exclusive, lines);
}

TEST(leaving_request_makes_no_parent) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "cancelled       -> FAIL CANCELLED",
        "created NO_NODE -> ",
        "listed NO_NODE  -> END",
    };
    PLAY(exclusive, lines);
}

/* ---- Try
 * ---------------------------------------------------------------------------------------------- */

TEST(try_on_a_held_lock_writes_nothing) {
    static const char *const lines[] = {
        "start     -> LIST",
        "listed x1 -> FAIL BUSY END",
    };
    PLAY(try_exclusive, lines);
}

TEST(try_on_a_free_lock_queues_and_is_granted) {
    static const char *const lines[] = {
        "start         -> LIST",  "listed nobody -> CREATE LIST", "created me3   -> ",
        "listed me3    -> GRANT", "released      -> DELETE me3",  "deleted OK    -> END",
    };
    PLAY(try_exclusive, lines);
}

TEST(try_of_a_resource_without_parent_makes_it) {
    static const char *const lines[] = {
        "start           -> LIST",        "listed NO_NODE  -> CREATE LIST", "created NO_NODE -> ",
        "listed NO_NODE  -> MAKE_PARENT", "parent_made OK  -> CREATE LIST", "created me0     -> ",
        "listed me0      -> GRANT",
    };
    PLAY(try_exclusive, lines);
}

TEST(try_of_a_reader_passes_readers_but_no_writer) {
    static const char *const readers[] = {
        "start           -> LIST",
        "listed r1 r2    -> CREATE LIST",
        "created me3     -> ",
        "listed r1 r2 me3 -> GRANT",
    };
    static const char *const writers[] = {
        "start        -> LIST",
        "listed r1 w2 -> FAIL BUSY END",
    };
    PLAY(try_reader, readers);
    PLAY(try_reader, writers);
}

TEST(loser_of_two_tries_says_so_when_its_node_is_gone) {
    static const char *const lines[] = {
        "start         -> LIST",       "listed nobody -> CREATE LIST",   "created me4   -> ",
        "listed x3 me4 -> DELETE me4", "deleted OK    -> FAIL BUSY END",
    };
    PLAY(try_exclusive, lines);
}

TEST(loser_of_two_tries_is_not_kept_by_a_disconnect) {
    static const char *const lines[] = {
        "start           -> LIST",       "listed nobody   -> CREATE LIST", "created me4     -> ",
        "listed x3 me4   -> DELETE me4", "disconnected    -> FAIL BUSY",   "deleted UNKNOWN -> ",
        "connected       -> DELETE me4", "deleted OK      -> END",
    };
    PLAY(try_exclusive, lines);
}

TEST(loser_of_two_tries_is_not_kept_by_the_end_of_its_session) {
    static const char *const lines[] = {
        "start                -> LIST", "listed nobody        -> CREATE LIST",
        "created me4          -> ",     "listed x3 me4        -> DELETE me4",
        "session_ended        -> ",     "deleted SESSION_OVER -> FAIL BUSY END",
    };
    PLAY(try_exclusive, lines);
}

/* A try waits for the replies to its requests, and no longer. */
TEST(loser_of_two_tries_is_not_kept_by_a_refused_delete) {
    static const char *const lines[] = {
        "start           -> LIST",
        "listed nobody   -> CREATE LIST",
        "created me4     -> ",
        "listed x3 me4   -> DELETE me4",
        "deleted REFUSED -> FAIL BUSY WARN NO_PERMISSION BACK_OFF",
        "backed_off      -> DELETE me4",
        "deleted OK      -> END",
    };
    PLAY(try_exclusive, lines);
}

TEST(loser_of_two_tries_that_is_cancelled_says_so) {
    static const char *const lines[] = {
        "start         -> LIST",       "listed nobody -> CREATE LIST",    "created me4   -> ",
        "listed x3 me4 -> DELETE me4", "cancelled     -> FAIL CANCELLED", "deleted OK    -> END",
    };
    PLAY(try_exclusive, lines);
}

TEST(try_offline_fails_at_once) {
    static const char *const lines[] = {
        "start -> FAIL DISCONNECTED END",
    };
    PLAY(try_offline, lines);
}

TEST(try_that_is_cut_off_fails_at_once) {
    static const char *const lines[] = {
        "start          -> LIST",
        "disconnected   -> FAIL DISCONNECTED",
        "listed UNKNOWN -> END",
    };
    PLAY(try_exclusive, lines);
}

TEST(try_that_is_cut_off_while_it_queues_cleans_up) {
    static const char *const lines[] = {
        "start           -> LIST",
        "listed nobody   -> CREATE LIST",
        "disconnected    -> FAIL DISCONNECTED",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "connected       -> SETTLE LIST",
        "settled OK      -> ",
        "listed me0      -> INSPECT me0",
        "inspected ours  -> DELETE me0",
        "deleted OK      -> SETTLE LIST",
        "settled OK      -> ",
        "listed nobody   -> END",
    };
    PLAY(try_exclusive, lines);
}

TEST(try_whose_session_ends_fails) {
    static const char *const lines[] = {
        "start               -> LIST",
        "session_ended       -> FAIL SESSION_EXPIRED",
        "listed SESSION_OVER -> END",
    };
    PLAY(try_exclusive, lines);
}

TEST(try_that_holds_does_not_fail_by_a_disconnect) {
    static const char *const lines[] = {
        "start         -> LIST",       "listed nobody -> CREATE LIST",
        "created me3   -> ",           "listed me3    -> GRANT",
        "disconnected  -> ",           "connected     -> ",
        "released      -> DELETE me3",
    };
    PLAY(try_exclusive, lines);
}

TEST(try_of_a_forbidden_list_fails) {
    static const char *const lines[] = {
        "start          -> LIST",
        "listed REFUSED -> FAIL NO_PERMISSION END",
    };
    PLAY(try_exclusive, lines);
}

TEST(try_that_the_server_does_not_take_now_gives_up) {
    static const char *const lines[] = {
        "start           -> LIST",
        "listed NOT_NOW  -> FAIL SERVER_REFUSED BACK_OFF",
        "backed_off      -> END",
    };
    PLAY(try_exclusive, lines);
}
