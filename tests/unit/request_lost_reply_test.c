/*
 * The request machine when replies, connections, places and sessions are lost. What happens on
 * the left, all that the request does about it on the right. trace.h explains
 * the words. Whatever a trace says, the monitor asserts the rules that hold in
 * each step.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };
static const trace_setup fails_on_expiry = { .mode = ZKL_EXCLUSIVE,
                                             .fail_on_session_expiry = true };

/* ---- Lost replies --------------------------------------------------------------------- */

CONVERSATION(create_reply_lost_is_resolved_by_a_second_create_and_a_list, exclusive) = {
    CREATE_LOST,
    "connected      -> CREATE LIST",
    "created me4    -> ",
    "listed me3 me4 -> INSPECT me3",
    "inspected ours -> DELETE me4",
    "deleted OK     -> LIST",
    "listed me3     -> GRANT",
    "released       -> DELETE me3",
    "deleted OK     -> BACK_OFF",
    LINGERED,
};

CONVERSATION(two_nodes_of_ours_keep_the_lower, exclusive) = {
    CREATE_LOST,
    "connected         -> CREATE LIST",
    "created me5       -> ",
    "listed me5 x4 me3 -> INSPECT me3",
    "inspected ours    -> DELETE me5", /* else x4 would have gone before us */
    "deleted OK        -> LIST",
    "listed x4 me3     -> GRANT",
};

/* The servers' counter restarts when a parent is made anew. */
CONVERSATION(two_nodes_of_ours_where_the_known_one_is_lower, exclusive) = {
    CREATE_LOST,
    "connected      -> CREATE LIST",
    "created me3    -> ",
    "listed me9 me3 -> INSPECT me9",
    "inspected ours -> DELETE me9",
    "deleted OK     -> LIST",
    "listed me3     -> GRANT",
    "released       -> DELETE me3",
    "deleted OK     -> BACK_OFF",
    LINGERED,
};

CONVERSATION(list_before_a_committed_write_proves_nothing, exclusive) = {
    CREATE_LOST,
    "timed_out       -> FAIL DISCONNECTED",
    "connected       -> SETTLE LIST",
    "settled NOT_NOW -> ",
    "listed nobody   -> BACK_OFF", /* the create may still come */
    "backed_off      -> SETTLE LIST",
    "settled OK      -> ",
    "listed me3      -> INSPECT me3", /* and it did */
    "inspected ours  -> DELETE me3",
    "deleted OK      -> SETTLE LIST",
    "settled OK      -> ",
    "listed nobody   -> BACK_OFF",
    LINGERED,
};

CONVERSATION(settling_counts_on_its_own_connection_only, exclusive) = {
    CREATE_LOST,
    "timed_out       -> FAIL DISCONNECTED",
    "connected       -> SETTLE LIST",
    "settled OK      -> ",
    "disconnected    -> ",
    "listed UNKNOWN  -> ",
    "connected       -> SETTLE LIST",
    "settled REFUSED -> WARN NO_PERMISSION", /* perhaps by a server that did not ask the leader
                                              */
    "listed nobody   -> BACK_OFF",
    "backed_off      -> SETTLE LIST",
    "settled OK      -> ",
    "listed nobody   -> BACK_OFF",
    LINGERED,
};

CONVERSATION(unconfirmed_node_gone_before_it_was_inspected_is_forgotten, exclusive) = {
    CREATE_LOST,
    "connected         -> CREATE LIST",
    "created me4       -> ",
    "listed me3 me4    -> INSPECT me3",
    "inspected NO_NODE -> LIST",
    "listed me4        -> GRANT",
};

CONVERSATION(unconfirmed_node_of_another_session_is_left_alone, exclusive) = {
    CREATE_LOST,
    "connected        -> CREATE LIST",
    "created me4      -> ",
    "listed me3 me4   -> INSPECT me3",
    "inspected others -> LIST",
    "listed me3 me4   -> WATCH me3 WATCH_OWN me4", /* a contender like any other */
    "watched OK       -> ",
    "own_watched OK   -> ",
    "watch_fired      -> LIST",
    "listed me4       -> GRANT",
    "released       -> DELETE me4",
    "deleted OK     -> BACK_OFF",
    LINGERED,
};

CONVERSATION(unconfirmed_node_of_another_session_is_left_alone_on_the_way_out, exclusive) = {
    "start            -> CREATE LIST",
    "timed_out        -> FAIL TIMEOUT",
    "disconnected     -> ",
    "created UNKNOWN  -> ",
    "listed UNKNOWN   -> ",
    "connected        -> SETTLE LIST",
    "settled OK       -> ",
    "listed me3       -> INSPECT me3",
    "inspected others -> SETTLE LIST", /* ours may still be behind it */
    "settled OK       -> ",
    "listed me3       -> BACK_OFF",
    LINGERED,
};

/* A copy of our name that somebody else made must not hide the node that we
 * lost: nobody else would ever delete it, and we would wait for ourselves. */
CONVERSATION(copied_name_does_not_hide_our_lost_node, exclusive) = {
    CREATE_LOST,
    "connected          -> CREATE LIST",
    "created me5        -> ",
    "listed me3 me4 me5 -> INSPECT me3",
    "inspected others   -> LIST",
    "listed me3 me4 me5 -> INSPECT me4",
    "inspected ours     -> DELETE me5",
};

CONVERSATION(lost_reply_of_an_inspection_asks_again, exclusive) = {
    CREATE_LOST,
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

CONVERSATION(reply_lost_while_connected_is_resolved_in_the_same_way_after_a_pause, exclusive) = {
    "start           -> CREATE LIST", "created UNKNOWN -> ", "listed nobody   -> BACK_OFF",
    "backed_off      -> CREATE LIST", "created me1     -> ", "listed me0 me1  -> INSPECT me0",
    "inspected ours  -> DELETE me1",
};

CONVERSATION(create_refused_after_a_lost_reply_still_looks_for_the_first_node, exclusive) = {
    CREATE_LOST,
    "connected       -> CREATE LIST",
    "created REFUSED -> FAIL NO_PERMISSION",
    "listed nobody   -> SETTLE LIST",
    "settled OK      -> ",
    "listed me3      -> INSPECT me3",
    "inspected ours  -> DELETE me3",
    "deleted OK      -> SETTLE LIST",
    "settled OK      -> ",
    "listed nobody   -> BACK_OFF",
    LINGERED,
};

CONVERSATION(node_that_is_listed_before_a_committed_write_is_found, exclusive) = {
    CREATE_LOST,
    "connected       -> CREATE LIST",
    "created REFUSED -> FAIL NO_PERMISSION",
    "listed me3      -> INSPECT me3",
    "inspected ours  -> DELETE me3",
    "deleted OK      -> SETTLE LIST",
    "settled OK      -> ",
    "listed nobody   -> BACK_OFF",
    LINGERED,
};

/* ---- Creates that come late although a list has shown that there is none -------------------- */

#define RESOLVED_AND_HELD                                                                          \
    CREATE_LOST, "connected -> CREATE LIST", "created me4 -> ", "listed me4 -> GRANT"

CONVERSATION(late_node_is_found_on_the_way_out_after_the_next_reconnect, exclusive) = {
    RESOLVED_AND_HELD,
    "disconnected   -> ",
    "connected      -> ",
    "released       -> DELETE me4",
    "deleted OK     -> SETTLE LIST",
    "settled OK     -> ",
    "listed me7     -> INSPECT me7",
    "inspected ours -> DELETE me7",
    "deleted OK     -> SETTLE LIST",
    "settled OK     -> ",
    "listed nobody  -> BACK_OFF",
    LINGERED,
};

CONVERSATION(late_node_is_looked_for_after_every_reconnect, exclusive) = {
    RESOLVED_AND_HELD,
    "disconnected   -> ",
    "connected      -> ",
    "released       -> DELETE me4",
    "deleted OK     -> SETTLE LIST",
    "disconnected   -> ",
    "settled OK     -> ", /* on the connection before */
    "listed UNKNOWN -> ",
    "connected      -> SETTLE LIST",
    "settled OK     -> ",
    "listed nobody  -> BACK_OFF",
    LINGERED,
};

#define LINGERS RESOLVED_AND_HELD, "released -> DELETE me4", "deleted OK -> BACK_OFF"

CONVERSATION(nothing_more_is_asked_before_the_pause_where_the_connection_lasted, exclusive) = {
    LINGERS,
    LINGERED,
};

CONVERSATION(late_node_is_found_by_a_last_look_after_a_pause, exclusive) = {
    LINGERS,
    "backed_off      -> SETTLE LIST",
    "settled NOT_NOW -> ",
    "listed nobody   -> BACK_OFF",
    "backed_off      -> SETTLE LIST",
    "settled OK      -> ",
    "listed me7      -> INSPECT me7",
    "inspected ours  -> DELETE me7",
    "deleted OK      -> SETTLE LIST",
    "settled OK      -> ",
    "listed nobody   -> END",
};

/* The server that has the session again makes the other one break the connection. */
CONVERSATION(late_node_is_looked_for_at_once_when_the_connection_breaks_in_the_pause, exclusive) = {
    LINGERS,
    "disconnected   -> ",
    "connected      -> SETTLE LIST",
    "backed_off     -> ", /* its timer may still be running */
    "settled OK     -> ",
    "listed me7     -> INSPECT me7",
    "inspected ours -> DELETE me7",
    "deleted OK     -> SETTLE LIST",
    "settled OK     -> ",
    "listed nobody  -> BACK_OFF", /* there may be another one */
    LINGERED,
};

CONVERSATION(last_look_that_is_lost_is_made_again, exclusive) = {
    LINGERS,
    "backed_off     -> SETTLE LIST",
    "disconnected   -> ",
    "settled OK     -> ", /* on the connection before */
    "listed UNKNOWN -> ",
    "connected      -> SETTLE LIST",
    "settled OK     -> ",
    "listed nobody  -> END",
};

CONVERSATION(who_lingers_takes_no_notice_of_its_owner, exclusive) = {
    LINGERS,          "timed_out  -> ", "released   -> ", "downgrade  -> ",
    "hold_limit -> ", "probe      -> ", LINGERED,
};

CONVERSATION(session_end_ends_the_last_pause, exclusive) = {
    LINGERS,
    "disconnected  -> ",
    "session_ended -> END",
};

CONVERSATION(session_end_without_a_word_before_ends_the_last_pause, exclusive) = {
    LINGERS,
    "session_ended -> END",
};

CONVERSATION(late_node_does_not_keep_a_waiter_behind_itself, exclusive) = {
    CREATE_LOST,
    "connected         -> CREATE LIST",
    "created me4       -> ",
    "listed x1 me4     -> WATCH x1 WATCH_OWN me4",
    "watched OK        -> ",
    "own_watched OK    -> ",
    "disconnected      -> ",
    "connected         -> WATCH_OWN me4",
    "own_watched OK    -> ",
    "watch_fired       -> LIST",
    "listed me2 me4    -> INSPECT me2", /* no write of this connection is needed to see it */
    "inspected ours    -> DELETE me4",
    "deleted OK        -> LIST",
    "listed me2        -> GRANT",
};

CONVERSATION(list_behind_a_write_of_another_connection_proves_nothing, exclusive) = {
    CREATE_LOST,
    "connected       -> CREATE LIST",
    "created me4     -> ",
    "listed x1 me4   -> WATCH x1 WATCH_OWN me4",
    "watched OK      -> ",
    "own_watched OK  -> ",
    "disconnected    -> ",
    "connected       -> WATCH_OWN me4",
    "own_watched OK  -> ",
    "watch_fired     -> LIST",
    "listed me4      -> GRANT",
    "released        -> DELETE me4",
    "deleted OK      -> SETTLE LIST",
};

CONVERSATION(inspected_name_of_before_hides_no_late_node, exclusive) = {
    CREATE_LOST,
    "connected         -> CREATE LIST",
    "created me4       -> ",
    "listed me9 me4    -> INSPECT me9",
    "inspected others  -> LIST",
    "listed me9 me4    -> GRANT",
    "disconnected      -> ",
    "connected         -> ",
    "released          -> DELETE me4",
    "deleted OK        -> SETTLE LIST",
    "settled OK        -> ",
    "listed me7 me9    -> INSPECT me7",
};

/* As answers come of a server that has denied the session. */
CONVERSATION(create_that_is_answered_after_the_disconnection_proves_nothing_later, exclusive) = {
    CREATE_LOST,
    "connected       -> CREATE LIST",
    "disconnected    -> ",
    "created me4     -> ",
    "listed UNKNOWN  -> ",
    "connected       -> LIST",
    "listed me4      -> GRANT",
    "released        -> DELETE me4",
    "deleted OK      -> SETTLE LIST",
};

CONVERSATION(name_inspected_before_a_committed_write_hides_no_late_node, exclusive) = {
    CREATE_LOST,
    "connected         -> CREATE LIST",
    "created REFUSED   -> FAIL NO_PERMISSION",
    "listed me9        -> INSPECT me9",
    "inspected others  -> SETTLE LIST",
    "settled OK        -> ",
    "listed me7 me9    -> INSPECT me7",
    "inspected ours    -> DELETE me7",
    "deleted OK        -> SETTLE LIST",
    "settled OK        -> ",
    "listed me9        -> INSPECT me9",
    "inspected others  -> SETTLE LIST",
    "settled OK        -> ",
    "listed me9        -> BACK_OFF",
};

CONVERSATION(inspected_name_of_an_earlier_connection_hides_no_late_node, exclusive) = {
    CREATE_LOST,
    "connected         -> CREATE LIST",
    "created me4       -> ",
    "listed x1 me4     -> WATCH x1 WATCH_OWN me4",
    "watched OK        -> ",
    "own_watched OK    -> ",
    "disconnected      -> ",
    "connected         -> WATCH_OWN me4",
    "own_watched OK    -> ",
    "watch_fired       -> LIST",
    "listed me4 me9    -> INSPECT me9",
    "inspected others  -> LIST",
    "listed me4 me9    -> GRANT",
    "disconnected      -> ",
    "connected         -> WATCH_OWN me4",
    "own_watched OK    -> ",
    "released          -> DELETE me4",
    "deleted OK        -> SETTLE LIST",
    "settled OK        -> ",
    "listed me7 me9    -> INSPECT me7",
};

CONVERSATION(drain_settles_again_after_a_reconnect_before_it_looks, exclusive) = {
    CREATE_LOST,
    "connected           -> CREATE LIST",
    "created me2146435072 -> ",
    "disconnected        -> ",
    "listed UNKNOWN      -> ",
    "connected           -> SETTLE LIST",
    "settled OK          -> ",
    "listed me2146435072 -> DELETE me2146435072",
};

CONVERSATION(create_that_was_lost_in_a_session_is_not_looked_for_in_the_next, exclusive) = {
    CREATE_LOST,
    "session_ended  -> REJOIN",
    "connected      -> CREATE LIST",
    "created me4    -> ",
    "listed me4     -> GRANT",
    "disconnected   -> ",
    "connected      -> ",
    RELEASED("me4"),
};

/* ---- Places that are lost -------------------------------------------------------------------- */

CONVERSATION(own_node_deleted_by_hand_joins_again, exclusive) = {
    WAITING("x2", "me3"),
    "watch_fired    -> LIST",
    "listed x4      -> UNWATCH_OWN REJOIN CREATE LIST",
    "created me5    -> ",
    "listed x4 me5  -> WATCH x4 WATCH_OWN me5",
    "watched OK     -> ",
    "own_watched OK -> ",
    "watch_fired    -> LIST",
    "listed me5     -> GRANT",
    RELEASED("me5"),
};

CONVERSATION(empty_list_is_no_grant, exclusive) = {
    JOINED("me3"),
    "listed nobody -> REJOIN CREATE LIST",
};

/* ---- The session's end ----------------------------------------------------------------------- */

CONVERSATION(session_end_while_waiting_rejoins_with_a_fresh_guid, exclusive) = {
    WAITING("x2", "me3"),
    "disconnected   -> ",
    "session_ended  -> REJOIN",
    "connected      -> CREATE LIST", /* a plain CREATE has the new GUID: see trace.c */
    "created me7    -> ",
    "listed x6 me7  -> WATCH x6 WATCH_OWN me7",
    "watched OK     -> ",
    "own_watched OK -> ",
    "watch_fired    -> LIST",
    "listed me7     -> GRANT",
    RELEASED("me7"),
};

CONVERSATION(session_end_while_waiting_fails_where_asked_for, fails_on_expiry) = {
    WAITING("x2", "me3"),
    "disconnected  -> ",
    "session_ended -> FAIL SESSION_EXPIRED END",
};

CONVERSATION(session_end_while_holding_loses_the_lock_for_ever, exclusive) = {
    GRANTED("me3"),      "disconnected  -> ", "session_ended -> LOSE SESSION_EXPIRED END",
    "connected     -> ", "released      -> ",
};

CONVERSATION(session_end_with_replies_outstanding_waits_for_them, exclusive) = {
    "start                -> CREATE LIST",
    "session_ended        -> ",
    "created SESSION_OVER -> ",
    "listed SESSION_OVER  -> ",
    "connected            -> CREATE LIST",
    "created me0          -> ",
    "listed me0           -> GRANT",
};

CONVERSATION(reply_that_says_the_session_is_over_comes_before_the_news, exclusive) = {
    JOINED("me3"),
    "listed SESSION_OVER  -> ",
    "session_ended        -> REJOIN",
    "connected            -> CREATE LIST",
    "created me4          -> ",
    "listed me4           -> GRANT",
    "released             -> DELETE me4",
    "deleted SESSION_OVER -> ",
    "session_ended        -> END",
};

CONVERSATION(session_end_resolves_a_lost_create, exclusive) = {
    CREATE_LOST,
    "session_ended -> REJOIN",
    "connected     -> CREATE LIST",
    "created me9   -> ",
    "listed x8 me9 -> WATCH x8 WATCH_OWN me9", /* no search for twins: they went with the
                                                    session */
};

CONVERSATION(session_end_ends_a_pause, exclusive) = {
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
