/*
 * The request machine, as conversations: our own node is deleted by somebody
 * else while we wait. trace.h explains the words.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };

/* ---- The own node is deleted by somebody else ------------------------------------------ */

CONVERSATION(own_node_deleted_while_waiting_joins_again_at_once, exclusive) = {
    WAITING("x2", "me3"),
    "own_watch_fired     -> WATCH_OWN me3",
    "own_watched NO_NODE -> UNWATCH REJOIN CREATE LIST",
    "created me5         -> ",
    "listed x2 me5 x4    -> WATCH x4",
};

/* Nothing else tells, as long as the one before us stays. */
CONVERSATION(own_watch_that_was_turned_away_is_asked_for_by_each_probe_until_it_is_armed,
             exclusive) = {
    JOINED("me3"),
    "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched NOT_NOW -> ",
    "probe               -> WATCH_OWN me3",
    "probe               -> ",
    "own_watched NOT_NOW -> ",
    "probe               -> WATCH_OWN me3",
    "own_watched OK      -> ",
    "probe               -> ",
};

CONVERSATION(own_node_deleted_before_the_next_connection_has_a_watch_joins_again, exclusive) = {
    WAITING("x2", "me3"),
    "disconnected        -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched NOT_NOW -> ",
    "probe               -> WATCH_OWN me3",
    "own_watched NO_NODE -> UNWATCH REJOIN CREATE LIST",
    "created me5         -> ",
    "listed x2 x4 me5    -> WATCH x4",
    "probe               -> ", /* not next in line any more */
};

CONVERSATION(own_node_is_not_looked_after_on_the_way_out, exclusive) = {
    WAITING("x2", "me3"),
    "disconnected        -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched NOT_NOW -> ",
    "cancelled           -> FAIL CANCELLED UNWATCH DELETE me3",
    "probe               -> ",
    "deleted OK          -> END",
};

/* Something that deletes each of our nodes must not make us spin. */
CONVERSATION(own_node_deleted_again_and_again_is_made_after_a_pause, exclusive) = {
    WAITING("x2", "me3"),
    "own_watch_fired     -> WATCH_OWN me3",
    "own_watched NO_NODE -> UNWATCH REJOIN CREATE LIST",
    "created me5         -> ",
    "listed x2           -> REJOIN BACK_OFF",
    "backed_off          -> CREATE LIST",
    "created me7         -> ",
    "listed x2           -> REJOIN BACK_OFF",
    "backed_off          -> CREATE LIST",
    "created me9         -> ",
    "listed x2 me9       -> WATCH x2 WATCH_OWN me9",
    "watched OK          -> ",
    "own_watched NO_NODE -> UNWATCH REJOIN BACK_OFF",
    "backed_off          -> CREATE LIST",
};

CONVERSATION(own_node_deleted_for_the_first_time_in_a_session_is_made_at_once, exclusive) = {
    WAITING("x2", "me3"),
    "own_watch_fired     -> WATCH_OWN me3",
    "own_watched NO_NODE -> UNWATCH REJOIN CREATE LIST",
    "created me5         -> ",
    "listed x2 me5       -> WATCH x2 WATCH_OWN me5",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "disconnected        -> ",
    "session_ended       -> REJOIN",
    "connected           -> CREATE LIST",
    "created me7         -> ",
    "listed x2           -> REJOIN CREATE LIST",
};

/* No runner feeds such replies; the fuzzer does. What was never inspected stays untouched. */
CONVERSATION(reply_that_nobody_awaits_takes_no_node, exclusive) = {
    CREATE_LOST,
    "inspected ours      -> ",
    "deleted OK          -> ",
    "connected           -> CREATE LIST",
    "created me5         -> ",
    "created me7         -> ",
    "listed me5          -> GRANT",
    "own_watched NO_NODE -> ",
    "released       -> DELETE me5",
    "deleted OK     -> BACK_OFF",
    LINGERED,
};
