#include "recipe/lending.h"

zkl_lending_state zkl_lending_begin(bool reads, bool retains, unsigned hand_offs_max) {
    return (
        zkl_lending_state){ .reads = reads, .retains = retains, .hand_offs_max = hand_offs_max };
}

/* ---- Lending -------------------------------------------------------------------------------- */

/* Whether nobody else wants it, as far as can be known. */
static bool is_wanted_by_nobody(const zkl_lending_state *self) {
    return self->alone && !self->called;
}

/* Among readers a write does no harm to the next one. */
static bool may_lend(const zkl_lending_state *self, const zkl_lending_event *event) {
    bool is_settled = self->writes == 0 && !self->doubtful;
    return self->stage == ZKL_LENDING_OURS && self->waiters > 0 && event->in_touch &&
           event->watched && (self->reads || (self->holders == 0 && is_settled));
}

static unsigned least(unsigned one, unsigned other) {
    return one < other ? one : other;
}

/* The first time it is the grant of the request itself, for those who waited for it. */
static unsigned count_lent(const zkl_lending_state *self, const zkl_lending_event *event) {
    unsigned at_once = self->reads ? self->waiters : 1;
    if (event->kind == ZKL_LENDING_EVENT_GRANTED) {
        return least(at_once, self->waiters);
    }
    if (!may_lend(self, event)) {
        return 0;
    }
    if (is_wanted_by_nobody(self)) {
        return at_once;
    }
    return event->late ? 0 : least(at_once, self->hand_offs_max - self->handed_on);
}

static zkl_lending_action lend(zkl_lending_state *self, const zkl_lending_event *event,
                               unsigned count) {
    bool is_counted = event->kind != ZKL_LENDING_EVENT_GRANTED && !is_wanted_by_nobody(self);
    int64_t first = self->number + 1;
    self->number += count;
    self->waiters -= count;
    self->holders += count;
    self->handed_on += is_counted ? count : 0;
    return (zkl_lending_action){ .kind = ZKL_LENDING_ACTION_LEND, .count = count, .number = first };
}

/* ---- Giving up ------------------------------------------------------------------------------ */

/* A list is on its way, which tells whether others want it. */
static bool awaits_list(const zkl_lending_state *self, const zkl_lending_event *event) {
    return event->in_touch && !self->alone && !self->called;
}

/* The answer that is on its way tells whether it can be lent. */
static bool is_to_wait(const zkl_lending_state *self, const zkl_lending_event *event) {
    return event->in_touch && !event->only_try && !self->doubtful &&
           (self->writes > 0 || awaits_list(self, event));
}

/* They would wait for other readers, beside whom the servers let them have a node of their own.
 * (That one of them goes is no news to the others.) */
static bool waits_in_vain(const zkl_lending_state *self, const zkl_lending_event *event) {
    return self->reads && self->holders > 0 && self->waiters > 0 &&
           event->kind != ZKL_LENDING_EVENT_WENT && !awaits_list(self, event);
}

/* Nobody holds it, and it was not lent. */
static bool is_to_go(const zkl_lending_state *self, const zkl_lending_event *event) {
    if (self->waiters > 0) {
        return !is_to_wait(self, event);
    }
    return self->stage == ZKL_LENDING_ASKED || !self->retains || self->called || self->doubtful ||
           event->idle;
}

static zkl_lending_action_kind send_away(const zkl_lending_event *event) {
    return event->kind >= ZKL_LENDING_EVENT_WRITTEN ? ZKL_LENDING_ACTION_WAKE
                                                    : ZKL_LENDING_ACTION_SEND_AWAY;
}

static zkl_lending_action_kind give_up(zkl_lending_state *self, const zkl_lending_event *event) {
    if (event->kind >= ZKL_LENDING_EVENT_WRITTEN) {
        return ZKL_LENDING_ACTION_WAKE;
    }
    self->stage = ZKL_LENDING_OVER;
    return ZKL_LENDING_ACTION_GIVE_UP;
}

/* ---- Events --------------------------------------------------------------------------------- */

static void note(zkl_lending_state *self, const zkl_lending_event *event) {
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
        self->doubtful = self->doubtful || event->lost;
        break;
    case ZKL_LENDING_EVENT_GRANTED:
        self->stage = ZKL_LENDING_OURS;
        break;
    case ZKL_LENDING_EVENT_ALONE:
        self->alone = true;
        self->handed_on = 0;
        break;
    case ZKL_LENDING_EVENT_NEWCOMER: /* to readers it may be one of them */
        self->alone = false;
        self->called = self->called || !self->reads || self->holders == 0;
        break;
    case ZKL_LENDING_EVENT_CALLED:
        self->called = true;
        break;
    case ZKL_LENDING_EVENT_ENDED:
        self->stage = ZKL_LENDING_OVER;
        break;
    default:
        break;
    }
}

/* Where nobody is lent it. */
static zkl_lending_action_kind rest(zkl_lending_state *self, const zkl_lending_event *event) {
    bool is_asked_for = self->stage == ZKL_LENDING_ASKED && self->waiters > 0;
    if (self->holders == 0 && !is_asked_for && is_to_go(self, event)) {
        return give_up(self, event);
    }
    if (waits_in_vain(self, event)) {
        return send_away(event);
    }
    return self->holders == 0 && self->waiters == 0 ? ZKL_LENDING_ACTION_KEEP
                                                    : ZKL_LENDING_ACTION_NOTHING;
}

/* A try that waited would wait for other handles of the client. */
static bool is_busy(const zkl_lending_state *self, const zkl_lending_event *event, unsigned count) {
    return event->only_try && count < self->waiters && (self->holders > 0 || self->waiters > 1);
}

zkl_lending_action zkl_lending_step(zkl_lending_state *self, const zkl_lending_event *event) {
    zkl_lending_action_kind kind = ZKL_LENDING_ACTION_NOTHING;
    note(self, event);
    unsigned count = count_lent(self, event);
    if (self->stage == ZKL_LENDING_OVER) {
        bool has_left_over = self->waiters > 0 || self->holders == 0; /* who wait, or the node */
        bool is_news = event->kind == ZKL_LENDING_EVENT_ENDED;
        kind = is_news && has_left_over ? ZKL_LENDING_ACTION_WAKE : kind;
    } else if (is_busy(self, event, count)) {
        self->waiters--;
        kind = ZKL_LENDING_ACTION_BUSY;
    } else if (count > 0) {
        return lend(self, event, count);
    } else {
        kind = rest(self, event);
    }
    return (zkl_lending_action){ .kind = kind };
}
