/*
 * What becomes of the requests of one acquire: by examples, and in random walks of sets whose
 * members are granted, fail, are lost and end at any time, also while the set is told to leave.
 * Each seed walks the same way every time. In a walk
 *     there is one verdict; GRANT only when all members hold;
 *     a loss is told once, and only of what was granted;
 *     requests are made again only when none is under way, when a place was lost, with time left,
 *     and never for a try;
 *     no request is told to leave while a member tells of itself;
 *     when the faults end, the verdict comes.
 */
#include "recipe/set.h"

#include <stdio.h>
#include <string.h>

#include "playback.h"
#include "support/unit.h"

/* ---- Examples ------------------------------------------------------------------------------- */

static zkl_set set;
static char done[512]; /* by the last step, as in a record */

static void step(zkl_set_event event) {
    zkl_set_actions actions;
    static playback_line line;
    zkl_set_step(&set, &event, &actions);
    playback_write_actions(&line, ZKL_RECORD_SET, &actions);
    snprintf(done, sizeof(done), "%s", strstr(line.text, "-> ") + 3);
}

#define TELLS(event_kind, event_status, expected)                                                  \
    do {                                                                                           \
        step((zkl_set_event){ .kind = ZKL_SET_EVENT_##event_kind, .status = (event_status) });     \
        EXPECT_TEXT(done, (expected));                                                             \
    } while (0)

#define HAS_ITS_TURN(expected) TELLS(TURN, ZKL_OK, expected)

#define HAS_NO_TIME(is_connected, expected)                                                        \
    do {                                                                                           \
        step((zkl_set_event){ .kind = ZKL_SET_EVENT_TIMED_OUT, .connected = (is_connected) });     \
        EXPECT_TEXT(done, (expected));                                                             \
    } while (0)

TEST(set_holds_when_the_last_of_its_members_does) {
    set = zkl_set_begin(3, false, false);
    TELLS(MEMBER_GRANTED, ZKL_OK, "nothing");
    TELLS(MEMBER_GRANTED, ZKL_OK, "nothing");
    TELLS(MEMBER_GRANTED, ZKL_OK, "GRANT");
}

TEST(request_that_stands_alone_is_decided_at_once) {
    set = zkl_set_begin(1, false, false);
    TELLS(MEMBER_GRANTED, ZKL_OK, "GRANT");
    TELLS(MEMBER_LOST, ZKL_HOLD_LIMIT, "LOSE status=ZKL_HOLD_LIMIT");
    set = zkl_set_begin(1, false, false);
    TELLS(MEMBER_FAILED, ZKL_TIMEOUT, "FAIL status=ZKL_TIMEOUT");
}

TEST(lost_place_makes_all_leave_and_join_again_once_their_nodes_are_gone) {
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_GRANTED, ZKL_OK, "nothing");
    TELLS(MEMBER_FAILED, ZKL_NODE_DELETED, "WAKE");
    HAS_ITS_TURN("LEAVE");
    TELLS(MEMBER_FAILED, ZKL_CANCELLED, "nothing");
    TELLS(MEMBER_ENDED, ZKL_OK, "nothing");
    HAS_ITS_TURN("nothing");
    TELLS(MEMBER_ENDED, ZKL_OK, "WAKE");
    HAS_ITS_TURN("LET_GO JOIN");
    TELLS(MEMBER_GRANTED, ZKL_OK, "nothing");
    TELLS(MEMBER_GRANTED, ZKL_OK, "GRANT");
}

TEST(grant_that_is_lost_before_the_others_come_is_a_lost_place) {
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_GRANTED, ZKL_OK, "nothing");
    TELLS(MEMBER_LOST, ZKL_LEASE_ENDED, "WAKE");
    TELLS(MEMBER_ENDED, ZKL_OK, "nothing");
    TELLS(MEMBER_ENDED, ZKL_OK, "nothing");
    HAS_ITS_TURN("LET_GO JOIN");
}

TEST(first_failure_is_told_and_all_give_up) {
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_FAILED, ZKL_NO_PERMISSION, "WAKE");
    TELLS(MEMBER_FAILED, ZKL_TIMEOUT, "nothing");
    HAS_ITS_TURN("FAIL status=ZKL_NO_PERMISSION LEAVE LET_GO");
    HAS_ITS_TURN("nothing");
}

TEST(try_and_a_caller_that_wants_one_session_do_not_join_again) {
    set = zkl_set_begin(2, true, false);
    TELLS(MEMBER_FAILED, ZKL_NODE_DELETED, "WAKE");
    HAS_ITS_TURN("FAIL status=ZKL_NODE_DELETED LEAVE LET_GO");
    set = zkl_set_begin(2, false, true);
    TELLS(MEMBER_FAILED, ZKL_SESSION_EXPIRED, "WAKE");
    HAS_ITS_TURN("FAIL status=ZKL_SESSION_EXPIRED LEAVE LET_GO");
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_FAILED, ZKL_SESSION_EXPIRED, "WAKE");
    HAS_ITS_TURN("LEAVE");
}

TEST(place_that_is_lost_with_the_last_of_the_time_is_not_taken_again) {
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_FAILED, ZKL_NODE_DELETED, "WAKE");
    HAS_NO_TIME(true, "FAIL status=ZKL_TIMEOUT late LEAVE LET_GO");
    HAS_ITS_TURN("nothing");
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_FAILED, ZKL_NODE_DELETED, "WAKE");
    HAS_ITS_TURN("LEAVE");
    HAS_NO_TIME(false, "FAIL status=ZKL_DISCONNECTED late LEAVE LET_GO");
    HAS_NO_TIME(false, "nothing");
}

TEST(members_that_wait_are_told_that_their_time_is_over) {
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_GRANTED, ZKL_OK, "nothing");
    HAS_NO_TIME(true, "TIME_OUT");
    TELLS(MEMBER_FAILED, ZKL_TIMEOUT, "WAKE");
    HAS_ITS_TURN("FAIL status=ZKL_TIMEOUT LEAVE LET_GO");
    set = zkl_set_begin(1, false, false);
    HAS_NO_TIME(true, "TIME_OUT");
    TELLS(MEMBER_FAILED, ZKL_DISCONNECTED, "FAIL status=ZKL_DISCONNECTED");
    set = zkl_set_begin(1, false, false);
    TELLS(MEMBER_GRANTED, ZKL_OK, "GRANT");
    HAS_NO_TIME(true, "nothing");
}

TEST(failure_that_comes_before_the_end_of_the_time_is_told) {
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_FAILED, ZKL_NO_PERMISSION, "WAKE");
    HAS_NO_TIME(true, "FAIL status=ZKL_NO_PERMISSION LEAVE LET_GO");
}

TEST(loss_of_what_is_held_is_told_once) {
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_GRANTED, ZKL_OK, "nothing");
    TELLS(MEMBER_GRANTED, ZKL_OK, "GRANT");
    TELLS(MEMBER_LOST, ZKL_NODE_DELETED, "LOSE status=ZKL_NODE_DELETED");
    TELLS(MEMBER_LOST, ZKL_SESSION_EXPIRED, "nothing");
    TELLS(MEMBER_ENDED, ZKL_OK, "nothing");
}

TEST(set_that_is_called_off_or_cannot_begin_gives_up) {
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_GRANTED, ZKL_OK, "nothing");
    TELLS(CALLED_OFF, ZKL_CANCELLED, "FAIL status=ZKL_CANCELLED LEAVE LET_GO");
    TELLS(CALLED_OFF, ZKL_CANCELLED, "nothing");
    set = zkl_set_begin(2, false, false);
    TELLS(CALLED_OFF, ZKL_NO_MEMORY, "FAIL status=ZKL_NO_MEMORY LEAVE LET_GO");
}

TEST(close_of_the_client_is_the_verdict_between_two_attempts_too) {
    set = zkl_set_begin(2, false, false);
    TELLS(MEMBER_FAILED, ZKL_NODE_DELETED, "WAKE");
    HAS_ITS_TURN("LEAVE");
    TELLS(CLIENT_CLOSES, ZKL_OK, "FAIL status=ZKL_CLOSED");
    TELLS(MEMBER_ENDED, ZKL_OK, "nothing");
    TELLS(MEMBER_ENDED, ZKL_OK, "nothing");
    HAS_ITS_TURN("nothing");
}

/* ---- Walks ---------------------------------------------------------------------------------- */

enum { SEEDS = 20000, STEPS = 60, HEALING_STEPS = 200, MEMBERS_MAX = 4, TIME_MS = 40 };

typedef enum member_state { GONE, ASKS, HOLDS, LEAVES } member_state;

typedef struct set_walk {
    unit_random random;
    uint64_t seed;
    zkl_set set;
    member_state members[MEMBERS_MAX]; /* whose requests are ours */
    unsigned size;
    bool is_try;
    bool fails_with_session;
    int64_t left_ms;
    int first_failure;
    unsigned verdicts;
    unsigned losses;
    bool turn_is_due;
    bool holds;
    bool telling; /* a member does */
} set_walk;

static struct { unsigned grants, failures, joins, losses, late; } seen;

#define CHECK(walk, condition)                                                                     \
    unit_check((condition), __FILE__, __LINE__, "seed %u: %s", (unsigned)(walk)->seed, #condition)

static bool chance(set_walk *walk, unsigned percent) {
    return unit_random_below(&walk->random, 100) < percent;
}

static bool all_are(const set_walk *walk, member_state state) {
    for (unsigned i = 0; i < walk->size; i++) {
        if (walk->members[i] != state) {
            return false;
        }
    }
    return true;
}

static void feed(set_walk *walk, zkl_set_event_kind kind, int status);

static void tell(set_walk *walk, unsigned i, zkl_set_event_kind kind, int status) {
    static const member_state becomes[] = { [ZKL_SET_EVENT_MEMBER_GRANTED] = HOLDS,
                                            [ZKL_SET_EVENT_MEMBER_FAILED] = LEAVES,
                                            [ZKL_SET_EVENT_MEMBER_LOST] = LEAVES,
                                            [ZKL_SET_EVENT_MEMBER_ENDED] = GONE };
    bool outer = walk->telling;
    bool is_failure = kind == ZKL_SET_EVENT_MEMBER_FAILED || kind == ZKL_SET_EVENT_MEMBER_LOST;
    if (is_failure && walk->first_failure == ZKL_OK && !walk->holds) {
        walk->first_failure = status;
    }
    walk->members[i] = becomes[kind];
    walk->telling = true;
    feed(walk, kind, status);
    walk->telling = outer;
}

static void leave(set_walk *walk) {
    CHECK(walk, !walk->telling);
    for (unsigned i = 0; i < walk->size; i++) {
        if (walk->members[i] == ASKS) {
            tell(walk, i, ZKL_SET_EVENT_MEMBER_FAILED, ZKL_CANCELLED);
        } else if (walk->members[i] == HOLDS) {
            walk->members[i] = LEAVES;
        }
        if (walk->members[i] == LEAVES && chance(walk, 50)) {
            tell(walk, i, ZKL_SET_EVENT_MEMBER_ENDED, ZKL_OK);
        }
    }
}

static void join(set_walk *walk) {
    bool was_lost = walk->first_failure == ZKL_NODE_DELETED ||
                    walk->first_failure == ZKL_LEASE_ENDED ||
                    (walk->first_failure == ZKL_SESSION_EXPIRED && !walk->fails_with_session);
    seen.joins++;
    CHECK(walk, !walk->telling && !walk->is_try && was_lost);
    CHECK(walk, walk->left_ms != 0);
    CHECK(walk, all_are(walk, GONE));
    walk->first_failure = ZKL_OK;
    for (unsigned i = 0; i < walk->size; i++) {
        if (chance(walk, 3)) {
            feed(walk, ZKL_SET_EVENT_CALLED_OFF, ZKL_NO_MEMORY);
            return;
        }
        walk->members[i] = ASKS;
    }
}

/* Who waits fails with it, as a request does. */
static void time_out(set_walk *walk) {
    CHECK(walk, !walk->telling && walk->left_ms == 0);
    for (unsigned i = 0; i < walk->size; i++) {
        if (walk->members[i] == ASKS) {
            tell(walk, i, ZKL_SET_EVENT_MEMBER_FAILED, ZKL_TIMEOUT);
        }
    }
}

static void note_failure(set_walk *walk, const zkl_set_action *action) {
    seen.failures++;
    seen.late += action->late ? 1U : 0U;
    walk->verdicts++;
    CHECK(walk, action->status != ZKL_OK);
    CHECK(walk, !action->late || (walk->left_ms == 0 && !walk->is_try));
}

static void perform(set_walk *walk, const zkl_set_action *action) {
    switch (action->kind) {
    case ZKL_SET_ACTION_GRANT:
        seen.grants++;
        walk->verdicts++;
        walk->holds = true;
        CHECK(walk, all_are(walk, HOLDS));
        break;
    case ZKL_SET_ACTION_FAIL:
        note_failure(walk, action);
        break;
    case ZKL_SET_ACTION_LOSE:
        seen.losses++;
        walk->losses++;
        CHECK(walk, walk->holds && walk->losses == 1);
        break;
    case ZKL_SET_ACTION_WAKE:
        walk->turn_is_due = true;
        break;
    case ZKL_SET_ACTION_TIME_OUT:
        time_out(walk);
        break;
    case ZKL_SET_ACTION_LEAVE:
        leave(walk);
        break;
    case ZKL_SET_ACTION_LET_GO:
        memset(walk->members, 0, sizeof(walk->members)); /* GONE: they tell us nothing */
        break;
    case ZKL_SET_ACTION_JOIN:
        join(walk);
        break;
    }
}

static void feed(set_walk *walk, zkl_set_event_kind kind, int status) {
    zkl_set_event event = { .kind = kind, .status = status, .connected = chance(walk, 70) };
    zkl_set_actions actions;
    zkl_set_step(&walk->set, &event, &actions);
    CHECK(walk, actions.count <= ZKL_SET_ACTIONS_MAX);
    for (size_t i = 0; i < actions.count; i++) {
        perform(walk, &actions.list[i]);
    }
}

static void have_turn(set_walk *walk) {
    walk->turn_is_due = false;
    feed(walk, ZKL_SET_EVENT_TURN, ZKL_OK);
}

static void move_member(set_walk *walk, unsigned i, bool faults) {
    static const int failures[] = { ZKL_NODE_DELETED, ZKL_SESSION_EXPIRED, ZKL_NODE_DELETED,
                                    ZKL_BUSY };
    static const int losses[] = { ZKL_NODE_DELETED, ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED };
    if (walk->members[i] == LEAVES) {
        tell(walk, i, ZKL_SET_EVENT_MEMBER_ENDED, ZKL_OK);
    } else if (walk->members[i] == HOLDS && faults && chance(walk, 20)) {
        tell(walk, i, ZKL_SET_EVENT_MEMBER_LOST,
             losses[unit_random_below(&walk->random, walk->size > 1 ? COUNT_OF(losses) : 1)]);
    } else if (walk->members[i] == ASKS && faults && chance(walk, 40)) {
        tell(walk, i, ZKL_SET_EVENT_MEMBER_FAILED,
             failures[unit_random_below(&walk->random, COUNT_OF(failures))]);
    } else if (walk->members[i] == ASKS) {
        tell(walk, i, ZKL_SET_EVENT_MEMBER_GRANTED, ZKL_OK);
    }
}

/* The deadline comes before a turn that is due at the same time: timers fire in their order. */
static void pass_time(set_walk *walk) {
    if (walk->left_ms > 0 && --walk->left_ms == 0) {
        feed(walk, ZKL_SET_EVENT_TIMED_OUT, ZKL_OK);
        CHECK(walk, walk->verdicts == 1 || walk->turn_is_due);
    }
}

static void take_walk(uint64_t seed) {
    set_walk walk = { .random = unit_random_begin(seed), .seed = seed };
    walk.size = 1 + unit_random_below(&walk.random, MEMBERS_MAX);
    walk.is_try = chance(&walk, 15);
    walk.fails_with_session = chance(&walk, 15);
    walk.left_ms = 1 + unit_random_below(&walk.random, TIME_MS);
    if (chance(&walk, 30)) {
        walk.left_ms = ZKL_FOREVER;
    }
    walk.set = zkl_set_begin(walk.size, walk.is_try, walk.fails_with_session);
    for (unsigned i = 0; i < walk.size; i++) {
        walk.members[i] = ASKS;
    }
    for (unsigned i = 0; i < STEPS + HEALING_STEPS; i++) {
        unsigned member = unit_random_below(&walk.random, walk.size);
        bool faults = i < STEPS;
        pass_time(&walk);
        if (walk.turn_is_due && chance(&walk, 40)) {
            have_turn(&walk);
        } else if (faults && chance(&walk, 1)) {
            feed(&walk, ZKL_SET_EVENT_CALLED_OFF, ZKL_CANCELLED);
        } else if (faults && chance(&walk, 1)) {
            feed(&walk, ZKL_SET_EVENT_CLIENT_CLOSES, ZKL_OK);
        } else {
            move_member(&walk, member, faults);
        }
    }
    CHECK(&walk, walk.verdicts == 1);
}

TEST(random_walks_keep_the_rules_and_come_to_a_verdict) {
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        take_walk(seed);
    }
    EXPECT(seen.grants > SEEDS / 10);
    EXPECT(seen.failures > SEEDS / 10);
    EXPECT(seen.joins > SEEDS / 10);
    EXPECT(seen.losses > SEEDS / 10);
    EXPECT(seen.late > SEEDS / 1000);
}
