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
static const trace_setup without_lease_or_rejoining = { .mode = ZKL_EXCLUSIVE,
                                                        .needs_lease = true,
                                                        .fail_on_session_expiry = true };

/* ---- Granted only while a lease runs ------------------------------------------------- */

TEST(lock_is_granted_while_the_lease_runs) {
    static const char *const lines[] = {
        "start       -> CREATE LIST",
        "created me0 -> ",
        "listed me0  -> GRANT",
    };
    PLAY(leased, lines);
}

TEST(free_lock_without_a_lease_waits_for_it_and_lists_again) {
    static const char *const lines[] = {
        "start       -> CREATE LIST", "created me0 -> ",      "listed me0  -> ",
        "lease_begun -> LIST",        "listed me0  -> GRANT",
    };
    PLAY(without_lease, lines);
}

/* Somebody may have come in its place while it waited. */
TEST(list_after_the_wait_for_the_lease_decides) {
    static const char *const lines[] = {
        "start       -> CREATE LIST",
        "created me3 -> ",
        "listed me3  -> ",
        "lease_begun -> LIST",
        "listed r2 me3 -> WATCH r2 WATCH_OWN me3",
    };
    PLAY(without_lease, lines);
}

TEST(lease_that_begins_before_the_list_is_enough) {
    static const char *const lines[] = {
        "start       -> CREATE LIST",
        "lease_begun -> ",
        "created me0 -> ",
        "listed me0  -> GRANT",
    };
    PLAY(without_lease, lines);
}

TEST(lease_that_ends_before_the_list_is_waited_for) {
    static const char *const lines[] = {
        "start       -> CREATE LIST", "created me0 -> ",      "lease_ended -> ", "listed me0  -> ",
        "lease_begun -> LIST",        "listed me0  -> GRANT",
    };
    PLAY(leased, lines);
}

TEST(lease_that_ends_again_before_the_second_list_is_waited_for) {
    static const char *const lines[] = {
        "start       -> CREATE LIST", "created me0 -> ",      "listed me0  -> ",
        "lease_begun -> LIST",        "lease_ended -> ",      "listed me0  -> ",
        "lease_begun -> LIST",        "listed me0  -> GRANT",
    };
    PLAY(without_lease, lines);
}

TEST(hand_off_without_a_lease_waits_and_lists) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "watched OK          -> ",
        "own_watched OK      -> ",
        "lease_ended         -> ",
        "watch_fired deleted -> ",
        "lease_begun         -> LIST",
        "listed me3          -> GRANT",
    };
    PLAY(leased, lines);
}

TEST(hand_off_while_the_lease_runs_is_a_grant) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "watched OK          -> ",
        "own_watched OK      -> ",
        "watch_fired deleted -> GRANT",
    };
    PLAY(leased, lines);
}

TEST(lease_says_nothing_to_a_waiter) {
    static const char *const lines[] = {
        "start            -> CREATE LIST",
        "created me3      -> ",
        "listed x1 x2 me3 -> WATCH x2",
        "watched OK       -> ",
        "lease_begun      -> ",
        "lease_ended      -> ",
        "lease_begun      -> ",
        "watch_fired      -> LIST",
    };
    PLAY(without_lease, lines);
}

TEST(lock_without_need_of_a_lease_does_not_mind_its_end) {
    static const char *const lines[] = {
        "start       -> CREATE LIST", "created me0 -> ", "listed me0  -> GRANT", "lease_ended -> ",
        "released    -> DELETE me0",
    };
    PLAY(exclusive, lines);
}

TEST(timeout_while_waiting_for_the_lease_leaves_the_queue) {
    static const char *const lines[] = {
        "start       -> CREATE LIST",
        "created me0 -> ",
        "listed me0  -> ",
        "timed_out   -> FAIL TIMEOUT DELETE me0",
        "lease_begun -> ",
        "deleted OK  -> END",
    };
    PLAY(without_lease, lines);
}

TEST(cancel_while_waiting_for_the_lease_leaves_the_queue) {
    static const char *const lines[] = {
        "start        -> CREATE LIST",
        "created me0  -> ",
        "listed me0   -> ",
        "disconnected -> ",
        "cancelled    -> FAIL CANCELLED",
        "connected    -> DELETE me0",
        "deleted OK   -> END",
    };
    PLAY(without_lease, lines);
}

TEST(timeout_while_the_list_after_the_lease_is_under_way_is_no_grant) {
    static const char *const lines[] = {
        "start       -> CREATE LIST",
        "created me0 -> ",
        "listed me0  -> ",
        "lease_begun -> LIST",
        "timed_out   -> FAIL TIMEOUT",
        "listed me0  -> DELETE me0",
        "deleted OK  -> END",
    };
    PLAY(without_lease, lines);
}

TEST(session_end_while_waiting_for_the_lease_joins_again) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me0   -> ",
        "listed me0    -> ",
        "disconnected  -> ",
        "session_ended -> REJOIN",
        "lease_begun   -> ",
        "connected     -> CREATE LIST",
        "created me1   -> ",
        "listed me1    -> GRANT",
    };
    PLAY(without_lease, lines);
}

/* A session that took long to begin has no lease yet. */
TEST(session_end_while_waiting_for_the_lease_waits_again_in_the_next) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me0   -> ",
        "listed me0    -> ",
        "session_ended -> REJOIN",
        "connected     -> CREATE LIST",
        "created me1   -> ",
        "listed me1    -> ",
        "lease_begun   -> LIST",
        "listed me1    -> GRANT",
    };
    PLAY(without_lease, lines);
}

TEST(session_end_while_waiting_for_the_lease_fails_where_asked_for) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me0   -> ",
        "listed me0    -> ",
        "session_ended -> FAIL SESSION_EXPIRED END",
    };
    PLAY(without_lease_or_rejoining, lines);
}

/* Each session has to earn its own. */
TEST(lease_of_the_last_session_does_not_serve_in_the_next) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "session_ended       -> ",
        "created SESSION_OVER -> ",
        "listed SESSION_OVER -> ",
        "connected     -> CREATE LIST",
        "created me1         -> ",
        "listed me1    -> ",
    };
    PLAY(leased, lines);
}

TEST(place_lost_while_waiting_for_the_lease_is_found_by_the_list) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me0   -> ",
        "listed me0    -> ",
        "lease_begun   -> LIST",
        "listed nobody -> REJOIN CREATE LIST",
        "created me1   -> ",
        "listed me1    -> GRANT",
    };
    PLAY(without_lease, lines);
}

TEST(place_lost_while_waiting_for_the_lease_is_told_by_its_watch) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "watched OK          -> ",
        "own_watched OK      -> ",
        "watch_fired deleted -> ",
        "own_watch_fired     -> WATCH_OWN me3",
        "own_watched NO_NODE -> REJOIN CREATE LIST",
        "created me4         -> ",
        "listed me4          -> ",
        "lease_begun         -> LIST",
    };
    PLAY(without_lease, lines);
}

/* ---- The lease ends while the lock is held ---------------------------------------------- */

TEST(lock_lost_with_its_lease_keeps_its_node_until_it_is_released) {
    static const char *const lines[] = {
        "start        -> CREATE LIST",
        "created me0  -> ",
        "listed me0   -> GRANT",
        "lease_ended  -> LOSE LEASE_ENDED",
        "probe        -> ",
        "disconnected -> ",
        "connected    -> ",
        "released     -> DELETE me0",
        "deleted OK   -> END",
    };
    PLAY(leased, lines);
}

TEST(lease_that_begins_again_does_not_bring_the_lock_back) {
    static const char *const lines[] = {
        "start       -> CREATE LIST",
        "created me0 -> ",
        "listed me0  -> GRANT",
        "lease_ended -> LOSE LEASE_ENDED",
        "lease_begun -> ",
        "lease_ended -> ",
        "lease_begun -> ",
        "released    -> DELETE me0",
        "deleted OK  -> END",
    };
    PLAY(leased, lines);
}

TEST(old_news_of_the_blocker_does_not_bring_the_lock_back) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me3         -> ",
        "listed x2 me3       -> WATCH x2 WATCH_OWN me3",
        "watched OK          -> ",
        "own_watched OK      -> ",
        "watch_fired deleted -> GRANT",
        "lease_ended         -> LOSE LEASE_ENDED",
        "lease_begun         -> ",
        "watch_fired deleted -> ",
        "hold_limit          -> DELETE me3",
    };
    PLAY(leased, lines);
}

TEST(session_end_while_the_node_is_kept_ends_the_request) {
    static const char *const lines[] = {
        "start         -> CREATE LIST",
        "created me0   -> ",
        "listed me0    -> GRANT",
        "disconnected  -> ",
        "lease_ended   -> LOSE LEASE_ENDED",
        "session_ended -> END",
    };
    PLAY(leased, lines);
}

/* Found by the simulation: its holder may be at work. */
TEST(try_that_lost_its_lease_keeps_its_node_over_a_disconnect) {
    static const char *const lines[] = {
        "start        -> LIST",  "listed nobody -> CREATE LIST",     "created me0  -> ",
        "listed me0   -> GRANT", "lease_ended  -> LOSE LEASE_ENDED", "disconnected -> ",
        "connected    -> ",      "released     -> DELETE me0",       "deleted OK   -> END",
    };
    PLAY(leased_try, lines);
}

/* Its holder may be at work: what is asked of the node meanwhile may fail (seed 89425). */
TEST(kept_node_of_a_try_stays_when_its_downgrade_is_turned_away) {
    static const char *const turned_away[] = {
        "start              -> LIST",
        "listed nobody      -> CREATE LIST",
        "created me0        -> ",
        "listed me0         -> GRANT",
        "downgrade          -> DOWNGRADE r0",
        "lease_ended        -> DOWNGRADE_ENDED LOST LOSE LEASE_ENDED",
        "downgraded NOT_NOW -> BACK_OFF",
        "backed_off         -> ",
        "released           -> DELETE me0",
        "deleted OK         -> END",
    };
    PLAY(leased_writing_try, turned_away);
}

TEST(kept_node_stays_when_it_may_not_be_looked_for) {
    static const char *const refused[] = {
        "start              -> CREATE LIST",
        "created me0        -> ",
        "listed me0         -> GRANT",
        "downgrade          -> DOWNGRADE r0",
        "lease_ended        -> DOWNGRADE_ENDED LOST LOSE LEASE_ENDED",
        "downgraded UNKNOWN -> BACK_OFF",
        "backed_off         -> SETTLE",
        "settled OK         -> INSPECT r0",
        "inspected REFUSED  -> WARN NO_PERMISSION BACK_OFF",
        "released           -> ",
        "backed_off         -> INSPECT r0",
        "inspected NO_NODE  -> DELETE me0",
        "deleted OK         -> END",
    };
    PLAY(leased_writer, refused);
}

TEST(kept_node_that_is_deleted_by_hand_ends_the_request) {
    static const char *const lines[] = {
        "start               -> CREATE LIST",
        "created me0         -> ",
        "listed me0          -> GRANT",
        "probe               -> WATCH_OWN me0",
        "own_watched OK      -> ",
        "lease_ended         -> LOSE LEASE_ENDED",
        "own_watch_fired     -> WATCH_OWN me0",
        "own_watched NO_NODE -> END",
    };
    PLAY(leased, lines);
}

TEST(kept_node_that_was_changed_is_kept) {
    static const char *const lines[] = {
        "start           -> CREATE LIST",
        "created me0     -> ",
        "listed me0      -> GRANT",
        "probe           -> WATCH_OWN me0",
        "own_watched OK  -> ",
        "lease_ended     -> LOSE LEASE_ENDED",
        "own_watch_fired -> WATCH_OWN me0",
        "own_watched OK  -> ",
        "released        -> DELETE me0",
        "own_watch_fired -> ",
        "deleted OK      -> END",
    };
    PLAY(leased, lines);
}

TEST(node_gone_by_hand_before_it_is_released_needs_a_delete_only) {
    static const char *const lines[] = {
        "start           -> CREATE LIST", "created me0     -> ",
        "listed me0      -> GRANT",       "lease_ended     -> LOSE LEASE_ENDED",
        "released        -> DELETE me0",  "deleted NO_NODE -> END",
    };
    PLAY(leased, lines);
}

/* The client is closed: nobody is at work any more. */
TEST(close_while_the_node_is_kept_deletes_it) {
    static const char *const lines[] = {
        "start       -> CREATE LIST",      "created me0 -> ",           "listed me0  -> GRANT",
        "lease_ended -> LOSE LEASE_ENDED", "cancelled   -> DELETE me0", "deleted OK  -> END",
    };
    PLAY(leased, lines);
}

TEST(lease_that_ends_after_the_release_is_no_loss) {
    static const char *const lines[] = {
        "start       -> CREATE LIST", "created me0 -> ", "listed me0  -> GRANT",
        "released    -> DELETE me0",  "lease_ended -> ", "deleted OK  -> END",
    };
    PLAY(leased, lines);
}
