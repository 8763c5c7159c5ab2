/*
 * To whom a node is lent: by examples, and in random walks. In a walk
 *     an exclusive node has one holder at most, and every grant a greater number;
 *     nothing is lent out of touch, over a write that is not decided, nor when the loan is over;
 *     since others may want it, it is handed on only so often;
 *     nothing is given up while anybody holds it, nor in the middle of news;
 *     when it was called, and all have returned it, it ends;
 *     no reader is left waiting for another, but for a list that is on its way;
 *     whoever waits is lent the node, or is sent elsewhere, when the faults end.
 */
#include "recipe/lending.h"

#include <stdio.h>
#include <string.h>

#include "support/unit.h"

#define NAME(name) #name,
static const char *const action_names[] = { ZKL_LENDING_ACTION_LIST(NAME) };

static zkl_lending_state lending;
static bool in_touch;
static bool watched;
static bool late;

/* What it leads to: an action, with, of LEND, how many and the first number. */
static const char *step(zkl_lending_event event) {
    static char done[64];
    event.in_touch = in_touch;
    event.watched = watched;
    event.late = late;
    zkl_lending_actions actions;
    zkl_lending_step(&lending, &event, &actions);
    if (actions.count == 0) {
        return "NOTHING";
    }
    EXPECT_INT(actions.count, 1);
    zkl_lending_action action = actions.list[0];
    if (action.kind == ZKL_LENDING_ACTION_LEND) {
        snprintf(done, sizeof(done), "LEND %u from %d", action.count, (int)action.number);
    } else {
        snprintf(done, sizeof(done), "%s", action_names[action.kind]);
    }
    return done;
}

#define AT(event_kind, expected)                                                                   \
    EXPECT_TEXT(step((zkl_lending_event){ .kind = ZKL_LENDING_EVENT_##event_kind }), expected)
#define AT_TRY(expected)                                                                           \
    EXPECT_TEXT(step((zkl_lending_event){ .kind = ZKL_LENDING_EVENT_CAME, .only_try = true }),     \
                expected)

static void begin(bool reads, bool retains, unsigned hand_offs_max) {
    lending = zkl_lending_begin(reads, retains, hand_offs_max);
    in_touch = true;
    watched = true;
    late = false;
}

static void begin_held(bool retains, unsigned hand_offs_max) {
    begin(false, retains, hand_offs_max);
    AT(CAME, "NOTHING");
    AT(GRANTED, "LEND 1 from 1");
}

/* ---- Handing on ----------------------------------------------------------------------------- */

TEST(node_is_handed_on_without_a_limit_while_nobody_else_wants_it) {
    begin_held(false, 2);
    AT(ALONE, "NOTHING");
    for (int i = 0; i < 10; i++) {
        char expected[32];
        snprintf(expected, sizeof(expected), "LEND 1 from %d", i + 2);
        AT(CAME, "NOTHING");
        EXPECT_TEXT(step((zkl_lending_event){ .kind = ZKL_LENDING_EVENT_RETURNED }), expected);
    }
    AT(RETURNED, "GIVE_UP");
}

TEST(node_that_others_want_is_handed_on_only_so_often) {
    begin_held(true, 2);
    AT(CALLED, "NOTHING");
    AT(CAME, "NOTHING");
    AT(CAME, "NOTHING");
    AT(CAME, "NOTHING");
    AT(RETURNED, "LEND 1 from 2");
    AT(RETURNED, "LEND 1 from 3");
    AT(RETURNED, "GIVE_UP");
}

TEST(newcomer_begins_the_count_anew) {
    begin_held(false, 1);
    AT(ALONE, "NOTHING");
    AT(CAME, "NOTHING");
    AT(RETURNED, "LEND 1 from 2");
    AT(CAME, "NOTHING");
    AT(CAME, "NOTHING");
    AT(NEWCOMER, "NOTHING");
    AT(RETURNED, "LEND 1 from 3");
    AT(RETURNED, "GIVE_UP");
}

TEST(node_that_was_lent_for_its_time_is_not_handed_on) {
    begin_held(false, 9);
    AT(CALLED, "NOTHING");
    AT(CAME, "NOTHING");
    late = true;
    AT(RETURNED, "GIVE_UP");
}

TEST(time_does_not_count_while_nobody_else_wants_it) {
    begin_held(false, 9);
    AT(ALONE, "NOTHING");
    AT(CAME, "NOTHING");
    late = true;
    AT(RETURNED, "LEND 1 from 2");
}

TEST(nothing_is_lent_out_of_touch) {
    begin_held(true, 9);
    AT(ALONE, "NOTHING");
    AT(CAME, "NOTHING");
    in_touch = false;
    AT(RETURNED, "GIVE_UP");
}

TEST(nothing_is_lent_of_whose_node_something_has_happened) {
    begin_held(true, 9);
    AT(ALONE, "NOTHING");
    AT(CAME, "NOTHING");
    watched = false;
    AT(RETURNED, "GIVE_UP");
}

TEST(list_on_its_way_is_waited_for) {
    begin_held(true, 0);
    AT(CAME, "NOTHING");
    AT(RETURNED, "NOTHING");
    AT(ALONE, "LEND 1 from 2");
    begin_held(true, 0);
    AT(CAME, "NOTHING");
    AT(RETURNED, "NOTHING");
    AT(CALLED, "WAKE");
    AT(TURN, "GIVE_UP");
    begin_held(true, 0);
    AT(CAME, "NOTHING");
    AT(RETURNED, "NOTHING");
    in_touch = false;
    AT(CUT, "WAKE");
    AT(TURN, "GIVE_UP");
}

/* ---- Writes --------------------------------------------------------------------------------- */

TEST(write_of_the_last_holder_is_waited_for) {
    begin_held(false, 9);
    AT(ALONE, "NOTHING");
    AT(WRITING, "NOTHING");
    AT(CAME, "NOTHING");
    AT(RETURNED, "NOTHING");
    AT(WRITTEN, "LEND 1 from 2");
}

TEST(all_writes_of_the_last_holder_are_waited_for) {
    begin_held(false, 9);
    AT(ALONE, "NOTHING");
    AT(WRITING, "NOTHING");
    AT(WRITING, "NOTHING");
    AT(CAME, "NOTHING");
    AT(RETURNED, "NOTHING");
    AT(WRITTEN, "NOTHING");
    AT(WRITTEN, "LEND 1 from 2");
}

TEST(write_that_was_never_sent_settles_no_other) {
    const zkl_lending_event lost = { .kind = ZKL_LENDING_EVENT_WRITTEN, .lost = true };
    begin_held(false, 9);
    AT(ALONE, "NOTHING");
    AT(WRITING, "NOTHING");
    AT(WRITING, "NOTHING");
    AT(CAME, "NOTHING");
    EXPECT_TEXT(step(lost), "NOTHING");
    AT(WRITTEN, "NOTHING");
    AT(RETURNED, "GIVE_UP");
}

TEST(write_whose_reply_is_lost_ends_the_loan) {
    const zkl_lending_event lost = { .kind = ZKL_LENDING_EVENT_WRITTEN, .lost = true };
    begin_held(true, 9);
    AT(ALONE, "NOTHING");
    AT(WRITING, "NOTHING");
    EXPECT_TEXT(step(lost), "NOTHING");
    AT(CAME, "NOTHING");
    AT(RETURNED, "GIVE_UP");
    begin_held(true, 9);
    AT(ALONE, "NOTHING");
    AT(WRITING, "NOTHING");
    AT(RETURNED, "KEEP");
    EXPECT_TEXT(step(lost), "WAKE");
    AT(TURN, "GIVE_UP");
}

/* ---- An idle node --------------------------------------------------------------------------- */

TEST(idle_node_is_lent_at_once) {
    begin_held(true, 0);
    AT(ALONE, "NOTHING");
    AT(RETURNED, "KEEP");
    AT(CAME, "LEND 1 from 2");
    AT(RETURNED, "KEEP");
    AT_TRY("LEND 1 from 3");
}

TEST(idle_node_is_given_up_when_somebody_comes) {
    begin_held(true, 9);
    AT(ALONE, "NOTHING");
    AT(RETURNED, "KEEP");
    AT(NEWCOMER, "WAKE");
    AT(TURN, "GIVE_UP");
}

TEST(idle_node_is_given_up_after_its_time) {
    begin_held(true, 0);
    AT(ALONE, "NOTHING");
    AT(RETURNED, "KEEP");
    AT(TURN, "KEEP");
    EXPECT_TEXT(step((zkl_lending_event){ .kind = ZKL_LENDING_EVENT_TURN, .idle = true }),
                "GIVE_UP");
}

TEST(called_node_is_not_kept) {
    begin_held(true, 9);
    AT(CALLED, "NOTHING");
    AT(RETURNED, "GIVE_UP");
}

/* ---- Tries ---------------------------------------------------------------------------------- */

TEST(try_beside_another_contender_of_the_client_is_busy) {
    begin(false, false, 9);
    AT_TRY("NOTHING"); /* the first one makes the node */
    AT(GRANTED, "LEND 1 from 1");
    AT_TRY("BUSY");
    AT(CAME, "NOTHING");
    AT_TRY("BUSY");
    EXPECT_INT(lending.waiters, 1);
}

TEST(try_does_not_wait_for_a_list) {
    begin_held(true, 0);
    AT(RETURNED, "KEEP");
    AT_TRY("GIVE_UP");
}

/* ---- Readers -------------------------------------------------------------------------------- */

TEST(readers_hold_it_together) {
    begin(true, false, 1);
    AT(CAME, "NOTHING");
    AT(CAME, "NOTHING");
    AT(GRANTED, "LEND 2 from 1");
    AT(ALONE, "NOTHING");
    AT(CAME, "LEND 1 from 3");
    AT_TRY("LEND 1 from 4");
    AT(CALLED, "NOTHING");
    AT(CAME, "LEND 1 from 5");
    AT(CAME, "SEND_AWAY"); /* behind the writer that waits */
    AT(WENT, "NOTHING");
    for (int i = 0; i < 4; i++) {
        AT(RETURNED, "NOTHING");
    }
    AT(RETURNED, "GIVE_UP");
}

TEST(another_reader_does_not_call_a_readers_node_that_is_held) {
    begin(true, false, 1);
    AT(CAME, "NOTHING");
    AT(GRANTED, "LEND 1 from 1");
    AT(ALONE, "NOTHING");
    AT(NEWCOMER, "NOTHING");
    AT(CAME, "LEND 1 from 2");
    AT(CAME, "NOTHING"); /* until the list tells */
    AT(ALONE, "LEND 1 from 3");
}

static void begin_read(void) {
    begin(true, true, 9);
    AT(CAME, "NOTHING");
    AT(GRANTED, "LEND 1 from 1");
}

TEST(reader_does_not_wait_for_another_of_a_node_that_cannot_be_lent) {
    begin_read();
    AT(ALONE, "NOTHING");
    in_touch = false;
    AT(CUT, "NOTHING");
    AT(CAME, "SEND_AWAY");
    AT(WENT, "NOTHING");
    in_touch = true;
    watched = false;
    AT(CAME, "SEND_AWAY");
    AT(WENT, "NOTHING");
    AT(RETURNED, "KEEP");
}

TEST(readers_that_wait_for_a_list_are_sent_away_when_it_is_lost) {
    begin_read();
    AT(NEWCOMER, "NOTHING");
    lending.hand_offs_max = 0;
    AT(CAME, "NOTHING");
    AT(CAME, "NOTHING");
    in_touch = false;
    AT(CUT, "WAKE");
    AT(TURN, "SEND_AWAY");
    AT(WENT, "NOTHING");
    AT(WENT, "NOTHING");
}

TEST(reader_that_a_list_lets_wait_is_sent_away) {
    begin_read();
    lending.hand_offs_max = 0;
    AT(CAME, "NOTHING");
    AT(CALLED, "WAKE");
    AT(TURN, "SEND_AWAY");
}

/* ---- The end -------------------------------------------------------------------------------- */

TEST(request_is_called_off_when_nobody_waits) {
    begin(false, true, 9);
    AT(CAME, "NOTHING");
    AT(CAME, "NOTHING");
    AT(WENT, "NOTHING");
    AT(WENT, "GIVE_UP");
}

TEST(lost_node_is_lent_no_more) {
    begin_held(true, 9);
    AT(ALONE, "NOTHING");
    AT(CAME, "NOTHING");
    AT(ENDED, "WAKE");
    AT(RETURNED, "NOTHING");
    AT(CAME, "NOTHING");
}

/* ---- Walks ---------------------------------------------------------------------------------- */

/* Beside the machine it keeps an account of its own, by the events alone. What can happen next goes
 * by that account, so that a walk ends whatever the machine does. */
typedef struct walk {
    unit_random random;
    bool reads;
    int hand_offs_max;
    int64_t number;
    int waiters, holders, writes; /* below 0: the machine is wrong */
    int since_alone;              /* lent since then */
    bool is_granted;
    bool is_over;
    bool was_called;
    bool is_alone;
    bool is_doubtful;
} walk;

static void account_for(walk *self, const zkl_lending_event *event) {
    switch (event->kind) {
    case ZKL_LENDING_EVENT_CAME:
        self->waiters++;
        break;
    case ZKL_LENDING_EVENT_WENT:
        self->waiters--;
        break;
    case ZKL_LENDING_EVENT_RETURNED:
        self->holders--;
        break;
    case ZKL_LENDING_EVENT_WRITING:
        self->writes++;
        break;
    case ZKL_LENDING_EVENT_WRITTEN:
        self->writes--;
        self->is_doubtful |= event->lost;
        break;
    case ZKL_LENDING_EVENT_GRANTED:
        self->is_granted = true;
        break;
    case ZKL_LENDING_EVENT_ALONE:
        self->is_alone = true;
        self->since_alone = 0;
        break;
    case ZKL_LENDING_EVENT_NEWCOMER:
        self->is_alone = false;
        self->was_called |= !self->reads || self->holders == 0;
        break;
    case ZKL_LENDING_EVENT_CALLED:
        self->was_called = true;
        break;
    case ZKL_LENDING_EVENT_ENDED:
        self->is_over = true;
        break;
    case ZKL_LENDING_EVENT_TURN:
    case ZKL_LENDING_EVENT_CUT:
        break;
    }
}

static bool is_wanted_by_nobody(const walk *self) {
    return self->is_alone && !self->was_called;
}

/* To how many it is to be lent now: to no fewer, and to no more. */
static int count_due(const walk *self, const zkl_lending_event *event) {
    bool is_first = event->kind == ZKL_LENDING_EVENT_GRANTED;
    bool is_settled = self->writes == 0 && !self->is_doubtful;
    bool is_free = self->reads || (self->holders == 0 && is_settled);
    int most = self->reads || self->waiters == 0 ? self->waiters : 1;
    int left = self->hand_offs_max - self->since_alone;
    if (self->is_over || !self->is_granted) {
        return 0;
    }
    if (is_first) {
        return most;
    }
    if (!event->in_touch || !event->watched || !is_free) {
        return 0;
    }
    if (is_wanted_by_nobody(self)) {
        return most;
    }
    return event->late ? 0 : most < left ? most : left;
}

/* Whether those who wait would wait for other readers: nothing is on its way that tells more. */
static bool is_in_vain(const walk *self, const zkl_lending_event *event) {
    bool awaits_list = event->in_touch && !self->is_alone && !self->was_called;
    return self->reads && self->holders > 0 && self->waiters > 0 && !self->is_over && !awaits_list;
}

static void walk_step(walk *self, zkl_lending_event event);

static void send_away(walk *self) {
    while (self->waiters > 0) {
        walk_step(self, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_WENT });
    }
}

static void check_action(walk *self, const zkl_lending_event *event,
                         const zkl_lending_action *action) {
    switch (action->kind) {
    case ZKL_LENDING_ACTION_LEND:
        EXPECT_INT(action->number, self->number + 1);
        self->number += action->count;
        self->waiters -= (int)action->count;
        self->holders += (int)action->count;
        if (event->kind != ZKL_LENDING_EVENT_GRANTED && !is_wanted_by_nobody(self)) {
            self->since_alone += (int)action->count;
        }
        EXPECT(self->reads || self->holders == 1);
        break;
    case ZKL_LENDING_ACTION_SEND_AWAY:
        EXPECT(event->kind < ZKL_LENDING_EVENT_WRITTEN);
        EXPECT(is_in_vain(self, event));
        send_away(self);
        break;
    case ZKL_LENDING_ACTION_GIVE_UP:
        EXPECT(event->kind < ZKL_LENDING_EVENT_WRITTEN);
        EXPECT_INT(self->holders, 0);
        self->is_over = true;
        break;
    case ZKL_LENDING_ACTION_BUSY:
        EXPECT(event->only_try);
        EXPECT(self->holders > 0 || self->waiters > 1);
        self->waiters--;
        break;
    case ZKL_LENDING_ACTION_KEEP:
        EXPECT(lending.retains && self->holders == 0 && self->waiters == 0);
        EXPECT(!self->was_called && !self->is_doubtful);
        break;
    case ZKL_LENDING_ACTION_WAKE:
        EXPECT(event->kind >= ZKL_LENDING_EVENT_WRITTEN);
        break;
    }
}

static void walk_step(walk *self, zkl_lending_event event) {
    account_for(self, &event);
    zkl_lending_actions actions;
    zkl_lending_step(&lending, &event, &actions);
    bool is_any = actions.count > 0;
    zkl_lending_action_kind kind = is_any ? actions.list[0].kind : ZKL_LENDING_ACTION_KEEP;
    if (kind != ZKL_LENDING_ACTION_BUSY) {
        EXPECT_INT(kind == ZKL_LENDING_ACTION_LEND ? actions.list[0].count : 0,
                   count_due(self, &event));
    }
    if (is_any) {
        check_action(self, &event, &actions.list[0]);
    }
    bool is_told = kind == ZKL_LENDING_ACTION_WAKE || kind == ZKL_LENDING_ACTION_BUSY ||
                   event.kind == ZKL_LENDING_EVENT_WENT;
    EXPECT(is_told || !is_in_vain(self, &event));
    EXPECT_INT(lending.waiters, self->waiters);
    EXPECT_INT(lending.holders, self->holders);
    EXPECT_INT(lending.writes, self->writes);
}

static bool can_happen(const walk *self, zkl_lending_event_kind kind) {
    bool is_asked = lending.stage == ZKL_LENDING_STAGE_ASKED;
    switch (kind) {
    case ZKL_LENDING_EVENT_WENT:
        return self->waiters > 0;
    case ZKL_LENDING_EVENT_RETURNED:
    case ZKL_LENDING_EVENT_WRITING:
        return self->holders > 0;
    case ZKL_LENDING_EVENT_WRITTEN:
        return self->writes > 0;
    case ZKL_LENDING_EVENT_GRANTED:
        return is_asked && self->waiters > 0;
    case ZKL_LENDING_EVENT_ALONE:
        return !is_asked && !self->was_called;
    case ZKL_LENDING_EVENT_NEWCOMER:
        return !is_asked && lending.alone;
    case ZKL_LENDING_EVENT_CALLED:
    case ZKL_LENDING_EVENT_CUT:
        return !is_asked;
    case ZKL_LENDING_EVENT_ENDED:
        return unit_random_below((unit_random *)&self->random, 10) == 0;
    case ZKL_LENDING_EVENT_CAME:
        return !self->is_over;
    case ZKL_LENDING_EVENT_TURN:
        break;
    }
    return true;
}

static void wander(walk *self) {
    zkl_lending_event_kind kind =
        (zkl_lending_event_kind)unit_random_below(&self->random, ZKL_LENDING_EVENT_ENDED + 1);
    zkl_lending_event event = { .kind = kind,
                                .in_touch = unit_random_below(&self->random, 8) > 0,
                                .watched = unit_random_below(&self->random, 8) > 0,
                                .late = unit_random_below(&self->random, 8) == 0 };
    event.only_try = kind == ZKL_LENDING_EVENT_CAME && unit_random_below(&self->random, 3) == 0;
    event.lost = kind == ZKL_LENDING_EVENT_WRITTEN && unit_random_below(&self->random, 4) == 0;
    event.idle = kind == ZKL_LENDING_EVENT_TURN && self->holders == 0 &&
                 unit_random_below(&self->random, 4) == 0;
    if (can_happen(self, kind)) {
        walk_step(self, event);
    }
}

/* Everything is answered, all is well, and nobody else comes: nobody waits for ever. */
static void heal(walk *self) {
    const zkl_lending_event turn = { .kind = ZKL_LENDING_EVENT_TURN,
                                     .in_touch = true,
                                     .watched = true };
    if (lending.stage == ZKL_LENDING_STAGE_ASKED && self->waiters > 0) {
        walk_step(self, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_GRANTED });
    }
    while (self->writes > 0) {
        walk_step(self, (zkl_lending_event){
                            .kind = ZKL_LENDING_EVENT_WRITTEN, .in_touch = true, .watched = true });
    }
    if (!lending.alone && !lending.called && lending.stage == ZKL_LENDING_STAGE_OURS) {
        walk_step(self, (zkl_lending_event){ .kind = self->was_called ? ZKL_LENDING_EVENT_CALLED
                                                                      : ZKL_LENDING_EVENT_ALONE,
                                             .in_touch = true,
                                             .watched = true });
    }
    walk_step(self, turn); /* that was asked for, perhaps */
    while (self->holders > 0) {
        walk_step(self, (zkl_lending_event){ .kind = ZKL_LENDING_EVENT_RETURNED,
                                             .in_touch = true,
                                             .watched = true });
    }
    walk_step(self, turn);
    if (!self->is_over) {
        EXPECT_INT(self->waiters, 0);
        EXPECT(lending.retains && !lending.called && !lending.doubtful);
    }
}

TEST(random_walks_break_no_rule) {
    for (uint64_t seed = 1; seed <= 20000; seed++) {
        walk self = { .random = unit_random_begin(seed) };
        self.reads = unit_random_below(&self.random, 2) == 0;
        bool retains = unit_random_below(&self.random, 2) == 0;
        self.hand_offs_max = (int)unit_random_below(&self.random, 4);
        lending = zkl_lending_begin(self.reads, retains, (unsigned)self.hand_offs_max);
        for (unsigned i = unit_random_below(&self.random, 80); i > 0; i--) {
            wander(&self);
        }
        heal(&self);
    }
}

/* ---- Every state ---------------------------------------------------------------------------- */

/* All that can be reached with so few who wait, hold and write; the numbers of grants are left out.
 */
enum { FEW = 2, COUNTS = FEW + 1, STATES = 3 * 8 * COUNTS * COUNTS * COUNTS * COUNTS };

static unsigned number_of(const zkl_lending_state *state) {
    unsigned number = (unsigned)state->stage;
    number = number * 2 + state->alone;
    number = number * 2 + state->called;
    number = number * 2 + state->doubtful;
    number = number * COUNTS + state->waiters;
    number = number * COUNTS + state->holders;
    number = number * COUNTS + state->writes;
    return number * COUNTS + state->handed_on;
}

static struct {
    zkl_lending_state found[STATES];
    bool is_found[STATES];
    unsigned count;
    bool reacts[3][ZKL_LENDING_EVENT_ENDED + 1]; /* changes its state, or asks for something */
} all;

static void find(zkl_lending_state state) {
    bool is_small = state.waiters <= FEW && state.holders <= FEW && state.writes <= FEW;
    state.number = 0;
    if (is_small && !all.is_found[number_of(&state)]) {
        all.is_found[number_of(&state)] = true;
        all.found[all.count++] = state;
    }
}

static bool may_come(const zkl_lending_state *state, zkl_lending_event_kind kind) {
    switch (kind) {
    case ZKL_LENDING_EVENT_WENT:
        return state->waiters > 0;
    case ZKL_LENDING_EVENT_RETURNED:
    case ZKL_LENDING_EVENT_WRITING:
        return state->holders > 0;
    case ZKL_LENDING_EVENT_WRITTEN:
        return state->writes > 0;
    case ZKL_LENDING_EVENT_GRANTED:
        return state->stage == ZKL_LENDING_STAGE_ASKED && state->waiters > 0;
    default:
        return true;
    }
}

static void check_lent(const zkl_lending_state *before, const zkl_lending_event *event,
                       const zkl_lending_state *after, unsigned count) {
    bool is_first = event->kind == ZKL_LENDING_EVENT_GRANTED;
    EXPECT(count > 0 && after->stage == ZKL_LENDING_STAGE_OURS);
    EXPECT(after->reads || after->holders == 1);
    EXPECT(is_first || (event->in_touch && event->watched));
    EXPECT(is_first || after->reads || (after->writes == 0 && !after->doubtful));
    EXPECT_INT(after->number, before->number + count);
}

static void check_step(const zkl_lending_state *before, const zkl_lending_event *event,
                       const zkl_lending_state *after, const zkl_lending_actions *actions) {
    bool is_any = actions->count > 0;
    const zkl_lending_action *action = &actions->list[0];
    bool is_over = before->stage == ZKL_LENDING_STAGE_OVER;
    unsigned lent = is_any && action->kind == ZKL_LENDING_ACTION_LEND ? action->count : 0;
    EXPECT(actions->count <= ZKL_LENDING_ACTIONS_MAX);
    EXPECT(!is_over || after->stage == ZKL_LENDING_STAGE_OVER);
    EXPECT(after->reads || after->holders <= 1);
    EXPECT(after->handed_on <= after->hand_offs_max);
    EXPECT_INT(after->holders,
               before->holders + lent - (event->kind == ZKL_LENDING_EVENT_RETURNED ? 1 : 0));
    if (lent > 0) {
        check_lent(before, event, after, lent);
    }
    if (is_any && action->kind == ZKL_LENDING_ACTION_GIVE_UP) {
        EXPECT(event->kind < ZKL_LENDING_EVENT_WRITTEN && after->holders == 0);
        EXPECT(after->stage == ZKL_LENDING_STAGE_OVER);
    }
    if (is_any && action->kind == ZKL_LENDING_ACTION_KEEP) {
        EXPECT(after->retains && !after->called && !after->doubtful);
    }
}

static void try_event(const zkl_lending_state *before, zkl_lending_event event) {
    zkl_lending_state after = *before;
    zkl_lending_actions actions;
    zkl_lending_step(&after, &event, &actions);
    check_step(before, &event, &after, &actions);
    bool changes = after.stage != before->stage || number_of(&after) != number_of(before);
    all.reacts[before->stage][event.kind] |= changes || actions.count > 0;
    find(after);
}

static void try_events(const zkl_lending_state *state) {
    for (unsigned kind = 0; kind <= ZKL_LENDING_EVENT_ENDED; kind++) {
        for (unsigned bits = 0; bits < 64 && may_come(state, (zkl_lending_event_kind)kind);
             bits++) {
            bool is_try = kind == ZKL_LENDING_EVENT_CAME && (bits & 8U) != 0;
            bool is_idle = kind == ZKL_LENDING_EVENT_TURN && (bits & 16U) != 0;
            bool is_lost = kind == ZKL_LENDING_EVENT_WRITTEN && (bits & 32U) != 0;
            try_event(state, (zkl_lending_event){ .kind = (zkl_lending_event_kind)kind,
                                                  .in_touch = (bits & 1U) != 0,
                                                  .watched = (bits & 2U) != 0,
                                                  .late = (bits & 4U) != 0,
                                                  .only_try = is_try,
                                                  .idle = is_idle && state->holders == 0,
                                                  .lost = is_lost });
        }
    }
}

/* Whether anybody who waits, or what nobody needs, is stuck. */
static void expect_way_out(zkl_lending_state state) {
    zkl_lending_actions actions;
    const zkl_lending_event turn = { .kind = ZKL_LENDING_EVENT_TURN, .idle = true };
    bool is_free = state.stage == ZKL_LENDING_STAGE_OURS && state.holders == 0;
    zkl_lending_step(&state, &turn, &actions);
    EXPECT(!is_free || state.stage == ZKL_LENDING_STAGE_OVER);
}

static void walk_all(bool reads, bool retains, unsigned hand_offs_max) {
    memset(all.is_found, 0, sizeof(all.is_found));
    all.count = 0;
    find(zkl_lending_begin(reads, retains, hand_offs_max));
    for (unsigned i = 0; i < all.count; i++) {
        zkl_lending_state state = all.found[i];
        try_events(&state);
        expect_way_out(state);
    }
}

/* Each reaction of the table is there, and no other: C came, W went, R returned, T turn, B begins
 * to write, D is decided, G granted, A alone, N newcomer, L called, X cut, E ended. */
TEST(each_event_does_something_where_it_should) {
    static const char letters[] = "CWRTBDGANLXE";
    static const char *const expected[] = { "CWTGANLE", "CWRTBDANLXE", "WRBDE" };
    memset(&all, 0, sizeof(all));
    for (unsigned i = 0; i < 12; i++) {
        walk_all(i % 2 == 0, i / 2 % 2 == 0, i / 4);
    }
    for (unsigned stage = 0; stage < COUNT_OF(expected); stage++) {
        for (unsigned kind = 0; kind <= ZKL_LENDING_EVENT_ENDED; kind++) {
            bool is_expected = strchr(expected[stage], letters[kind]) != NULL;
            unit_check(all.reacts[stage][kind] == is_expected, __FILE__, __LINE__,
                       "stage %u, event %c", stage, letters[kind]);
        }
    }
}
