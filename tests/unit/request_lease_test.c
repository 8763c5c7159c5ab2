/*
 * The request machine, as conversations: where a lease is asked for a lock is
 * granted only while one runs, and is lost when it ends; then its node stays
 * until it is released. trace.h explains the words.
 */

#include "support/trace.h"

static const trace_setup exclusive = { .mode = ZKL_EXCLUSIVE };
static const trace_setup leased = { .mode = ZKL_EXCLUSIVE,
                                    .needs_lease = true,
                                    .lease_runs = true };
static const trace_setup leased_try = {
    .mode = ZKL_EXCLUSIVE, .only_try = true, .needs_lease = true, .lease_runs = true
};
static const trace_setup leased_writer = { .mode = ZKL_WRITE,
                                           .needs_lease = true,
                                           .lease_runs = true };
static const trace_setup leased_writing_try = {
    .mode = ZKL_WRITE, .only_try = true, .needs_lease = true, .lease_runs = true
};
static const trace_setup without_lease = { .mode = ZKL_EXCLUSIVE, .needs_lease = true };

/* ---- Granted only while a lease runs ------------------------------------------------- */

CONVERSATION(lock_is_granted_while_the_lease_runs, leased) = {
    GRANTED("me0"),
};

CONVERSATION(free_lock_without_a_lease_waits_for_it_and_lists_again, without_lease) = {
    JOINED("me0"),
    "listed me0  -> ",
    "lease_begun -> LIST",
    "listed me0  -> GRANT",
};

CONVERSATION(hand_off_without_a_lease_waits_and_lists, leased) = {
    WAITING("x2", "me3"),          "lease_ended         -> ",      "watch_fired deleted -> ",
    "lease_begun         -> LIST", "listed me3          -> GRANT",
};

CONVERSATION(hand_off_while_the_lease_runs_is_a_grant, leased) = {
    WAITING("x2", "me3"),
    "watch_fired deleted -> GRANT",
};

CONVERSATION(lock_without_need_of_a_lease_does_not_mind_its_end, exclusive) = {
    GRANTED("me0"),
    "lease_ended -> ",
    "released    -> DELETE me0",
};

CONVERSATION(timeout_while_waiting_for_the_lease_leaves_the_queue, without_lease) = {
    JOINED("me0"),     "listed me0  -> ",    "timed_out   -> FAIL TIMEOUT DELETE me0",
    "lease_begun -> ", "deleted OK  -> END",
};

CONVERSATION(session_end_while_waiting_for_the_lease_joins_again, without_lease) = {
    JOINED("me0"),       "listed me0    -> ",
    "disconnected  -> ", "session_ended -> REJOIN",
    "lease_begun   -> ", "connected     -> CREATE LIST",
    "created me1   -> ", "listed me1    -> GRANT",
};

/* Each session has to earn its own. */
CONVERSATION(lease_of_the_last_session_does_not_serve_in_the_next, leased) = {
    "start                -> CREATE LIST",
    "session_ended        -> ",
    "created SESSION_OVER -> ",
    "listed SESSION_OVER  -> ",
    "connected            -> CREATE LIST",
    "created me1          -> ",
    "listed me1           -> ",
};

/* ---- The lease ends while the lock is held ---------------------------------------------- */

CONVERSATION(lock_lost_with_its_lease_keeps_its_node_until_it_is_released, leased) = {
    GRANTED("me0"),     "lease_ended  -> LOSE LEASE_ENDED",
    "probe        -> ", "disconnected -> ",
    "connected    -> ", RELEASED("me0"),
};

CONVERSATION(lease_that_begins_again_does_not_bring_the_lock_back, leased) = {
    GRANTED("me0"),    "lease_ended -> LOSE LEASE_ENDED",
    "lease_begun -> ", "lease_ended -> ",
    "lease_begun -> ", RELEASED("me0"),
};

/* Found by the simulation: its holder may be at work. */
CONVERSATION(try_that_lost_its_lease_keeps_its_node_over_a_disconnect, leased_try) = {
    "start         -> LIST",
    "listed nobody -> CREATE LIST",
    "created me0   -> ",
    "listed me0    -> GRANT",
    "lease_ended   -> LOSE LEASE_ENDED",
    "disconnected  -> ",
    "connected     -> ",
    RELEASED("me0"),
};

/* Its holder may be at work: what is asked of the node meanwhile may fail (seed 89425). */
TEST(kept_node_of_a_try_stays_when_its_downgrade_is_turned_away) {
    static const char *const turned_away[] = {
        "start              -> LIST",
        "listed nobody      -> CREATE LIST",
        "created me0        -> ",
        "listed me0         -> GRANT",
        "downgrade          -> WATCH_OWN me0",
        "own_watched OK     -> DOWNGRADE r0",
        "lease_ended        -> DOWNGRADE_ENDED LOST LOSE LEASE_ENDED",
        "downgraded NOT_NOW -> BACK_OFF",
        "backed_off         -> ",
        RELEASED("me0"),
    };
    PLAY(leased_writing_try, turned_away);
}

TEST(kept_node_stays_when_it_may_not_be_looked_for) {
    static const char *const refused[] = {
        GRANTED("me0"),
        "downgrade          -> WATCH_OWN me0",
        "own_watched OK     -> DOWNGRADE r0",
        "lease_ended        -> DOWNGRADE_ENDED LOST LOSE LEASE_ENDED",
        "downgraded UNKNOWN -> BACK_OFF",
        "backed_off         -> SETTLE",
        "settled OK         -> INSPECT r0",
        "inspected REFUSED  -> WARN NO_PERMISSION BACK_OFF",
        "released           -> ",
        "backed_off         -> INSPECT r0",
        "inspected NO_NODE  -> DELETE me0",
        "deleted OK         -> BACK_OFF",
        LINGERED,
    };
    PLAY(leased_writer, refused);
}

CONVERSATION(kept_node_that_is_deleted_by_hand_ends_the_request, leased) = {
    GRANTED("me0"),
    "probe               -> WATCH_OWN me0",
    "own_watched OK      -> ",
    "lease_ended         -> LOSE LEASE_ENDED",
    "own_watch_fired     -> WATCH_OWN me0",
    "own_watched NO_NODE -> END",
};

/* The client is closed: nobody is at work any more. */
CONVERSATION(close_while_the_node_is_kept_deletes_it, leased) = {
    GRANTED("me0"),
    "lease_ended -> LOSE LEASE_ENDED",
    "cancelled   -> DELETE me0",
    "deleted OK  -> END",
};
