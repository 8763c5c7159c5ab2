/*
 * The request machine, as conversations: the lock is handed over by the deletion
 * of the one before us, without another list, only where nothing speaks against
 * it. trace.h explains the words.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };
static const trace_setup reader = { .mode = ZKL_READ };
static const trace_setup writer = { .mode = ZKL_WRITE };

/* ---- Handed over ------------------------------------------------------------- */

CONVERSATION(deletion_of_the_only_earlier_node_is_a_grant_without_a_list, exclusive) = {
    JOINED("me3"),
    "listed x2 me3 x4    -> WATCH x2 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired deleted -> GRANT",
    "released            -> DELETE me3",
    "own_watch_fired     -> ",
    "deleted OK          -> END",
};

CONVERSATION(own_watch_may_be_answered_first, exclusive) = {
    JOINED("me3"),
    "listed me3 x2       -> WATCH x2 WATCH_OWN me3",
    "own_watched OK      -> ",
    "watched OK          -> ",
    "watch_fired deleted -> GRANT",
};

CONVERSATION(last_reader_hands_over_to_a_writer, writer) = {
    JOINED("me3"),
    "listed r2 me3 r4    -> WATCH r2 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired deleted -> GRANT",
};

CONVERSATION(waiter_that_has_moved_up_is_handed_over_to, exclusive) = {
    JOINED("me3"),
    "listed x1 x2 me3    -> WATCH x2",
    "watched OK          -> ",
    "watch_fired deleted -> LIST",
    "listed x1 me3       -> WATCH x1 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired deleted -> GRANT",
};

/* The own watch that was armed for the first list serves for the second. */
CONVERSATION(blocker_that_was_changed_hands_over_later, exclusive) = {
    WAITING("x2", "me3"),      "watch_fired changed -> LIST",  "listed x2 me3       -> WATCH x2",
    "watched OK          -> ", "watch_fired deleted -> GRANT",
};

/* ---- Not next in line ----------------------------------------------------------- */

CONVERSATION(deletion_with_more_than_one_before_us_is_no_hand_off, exclusive) = {
    JOINED("me3"),
    "listed x1 x2 me3    -> WATCH x2",
    "watched OK          -> ",
    "watch_fired deleted -> LIST",
    "listed x1 me3       -> WATCH x1 WATCH_OWN me3",
};

/* Also where the own watch is still armed from an earlier list. */
CONVERSATION(earlier_one_that_appears_in_a_later_list_ends_being_next_in_line, exclusive) = {
    WAITING("x2", "me3"),      "watch_fired changed -> LIST", "listed r1 x2 me3    -> WATCH x2",
    "watched OK          -> ", "watch_fired deleted -> LIST", "listed r1 me3       -> WATCH r1",
};

/* Curator's writer may have gone on as a reader, with its own sequence. */
CONVERSATION(writer_that_became_a_reader_is_found_by_a_list, exclusive) = {
    JOINED("me3"),
    "listed w2 me3       -> WATCH w2",
    "watched OK          -> ",
    "watch_fired deleted -> LIST",
    "listed r2 me3       -> WATCH r2 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired deleted -> GRANT",
};

CONVERSATION(deletion_of_an_unknown_kind_is_no_hand_off, exclusive) = {
    JOINED("me3"),
    "listed u2 me3       -> REPORT u2 WATCH u2",
    "watched OK          -> ",
    "watch_fired deleted -> LIST",
};

/* It could be granted in fact; but that the readers before us are all that is
 * left is not known to one who counts. */
CONVERSATION(reader_with_readers_before_it_lists, reader) = {
    JOINED("me3"),
    "listed r1 x2 me3    -> WATCH x2",
    "watched OK          -> ",
    "watch_fired deleted -> LIST",
    "listed r1 me3       -> GRANT",
};

/* ---- News that does not count ------------------------------------------------------ */

CONVERSATION(stale_news_of_a_deletion_is_no_hand_off, exclusive) = {
    WAITING("x2", "me3"),
    "watch_fired deleted long_ago -> LIST",
    "listed me3                   -> GRANT",
};

CONVERSATION(list_that_may_be_older_than_the_session_grants_nothing, exclusive) = {
    JOINED("me3"),
    "listed me3 long_ago    -> LIST",
    "listed nobody long_ago -> LIST",
    "listed x2 me3 long_ago -> WATCH x2 WATCH_OWN me3",
    "own_watched OK         -> ",
    "watched NO_NODE        -> LIST",
    "listed me3             -> GRANT",
};

CONVERSATION(blocker_of_our_own_session_hands_nothing_over, exclusive) = {
    WAITING("x2", "me3"),
    "watch_fired deleted ours -> LIST",
    "listed me3               -> GRANT",
};

/* What happened between two connections is told in any order: our own node may
 * have been deleted as well, and first. */
CONVERSATION(deletion_after_a_reconnect_is_no_hand_off, exclusive) = {
    WAITING("x2", "me3"),
    "disconnected        -> ",
    "connected           -> ",
    "watch_fired deleted -> LIST",
    "own_watch_fired     -> WATCH_OWN me3",
    "listed nobody       -> REJOIN",
};

/* ---- The own watch is not armed ----------------------------------------------------- */

CONVERSATION(own_watch_whose_reply_was_lost_proves_nothing, exclusive) = {
    JOINED("me3"),
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched UNKNOWN -> ",
    "watch_fired deleted -> LIST",
    "listed me3          -> GRANT",
};

/* It is not yet known what happened to our node. */
CONVERSATION(deletion_after_the_own_watch_fired_is_no_hand_off, exclusive) = {
    WAITING("x2", "me3"),
    "own_watch_fired     -> WATCH_OWN me3",
    "watch_fired deleted -> ",
    "own_watched NO_NODE -> REJOIN CREATE LIST",
};
