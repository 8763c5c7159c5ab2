#include "recipe/lending.h"

zkl_lending_state zkl_lending_begin(bool reads, bool retains, unsigned hand_offs_max) {
    return (
        zkl_lending_state){ .reads = reads, .retains = retains, .hand_offs_max = hand_offs_max };
}

static zkl_lending_action *lending_add(zkl_lending_actions *actions, zkl_lending_action_kind kind) {
    zkl_lending_action *action = &actions->list[actions->count++];
    *action = (zkl_lending_action){ .kind = kind };
    return action;
}

/* ---- Lending -------------------------------------------------------------------------------- */

/* Tells whether nobody else wants it, as far as can be known. */
static bool is_wanted_by_nobody(const zkl_lending_state *self) {
    return self->alone && !self->called;
}

/* Tells whether one more may hold it. Among readers a write does no harm to the next one. */
static bool may_lend(const zkl_lending_state *self, const zkl_lending_event *event) {
    bool is_settled = self->writes == 0 && !self->doubtful;
    return self->waiters > 0 && event->in_touch && event->watched &&
           (self->reads || (self->holders == 0 && is_settled));
}

static unsigned least(unsigned one, unsigned other) {
    return one < other ? one : other;
}

/* Counts those who are lent it now. The first time it is the grant of the request itself, for those
 * who waited for it. */
static unsigned count_lent(const zkl_lending_state *self, const zkl_lending_event *event) {
    unsigned at_once = self->reads ? self->waiters : 1;
    if (event->kind == ZKL_LENDING_EVENT_GRANTED) {
        return least(at_once, self->waiters);
    }
    if (self->stage != ZKL_LENDING_STAGE_OURS || !may_lend(self, event)) {
        return 0;
    }
    if (is_wanted_by_nobody(self)) {
        return at_once;
    }
    return event->late ? 0 : least(at_once, self->hand_offs_max - self->handed_on);
}

static void lend(zkl_lending_state *self, const zkl_lending_event *event, unsigned count,
                 zkl_lending_actions *actions) {
    bool is_counted = event->kind != ZKL_LENDING_EVENT_GRANTED && !is_wanted_by_nobody(self);
    zkl_lending_action *action = lending_add(actions, ZKL_LENDING_ACTION_LEND);
    action->count = count;
    action->number = self->number + 1;
    self->number += count;
    self->waiters -= count;
    self->holders += count;
    self->handed_on += is_counted ? count : 0;
}

/* ---- Giving up ------------------------------------------------------------------------------ */

/* Tells whether a list is on its way, which tells whether others want it. */
static bool awaits_list(const zkl_lending_state *self, const zkl_lending_event *event) {
    return event->in_touch && !self->alone && !self->called;
}

/* Tells whether the answer that is on its way tells whether it can be lent. */
static bool is_to_wait(const zkl_lending_state *self, const zkl_lending_event *event) {
    return event->in_touch && !event->only_try && !self->doubtful &&
           (self->writes > 0 || awaits_list(self, event));
}

/* Tells whether who waits would wait for other readers, beside whom the servers let them have a
 * node of their own. (That one of them goes is no news to the others.) */
static bool waits_in_vain(const zkl_lending_state *self, const zkl_lending_event *event) {
    return self->reads && self->holders > 0 && self->waiters > 0 &&
           event->kind != ZKL_LENDING_EVENT_WENT && !awaits_list(self, event);
}

/* Tells whether it ends, where nobody holds it, and it was not lent. */
static bool is_to_go(const zkl_lending_state *self, const zkl_lending_event *event) {
    if (self->waiters > 0) {
        return !is_to_wait(self, event);
    }
    return self->stage == ZKL_LENDING_STAGE_ASKED || !self->retains || self->called ||
           self->doubtful || event->idle;
}

/* Ends it, or what is wanted of it, now; in the middle of news in the next turn. */
static void end_it(zkl_lending_state *self, const zkl_lending_event *event,
                   zkl_lending_action_kind how, zkl_lending_actions *actions) {
    bool is_news = event->kind >= ZKL_LENDING_EVENT_WRITTEN;
    lending_add(actions, is_news ? ZKL_LENDING_ACTION_WAKE : how);
    if (!is_news && how == ZKL_LENDING_ACTION_GIVE_UP) {
        self->stage = ZKL_LENDING_STAGE_OVER;
    }
}

/* Decides what becomes of it where it is lent to nobody. */
static void rest(zkl_lending_state *self, const zkl_lending_event *event,
                 zkl_lending_actions *actions) {
    bool is_asked_for = self->stage == ZKL_LENDING_STAGE_ASKED && self->waiters > 0;
    if (self->holders == 0 && !is_asked_for && is_to_go(self, event)) {
        end_it(self, event, ZKL_LENDING_ACTION_GIVE_UP, actions);
    } else if (waits_in_vain(self, event)) {
        end_it(self, event, ZKL_LENDING_ACTION_SEND_AWAY, actions);
    } else if (self->holders == 0 && self->waiters == 0) {
        lending_add(actions, ZKL_LENDING_ACTION_KEEP);
    }
}

/* Tells whether a try would wait for other handles of the client. */
static bool is_busy(const zkl_lending_state *self, const zkl_lending_event *event, unsigned count) {
    return event->only_try && count < self->waiters && (self->holders > 0 || self->waiters > 1);
}

/* Draws the conclusion, after each event of a loan that is not over. */
static void advance(zkl_lending_state *self, const zkl_lending_event *event,
                    zkl_lending_actions *actions) {
    unsigned count = count_lent(self, event);
    if (is_busy(self, event, count)) {
        self->waiters--;
        lending_add(actions, ZKL_LENDING_ACTION_BUSY);
    } else if (count > 0) {
        lend(self, event, count, actions);
    } else {
        rest(self, event, actions);
    }
}

/* ---- Events --------------------------------------------------------------------------------- */

static void on_came(zkl_lending_state *self, const zkl_lending_event *event) {
    (void)event;
    self->waiters++;
}

static void on_went(zkl_lending_state *self, const zkl_lending_event *event) {
    (void)event;
    self->waiters--;
}

static void on_returned(zkl_lending_state *self, const zkl_lending_event *event) {
    (void)event;
    self->holders--;
}

/* Changes nothing: it is time to look again. */
static void on_turn(zkl_lending_state *self, const zkl_lending_event *event) {
    (void)self;
    (void)event;
}

static void on_writing(zkl_lending_state *self, const zkl_lending_event *event) {
    (void)event;
    self->writes++;
}

static void on_written(zkl_lending_state *self, const zkl_lending_event *event) {
    self->writes--;
    self->doubtful = self->doubtful || event->lost;
}

static void on_granted(zkl_lending_state *self, const zkl_lending_event *event) {
    (void)event;
    self->stage = ZKL_LENDING_STAGE_OURS;
}

static void on_alone(zkl_lending_state *self, const zkl_lending_event *event) {
    (void)event;
    self->alone = true;
    self->handed_on = 0;
}

/* Ends that it is alone. To readers the newcomer may be one of them. */
static void on_newcomer(zkl_lending_state *self, const zkl_lending_event *event) {
    (void)event;
    self->alone = false;
    self->called = self->called || !self->reads || self->holders == 0;
}

static void on_called(zkl_lending_state *self, const zkl_lending_event *event) {
    (void)event;
    self->called = true;
}

static void on_ended(zkl_lending_state *self, const zkl_lending_event *event) {
    (void)event;
    self->stage = ZKL_LENDING_STAGE_OVER;
}

/* ---- The machine ---------------------------------------------------------------------------- */

typedef void reaction(zkl_lending_state *self, const zkl_lending_event *event);

/* NULL: that cannot come then, or says nothing. */
static reaction *const reactions[][ZKL_LENDING_EVENT_ENDED + 1] = {
    [ZKL_LENDING_STAGE_ASKED] = { [ZKL_LENDING_EVENT_CAME] = on_came,
                                  [ZKL_LENDING_EVENT_WENT] = on_went,
                                  [ZKL_LENDING_EVENT_TURN] = on_turn,
                                  [ZKL_LENDING_EVENT_GRANTED] = on_granted,
                                  [ZKL_LENDING_EVENT_ALONE] = on_alone,
                                  [ZKL_LENDING_EVENT_NEWCOMER] = on_newcomer,
                                  [ZKL_LENDING_EVENT_CALLED] = on_called,
                                  [ZKL_LENDING_EVENT_ENDED] = on_ended },
    [ZKL_LENDING_STAGE_OURS] = { [ZKL_LENDING_EVENT_CAME] = on_came,
                                 [ZKL_LENDING_EVENT_WENT] = on_went,
                                 [ZKL_LENDING_EVENT_RETURNED] = on_returned,
                                 [ZKL_LENDING_EVENT_TURN] = on_turn,
                                 [ZKL_LENDING_EVENT_WRITING] = on_writing,
                                 [ZKL_LENDING_EVENT_WRITTEN] = on_written,
                                 [ZKL_LENDING_EVENT_ALONE] = on_alone,
                                 [ZKL_LENDING_EVENT_NEWCOMER] = on_newcomer,
                                 [ZKL_LENDING_EVENT_CALLED] = on_called,
                                 [ZKL_LENDING_EVENT_CUT] = on_turn,
                                 [ZKL_LENDING_EVENT_ENDED] = on_ended },
    [ZKL_LENDING_STAGE_OVER] = { [ZKL_LENDING_EVENT_WENT] = on_went,
                                 [ZKL_LENDING_EVENT_RETURNED] = on_returned,
                                 [ZKL_LENDING_EVENT_WRITING] = on_writing,
                                 [ZKL_LENDING_EVENT_WRITTEN] = on_written,
                                 [ZKL_LENDING_EVENT_ENDED] = on_ended },
};

/* Wakes those who are left over when it ends: who wait, or the node that nobody holds. */
static void end_over(const zkl_lending_state *self, const zkl_lending_event *event,
                     zkl_lending_actions *actions) {
    bool has_left_over = self->waiters > 0 || self->holders == 0;
    if (event->kind == ZKL_LENDING_EVENT_ENDED && has_left_over) {
        lending_add(actions, ZKL_LENDING_ACTION_WAKE);
    }
}

void zkl_lending_step(zkl_lending_state *self, const zkl_lending_event *event,
                      zkl_lending_actions *actions) {
    reaction *react = reactions[self->stage][event->kind];
    actions->count = 0;
    if (react == NULL) {
        return;
    }
    react(self, event);
    if (self->stage == ZKL_LENDING_STAGE_OVER) {
        end_over(self, event, actions);
    } else {
        advance(self, event, actions);
    }
}
