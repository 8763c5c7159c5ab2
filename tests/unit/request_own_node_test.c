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

/* The watch on the blocker that is still being set is taken away when it is there. */
TEST(own_node_gone_while_the_blocker_is_being_watched_joins_again) {
    static const char *const there[] = {
        JOINED("me3"),
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "own_watched NO_NODE -> REJOIN",
        "watched OK          -> UNWATCH CREATE LIST",
        "created me4         -> ",
        "listed x2 me4       -> WATCH x2 WATCH_OWN me4",
    };
    static const char *const gone[] = {
        JOINED("me3"),
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "own_watched NO_NODE -> REJOIN",
        "watched NO_NODE     -> CREATE LIST",
        "created me4         -> ",
        "listed me4          -> GRANT",
    };
    PLAY(exclusive, there);
    PLAY(exclusive, gone);
}

CONVERSATION(own_node_deleted_again_and_again_is_made_again_after_pauses, exclusive) = {
    JOINED("me3"),
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
    RELEASED("me5"),
};
