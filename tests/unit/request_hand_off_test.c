/*
 * The request machine, as conversations: the lock is handed over by the end of
 * the one before us, without another list, only where nothing speaks against it.
 * trace.h explains the words.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };
static const trace_setup reader = { .mode = ZKL_READ };
static const trace_setup writer = { .mode = ZKL_WRITE };
static const trace_setup leased = { .mode = ZKL_EXCLUSIVE, .needs_lease = true };
static const trace_setup leased_for_now = { .mode = ZKL_EXCLUSIVE,
                                            .needs_lease = true,
                                            .lease_runs = true };
static const trace_setup protected_queue = { .mode = ZKL_EXCLUSIVE, .is_protected = true };

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

/* ---- Gone before it is watched ----------------------------------------------------- */

CONVERSATION(blocker_that_is_gone_already_hands_over_to_the_next_in_line, exclusive) = {
    JOINED("me3"),
    "listed x2 me3 x4 -> WATCH x2 WATCH_OWN me3",
    "watched NO_NODE  -> ",
    "own_watched OK   -> GRANT",
    "released         -> DELETE me3",
};

CONVERSATION(own_watch_that_is_armed_already_makes_a_blocker_that_is_gone_a_grant, exclusive) = {
    JOINED("me3"),
    "listed x2 me3   -> WATCH x2 WATCH_OWN me3",
    "own_watched OK  -> ",
    "watched NO_NODE -> GRANT",
};

CONVERSATION(blocker_that_is_gone_already_hands_nothing_to_a_node_that_is_gone_too, exclusive) = {
    JOINED("me3"),
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watched NO_NODE     -> ",
    "own_watched NO_NODE -> REJOIN CREATE LIST",
    "created me5         -> ",
    "listed x4 me5       -> WATCH x4 WATCH_OWN me5",
    "own_watched OK      -> ",
    "watched OK          -> ",
};

CONVERSATION(blocker_that_is_gone_already_hands_nothing_over_while_our_own_node_is_in_doubt,
             exclusive) = {
    JOINED("me3"),
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watched NO_NODE     -> ",
    "own_watched NOT_NOW -> LIST",
    "listed x1 me3       -> WATCH x1 WATCH_OWN me3", /* an earlier one was listed late */
    "watched OK          -> ",
    "own_watched OK      -> ",
};

CONVERSATION(answer_of_long_ago_that_the_blocker_is_gone_is_no_hand_off, exclusive) = {
    JOINED("me3"),
    "listed x2 me3            -> WATCH x2 WATCH_OWN me3",
    "own_watched OK           -> ",
    "watched NO_NODE long_ago -> LIST",
    "listed me3               -> GRANT",
};

CONVERSATION(answer_of_long_ago_that_our_own_node_lives_is_no_hand_off, exclusive) = {
    JOINED("me3"),
    "listed x2 me3           -> WATCH x2 WATCH_OWN me3",
    "watched NO_NODE         -> ",
    "own_watched OK long_ago -> LIST",
    "listed me3              -> GRANT",
};

/* The servers of the next connection may lag: that they have our node does not say that it lived
 * when the other one was deleted. */
CONVERSATION(deletion_on_the_last_connection_is_no_hand_off, exclusive) = {
    JOINED("me3"),
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watched OK          -> ",
    "watch_fired deleted -> ",
    "disconnected        -> ",
    "own_watched UNKNOWN -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched OK      -> LIST",
    "listed me3          -> GRANT",
};

CONVERSATION(blocker_that_is_gone_already_is_no_hand_off_past_others, protected_queue) = {
    JOINED("me4"),
    "listed x1 X3 me4 -> WATCH X3 WATCH_OWN me4",
    "watched NO_NODE  -> ",
    "own_watched OK   -> LIST",
    "listed x1 me4    -> WATCH x1",
    "watched OK       -> ",
};

CONVERSATION(writer_that_is_gone_already_may_have_left_a_reader, exclusive) = {
    JOINED("me3"),
    "listed w2 me3   -> WATCH w2",
    "watched NO_NODE -> LIST",
    "listed r2 me3   -> WATCH r2 WATCH_OWN me3",
    "watched NO_NODE -> ",
    "own_watched OK  -> GRANT",
};

CONVERSATION(next_in_line_behind_nobody_waits_for_its_lease_and_lists, leased) = {
    JOINED("me3"),
    "listed x2 me3   -> WATCH x2 WATCH_OWN me3",
    "watched NO_NODE -> ",
    "own_watched OK  -> ",
    "own_watch_fired -> WATCH_OWN me3",
    "own_watched OK  -> ",
    "lease_begun     -> LIST",
    "listed me3      -> GRANT",
};

/* Else the list would tell the holder what a list tells who waits. */
CONVERSATION(blocker_that_is_gone_already_hands_nothing_over_while_a_list_is_awaited, exclusive) = {
    JOINED("me3"),
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watched NO_NODE     -> ",
    "own_watched NOT_NOW -> LIST",
    "probe               -> WATCH_OWN me3",
    "own_watched OK      -> ",
    "listed me3          -> GRANT",
};

/* A read may be answered on a connection that has been denied. */
CONVERSATION(blocker_that_is_gone_already_hands_nothing_over_in_a_session_that_is_over,
             exclusive) = {
    JOINED("me3"),
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watched NO_NODE     -> ",
    "own_watched NOT_NOW -> LIST",
    "probe               -> WATCH_OWN me3",
    "listed SESSION_OVER -> ",
    "own_watched OK      -> ",
    "session_ended       -> REJOIN",
    "connected           -> CREATE LIST",
};

CONVERSATION(look_at_our_own_node_hands_nothing_over_to_whom_has_lost_it, leased_for_now) = {
    JOINED("me3"),
    "listed x2 me3   -> WATCH x2 WATCH_OWN me3",
    "watched NO_NODE -> ",
    "own_watched OK  -> GRANT",
    "lease_ended     -> LOSE LEASE_ENDED",
    "own_watch_fired -> WATCH_OWN me3",
    "own_watched OK  -> ",
    "lease_begun     -> ",
    "released        -> DELETE me3",
};

/* What was to wait for a pause is not needed any more: the release must not wait for it. */
CONVERSATION(pause_that_was_due_ends_with_the_hand_off, exclusive) = {
    JOINED("me3"),
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watched NO_NODE     -> ",
    "own_watched NOT_NOW -> LIST",
    "probe               -> WATCH_OWN me3",
    "listed NOT_NOW      -> ",
    "own_watched OK      -> GRANT",
    "released            -> DELETE me3",
};

CONVERSATION(next_in_line_behind_nobody_may_give_up, exclusive) = {
    JOINED("me3"),
    "listed x2 me3   -> WATCH x2 WATCH_OWN me3",
    "watched NO_NODE -> ",
    "cancelled       -> FAIL CANCELLED",
    "own_watched OK  -> DELETE me3",
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
    "watched NO_NODE        -> GRANT",
};

CONVERSATION(blocker_of_our_own_session_hands_nothing_over, exclusive) = {
    WAITING("x2", "me3"),
    "watch_fired deleted ours -> LIST",
    "listed me3               -> GRANT",
};

/* It is of a watch before the one that is being set. */
CONVERSATION(deletion_that_is_told_before_the_watch_is_armed_is_no_hand_off, exclusive) = {
    JOINED("me3"),
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watch_fired deleted -> ",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired deleted -> GRANT",
};

/* What happened between two connections is told in any order: our own node may
 * have been deleted as well, and first. */
CONVERSATION(deletion_after_a_reconnect_is_no_hand_off, exclusive) = {
    WAITING("x2", "me3"),
    "disconnected        -> ",
    "connected           -> WATCH_OWN me3",
    "watch_fired deleted -> ",
    "own_watched NO_NODE -> REJOIN CREATE LIST",
};

/* Only the servers of this connection can say that they have it: they may have turned away to set
 * it again, and a new handle has none. */
CONVERSATION(own_watch_of_the_last_connection_proves_nothing, exclusive) = {
    WAITING("x1", "me3"),
    "disconnected        -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched NOT_NOW -> ",
    "watch_fired deleted -> LIST",
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched NOT_NOW -> ",
    "watch_fired deleted -> LIST",
    "listed me3          -> GRANT",
};

CONVERSATION(own_watch_that_is_armed_again_proves_that_the_node_lives, exclusive) = {
    WAITING("x1", "me3"),
    "disconnected        -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched OK      -> ",
    "watch_fired deleted -> LIST",
    "listed x2 me3       -> WATCH x2",
    "watched OK          -> ",
    "watch_fired deleted -> GRANT",
};

CONVERSATION(own_watch_is_asked_for_again_by_a_holder_and_not_on_the_way_out, exclusive) = {
    WAITING("x1", "me3"),
    "watch_fired deleted -> GRANT",
    "disconnected        -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched OK      -> ",
    "released            -> DELETE me3",
    "disconnected        -> ",
    "deleted UNKNOWN     -> ",
    "connected           -> DELETE me3",
    "deleted OK          -> END",
};

/* A server that has denied the session may go on answering until the connection ends. */
CONVERSATION(list_without_a_connection_counts_for_nothing, exclusive) = {
    WAITING("x2", "me3"),
    "watch_fired somehow -> LIST",
    "disconnected        -> ",
    "listed me3          -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched OK      -> LIST",
    "listed x1 me3       -> WATCH x1",
};

CONVERSATION(list_without_a_connection_names_nobody_to_wait_for, exclusive) = {
    WAITING("x2", "me3"),
    "watch_fired somehow -> LIST",
    "disconnected        -> ",
    "listed x1 me3       -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched OK      -> LIST",
    "listed me3          -> GRANT",
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

CONVERSATION(deletion_is_a_grant_once_our_own_node_is_known_to_live, exclusive) = {
    JOINED("me3"),
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watched OK          -> ",
    "watch_fired deleted -> ",
    "own_watched OK      -> GRANT",
};

CONVERSATION(deletion_in_our_own_session_is_no_grant_whatever_is_known, exclusive) = {
    JOINED("me3"),
    "listed x2 me3            -> WATCH x2 WATCH_OWN me3",
    "watched OK               -> ",
    "watch_fired deleted ours -> ",
    "own_watched OK           -> LIST",
};

/* It is not yet known what happened to our node. */
CONVERSATION(deletion_after_the_own_watch_fired_is_no_hand_off, exclusive) = {
    WAITING("x2", "me3"),
    "own_watch_fired     -> WATCH_OWN me3",
    "watch_fired deleted -> ",
    "own_watched NO_NODE -> REJOIN CREATE LIST",
};

/* ---- Told by the holder ------------------------------------------------------------------ */

static const trace_setup protected_one = { .mode = ZKL_EXCLUSIVE, .is_protected = true };
static const trace_setup protected_reader = { .mode = ZKL_READ, .is_protected = true };
static const trace_setup protected_writer = { .mode = ZKL_WRITE, .is_protected = true };
static const trace_setup protected_upgrade = { .mode = ZKL_WRITE,
                                               .is_protected = true,
                                               .companion = "r2" };
static const trace_setup protected_permit = { .mode = ZKL_EXCLUSIVE,
                                              .permits = 2,
                                              .is_protected = true };

CONVERSATION(release_that_says_so_is_a_grant_however_long_the_queue, protected_one) = {
    JOINED("me4"),
    "listed x1 x2 X3 me4 -> WATCH X3 WATCH_OWN me4",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired changed -> GRANT",
    "released            -> HAND_OVER me4",
    "own_watch_fired     -> ",
    "handed_over OK      -> END",
};

CONVERSATION(readers_are_told_by_a_writer, protected_reader) = {
    JOINED("me4"),
    "listed r1 W2 r3 me4 -> WATCH W2 WATCH_OWN me4",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired changed -> GRANT",
    "released            -> DELETE me4", /* others may read on */
};

/* When our session ends its nodes are deleted, and not changed. */
CONVERSATION(release_by_our_own_session_says_so_too, protected_one) = {
    WAITING("X2", "me3"),
    "watch_fired changed ours -> GRANT",
};

CONVERSATION(deletion_of_a_protected_node_tells_no_more_than_that, protected_one) = {
    JOINED("me4"),
    "listed x1 X3 me4    -> WATCH X3 WATCH_OWN me4",
    "watched OK -> ",
    "own_watched OK      -> ",
    "watch_fired deleted -> LIST",
};

CONVERSATION(change_of_a_node_that_others_can_write_to_tells_nothing, protected_one) = {
    WAITING("x2", "me3"),
    "watch_fired changed -> LIST",
};

CONVERSATION(change_of_a_reader_tells_nothing, protected_writer) = {
    WAITING("R2", "me3"),
    "watch_fired changed -> LIST",
};

CONVERSATION(change_of_a_permit_tells_nothing, protected_permit) = {
    JOINED("me4"),
    "listed P1 P3 me4    -> WATCH P3",
    "watched OK          -> ",
    "watch_fired changed -> LIST",
    "listed P1 me4       -> GRANT",
    "released            -> DELETE me4",
};

CONVERSATION(event_that_is_neither_tells_nothing, protected_one) = {
    WAITING("X2", "me3"),
    "watch_fired somehow -> LIST",
};

/* Servers that do not know its identity protect nothing. */
CONVERSATION(client_that_cannot_protect_its_node_trusts_nobody, exclusive) = {
    WAITING("X2", "me3"),
    "watch_fired changed -> LIST",
    "listed me3          -> GRANT",
    "released            -> DELETE me3",
};

static const trace_setup protected_later = { .mode = ZKL_EXCLUSIVE,
                                             .is_protected = true,
                                             .fail_on_session_expiry = true,
                                             .disconnected = true };

CONVERSATION(session_that_turns_out_to_protect_nothing_is_no_session_that_ended,
             protected_later) = {
    "start               -> ",
    "unprotected         -> ",
    "connected           -> CREATE LIST",
    "created me3         -> ",
    "listed X2 me3       -> WATCH X2 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired changed -> LIST",
    "session_ended       -> FAIL SESSION_EXPIRED",
};

CONVERSATION(release_is_no_news_to_a_process_that_was_stopped, protected_one) = {
    WAITING("X2", "me3"),
    "watch_fired changed long_ago -> LIST",
};

CONVERSATION(release_before_our_own_watch_is_armed_is_a_grant_once_it_is, protected_one) = {
    JOINED("me4"),
    "listed x1 X3 me4    -> WATCH X3 WATCH_OWN me4",
    "watched OK          -> ",
    "watch_fired changed -> ",
    "own_watched OK      -> GRANT",
};

CONVERSATION(release_is_nothing_to_us_where_our_own_watch_is_not_armed, protected_one) = {
    JOINED("me4"),
    "listed x1 X3 me4    -> WATCH X3 WATCH_OWN me4",
    "watched OK          -> ",
    "watch_fired changed -> ",
    "own_watched NOT_NOW -> LIST",
};

/* X holds, somebody waits behind it, we behind that one, whose node is broken by hand. */
CONVERSATION(release_is_nothing_to_us_when_our_own_node_is_gone, protected_one) = {
    WAITING("X2", "me3"),
    "own_watch_fired     -> WATCH_OWN me3",
    "watch_fired changed -> ",
    "own_watched NO_NODE -> REJOIN CREATE LIST",
};

CONVERSATION(release_is_no_hand_off_on_another_connection, protected_one) = {
    WAITING("X2", "me3"),
    "disconnected        -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched OK      -> ",
    "watch_fired changed -> LIST",
    "listed X1 me3       -> WATCH X1",
    "watched OK          -> ",
    "watch_fired changed -> GRANT",
};

/* X holds, Y waits behind it, and we behind Y. We hear on another connection that Y has given up,
 * but have no watch there when somebody deletes our node: X releases to nobody. */
CONVERSATION(release_is_nothing_to_us_while_our_own_watch_is_in_doubt, protected_one) = {
    WAITING("X2", "me3"),
    "disconnected        -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched NOT_NOW -> ",
    "watch_fired deleted -> LIST",
    "listed X1 me3       -> WATCH X1 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched NOT_NOW -> ",
    "watch_fired changed -> LIST",
    "listed nobody       -> REJOIN CREATE LIST",
};

/* ---- Telling ------------------------------------------------------------------------------ */

CONVERSATION(hand_over_that_finds_nothing_is_a_release, protected_one) = {
    GRANTED("me3"),
    "released            -> HAND_OVER me3",
    "handed_over NO_NODE -> END",
};

CONVERSATION(hand_over_that_is_refused_is_a_plain_deletion, protected_one) = {
    GRANTED("me3"),
    "released            -> HAND_OVER me3",
    "handed_over REFUSED -> DELETE me3",
    "deleted OK          -> END",
};

CONVERSATION(hand_over_that_is_lost_is_a_plain_deletion, protected_one) = {
    GRANTED("me3"),
    "released            -> HAND_OVER me3",
    "disconnected        -> ",
    "handed_over UNKNOWN -> ",
    "connected           -> DELETE me3",
    "deleted NO_NODE     -> END",
};

CONVERSATION(waiter_that_gives_up_tells_nobody, protected_one) = {
    WAITING("X2", "me3"),
    "cancelled           -> FAIL CANCELLED UNWATCH DELETE me3",
};

CONVERSATION(lock_that_was_lost_is_not_handed_over, protected_one) = {
    GRANTED("me3"),
    "hold_limit          -> LOSE HOLD_LIMIT DELETE me3",
};

static const trace_setup protected_lease = {
    .mode = ZKL_EXCLUSIVE, .is_protected = true, .needs_lease = true, .lease_runs = true
};

/* Others may have been told that it is lost, and it may be at work all the same. */
CONVERSATION(lock_that_was_lost_with_its_lease_is_not_handed_over, protected_lease) = {
    GRANTED("me3"),
    "lease_ended         -> LOSE LEASE_ENDED",
    "released            -> DELETE me3",
};

/* The reader that it was holds on. */
CONVERSATION(upgrade_is_not_handed_over, protected_upgrade) = {
    JOINED("me3"),
    "listed r2 me3       -> GRANT",
    "released            -> DELETE me3",
};

CONVERSATION(writer_that_became_a_reader_is_not_handed_over, protected_writer) = {
    GRANTED("me3"),
    "downgrade           -> WATCH_OWN me3",
    "own_watched OK      -> DOWNGRADE R3",
    "released            -> DOWNGRADE_ENDED NOT_HELD",
    "downgraded OK       -> UNWATCH_OWN DELETE R3",
};

/* Of two nodes it is not known by which of them others wait. */
CONVERSATION(surplus_node_is_not_handed_over, protected_one) = {
    CREATE_LOST,
    "connected           -> CREATE LIST",
    "created me5         -> ",
    "listed me3 me5      -> INSPECT me3",
    "inspected ours      -> DELETE me5",
    "deleted OK          -> LIST",
    "listed me3          -> GRANT",
    "released            -> HAND_OVER me3",
};
