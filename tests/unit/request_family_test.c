/* Permits, limits, members of sets, downgrades: what the rest of the family asks of
 * the request machine. */
#include "support/trace.h"

static const trace_setup permit = { .mode = ZKL_EXCLUSIVE, .permits = 2 };
static const trace_setup try_permit = { .mode = ZKL_EXCLUSIVE, .permits = 2, .only_try = true };
static const trace_setup limited = { .mode = ZKL_EXCLUSIVE, .max_waiting = 2 };
static const trace_setup member = { .mode = ZKL_EXCLUSIVE, .is_member = true };
static const trace_setup writer = { .mode = ZKL_WRITE };
static const trace_setup upgrade = { .mode = ZKL_WRITE, .only_try = true, .companion = "r4" };

/* ---- Permits ------------------------------------------------------------------------------ */

CONVERSATION(permit_waits_and_lists_again_when_one_of_those_before_it_goes, permit) = {
    JOINED("me3"),
    "listed p1 p2 me3    -> WATCH p2",
    "watched OK          -> ",
    "watch_fired deleted -> LIST", /* never a hand-off: a permit may be left or not */
    "listed p2 me3       -> GRANT",
};

TEST(permits_that_differ_have_their_own_status) {
    static const char *const another_number[] = {
        JOINED("me3"),
        "listed t1 me3 -> FAIL USED_DIFFERENTLY DELETE me3",
        "deleted OK    -> END",
    };
    static const char *const a_lock[] = {
        JOINED("me3"),
        "listed x1 me3 -> FAIL USED_DIFFERENTLY DELETE me3",
        "deleted OK    -> END",
    };
    static const char *const later[] = {
        JOINED("me3"), "listed me3 t4 x5 -> GRANT", /* theirs to find out */
    };
    static const char *const in_a_try[] = {
        "start     -> LIST",
        "listed t1 -> FAIL USED_DIFFERENTLY END",
    };
    PLAY(permit, another_number);
    PLAY(permit, a_lock);
    PLAY(permit, later);
    PLAY(try_permit, in_a_try);
}

TEST(try_for_a_permit_writes_only_where_one_is_free) {
    static const char *const taken[] = {
        "start        -> LIST",
        "listed p1 p2 -> FAIL BUSY END",
    };
    static const char *const one_is_free[] = {
        "start         -> LIST",
        "listed p1     -> CREATE LIST",
        "created me2   -> ",
        "listed p1 me2 -> GRANT",
    };
    PLAY(try_permit, taken);
    PLAY(try_permit, one_is_free);
}

/* ---- Limits ------------------------------------------------------------------------------- */

CONVERSATION(full_queue_is_not_joined, limited) = {
    "start           -> LIST",
    "listed x1 x2 x3 -> FAIL QUEUE_FULL END",
};

CONVERSATION(queue_that_others_filled_meanwhile_is_left, limited) = {
    "start               -> LIST", "listed x1 x2        -> CREATE LIST",
    "created me5         -> ",     "listed x1 x2 x3 me5 -> FAIL QUEUE_FULL DELETE me5",
    "deleted OK          -> END",
};

/* ---- Members of a set ---------------------------------------------------------------- */

CONVERSATION(member_inspects_its_node_for_the_token, member) = {
    "start                      -> CREATE",
    "created me3 in_transaction -> INSPECT me3",
    "inspected ours             -> LIST",
    "listed me3                 -> GRANT",
};

/* It is known by the reply to the create. */
CONVERSATION(member_that_may_not_read_its_node_deletes_it, member) = {
    "start                      -> CREATE",
    "created me3 in_transaction -> INSPECT me3",
    "inspected REFUSED          -> FAIL NO_PERMISSION DELETE me3",
    "deleted OK                 -> SETTLE LIST",
    "settled OK                 -> ",
    "listed x1                  -> END",
};

TEST(member_that_may_not_read_a_node_with_its_name_leaves_it_alone) {
    static const char *const found[] = {
        "start             -> CREATE",
        "disconnected      -> ",
        "created UNKNOWN   -> ",
        "connected         -> SETTLE LIST",
        "settled OK        -> ",
        "listed x1 me3     -> INSPECT me3",
        "inspected REFUSED -> FAIL NO_PERMISSION INSPECT me3",
    };
    PLAY(member, found);
}

TEST(member_whose_create_was_lost_looks_for_its_node_and_creates_none) {
    static const char *const found[] = {
        "start           -> CREATE", "disconnected    -> ",
        "created UNKNOWN -> ",       "connected       -> SETTLE LIST",
        "settled OK      -> ",       "listed x1 me3   -> INSPECT me3",
        "inspected ours  -> LIST",   "listed x1 me3   -> WATCH x1 WATCH_OWN me3",
    };
    static const char *const never_made[] = {
        "start           -> CREATE",
        "disconnected    -> ",
        "created UNKNOWN -> ",
        "connected       -> SETTLE LIST",
        "settled OK      -> ",
        "listed x1       -> CREATE", /* which waits for those of the others */
    };
    PLAY(member, found);
    PLAY(member, never_made);
}

CONVERSATION(member_whose_create_was_lost_looks_again_after_each_reconnect, member) = {
    "start           -> CREATE",
    "disconnected    -> ",
    "created UNKNOWN -> ",
    "connected       -> SETTLE LIST",
    "settled OK      -> ",
    "listed nobody   -> CREATE",
    "created me4 in_transaction -> INSPECT me4",
    "inspected ours  -> LIST",
    "listed me4      -> GRANT",
    "disconnected    -> ",
    "connected       -> ",
    "released        -> DELETE me4",
    "deleted OK      -> SETTLE LIST",
    "settled OK      -> ",
    "listed me7      -> INSPECT me7",
};

CONVERSATION(member_whose_node_goes_before_it_is_inspected_creates_another, member) = {
    "start             -> CREATE",
    "created me3 in_transaction -> INSPECT me3",
    "disconnected      -> ",
    "inspected UNKNOWN -> ",
    "connected         -> INSPECT me3",
    "inspected NO_NODE -> SETTLE LIST",
    "settled OK        -> ",
    "listed nobody     -> CREATE",
};

CONVERSATION(member_that_lost_its_place_does_not_join_again, member) = {
    "start                      -> CREATE",
    "created me3 in_transaction -> INSPECT me3",
    "inspected ours             -> LIST",
    "listed x1                  -> FAIL NODE_DELETED END",
};

/* Then all begin anew. */
CONVERSATION(member_with_an_exhausted_sequence_waits_for_an_empty_resource, member) = {
    "start                       -> CREATE",
    "created me-1 in_transaction -> INSPECT me-1",
    "inspected ours              -> LIST",
    "listed x3 me-1              -> DELETE me-1",
    "deleted OK                  -> INSPECT_PARENT",
    "parent_inspected older      -> REMOVE_PARENT",
    "parent_removed NOT_EMPTY    -> BACK_OFF",
    "backed_off                  -> INSPECT_PARENT",
    "parent_inspected older      -> REMOVE_PARENT",
    "parent_removed OK           -> FAIL NODE_DELETED END",
};

/* ---- Downgrades --------------------------------------------------------------------------- */

#define HELD_FOR_WRITING                                                                           \
    "start          -> CREATE LIST", "created me3    -> ", "listed me3     -> GRANT"

CONVERSATION(writer_becomes_a_reader_in_its_own_place, writer) = {
    HELD_FOR_WRITING,
    "probe           -> WATCH_OWN me3",
    "own_watched OK  -> ",
    "downgrade       -> DOWNGRADE r3",
    "own_watch_fired -> ", /* of the writer's node: what was meant to happen */
    "downgraded OK   -> DOWNGRADE_ENDED OK WATCH_OWN r3",
    "own_watched OK  -> ",
    "released        -> DELETE r3",
    "deleted OK      -> END",
};

TEST(lost_reply_to_a_downgrade_is_looked_for) {
    static const char *const applied[] = {
        HELD_FOR_WRITING,
        "downgrade          -> WATCH_OWN me3",
        "own_watched OK     -> DOWNGRADE r3",
        "disconnected       -> ",
        "downgraded UNKNOWN -> ",
        "connected          -> SETTLE",
        "settled OK         -> INSPECT r3",
        "inspected ours     -> DOWNGRADE_ENDED OK WATCH_OWN r3",
    };
    static const char *const not_applied[] = {
        HELD_FOR_WRITING,
        "downgrade          -> WATCH_OWN me3",
        "own_watched OK     -> DOWNGRADE r3",
        "disconnected       -> ",
        "downgraded UNKNOWN -> ",
        "connected          -> SETTLE",
        "settled OK         -> INSPECT r3",
        "inspected NO_NODE  -> WATCH_OWN me3",
        "own_watched OK     -> DOWNGRADE r3",
    };
    PLAY(writer, applied);
    PLAY(writer, not_applied);
}

/* What was replaced by another node unseen would be taken for ours. */
TEST(downgrade_waits_until_its_node_is_watched) {
    static const char *const turned_away[] = {
        HELD_FOR_WRITING,
        "downgrade           -> WATCH_OWN me3",
        "own_watched NOT_NOW -> BACK_OFF",
        "backed_off          -> WATCH_OWN me3",
        "disconnected        -> ",
        "own_watched UNKNOWN -> ",
        "connected           -> WATCH_OWN me3",
        "own_watched UNKNOWN -> BACK_OFF",
        "backed_off          -> WATCH_OWN me3",
        "own_watched OK      -> DOWNGRADE r3",
    };
    static const char *const gone[] = {
        HELD_FOR_WRITING,
        "downgrade           -> WATCH_OWN me3",
        "own_watched NO_NODE -> DOWNGRADE_ENDED LOST LOSE NODE_DELETED END",
    };
    static const char *const may_never_look[] = {
        HELD_FOR_WRITING,
        "downgrade           -> WATCH_OWN me3",
        "own_watched REFUSED -> DOWNGRADE r3",
        "downgraded OK       -> DOWNGRADE_ENDED OK WATCH_OWN r3",
    };
    PLAY(writer, turned_away);
    PLAY(writer, gone);
    PLAY(writer, may_never_look);
}

CONVERSATION(downgrade_that_is_answered_after_the_disconnection_begins_again, writer) = {
    HELD_FOR_WRITING,
    "downgrade           -> WATCH_OWN me3",
    "disconnected        -> ",
    "own_watched REFUSED -> ",
    "connected           -> WATCH_OWN me3",
    "own_watched REFUSED -> DOWNGRADE r3",
    "downgraded OK       -> DOWNGRADE_ENDED OK WATCH_OWN r3",
};

/* The lock is lost, as the writer's node has gone; the reader's must not stay. */
CONVERSATION(reader_of_a_late_downgrade_is_looked_for, writer) = {
    HELD_FOR_WRITING,
    "downgrade          -> WATCH_OWN me3",
    "own_watched OK     -> DOWNGRADE r3",
    "disconnected       -> ",
    "downgraded UNKNOWN -> ",
    "connected          -> SETTLE",
    "settled OK         -> INSPECT r3",
    "inspected NO_NODE  -> WATCH_OWN me3",
    "own_watched NO_NODE -> DOWNGRADE_ENDED LOST LOSE NODE_DELETED SETTLE LIST",
    "settled OK         -> ",
    "listed mr3         -> INSPECT r3",
    "inspected ours     -> DELETE r3",
    "deleted OK         -> SETTLE LIST",
    "settled OK         -> ",
    "listed nobody      -> BACK_OFF",
    LINGERED,
};

CONVERSATION(release_during_a_lost_downgrade_deletes_the_node_that_is_there, writer) = {
    HELD_FOR_WRITING,
    "downgrade          -> WATCH_OWN me3",
    "own_watched OK     -> DOWNGRADE r3",
    "disconnected       -> ",
    "downgraded UNKNOWN -> ",
    "released           -> DOWNGRADE_ENDED NOT_HELD",
    "connected          -> SETTLE",
    "settled OK         -> INSPECT r3",
    "inspected ours     -> DELETE r3",
    "deleted OK         -> BACK_OFF",
    LINGERED,
};

CONVERSATION(downgrade_of_what_is_not_held_for_writing_does_nothing, writer) = {
    "start       -> CREATE LIST",   "downgrade   -> ", "created me3 -> ", "listed me3  -> GRANT",
    "probe       -> WATCH_OWN me3",
};

/* ---- Upgrades ----------------------------------------------------------------------------- */

CONVERSATION(reader_upgrades_when_nobody_else_is_there, upgrade) = {
    "start         -> LIST",
    "listed r4     -> CREATE LIST",
    "created me5   -> ",
    "listed r4 me5 -> GRANT",
};

TEST(two_readers_that_upgrade_are_both_refused) {
    static const char *const at_once[] = {
        "start        -> LIST",
        "listed r4 r3 -> FAIL BUSY END",
    };
    static const char *const meanwhile[] = {
        "start            -> LIST",
        "listed r4        -> CREATE LIST",
        "created me6      -> ",
        "listed r4 r5 me6 -> DELETE me6",
        "deleted OK       -> FAIL BUSY END",
    };
    PLAY(upgrade, at_once);
    PLAY(upgrade, meanwhile);
}

TEST(upgrade_of_a_reader_whose_node_is_gone_is_refused) {
    static const char *const before[] = {
        "start         -> LIST",
        "listed nobody -> FAIL NODE_DELETED END",
    };
    static const char *const meanwhile[] = {
        "start       -> LIST",
        "listed r4   -> CREATE LIST",
        "created me5 -> ",
        "listed me5  -> FAIL NODE_DELETED DELETE me5",
    };
    PLAY(upgrade, before);
    PLAY(upgrade, meanwhile);
}
