/*
 * The request machine, as conversations: a lock that is held, and how it is
 * lost: its node deleted by somebody else, the hold limit, the session; the
 * lease is request_lease_test's matter. trace.h explains the words;
 * "own_watch_fired" does not say whether the node was deleted or changed.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };
static const trace_setup leased = { .mode = ZKL_EXCLUSIVE,
                                    .needs_lease = true,
                                    .lease_runs = true };

/* ---- Looking after the node of a lock that is held ------------------------------- */

CONVERSATION(probe_watches_the_own_node_of_a_held_lock_once, exclusive) = {
    GRANTED("me0"),       "probe          -> WATCH_OWN me0",
    "probe          -> ", "own_watched OK -> ",
    "probe          -> ",
};

CONVERSATION(node_found_deleted_by_a_probe_loses_the_lock, exclusive) = {
    GRANTED("me0"),
    "probe               -> WATCH_OWN me0",
    "own_watched NO_NODE -> LOSE NODE_DELETED END",
};

CONVERSATION(node_deleted_under_the_holder_loses_the_lock, exclusive) = {
    GRANTED("me0"),
    "probe               -> WATCH_OWN me0",
    "own_watched OK      -> ",
    "own_watch_fired     -> WATCH_OWN me0",
    "own_watched NO_NODE -> LOSE NODE_DELETED END",
};

CONVERSATION(node_that_was_changed_is_watched_again, exclusive) = {
    GRANTED("me0"),        "probe           -> WATCH_OWN me0",
    "own_watched OK  -> ", "own_watch_fired -> WATCH_OWN me0",
    "own_watched OK  -> ", "own_watch_fired -> WATCH_OWN me0",
    "own_watched OK  -> ", "probe           -> ",
};

CONVERSATION(look_whose_answer_was_lost_is_repeated_on_the_next_connection, exclusive) = {
    GRANTED("me0"),
    "probe               -> WATCH_OWN me0",
    "disconnected        -> ",
    "own_watched UNKNOWN -> ",
    "connected           -> WATCH_OWN me0",
};

TEST(session_end_of_a_watched_holder_is_told_as_such) {
    static const char *const armed[] = {
        GRANTED("me0"),
        "probe          -> WATCH_OWN me0",
        "own_watched OK -> ",
        "session_ended  -> LOSE SESSION_EXPIRED END",
    };
    static const char *const being_armed[] = {
        GRANTED("me0"),
        "probe                    -> WATCH_OWN me0",
        "own_watched SESSION_OVER -> ",
        "probe                    -> ",
        "session_ended            -> LOSE SESSION_EXPIRED END",
    };
    static const char *const answered_later[] = {
        GRANTED("me0"),
        "probe                    -> WATCH_OWN me0",
        "session_ended            -> LOSE SESSION_EXPIRED",
        "own_watched SESSION_OVER -> END",
    };
    PLAY(exclusive, armed);
    PLAY(exclusive, being_armed);
    PLAY(exclusive, answered_later);
}

/* ---- The hold limit --------------------------------------------------------------- */

CONVERSATION(hold_limit_loses_the_lock_and_deletes_its_node, exclusive) = {
    GRANTED("me0"),
    "hold_limit -> LOSE HOLD_LIMIT DELETE me0",
    "released   -> ",
    "deleted OK -> END",
};

/* ---- Lost only once ---------------------------------------------------------------------- */

CONVERSATION(lock_lost_with_its_lease_is_lost_once, leased) = {
    GRANTED("me0"),
    "probe                -> WATCH_OWN me0",
    "lease_ended          -> LOSE LEASE_ENDED",
    "lease_ended          -> ",
    "own_watched OK       -> ",
    "hold_limit           -> DELETE me0",
    "hold_limit           -> ",
    "own_watch_fired      -> ",
    "session_ended        -> ",
    "deleted SESSION_OVER -> END",
};
