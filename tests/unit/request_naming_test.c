/*
 * The request machine, as conversations: requests whose nodes have the names of kazoo or of
 * Curator's LeaderLatch. trace.h explains the words.
 */
#include "support/trace.h"

static const trace_setup kazoo = { .mode = ZKL_EXCLUSIVE, .naming = ZKL_NAMING_KAZOO };
static const trace_setup kazoo_reader = { .mode = ZKL_READ, .naming = ZKL_NAMING_KAZOO };
static const trace_setup kazoo_try = { .mode = ZKL_EXCLUSIVE,
                                       .naming = ZKL_NAMING_KAZOO,
                                       .only_try = true };
static const trace_setup kazoo_protected = { .mode = ZKL_EXCLUSIVE,
                                             .naming = ZKL_NAMING_KAZOO,
                                             .is_protected = true };
static const trace_setup latch = { .mode = ZKL_EXCLUSIVE, .naming = ZKL_NAMING_LEADER_LATCH };
static const trace_setup latch_protected = { .mode = ZKL_EXCLUSIVE,
                                             .naming = ZKL_NAMING_LEADER_LATCH,
                                             .is_protected = true };
static const trace_setup curator = { .mode = ZKL_EXCLUSIVE };

/* ---- Its own kind ------------------------------------------------------------------------- */

CONVERSATION(kazoos_lock_hands_over_to_one_with_its_names, kazoo) = {
    JOINED("me3"),
    "listed k2 me3 k4    -> WATCH k2 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired deleted -> GRANT",
    "released            -> DELETE me3",
    "deleted OK          -> END",
};

CONVERSATION(reader_with_kazoos_names_passes_its_readers_and_waits_for_its_locks, kazoo_reader) = {
    JOINED("me4"),
    "listed k1 q2 me4    -> WATCH k1",
    "watched OK          -> ",
    "watch_fired deleted -> LIST",
    "listed q2 me4       -> GRANT",
};

CONVERSATION(release_that_says_so_is_told_by_kazoos_names_too, kazoo_protected) = {
    JOINED("me4"),
    "listed k1 K3 me4    -> WATCH K3 WATCH_OWN me4",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired changed -> GRANT",
    "released            -> HAND_OVER me4",
    "handed_over OK      -> END",
};

/* A node of kazoo's own never says so: whatever its data are. */
CONVERSATION(change_of_a_node_that_kazoo_made_is_no_release, kazoo_protected) = {
    JOINED("me4"),
    "listed k3 me4       -> WATCH k3 WATCH_OWN me4",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired changed -> LIST",
};

CONVERSATION(lost_create_with_kazoos_names_is_found_by_its_uuid, kazoo) = {
    CREATE_LOST,
    "connected      -> CREATE LIST",
    "created me5    -> ",
    "listed me3 me5 -> INSPECT me3",
    "inspected ours -> DELETE me5",
    "deleted OK     -> LIST",
    "listed me3     -> GRANT",
};

CONVERSATION(candidate_beside_a_latch_waits_for_it, latch) = {
    JOINED("me3"),
    "listed l2 me3       -> WATCH l2 WATCH_OWN me3",
    "watched OK          -> ",
    "own_watched OK      -> ",
    "watch_fired deleted -> GRANT",
};

/* A LeaderLatch that waits wants to hear of a deletion: a change of the data takes its watch, and
 * it waits for ever. */
CONVERSATION(release_among_latches_is_a_plain_deletion, latch_protected) = {
    JOINED("me3"),
    "listed me3 l4 -> GRANT",
    "released      -> DELETE me3",
    "deleted OK    -> END",
};

CONVERSATION(change_of_a_node_among_latches_is_no_release, latch_protected) = {
    JOINED("me4"),
    "listed l1 L3 me4    -> WATCH L3",
    "watched OK          -> ",
    "watch_fired changed -> LIST",
};

/* ---- Others ------------------------------------------------------------------------------- */

/* The library that the request shares the resource with would not see these, nor wait for them. */
TEST(request_with_names_of_another_library_is_refused_behind_any_other_names) {
    static const char *const before_kazoo[] = { "x1", "r1", "w1", "p1", "l1" };
    static const char *const before_latch[] = { "x1", "r1", "w1", "p1", "k1", "q1" };
    char listed[64];
    const char *lines[] = { "start -> CREATE LIST", "created me3 -> ", listed,
                            "deleted OK -> END" };
    for (size_t i = 0; i < COUNT_OF(before_kazoo); i++) {
        snprintf(listed, sizeof(listed), "listed %s k2 me3 -> FAIL USED_DIFFERENTLY DELETE me3",
                 before_kazoo[i]);
        PLAY(kazoo, lines);
        PLAY(kazoo_reader, lines);
    }
    for (size_t i = 0; i < COUNT_OF(before_latch); i++) {
        snprintf(listed, sizeof(listed), "listed %s l2 me3 -> FAIL USED_DIFFERENTLY DELETE me3",
                 before_latch[i]);
        PLAY(latch, lines);
    }
}

CONVERSATION(kind_that_nobody_knows_is_of_other_names, kazoo) = {
    JOINED("me3"),
    "listed u1 k2 me3 -> REPORT u1 FAIL USED_DIFFERENTLY DELETE me3",
};

CONVERSATION(try_behind_other_names_is_refused_before_it_writes, kazoo_try) = {
    "start     -> LIST",
    "listed x1 -> FAIL USED_DIFFERENTLY END",
};

CONVERSATION(other_names_behind_are_theirs_to_find_out, kazoo) = {
    JOINED("me3"),
    "listed me3 x4 l5 u6 p7 -> GRANT",
};

CONVERSATION(names_of_curator_wait_for_all_names, curator) = {
    JOINED("me9"),
    "listed k1 q2 l3 me9 -> WATCH l3",
    "watched OK          -> ",
    "watch_fired deleted -> LIST",
    "listed k1 q2 me9    -> WATCH q2",
};
