/*
 * The request machine, as conversations: joining, holding and releasing. What happens on
 * the left, all that the request does about it on the right. trace.h explains
 * the words. Whatever a trace says, the monitor asserts the rules that hold in
 * each step.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };
static const trace_setup reader = { .mode = ZKL_READ };
static const trace_setup try_exclusive = { .mode = ZKL_EXCLUSIVE, .only_try = true };

/* ---- The good case --------------------------------------------------------- */

CONVERSATION(free_lock_is_granted_after_one_create_and_one_list, exclusive) = {
    GRANTED("me0"),
    RELEASED("me0"),
};

CONVERSATION(waiter_is_granted_when_its_predecessor_is_gone, exclusive) = {
    WAITING("x2", "me3"),
    "watch_fired -> LIST",
    "listed me3  -> GRANT",
    RELEASED("me3"),
};

CONVERSATION(fired_watch_alone_grants_nothing, exclusive) = {
    WAITING("x2", "me3"),        "watch_fired   -> LIST",
    "listed x2 me3 -> WATCH x2", /* it was changed, not deleted */
    "watched OK    -> ",         "watch_fired   -> LIST",
    "listed x1 me3 -> WATCH x1", /* an earlier one was listed late */
    "watched OK    -> ",
};

CONVERSATION(blocker_gone_between_list_and_watch_lists_again, exclusive) = {
    JOINED("me3"),
    "listed x1 x2 me3 -> WATCH x2",
    "watched NO_NODE  -> LIST",
    "listed x1 me3    -> WATCH x1 WATCH_OWN me3",
    "watched NO_NODE  -> ",
    "own_watched OK   -> GRANT",
};

/* ---- Modes ------------------------------------------------------------------- */

CONVERSATION(reader_waits_behind_waiting_writer, reader) = {
    JOINED("me5"),
    "listed r1 w2 r3 r4 me5 -> WATCH w2",
    "watched OK             -> ",
    "watch_fired            -> LIST",
    "listed r1 r3 r4 me5    -> GRANT",
};

CONVERSATION(kazoo_and_curator_nodes_are_waited_for, exclusive) = {
    JOINED("me5"),
    "listed k1 q2 w3 q4 me5 k6 -> WATCH q4",
    "watched OK                -> ",
    "watch_fired               -> LIST",
    "listed k1 me5 k6          -> WATCH k1 WATCH_OWN me5",
};

CONVERSATION(unknown_kind_blocks_a_reader_and_is_reported_once, reader) = {
    JOINED("me3"),
    "listed u1 r2 me3 -> REPORT u1 WATCH u1",
    "watched OK       -> ",
    "watch_fired      -> LIST",
    "listed u1 r2 me3 -> WATCH u1",
    "watched OK       -> ",
    "watch_fired      -> LIST",
    "listed r2 me3    -> GRANT",
};

/* ---- The parent ---------------------------------------------------------------- */

CONVERSATION(missing_parent_is_made_and_the_queue_joined, exclusive) = {
    "start           -> CREATE LIST", "created NO_NODE -> ", "listed NO_NODE  -> MAKE_PARENT",
    "parent_made OK  -> CREATE LIST", "created me0     -> ", "listed me0      -> GRANT",
};

/* No pause between the two: whoever removes idle parents would find it empty for as long. */
CONVERSATION(parent_that_vanishes_again_is_made_after_a_pause_and_used_at_once, exclusive) = {
    "start           -> CREATE LIST",
    "created NO_NODE -> ",
    "listed NO_NODE  -> MAKE_PARENT",
    "parent_made OK  -> CREATE LIST",
    "created NO_NODE -> ",
    "listed NO_NODE  -> BACK_OFF",
    "backed_off      -> MAKE_PARENT",
    "parent_made OK  -> CREATE LIST",
    "created NO_NODE -> ",
    "listed NO_NODE  -> BACK_OFF",
    "backed_off      -> MAKE_PARENT",
    "parent_made OK  -> CREATE LIST",
    "created me0     -> ",
    "listed me0      -> GRANT",
};

CONVERSATION(forbidden_parent_fails_the_request, exclusive) = {
    "start                    -> CREATE LIST",
    "created NO_NODE          -> ",
    "listed NO_NODE           -> MAKE_PARENT",
    "parent_made REFUSED      -> INSPECT_PARENT",
    "parent_inspected NO_NODE -> FAIL NO_PERMISSION END",
};

CONVERSATION(forbidden_parent_that_is_there_need_not_be_made, exclusive) = {
    "start                  -> CREATE LIST", "created NO_NODE        -> ",
    "listed NO_NODE         -> MAKE_PARENT", "parent_made REFUSED    -> INSPECT_PARENT",
    "parent_inspected older -> CREATE LIST",
};

CONVERSATION(what_is_missing_above_the_parent_is_made_from_the_top_down, exclusive) = {
    "start                  -> CREATE LIST",   "created NO_NODE        -> ",
    "listed NO_NODE         -> MAKE_PARENT",   "parent_made NO_NODE    -> MAKE_PARENT 1",
    "parent_made NO_NODE    -> MAKE_PARENT 2", "parent_made REFUSED    -> INSPECT_PARENT 2",
    "parent_inspected older -> MAKE_PARENT 1", "parent_made OK         -> MAKE_PARENT",
    "parent_made OK         -> CREATE LIST",
};

CONVERSATION(nothing_is_made_above_the_topmost_parent, exclusive) = {
    "start               -> CREATE LIST",   "created NO_NODE     -> ",
    "listed NO_NODE      -> MAKE_PARENT",   "parent_made NO_NODE -> MAKE_PARENT 1",
    "parent_made NO_NODE -> MAKE_PARENT 2", "parent_made NO_NODE -> BACK_OFF",
    "backed_off          -> MAKE_PARENT",
};

/* ---- Refusals and servers that are busy -------------------------------------------- */

CONVERSATION(forbidden_create_fails_the_request, exclusive) = {
    "start           -> CREATE LIST",
    "created REFUSED -> FAIL NO_PERMISSION",
    "listed x1       -> END",
};

CONVERSATION(forbidden_list_fails_the_request_and_deletes_its_node, exclusive) = {
    JOINED("me1"),
    "listed REFUSED -> FAIL NO_PERMISSION DELETE me1",
    "deleted OK     -> END",
};

CONVERSATION(forbidden_watch_fails_the_request_and_deletes_its_node, exclusive) = {
    JOINED("me2"),
    "listed x1 me2   -> WATCH x1 WATCH_OWN me2",
    "watched REFUSED -> FAIL NO_PERMISSION",
    "own_watched OK  -> DELETE me2",
    "deleted OK      -> END",
};

CONVERSATION(refusal_that_does_not_say_why_is_no_success, exclusive) = {
    "start                    -> CREATE LIST",
    "created REFUSED silently -> FAIL SERVER_REFUSED",
    "listed nobody            -> END",
};

CONVERSATION(refused_delete_is_tried_again_and_again, exclusive) = {
    GRANTED("me1"),
    "released        -> DELETE me1",
    "deleted REFUSED -> WARN NO_PERMISSION BACK_OFF", /* once */
    "backed_off      -> DELETE me1",
    "deleted REFUSED -> BACK_OFF",
    "backed_off      -> DELETE me1",
    "deleted OK      -> END",
};

/* ---- Release ----------------------------------------------------------------------------------
 */

CONVERSATION(release_lost_in_disconnect_is_deleted_after_reconnect, exclusive) = {
    GRANTED("me3"),
    "released        -> DELETE me3",
    "disconnected    -> ",
    "deleted UNKNOWN -> ",
    "connected       -> DELETE me3",
    "disconnected    -> ",
    "deleted UNKNOWN -> ",
    "connected       -> DELETE me3",
    "deleted NO_NODE -> END", /* the first one had come
                                                                   through */
};

CONVERSATION(release_whose_session_ends_is_over, exclusive) = {
    GRANTED("me3"),
    "disconnected  -> ",
    "released      -> ",
    "session_ended -> END",
};

CONVERSATION(timeout_and_cancel_after_the_grant_come_too_late, exclusive) = {
    GRANTED("me3"),   "timed_out  -> ", "cancelled  -> ",    "released   -> DELETE me3",
    "timed_out  -> ", "cancelled  -> ", "deleted OK -> END", "timed_out  -> ",
    "cancelled  -> ",
};

/* ---- Sequences that are used up -------------------------------------------------------------- */

#define DRAINS                                                                                     \
    "start                      -> CREATE LIST", "created me-1               -> ",                 \
        "listed me-1 x7             -> DELETE me-1", "deleted OK -> INSPECT_PARENT"

TEST(sequence_near_two_to_the_31_waits_for_an_empty_resource) {
    static const char *const last[] = {
        JOINED("me2147483647"),
        "listed me2147483647    -> DELETE me2147483647",
        "deleted OK             -> INSPECT_PARENT",
        "parent_inspected older -> REMOVE_PARENT",
        "parent_removed OK      -> REJOIN MAKE_PARENT",
        "parent_made OK         -> CREATE LIST",
        "created me0            -> ",
        "listed me0             -> GRANT",
    };
    static const char *const first_refused[] = {
        "start                    -> CREATE LIST",
        "created me2146435072     -> ", /* 2^31 - 2^20 */
        "listed x5 me2146435072   -> DELETE me2146435072",
        "deleted OK               -> INSPECT_PARENT",
        "parent_inspected older   -> REMOVE_PARENT",
        "parent_removed NOT_EMPTY -> BACK_OFF",
        "backed_off               -> INSPECT_PARENT",
        "parent_inspected older   -> REMOVE_PARENT",
        "parent_removed NO_NODE   -> REJOIN MAKE_PARENT",
        "parent_made OK           -> CREATE LIST",
    };
    static const char *const last_granted[] = {
        GRANTED("me2146435070"),
    };
    PLAY(exclusive, last);
    PLAY(exclusive, first_refused);
    PLAY(exclusive, last_granted);
}

CONVERSATION(resource_that_is_not_empty_by_the_deadline_has_its_own_status, exclusive) = {
    DRAINS,
    "parent_inspected older   -> REMOVE_PARENT",
    "parent_removed NOT_EMPTY -> BACK_OFF",
    "timed_out                -> FAIL SEQUENCE_EXHAUSTED",
    "backed_off               -> INSPECT_PARENT",
    "parent_inspected older   -> REMOVE_PARENT",
    "parent_removed NOT_EMPTY -> END",
};

CONVERSATION(resource_that_others_have_made_anew_is_joined, exclusive) = {
    DRAINS,
    "parent_inspected younger -> REJOIN CREATE LIST",
    "created me1              -> ",
    "listed x0 me1            -> WATCH x0 WATCH_OWN me1",
};

/* It is an application's own node. */
TEST(resource_that_holds_data_is_never_removed) {
    static const char *const joining[] = {
        DRAINS,
        "parent_inspected with_data -> FAIL SEQUENCE_EXHAUSTED END",
    };
    static const char *const leaving[] = {
        DRAINS,
        "timed_out                  -> FAIL SEQUENCE_EXHAUSTED",
        "parent_inspected with_data -> END",
    };
    PLAY(exclusive, joining);
    PLAY(exclusive, leaving);
}

/* Others may have no more time than this one. */
TEST(whoever_leaves_removes_the_resource_if_it_is_empty) {
    static const char *const removed[] = {
        JOINED("me-1"),
        "cancelled              -> FAIL CANCELLED",
        "listed me-1            -> DELETE me-1",
        "deleted OK             -> INSPECT_PARENT",
        "parent_inspected older -> REMOVE_PARENT",
        "parent_removed OK      -> END",
    };
    static const char *const made_anew[] = {
        DRAINS,
        "timed_out                -> FAIL SEQUENCE_EXHAUSTED",
        "parent_inspected younger -> END",
    };
    static const char *const lost[] = {
        DRAINS,
        "parent_inspected older -> REMOVE_PARENT",
        "timed_out              -> FAIL SEQUENCE_EXHAUSTED",
        "disconnected           -> ",
        "parent_removed UNKNOWN -> END",
    };
    static const char *const offline[] = {
        DRAINS,
        "disconnected             -> ",
        "parent_inspected UNKNOWN -> ",
        "cancelled                -> FAIL CANCELLED END",
    };
    PLAY(exclusive, removed);
    PLAY(exclusive, made_anew);
    PLAY(exclusive, lost);
    PLAY(exclusive, offline);
}

CONVERSATION(exhausted_sequence_of_a_try_fails_closed, try_exclusive) = {
    "start                    -> LIST",
    "listed nobody            -> CREATE LIST",
    "created me2147483647     -> ",
    "listed me2147483647 x7   -> DELETE me2147483647",
    "deleted OK               -> INSPECT_PARENT",
    "parent_inspected older   -> REMOVE_PARENT",
    "parent_removed NOT_EMPTY -> FAIL SEQUENCE_EXHAUSTED END",
};

/* The lower of two nodes is kept, but not at any price. */
CONVERSATION(lost_node_with_an_exhausted_sequence_is_found_and_deleted, exclusive) = {
    CREATE_LOST,
    "connected       -> CREATE LIST",
    "created me0     -> ",
    "listed me-1 me0 -> INSPECT me-1",
    "inspected ours  -> DELETE me0",
    "deleted OK      -> LIST",
    "listed me-1     -> DELETE me-1",
    "deleted OK      -> INSPECT_PARENT",
};
