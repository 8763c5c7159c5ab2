/*
 * The request machine, as conversations: what happens on the left, all that
 * the request does about it on the right. trace.h explains the words. Whatever
 * a trace says, the monitor asserts the rules that hold in each step.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };
static const trace_setup reader = { .mode = ZKL_READ };
static const trace_setup writer = { .mode = ZKL_WRITE };
static const trace_setup try_exclusive = { .mode = ZKL_EXCLUSIVE, .only_try = true };
static const trace_setup try_reader = { .mode = ZKL_READ, .only_try = true };
static const trace_setup fails_on_expiry = { .mode = ZKL_EXCLUSIVE,
                                             .fail_on_session_expiry = true };
static const trace_setup offline = { .mode = ZKL_EXCLUSIVE, .disconnected = true };
static const trace_setup try_offline = { .mode = ZKL_EXCLUSIVE,
                                         .only_try = true,
                                         .disconnected = true };

/* ---- The good case --------------------------------------------------------- */

static void free_lock_is_granted_after_one_create_and_one_list(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST", "created me0   -> ",    "listed me0    -> GRANT",
        "released      -> DELETE me0",  "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

static void waiter_is_granted_when_its_predecessor_is_gone(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST", "created me3     -> ",
        "listed x2 me3   -> WATCH x2",    "watched OK      -> ",
        "watch_fired     -> LIST",        "listed me3      -> GRANT",
        "released        -> DELETE me3",  "deleted OK      -> END",
    };
    PLAY(exclusive, lines);
}

static void waiter_watches_only_the_nearest_of_many(void) {
    static const char *const lines[] = {
        "start                        -> CREATE LIST",
        "created me10                 -> ",
        "listed x9 x7 me10 x12 x8 x11 -> WATCH x9",
        "watched OK                   -> ",
        "watch_fired                  -> LIST",
        "listed x12 x7 x11 me10 x8    -> WATCH x8",
        "watched OK                   -> ",
        "watch_fired                  -> LIST",
        "listed x11 me10 x12          -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void fired_watch_alone_grants_nothing(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "created me3     -> ",
        "listed x2 me3   -> WATCH x2",
        "watched OK      -> ",
        "watch_fired     -> LIST",
        "listed x2 me3   -> WATCH x2", /* it was changed, not deleted */
        "watched OK      -> ",
        "watch_fired     -> LIST",
        "listed x1 me3   -> WATCH x1", /* an earlier one was listed late */
        "watched OK      -> ",
    };
    PLAY(exclusive, lines);
}

static void blocker_gone_between_list_and_watch_lists_again(void) {
    static const char *const lines[] = {
        "start            -> CREATE LIST", "created me3      -> ",
        "listed x1 x2 me3 -> WATCH x2",    "watched NO_NODE  -> LIST",
        "listed x1 me3    -> WATCH x1",    "watched NO_NODE  -> LIST",
        "listed me3       -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void sequences_are_compared_as_numbers(void) {
    static const char *const lines[] = {
        "start                      -> CREATE LIST",
        "created me1000000000       -> ",
        "listed x999999999 me1000000000 x1000000001 -> WATCH x999999999",
    };
    PLAY(exclusive, lines);
}

/* ---- Modes ------------------------------------------------------------------- */

static void reader_passes_earlier_readers(void) {
    static const char *const lines[] = {
        "start              -> CREATE LIST",
        "created me3        -> ",
        "listed r1 q2 me3   -> GRANT",
    };
    PLAY(reader, lines);
}

static void reader_waits_behind_waiting_writer(void) {
    static const char *const lines[] = {
        "start                  -> CREATE LIST", "created me5            -> ",
        "listed r1 w2 r3 r4 me5 -> WATCH w2",    "watched OK             -> ",
        "watch_fired            -> LIST",        "listed r1 r3 r4 me5    -> GRANT",
    };
    PLAY(reader, lines);
}

static void reader_waits_for_the_nearest_of_two_writers(void) {
    static const char *const lines[] = {
        "start                  -> CREATE LIST", "created me5            -> ",
        "listed w4 r1 w2 me5 r3 -> WATCH w4",    "watched OK             -> ",
        "watch_fired            -> LIST",        "listed r1 w2 me5 r3    -> WATCH w2",
    };
    PLAY(reader, lines);
}

static void reader_waits_for_an_exclusive_lock(void) {
    static const char *const lines[] = {
        "start            -> CREATE LIST",
        "created me3      -> ",
        "listed x1 r2 me3 -> WATCH x1",
    };
    PLAY(reader, lines);
}

static void writer_waits_for_the_last_reader(void) {
    static const char *const lines[] = {
        "start                  -> CREATE LIST",
        "created me5            -> ",
        "listed r2 r1 w3 r4 me5 -> WATCH r4",
    };
    PLAY(writer, lines);
}

static void kazoo_and_curator_nodes_are_waited_for(void) {
    static const char *const lines[] = {
        "start                     -> CREATE LIST", "created me5               -> ",
        "listed k1 q2 w3 q4 me5 k6 -> WATCH q4",    "watched OK                -> ",
        "watch_fired               -> LIST",        "listed k1 me5 k6          -> WATCH k1",
    };
    PLAY(exclusive, lines);
}

static void child_without_a_sequence_is_ignored(void) {
    static const char *const lines[] = {
        "start             -> CREATE LIST",
        "created me3       -> ",
        "listed junk me3   -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void unknown_kind_blocks_a_reader_and_is_reported_once(void) {
    static const char *const lines[] = {
        "start            -> CREATE LIST",
        "created me3      -> ",
        "listed u1 r2 me3 -> REPORT u1 WATCH u1",
        "watched OK       -> ",
        "watch_fired      -> LIST",
        "listed u1 r2 me3 -> WATCH u1",
        "watched OK       -> ",
        "watch_fired      -> LIST",
        "listed r2 me3    -> GRANT",
    };
    PLAY(reader, lines);
}

static void later_unknown_kind_is_nobodys_concern(void) {
    static const char *const lines[] = {
        "start          -> CREATE LIST",
        "created me3    -> ",
        "listed me3 u4  -> GRANT",
    };
    PLAY(exclusive, lines);
}

/* ---- The parent ---------------------------------------------------------------- */

static void missing_parent_is_made_and_the_queue_joined(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST", "created NO_NODE -> ", "listed NO_NODE  -> MAKE_PARENT",
        "parent_made OK  -> CREATE LIST", "created me0     -> ", "listed me0      -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void parent_that_vanishes_again_is_made_again_after_a_pause(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "created NO_NODE -> ",
        "listed NO_NODE  -> MAKE_PARENT",
        "parent_made OK  -> CREATE LIST",
        "created NO_NODE -> ",
        "listed NO_NODE  -> MAKE_PARENT",
        "parent_made OK  -> BACK_OFF",
        "backed_off      -> CREATE LIST",
        "created NO_NODE -> ",
        "listed NO_NODE  -> MAKE_PARENT",
        "parent_made OK  -> BACK_OFF",
        "backed_off      -> CREATE LIST",
        "created me0     -> ",
        "listed me0      -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void parent_made_by_another_between_create_and_list_is_made_all_the_same(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "created NO_NODE -> ",
        "listed nobody   -> MAKE_PARENT",
        "parent_made OK  -> CREATE LIST",
    };
    PLAY(exclusive, lines);
}

static void forbidden_parent_fails_the_request(void) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created NO_NODE     -> ",
        "listed NO_NODE      -> MAKE_PARENT",
        "parent_made REFUSED -> FAIL NO_PERMISSION END",
    };
    PLAY(exclusive, lines);
}

static void lost_reply_about_the_parent_asks_again_when_connected(void) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created NO_NODE     -> ",
        "listed NO_NODE      -> MAKE_PARENT",
        "disconnected        -> ",
        "parent_made UNKNOWN -> ",
        "connected           -> MAKE_PARENT",
        "parent_made NOT_NOW -> BACK_OFF",
        "backed_off          -> MAKE_PARENT",
        "parent_made OK      -> CREATE LIST",
    };
    PLAY(exclusive, lines);
}

static void timeout_while_the_parent_is_made_ends_without_a_node(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST", "created NO_NODE -> ",
        "listed NO_NODE  -> MAKE_PARENT", "timed_out       -> FAIL TIMEOUT",
        "parent_made OK  -> END",
    };
    PLAY(exclusive, lines);
}

/* ---- Refusals and servers that are busy -------------------------------------------- */

static void forbidden_create_fails_the_request(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "created REFUSED -> FAIL NO_PERMISSION",
        "listed x1       -> END",
    };
    PLAY(exclusive, lines);
}

static void forbidden_list_fails_the_request_and_deletes_its_node(void) {
    static const char *const lines[] = {
        "start          -> CREATE LIST",
        "created me1    -> ",
        "listed REFUSED -> FAIL NO_PERMISSION DELETE me1",
        "deleted OK     -> END",
    };
    PLAY(exclusive, lines);
}

static void forbidden_watch_fails_the_request_and_deletes_its_node(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST", "created me2     -> ",
        "listed x1 me2   -> WATCH x1",    "watched REFUSED -> FAIL NO_PERMISSION DELETE me2",
        "deleted OK      -> END",
    };
    PLAY(exclusive, lines);
}

static void refusal_that_does_not_say_why_is_no_success(void) {
    static const char *const lines[] = {
        "start                    -> CREATE LIST",
        "created REFUSED silently -> FAIL SERVER_REFUSED",
        "listed nobody            -> END",
    };
    PLAY(exclusive, lines);
}

static void busy_server_is_asked_again_after_a_pause(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "created NOT_NOW -> ",
        "listed NOT_NOW  -> BACK_OFF",
        "backed_off      -> CREATE LIST",
        "created me3     -> ",
        "listed NOT_NOW  -> BACK_OFF",
        "backed_off      -> LIST",
        "listed x2 me3   -> WATCH x2",
        "watched NOT_NOW -> BACK_OFF",
        "backed_off      -> LIST",
        "listed me3      -> GRANT",
        "released        -> DELETE me3",
        "deleted NOT_NOW -> BACK_OFF",
        "backed_off      -> DELETE me3",
        "deleted OK      -> END",
    };
    PLAY(exclusive, lines);
}

static void timeout_in_a_pause_gives_the_verdict_at_once(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",  "created NOT_NOW -> ",    "listed NOT_NOW  -> BACK_OFF",
        "timed_out       -> FAIL TIMEOUT", "backed_off      -> END",
    };
    PLAY(exclusive, lines);
}

static void refused_delete_is_tried_again_and_again(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "created me1     -> ",
        "listed me1      -> GRANT",
        "released        -> DELETE me1",
        "deleted REFUSED -> WARN NO_PERMISSION BACK_OFF", /* once */
        "backed_off      -> DELETE me1",
        "deleted REFUSED -> BACK_OFF",
        "backed_off      -> DELETE me1",
        "deleted OK      -> END",
    };
    PLAY(exclusive, lines);
}

/* ---- Lost replies --------------------------------------------------------------------- */

static void create_reply_lost_is_resolved_by_a_second_create_and_a_list(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "connected       -> CREATE LIST",
        "created me4     -> ",
        "listed me3 me4  -> INSPECT me3",
        "inspected ours  -> DELETE me4",
        "deleted OK      -> LIST",
        "listed me3      -> GRANT",
        "released        -> DELETE me3",
        "deleted OK      -> END",
    };
    PLAY(exclusive, lines);
}

static void create_that_was_never_applied_leaves_only_the_second_node(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "connected       -> CREATE LIST",
        "created me4     -> ",
        "listed x3 me4   -> WATCH x3",
        "watched OK      -> ",
        "watch_fired     -> LIST",
        "listed me4      -> GRANT",
        "released        -> DELETE me4",
        "deleted OK      -> END",
    };
    PLAY(exclusive, lines);
}

static void two_nodes_of_ours_keep_the_lower(void) {
    static const char *const lines[] = {
        "start             -> CREATE LIST",
        "disconnected      -> ",
        "created UNKNOWN   -> ",
        "listed UNKNOWN    -> ",
        "connected         -> CREATE LIST",
        "created me5       -> ",
        "listed me5 x4 me3 -> INSPECT me3",
        "inspected ours    -> DELETE me5", /* else x4 would have gone before us */
        "deleted OK        -> LIST",
        "listed x4 me3     -> GRANT",
    };
    PLAY(exclusive, lines);
}

/* The servers' counter restarts when a parent is made anew. */
static void two_nodes_of_ours_where_the_known_one_is_lower(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "connected       -> CREATE LIST",
        "created me3     -> ",
        "listed me9 me3  -> INSPECT me9",
        "inspected ours  -> DELETE me9",
        "deleted OK      -> LIST",
        "listed me3      -> GRANT",
        "released        -> DELETE me3",
        "deleted OK      -> END",
    };
    PLAY(exclusive, lines);
}

static void two_replies_lost_in_a_row_leave_three_nodes_of_which_one_stays(void) {
    static const char *const lines[] = {
        "start              -> CREATE LIST",
        "disconnected       -> ",
        "created UNKNOWN    -> ",
        "listed UNKNOWN     -> ",
        "connected          -> CREATE LIST",
        "disconnected       -> ",
        "created UNKNOWN    -> ",
        "listed UNKNOWN     -> ",
        "connected          -> CREATE LIST",
        "created me5        -> ",
        "listed me4 me3 me5 -> INSPECT me3",
        "inspected ours     -> DELETE me5",
        "deleted OK         -> LIST",
        "listed me4 me3     -> INSPECT me4",
        "inspected ours     -> DELETE me4",
        "deleted OK         -> LIST",
        "listed me3         -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void list_before_a_committed_write_proves_nothing(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "timed_out       -> FAIL TIMEOUT",
        "connected       -> SETTLE LIST",
        "settled NOT_NOW -> ",
        "listed nobody   -> BACK_OFF", /* the create may still come */
        "backed_off      -> SETTLE LIST",
        "settled NO_NODE -> ",
        "listed me3      -> INSPECT me3", /* and it did */
        "inspected ours  -> DELETE me3",
        "deleted OK      -> SETTLE LIST",
        "settled NO_NODE -> ",
        "listed nobody   -> END",
    };
    PLAY(exclusive, lines);
}

static void settling_counts_on_its_own_connection_only(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "timed_out       -> FAIL TIMEOUT",
        "connected       -> SETTLE LIST",
        "settled NO_NODE -> ",
        "disconnected    -> ",
        "listed UNKNOWN  -> ",
        "connected       -> SETTLE LIST",
        "settled REFUSED -> ", /* committed as an error, but committed */
        "listed nobody   -> END",
    };
    PLAY(exclusive, lines);
}

static void candidate_gone_before_it_was_inspected_is_forgotten(void) {
    static const char *const lines[] = {
        "start             -> CREATE LIST",
        "disconnected      -> ",
        "created UNKNOWN   -> ",
        "listed UNKNOWN    -> ",
        "connected         -> CREATE LIST",
        "created me4       -> ",
        "listed me3 me4    -> INSPECT me3",
        "inspected NO_NODE -> LIST",
        "listed me4        -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void candidate_owned_by_another_session_is_left_alone(void) {
    static const char *const lines[] = {
        "start            -> CREATE LIST",
        "disconnected     -> ",
        "created UNKNOWN  -> ",
        "listed UNKNOWN   -> ",
        "connected        -> CREATE LIST",
        "created me4      -> ",
        "listed me3 me4   -> INSPECT me3",
        "inspected others -> LIST",
        "listed me3 me4   -> WATCH me3", /* a contender like any other */
        "watched OK       -> ",
        "watch_fired      -> LIST",
        "listed me4       -> GRANT",
        "released         -> DELETE me4",
        "deleted OK       -> END",
    };
    PLAY(exclusive, lines);
}

static void candidate_owned_by_another_session_is_left_alone_on_the_way_out(void) {
    static const char *const lines[] = {
        "start            -> CREATE LIST",
        "timed_out        -> FAIL TIMEOUT",
        "disconnected     -> ",
        "created UNKNOWN  -> ",
        "listed UNKNOWN   -> ",
        "connected        -> SETTLE LIST",
        "settled NO_NODE  -> ",
        "listed me3       -> INSPECT me3",
        "inspected others -> SETTLE LIST", /* ours may still be behind it */
        "settled NO_NODE  -> ",
        "listed me3       -> END",
    };
    PLAY(exclusive, lines);
}

/* A copy of our name that somebody else made must not hide the node that we
 * lost: nobody else would ever delete it, and we would wait for ourselves. */
static void copied_name_does_not_hide_our_lost_node(void) {
    static const char *const lines[] = {
        "start              -> CREATE LIST",
        "disconnected       -> ",
        "created UNKNOWN    -> ",
        "listed UNKNOWN     -> ",
        "connected          -> CREATE LIST",
        "created me5        -> ",
        "listed me3 me4 me5 -> INSPECT me3",
        "inspected others   -> LIST",
        "listed me3 me4 me5 -> INSPECT me4",
        "inspected ours     -> DELETE me5",
    };
    PLAY(exclusive, lines);
}

static void lost_reply_of_an_inspection_asks_again(void) {
    static const char *const lines[] = {
        "start             -> CREATE LIST",
        "disconnected      -> ",
        "created UNKNOWN   -> ",
        "listed UNKNOWN    -> ",
        "connected         -> CREATE LIST",
        "created me4       -> ",
        "listed me3 me4    -> INSPECT me3",
        "disconnected      -> ",
        "inspected UNKNOWN -> ",
        "connected         -> INSPECT me3",
        "inspected ours    -> DELETE me4",
        "disconnected      -> ",
        "deleted UNKNOWN   -> ",
        "connected         -> DELETE me4",
        "deleted NO_NODE   -> LIST",
        "listed me3        -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void list_reply_lost_lists_again_and_creates_nothing(void) {
    static const char *const lines[] = {
        "start          -> CREATE LIST",
        "created me3    -> ",
        "disconnected   -> ",
        "listed UNKNOWN -> ",
        "connected      -> LIST",
        "listed me3     -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void watch_reply_lost_lists_again_before_it_watches(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "created me3     -> ",
        "listed x2 me3   -> WATCH x2",
        "disconnected    -> ",
        "watched UNKNOWN -> ",
        "connected       -> LIST",
        "listed x2 me3   -> WATCH x2",
        "watched OK      -> ",
    };
    PLAY(exclusive, lines);
}

static void reply_lost_while_connected_is_resolved_in_the_same_way_after_a_pause(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST", "created UNKNOWN -> ", "listed nobody   -> BACK_OFF",
        "backed_off      -> CREATE LIST", "created me1     -> ", "listed me0 me1  -> INSPECT me0",
        "inspected ours  -> DELETE me1",
    };
    PLAY(exclusive, lines);
}

static void create_refused_after_a_lost_reply_still_looks_for_the_first_node(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "connected       -> CREATE LIST",
        "created REFUSED -> FAIL NO_PERMISSION",
        "listed me3      -> SETTLE LIST",
        "settled NO_NODE -> ",
        "listed me3      -> INSPECT me3",
        "inspected ours  -> DELETE me3",
        "deleted OK      -> SETTLE LIST",
        "settled NO_NODE -> ",
        "listed nobody   -> END",
    };
    PLAY(exclusive, lines);
}

static void parent_deleted_after_a_lost_create_is_made_again(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "connected       -> CREATE LIST",
        "created NO_NODE -> ",
        "listed NO_NODE  -> MAKE_PARENT",
        "parent_made OK  -> CREATE LIST",
        "created me0     -> ",
        "listed me0      -> GRANT",
    };
    PLAY(exclusive, lines);
}

/* ---- Disconnected ------------------------------------------------------------------------- */

static void request_started_offline_begins_when_connected(void) {
    static const char *const lines[] = {
        "start       -> ",
        "connected   -> CREATE LIST",
        "created me0 -> ",
        "listed me0  -> GRANT",
    };
    PLAY(offline, lines);
}

static void timeout_offline_before_anything_was_sent_ends_at_once(void) {
    static const char *const lines[] = {
        "start     -> ",
        "timed_out -> FAIL TIMEOUT END",
    };
    PLAY(offline, lines);
}

static void waiter_keeps_its_place_and_its_watch_over_a_reconnect(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2",
        "watched OK    -> ",
        "disconnected  -> ",
        "connected     -> ",
        "watch_fired   -> LIST",
        "listed me3    -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void watch_that_fires_offline_lists_when_connected(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2",
        "watched OK    -> ",
        "disconnected  -> ",
        "watch_fired   -> ",
        "connected     -> LIST",
        "listed me3    -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void holder_does_nothing_about_a_disconnect(void) {
    static const char *const lines[] = {
        "start        -> CREATE LIST",
        "created me3  -> ",
        "listed me3   -> GRANT",
        "disconnected -> ",
        "connected    -> ",
        "disconnected -> ",
        "connected    -> ",
        "released     -> DELETE me3",
        "deleted OK   -> END",
    };
    PLAY(exclusive, lines);
}

static void news_that_arrives_twice_changes_nothing(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "connected     -> ",
        "created me3   -> ",
        "connected     -> ",
        "listed x2 me3 -> WATCH x2",
        "connected     -> ",
        "watched OK    -> ",
        "connected     -> ",
        "disconnected  -> ",
        "disconnected  -> ",
        "connected     -> ",
        "watch_fired   -> LIST",
        "watch_fired   -> ",
        "listed me3    -> GRANT",
        "watch_fired   -> ",
        "connected     -> ",
    };
    PLAY(exclusive, lines);
}

/* ---- Release ----------------------------------------------------------------------------------
 */

static void release_lost_in_disconnect_is_deleted_after_reconnect(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST", "created me3     -> ",    "listed me3      -> GRANT",
        "released        -> DELETE me3",  "disconnected    -> ",    "deleted UNKNOWN -> ",
        "connected       -> DELETE me3",  "disconnected    -> ",    "deleted UNKNOWN -> ",
        "connected       -> DELETE me3",  "deleted NO_NODE -> END", /* the first one had come
                                                                       through */
    };
    PLAY(exclusive, lines);
}

static void release_offline_is_sent_when_connected(void) {
    static const char *const lines[] = {
        "start        -> CREATE LIST",
        "created me3  -> ",
        "listed me3   -> GRANT",
        "disconnected -> ",
        "released     -> ",
        "connected    -> DELETE me3",
        "deleted OK   -> END",
    };
    PLAY(exclusive, lines);
}

static void release_whose_session_ends_is_over(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed me3    -> GRANT",
        "disconnected  -> ",
        "released      -> ",
        "session_ended -> END",
    };
    PLAY(exclusive, lines);
}

static void session_end_during_the_delete_waits_for_its_reply(void) {
    static const char *const lines[] = {
        "start                -> CREATE LIST",
        "created me3          -> ",
        "listed me3           -> GRANT",
        "released             -> DELETE me3",
        "session_ended        -> ",
        "deleted SESSION_OVER -> END",
    };
    PLAY(exclusive, lines);
}

static void release_twice_deletes_once(void) {
    static const char *const lines[] = {
        "start       -> CREATE LIST",
        "created me3 -> ",
        "listed me3  -> GRANT",
        "released    -> DELETE me3",
        "released    -> ",
        "deleted OK  -> END",
        "released    -> ",
    };
    PLAY(exclusive, lines);
}

static void timeout_and_cancel_after_the_grant_come_too_late(void) {
    static const char *const lines[] = {
        "start       -> CREATE LIST",
        "created me3 -> ",
        "listed me3  -> GRANT",
        "timed_out   -> ",
        "cancelled   -> ",
        "released    -> DELETE me3",
        "timed_out   -> ",
        "cancelled   -> ",
        "deleted OK  -> END",
        "timed_out   -> ",
        "cancelled   -> ",
    };
    PLAY(exclusive, lines);
}

/* ---- Timeout and cancel
 * -------------------------------------------------------------------------- */

static void timeout_while_create_is_outstanding_deletes_the_node_when_it_is_known(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST", "timed_out     -> FAIL TIMEOUT", "created me3   -> ",
        "listed me3    -> DELETE me3",  "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

static void timeout_while_the_list_is_outstanding_is_no_grant(void) {
    static const char *const lines[] = {
        "start       -> CREATE LIST", "created me3 -> ",    "timed_out   -> FAIL TIMEOUT",
        "listed me3  -> DELETE me3",  "deleted OK  -> END",
    };
    PLAY(exclusive, lines);
}

static void timeout_while_waiting_leaves_the_queue(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2",
        "watched OK    -> ",
        "timed_out     -> FAIL TIMEOUT UNWATCH DELETE me3",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

static void timeout_while_the_watch_is_being_set_takes_it_away_again(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",        "created me3   -> ",
        "listed x2 me3 -> WATCH x2",           "timed_out     -> FAIL TIMEOUT",
        "watched OK    -> UNWATCH DELETE me3", "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

static void timeout_offline_is_told_at_once_and_cleaned_up_later(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2",
        "watched OK    -> ",
        "disconnected  -> ",
        "timed_out     -> FAIL TIMEOUT UNWATCH",
        "connected     -> DELETE me3",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

static void timeout_after_a_lost_create_finds_and_deletes_the_node(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "timed_out       -> FAIL TIMEOUT",
        "connected       -> SETTLE LIST",
        "settled NO_NODE -> ",
        "listed x1 me3   -> INSPECT me3",
        "inspected ours  -> DELETE me3",
        "deleted OK      -> SETTLE LIST",
        "settled NO_NODE -> ",
        "listed x1       -> END",
    };
    PLAY(exclusive, lines);
}

static void timeout_with_two_nodes_deletes_both(void) {
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
        "settled NO_NODE -> ",
        "listed nobody   -> END",
    };
    PLAY(exclusive, lines);
}

static void fired_watch_after_the_timeout_is_no_grant(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2",
        "watched OK    -> ",
        "watch_fired   -> LIST",
        "timed_out     -> FAIL TIMEOUT",
        "watch_fired   -> ",
        "listed me3    -> DELETE me3",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

static void timeout_and_cancel_give_one_verdict_the_first(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2",
        "watched OK    -> ",
        "timed_out     -> FAIL TIMEOUT UNWATCH DELETE me3",
        "cancelled     -> ",
        "timed_out     -> ",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

static void cancel_while_waiting_leaves_the_queue(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2",
        "watched OK    -> ",
        "cancelled     -> FAIL CANCELLED UNWATCH DELETE me3",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

static void cancel_while_create_is_outstanding_deletes_the_node_when_it_is_known(void) {
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

static void leaving_request_makes_no_parent(void) {
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

static void try_on_a_held_lock_writes_nothing(void) {
    static const char *const lines[] = {
        "start     -> LIST",
        "listed x1 -> FAIL BUSY END",
    };
    PLAY(try_exclusive, lines);
}

static void try_on_a_free_lock_queues_and_is_granted(void) {
    static const char *const lines[] = {
        "start         -> LIST",  "listed nobody -> CREATE LIST", "created me3   -> ",
        "listed me3    -> GRANT", "released      -> DELETE me3",  "deleted OK    -> END",
    };
    PLAY(try_exclusive, lines);
}

static void try_of_a_resource_without_parent_makes_it(void) {
    static const char *const lines[] = {
        "start           -> LIST",        "listed NO_NODE  -> CREATE LIST", "created NO_NODE -> ",
        "listed NO_NODE  -> MAKE_PARENT", "parent_made OK  -> CREATE LIST", "created me0     -> ",
        "listed me0      -> GRANT",
    };
    PLAY(try_exclusive, lines);
}

static void try_of_a_reader_passes_readers_but_no_writer(void) {
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

static void loser_of_two_tries_says_so_when_its_node_is_gone(void) {
    static const char *const lines[] = {
        "start         -> LIST",       "listed nobody -> CREATE LIST",   "created me4   -> ",
        "listed x3 me4 -> DELETE me4", "deleted OK    -> FAIL BUSY END",
    };
    PLAY(try_exclusive, lines);
}

static void loser_of_two_tries_is_not_kept_by_a_disconnect(void) {
    static const char *const lines[] = {
        "start           -> LIST",       "listed nobody   -> CREATE LIST", "created me4     -> ",
        "listed x3 me4   -> DELETE me4", "disconnected    -> FAIL BUSY",   "deleted UNKNOWN -> ",
        "connected       -> DELETE me4", "deleted OK      -> END",
    };
    PLAY(try_exclusive, lines);
}

static void loser_of_two_tries_is_not_kept_by_the_end_of_its_session(void) {
    static const char *const lines[] = {
        "start                -> LIST", "listed nobody        -> CREATE LIST",
        "created me4          -> ",     "listed x3 me4        -> DELETE me4",
        "session_ended        -> ",     "deleted SESSION_OVER -> FAIL BUSY END",
    };
    PLAY(try_exclusive, lines);
}

/* A try waits for the replies to its requests, and no longer. */
static void loser_of_two_tries_is_not_kept_by_a_refused_delete(void) {
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

static void loser_of_two_tries_that_is_cancelled_says_so(void) {
    static const char *const lines[] = {
        "start         -> LIST",       "listed nobody -> CREATE LIST",    "created me4   -> ",
        "listed x3 me4 -> DELETE me4", "cancelled     -> FAIL CANCELLED", "deleted OK    -> END",
    };
    PLAY(try_exclusive, lines);
}

static void try_offline_fails_at_once(void) {
    static const char *const lines[] = {
        "start -> FAIL DISCONNECTED END",
    };
    PLAY(try_offline, lines);
}

static void try_that_is_cut_off_fails_at_once(void) {
    static const char *const lines[] = {
        "start          -> LIST",
        "disconnected   -> FAIL DISCONNECTED",
        "listed UNKNOWN -> END",
    };
    PLAY(try_exclusive, lines);
}

static void try_that_is_cut_off_while_it_queues_cleans_up(void) {
    static const char *const lines[] = {
        "start           -> LIST",
        "listed nobody   -> CREATE LIST",
        "disconnected    -> FAIL DISCONNECTED",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "connected       -> SETTLE LIST",
        "settled NO_NODE -> ",
        "listed me0      -> INSPECT me0",
        "inspected ours  -> DELETE me0",
        "deleted OK      -> SETTLE LIST",
        "settled NO_NODE -> ",
        "listed nobody   -> END",
    };
    PLAY(try_exclusive, lines);
}

static void try_whose_session_ends_fails(void) {
    static const char *const lines[] = {
        "start               -> LIST",
        "session_ended       -> FAIL SESSION_EXPIRED",
        "listed SESSION_OVER -> END",
    };
    PLAY(try_exclusive, lines);
}

static void try_that_holds_does_not_fail_by_a_disconnect(void) {
    static const char *const lines[] = {
        "start         -> LIST",       "listed nobody -> CREATE LIST",
        "created me3   -> ",           "listed me3    -> GRANT",
        "disconnected  -> ",           "connected     -> ",
        "released      -> DELETE me3",
    };
    PLAY(try_exclusive, lines);
}

static void try_of_a_forbidden_list_fails(void) {
    static const char *const lines[] = {
        "start          -> LIST",
        "listed REFUSED -> FAIL NO_PERMISSION END",
    };
    PLAY(try_exclusive, lines);
}

/* ---- Places that are lost
 * ----------------------------------------------------------------------------------- */

static void own_node_deleted_by_hand_joins_again(void) {
    static const char *const lines[] = {
        "start            -> CREATE LIST",
        "created me3      -> ",
        "listed x2 me3    -> WATCH x2",
        "watched OK       -> ",
        "watch_fired      -> LIST",
        "listed x4        -> REJOIN CREATE LIST",
        "created me5      -> ",
        "listed x4 me5    -> WATCH x4",
        "watched OK       -> ",
        "watch_fired      -> LIST",
        "listed me5       -> GRANT",
        "released         -> DELETE me5",
        "deleted OK       -> END",
    };
    PLAY(exclusive, lines);
}

static void empty_list_is_no_grant(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed nobody -> REJOIN CREATE LIST",
    };
    PLAY(exclusive, lines);
}

static void parent_deleted_under_a_waiter_is_made_again(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "created me3     -> ",
        "listed x2 me3   -> WATCH x2",
        "watched OK      -> ",
        "watch_fired     -> LIST",
        "listed NO_NODE  -> REJOIN CREATE LIST",
        "created NO_NODE -> ",
        "listed NO_NODE  -> MAKE_PARENT",
        "parent_made OK  -> CREATE LIST",
        "created me0     -> ",
        "listed me0      -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void own_node_deleted_by_hand_needs_no_delete_on_the_way_out(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST", "created me3     -> ",    "listed me3      -> GRANT",
        "released        -> DELETE me3",  "deleted NO_NODE -> END",
    };
    PLAY(exclusive, lines);
}

/* ---- The session's end
 * ---------------------------------------------------------------------------------------- */

static void session_end_while_waiting_rejoins_with_a_fresh_guid(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2",
        "watched OK    -> ",
        "disconnected  -> ",
        "session_ended -> REJOIN",
        "connected     -> CREATE LIST", /* a plain CREATE has the new GUID: see trace.c */
        "created me7   -> ",
        "listed x6 me7 -> WATCH x6",
        "watched OK    -> ",
        "watch_fired   -> LIST",
        "listed me7    -> GRANT",
        "released      -> DELETE me7",
        "deleted OK    -> END",
    };
    PLAY(exclusive, lines);
}

static void session_end_while_waiting_fails_where_asked_for(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed x2 me3 -> WATCH x2",
        "watched OK    -> ",
        "disconnected  -> ",
        "session_ended -> FAIL SESSION_EXPIRED END",
    };
    PLAY(fails_on_expiry, lines);
}

static void session_end_before_there_was_a_place_is_no_rejoining(void) {
    static const char *const lines[] = {
        "start         -> ", "session_ended -> ",      "connected     -> CREATE LIST",
        "created me0   -> ", "listed me0    -> GRANT",
    };
    PLAY(offline, lines);
}

static void session_end_while_holding_loses_the_lock_for_ever(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me3   -> ",
        "listed me3    -> GRANT",
        "disconnected  -> ",
        "session_ended -> LOSE SESSION_EXPIRED END",
        "connected     -> ",
        "released      -> ",
    };
    PLAY(exclusive, lines);
}

static void session_end_with_replies_outstanding_waits_for_them(void) {
    static const char *const lines[] = {
        "start                -> CREATE LIST",
        "session_ended        -> ",
        "created SESSION_OVER -> ",
        "listed SESSION_OVER  -> ",
        "connected            -> CREATE LIST",
        "created me0          -> ",
        "listed me0           -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void reply_that_says_the_session_is_over_comes_before_the_news(void) {
    static const char *const lines[] = {
        "start                -> CREATE LIST",
        "created me3          -> ",
        "listed SESSION_OVER  -> ",
        "session_ended        -> REJOIN",
        "connected            -> CREATE LIST",
        "created me4          -> ",
        "listed me4           -> GRANT",
        "released             -> DELETE me4",
        "deleted SESSION_OVER -> ",
        "session_ended        -> END",
    };
    PLAY(exclusive, lines);
}

static void session_end_resolves_a_lost_create(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "session_ended   -> REJOIN",
        "connected       -> CREATE LIST",
        "created me9     -> ",
        "listed x8 me9   -> WATCH x8", /* no search for twins: they went with the session */
    };
    PLAY(exclusive, lines);
}

static void session_end_while_a_twin_is_inspected_forgets_both(void) {
    static const char *const lines[] = {
        "start                  -> CREATE LIST",
        "disconnected           -> ",
        "created UNKNOWN        -> ",
        "listed UNKNOWN         -> ",
        "connected              -> CREATE LIST",
        "created me4            -> ",
        "listed me3 me4         -> INSPECT me3",
        "session_ended          -> REJOIN",
        "inspected SESSION_OVER -> ",
        "connected              -> CREATE LIST",
        "created me5            -> ",
        "listed me5             -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void session_end_while_the_surplus_is_deleted_forgets_both(void) {
    static const char *const lines[] = {
        "start                -> CREATE LIST",
        "disconnected         -> ",
        "created UNKNOWN      -> ",
        "listed UNKNOWN       -> ",
        "connected            -> CREATE LIST",
        "created me4          -> ",
        "listed me3 me4       -> INSPECT me3",
        "inspected ours       -> DELETE me4",
        "session_ended        -> REJOIN",
        "deleted SESSION_OVER -> ",
        "connected            -> CREATE LIST",
        "created me5          -> ",
        "listed me5           -> GRANT",
        "released             -> DELETE me5",
        "deleted OK           -> END",
    };
    PLAY(exclusive, lines);
}

static void session_end_ends_a_pause(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "created NOT_NOW -> ",
        "listed NOT_NOW  -> BACK_OFF",
        "disconnected    -> ",
        "session_ended   -> ",
        "connected       -> CREATE LIST",
        "backed_off      -> ", /* its timer may still be running */
        "created me0     -> ",
        "listed me0      -> GRANT",
    };
    PLAY(exclusive, lines);
}

static void session_end_while_the_watch_is_being_set_joins_again(void) {
    static const char *const lines[] = {
        "start                -> CREATE LIST",
        "created me3          -> ",
        "listed x2 me3        -> WATCH x2",
        "session_ended        -> REJOIN",
        "watched SESSION_OVER -> ",
        "connected            -> CREATE LIST",
    };
    PLAY(exclusive, lines);
}

static void session_ends_twice_in_a_row(void) {
    static const char *const lines[] = {
        "start         -> CREATE LIST", "created me3   -> ",
        "listed x2 me3 -> WATCH x2",    "watched OK    -> ",
        "session_ended -> REJOIN",      "session_ended -> ",
        "connected     -> CREATE LIST", "created me0   -> ",
        "listed me0    -> GRANT",       "session_ended -> LOSE SESSION_EXPIRED END",
    };
    PLAY(exclusive, lines);
}

/* ---- Sequences that are used up
 * ----------------------------------------------------------------------------------- */

static void sequence_near_two_to_the_31_fails_closed(void) {
    static const char *const last[] = {
        "start                      -> CREATE LIST",
        "created me2147483647       -> FAIL SEQUENCE_EXHAUSTED",
        "listed me2147483647        -> DELETE me2147483647",
        "deleted OK                 -> END",
    };
    static const char *const first_refused[] = {
        "start                      -> CREATE LIST",
        "created me2146435072       -> FAIL SEQUENCE_EXHAUSTED", /* 2^31 - 2^20 */
        "listed me2146435072        -> DELETE me2146435072",
        "deleted OK                 -> END",
    };
    static const char *const last_granted[] = {
        "start                      -> CREATE LIST",
        "created me2146435070       -> ",
        "listed me2146435070        -> GRANT",
    };
    PLAY(exclusive, last);
    PLAY(exclusive, first_refused);
    PLAY(exclusive, last_granted);
}

static void negative_sequence_fails_closed(void) {
    static const char *const lowest[] = {
        "start                      -> CREATE LIST",
        "created me-2147483648      -> FAIL SEQUENCE_EXHAUSTED",
        "listed me-2147483648 x2    -> DELETE me-2147483648",
        "deleted OK                 -> END",
    };
    static const char *const minus_one[] = {
        "start                      -> CREATE LIST",
        "created me-1               -> FAIL SEQUENCE_EXHAUSTED",
        "listed me-1                -> DELETE me-1",
        "deleted OK                 -> END",
    };
    PLAY(exclusive, lowest);
    PLAY(reader, minus_one);
}

static void exhausted_sequence_of_a_try_fails_closed(void) {
    static const char *const lines[] = {
        "start                -> LIST",
        "listed nobody        -> CREATE LIST",
        "created me2147483647 -> FAIL SEQUENCE_EXHAUSTED",
        "listed me2147483647  -> DELETE me2147483647",
        "deleted OK           -> END",
    };
    PLAY(try_exclusive, lines);
}

/* The lower of two nodes is kept, but not at any price. */
static void lost_node_with_an_exhausted_sequence_is_found_and_fails_closed(void) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "listed UNKNOWN  -> ",
        "connected       -> CREATE LIST",
        "created me0     -> ",
        "listed me-1 me0 -> INSPECT me-1",
        "inspected ours  -> FAIL SEQUENCE_EXHAUSTED DELETE me0",
        "deleted OK      -> DELETE me-1",
        "deleted OK      -> SETTLE LIST",
        "settled NO_NODE -> ",
        "listed nobody   -> END",
    };
    PLAY(exclusive, lines);
}

/* ---- What the request is made of
 * ------------------------------------------------------------------------------------ */

static void each_mode_creates_a_node_of_its_kind(void) {
    static const struct {
        zkl_mode mode;
        const char *prefix;
    } rows[] = {
        { ZKL_EXCLUSIVE, "_c_c0ffee00-0000-4000-8000-000000000001-lock-" },
        { ZKL_READ, "_c_c0ffee00-0000-4000-8000-000000000001-__READ__" },
        { ZKL_WRITE, "_c_c0ffee00-0000-4000-8000-000000000001-__WRIT__" },
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        zkl_request_options options = { .mode = rows[i].mode,
                                        .guid = "c0ffee00-0000-4000-8000-000000000001" };
        zkl_request request;
        zkl_actions actions;
        zkl_request_begin(&request, &options, true);
        zkl_request_step(&request, &(zkl_event){ .kind = ZKL_EVENT_START }, &actions);
        EXPECT_INT(actions.list[0].kind, ZKL_ACTION_CREATE);
        EXPECT_TEXT(actions.list[0].node, rows[i].prefix);
    }
}

static CU_TestInfo tests[] = {
    TEST(free_lock_is_granted_after_one_create_and_one_list),
    TEST(waiter_is_granted_when_its_predecessor_is_gone),
    TEST(waiter_watches_only_the_nearest_of_many),
    TEST(fired_watch_alone_grants_nothing),
    TEST(blocker_gone_between_list_and_watch_lists_again),
    TEST(sequences_are_compared_as_numbers),
    TEST(reader_passes_earlier_readers),
    TEST(reader_waits_behind_waiting_writer),
    TEST(reader_waits_for_the_nearest_of_two_writers),
    TEST(reader_waits_for_an_exclusive_lock),
    TEST(writer_waits_for_the_last_reader),
    TEST(kazoo_and_curator_nodes_are_waited_for),
    TEST(child_without_a_sequence_is_ignored),
    TEST(unknown_kind_blocks_a_reader_and_is_reported_once),
    TEST(later_unknown_kind_is_nobodys_concern),
    TEST(missing_parent_is_made_and_the_queue_joined),
    TEST(parent_that_vanishes_again_is_made_again_after_a_pause),
    TEST(parent_made_by_another_between_create_and_list_is_made_all_the_same),
    TEST(forbidden_parent_fails_the_request),
    TEST(lost_reply_about_the_parent_asks_again_when_connected),
    TEST(timeout_while_the_parent_is_made_ends_without_a_node),
    TEST(forbidden_create_fails_the_request),
    TEST(forbidden_list_fails_the_request_and_deletes_its_node),
    TEST(forbidden_watch_fails_the_request_and_deletes_its_node),
    TEST(refusal_that_does_not_say_why_is_no_success),
    TEST(busy_server_is_asked_again_after_a_pause),
    TEST(timeout_in_a_pause_gives_the_verdict_at_once),
    TEST(refused_delete_is_tried_again_and_again),
    TEST(create_reply_lost_is_resolved_by_a_second_create_and_a_list),
    TEST(create_that_was_never_applied_leaves_only_the_second_node),
    TEST(two_nodes_of_ours_keep_the_lower),
    TEST(two_nodes_of_ours_where_the_known_one_is_lower),
    TEST(two_replies_lost_in_a_row_leave_three_nodes_of_which_one_stays),
    TEST(list_before_a_committed_write_proves_nothing),
    TEST(settling_counts_on_its_own_connection_only),
    TEST(candidate_gone_before_it_was_inspected_is_forgotten),
    TEST(candidate_owned_by_another_session_is_left_alone),
    TEST(candidate_owned_by_another_session_is_left_alone_on_the_way_out),
    TEST(copied_name_does_not_hide_our_lost_node),
    TEST(lost_reply_of_an_inspection_asks_again),
    TEST(list_reply_lost_lists_again_and_creates_nothing),
    TEST(watch_reply_lost_lists_again_before_it_watches),
    TEST(reply_lost_while_connected_is_resolved_in_the_same_way_after_a_pause),
    TEST(create_refused_after_a_lost_reply_still_looks_for_the_first_node),
    TEST(parent_deleted_after_a_lost_create_is_made_again),
    TEST(request_started_offline_begins_when_connected),
    TEST(timeout_offline_before_anything_was_sent_ends_at_once),
    TEST(waiter_keeps_its_place_and_its_watch_over_a_reconnect),
    TEST(watch_that_fires_offline_lists_when_connected),
    TEST(holder_does_nothing_about_a_disconnect),
    TEST(news_that_arrives_twice_changes_nothing),
    TEST(release_lost_in_disconnect_is_deleted_after_reconnect),
    TEST(release_offline_is_sent_when_connected),
    TEST(release_whose_session_ends_is_over),
    TEST(session_end_during_the_delete_waits_for_its_reply),
    TEST(release_twice_deletes_once),
    TEST(timeout_and_cancel_after_the_grant_come_too_late),
    TEST(timeout_while_create_is_outstanding_deletes_the_node_when_it_is_known),
    TEST(timeout_while_the_list_is_outstanding_is_no_grant),
    TEST(timeout_while_waiting_leaves_the_queue),
    TEST(timeout_while_the_watch_is_being_set_takes_it_away_again),
    TEST(timeout_offline_is_told_at_once_and_cleaned_up_later),
    TEST(timeout_after_a_lost_create_finds_and_deletes_the_node),
    TEST(timeout_with_two_nodes_deletes_both),
    TEST(fired_watch_after_the_timeout_is_no_grant),
    TEST(timeout_and_cancel_give_one_verdict_the_first),
    TEST(cancel_while_waiting_leaves_the_queue),
    TEST(cancel_while_create_is_outstanding_deletes_the_node_when_it_is_known),
    TEST(leaving_request_makes_no_parent),
    TEST(try_on_a_held_lock_writes_nothing),
    TEST(try_on_a_free_lock_queues_and_is_granted),
    TEST(try_of_a_resource_without_parent_makes_it),
    TEST(try_of_a_reader_passes_readers_but_no_writer),
    TEST(loser_of_two_tries_says_so_when_its_node_is_gone),
    TEST(loser_of_two_tries_is_not_kept_by_a_disconnect),
    TEST(loser_of_two_tries_is_not_kept_by_the_end_of_its_session),
    TEST(loser_of_two_tries_is_not_kept_by_a_refused_delete),
    TEST(loser_of_two_tries_that_is_cancelled_says_so),
    TEST(try_offline_fails_at_once),
    TEST(try_that_is_cut_off_fails_at_once),
    TEST(try_that_is_cut_off_while_it_queues_cleans_up),
    TEST(try_whose_session_ends_fails),
    TEST(try_that_holds_does_not_fail_by_a_disconnect),
    TEST(try_of_a_forbidden_list_fails),
    TEST(own_node_deleted_by_hand_joins_again),
    TEST(empty_list_is_no_grant),
    TEST(parent_deleted_under_a_waiter_is_made_again),
    TEST(own_node_deleted_by_hand_needs_no_delete_on_the_way_out),
    TEST(session_end_while_waiting_rejoins_with_a_fresh_guid),
    TEST(session_end_while_waiting_fails_where_asked_for),
    TEST(session_end_before_there_was_a_place_is_no_rejoining),
    TEST(session_end_while_holding_loses_the_lock_for_ever),
    TEST(session_end_with_replies_outstanding_waits_for_them),
    TEST(reply_that_says_the_session_is_over_comes_before_the_news),
    TEST(session_end_resolves_a_lost_create),
    TEST(session_end_while_a_twin_is_inspected_forgets_both),
    TEST(session_end_while_the_surplus_is_deleted_forgets_both),
    TEST(session_end_ends_a_pause),
    TEST(session_end_while_the_watch_is_being_set_joins_again),
    TEST(session_ends_twice_in_a_row),
    TEST(sequence_near_two_to_the_31_fails_closed),
    TEST(negative_sequence_fails_closed),
    TEST(exhausted_sequence_of_a_try_fails_closed),
    TEST(lost_node_with_an_exhausted_sequence_is_found_and_fails_closed),
    TEST(each_mode_creates_a_node_of_its_kind),
    TEST_END,
};

int main(void) {
    return unit_main("request", tests);
}
