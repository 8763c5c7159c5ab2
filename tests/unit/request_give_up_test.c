/*
 * The request machine when it gives up: timeout, cancel, and tries. What happens on
 * the left, all that the request does about it on the right. trace.h explains
 * the words. Whatever a trace says, the monitor asserts the rules that hold in
 * each step.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };
static const trace_setup try_exclusive = { .mode = ZKL_EXCLUSIVE, .only_try = true };

/* ---- Timeout and cancel ---------------------------------------------------------------------- */

CONVERSATION(timeout_while_create_is_outstanding_deletes_the_node_when_it_is_known, exclusive) = {
    "start       -> CREATE LIST", "timed_out   -> FAIL TIMEOUT", "created me3 -> ",
    "listed me3  -> DELETE me3",  "deleted OK  -> END",
};

CONVERSATION(timeout_while_the_list_is_outstanding_is_no_grant, exclusive) = {
    JOINED("me3"),
    "timed_out  -> FAIL TIMEOUT",
    "listed me3 -> DELETE me3",
    "deleted OK -> END",
};

CONVERSATION(timeout_while_waiting_leaves_the_queue, exclusive) = {
    WAITING("x2", "me3"),
    "timed_out  -> FAIL TIMEOUT UNWATCH DELETE me3",
    "deleted OK -> END",
};

CONVERSATION(timeout_while_the_watch_is_being_set_takes_it_away_again, exclusive) = {
    JOINED("me3"),
    "listed x2 me3  -> WATCH x2 WATCH_OWN me3",
    "timed_out      -> FAIL TIMEOUT",
    "watched OK     -> ",
    "own_watched OK -> UNWATCH DELETE me3",
    "deleted OK     -> END",
};

CONVERSATION(timeout_after_a_lost_create_finds_and_deletes_the_node, exclusive) = {
    CREATE_LOST,
    "timed_out      -> FAIL DISCONNECTED",
    "connected      -> SETTLE LIST",
    "settled OK     -> ",
    "listed x1 me3  -> INSPECT me3",
    "inspected ours -> DELETE me3",
    "deleted OK     -> SETTLE LIST",
    "settled OK     -> ",
    "listed x1      -> BACK_OFF",
    LINGERED,
};

CONVERSATION(fired_watch_after_the_timeout_is_no_grant, exclusive) = {
    WAITING("x2", "me3"), "watch_fired -> LIST",       "timed_out   -> FAIL TIMEOUT",
    "watch_fired -> ",    "listed me3  -> DELETE me3", "deleted OK  -> END",
};

/* ---- Try ------------------------------------------------------------------------------------- */

CONVERSATION(try_on_a_held_lock_writes_nothing, try_exclusive) = {
    "start     -> LIST",
    "listed x1 -> FAIL BUSY END",
};

CONVERSATION(try_on_a_free_lock_queues_and_is_granted, try_exclusive) = {
    "start         -> LIST", "listed nobody -> CREATE LIST",
    "created me3   -> ",     "listed me3    -> GRANT",
    RELEASED("me3"),
};

CONVERSATION(loser_of_two_tries_says_so_when_its_node_is_gone, try_exclusive) = {
    "start         -> LIST",       "listed nobody -> CREATE LIST",   "created me4   -> ",
    "listed x3 me4 -> DELETE me4", "deleted OK    -> FAIL BUSY END",
};

CONVERSATION(loser_of_two_tries_is_not_kept_by_a_disconnect, try_exclusive) = {
    "start           -> LIST",       "listed nobody   -> CREATE LIST", "created me4     -> ",
    "listed x3 me4   -> DELETE me4", "disconnected    -> FAIL BUSY",   "deleted UNKNOWN -> ",
    "connected       -> DELETE me4", "deleted OK      -> END",
};

/* A try waits for the replies to its requests, and no longer. */
CONVERSATION(loser_of_two_tries_is_not_kept_by_a_refused_delete, try_exclusive) = {
    "start           -> LIST",
    "listed nobody   -> CREATE LIST",
    "created me4     -> ",
    "listed x3 me4   -> DELETE me4",
    "deleted REFUSED -> FAIL BUSY WARN NO_PERMISSION BACK_OFF",
    "backed_off      -> DELETE me4",
    "deleted OK      -> END",
};

CONVERSATION(try_whose_session_ends_fails, try_exclusive) = {
    "start               -> LIST",
    "session_ended       -> FAIL SESSION_EXPIRED",
    "listed SESSION_OVER -> END",
};

CONVERSATION(try_that_holds_does_not_fail_by_a_disconnect, try_exclusive) = {
    "start         -> LIST",       "listed nobody -> CREATE LIST",
    "created me3   -> ",           "listed me3    -> GRANT",
    "disconnected  -> ",           "connected     -> ",
    "released      -> DELETE me3",
};

CONVERSATION(try_that_the_server_does_not_take_now_gives_up, try_exclusive) = {
    "start          -> LIST",
    "listed NOT_NOW -> FAIL SERVER_REFUSED BACK_OFF",
    "backed_off     -> END",
};
