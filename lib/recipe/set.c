#include "recipe/set.h"

zkl_set zkl_set_begin(unsigned size, bool only_try, bool fail_on_session_expiry) {
    return (zkl_set){ .size = size,
                      .only_try = only_try,
                      .fail_on_session_expiry = fail_on_session_expiry,
                      .under_way = size };
}

static zkl_set_action *set_add(zkl_set_actions *actions, zkl_set_action_kind kind) {
    zkl_set_action *action = &actions->list[actions->count++];
    *action = (zkl_set_action){ .kind = kind };
    return action;
}

static zkl_set_action *set_end(zkl_set *set, zkl_set_actions *actions, zkl_set_action_kind kind,
                               int status) {
    zkl_set_action *action = set_add(actions, kind);
    action->status = status;
    set->stage = ZKL_SET_STAGE_OVER;
    return action;
}

static void set_give_up(zkl_set *set, zkl_set_actions *actions, int status, bool late) {
    set_end(set, actions, ZKL_SET_ACTION_FAIL, status)->late = late;
    set_add(actions, ZKL_SET_ACTION_LEAVE);
    set_add(actions, ZKL_SET_ACTION_LET_GO);
}

/* ---- What the members tell ------------------------------------------------------------------ */

static void on_member_granted(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions) {
    (void)event;
    set->granted++;
    if (set->stage == ZKL_SET_STAGE_WAITING && set->granted == set->size) {
        set->stage = ZKL_SET_STAGE_HELD;
        set_add(actions, ZKL_SET_ACTION_GRANT);
    }
}

/* Fails the set with the first failure of a member. The only request of a set leaves by itself. */
static void on_member_failed(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions) {
    if (set->stage != ZKL_SET_STAGE_WAITING) {
        return;
    }
    if (set->size == 1) {
        set_end(set, actions, ZKL_SET_ACTION_FAIL, event->status);
        return;
    }
    set->stage = ZKL_SET_STAGE_FAILED;
    set->failure = event->status;
    set_add(actions, ZKL_SET_ACTION_WAKE);
}

/* Loses what was granted. While other members are awaited nothing was granted, and it is a failure.
 */
static void on_member_lost(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions) {
    if (set->stage == ZKL_SET_STAGE_HELD) {
        set_end(set, actions, ZKL_SET_ACTION_LOSE, event->status);
    } else {
        on_member_failed(set, event, actions);
    }
}

static void on_member_ended(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions) {
    (void)event;
    set->under_way--;
    if (set->stage == ZKL_SET_STAGE_LEAVING && set->under_way == 0) {
        set_add(actions, ZKL_SET_ACTION_WAKE);
    }
}

/* ---- Its turn ------------------------------------------------------------------------------- */

/* Tells whether to join again: only after a place was lost, not after one was given up or refused.
 */
static bool may_join_again(const zkl_set *set) {
    return !set->only_try &&
           (set->failure == ZKL_NODE_DELETED || set->failure == ZKL_LEASE_ENDED ||
            (set->failure == ZKL_SESSION_EXPIRED && !set->fail_on_session_expiry));
}

static void join(zkl_set *set, zkl_set_actions *actions) {
    *set = zkl_set_begin(set->size, set->only_try, set->fail_on_session_expiry);
    set_add(actions, ZKL_SET_ACTION_LET_GO);
    set_add(actions, ZKL_SET_ACTION_JOIN);
}

/* Takes its turn: all leave before any joins again. */
static void on_turn(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions) {
    (void)event;
    bool is_failed = set->stage == ZKL_SET_STAGE_FAILED;
    if (is_failed && !may_join_again(set)) {
        set_give_up(set, actions, set->failure, false);
        return;
    }
    if (is_failed) {
        set->stage = ZKL_SET_STAGE_LEAVING;
    }
    if (set->stage == ZKL_SET_STAGE_LEAVING && set->under_way == 0) {
        join(set, actions);
    } else if (is_failed) {
        set_add(actions, ZKL_SET_ACTION_LEAVE);
    }
}

/* ---- Its time is over ------------------------------------------------------------------------ */

/* Ends the wait. A failure that came first is told, unless it was to be mended. */
static void on_timed_out(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions) {
    bool is_failed = set->stage == ZKL_SET_STAGE_FAILED;
    if (set->stage == ZKL_SET_STAGE_WAITING) {
        set_add(actions, ZKL_SET_ACTION_TIME_OUT);
    } else if (is_failed && !may_join_again(set)) {
        set_give_up(set, actions, set->failure, false);
    } else if (is_failed || set->stage == ZKL_SET_STAGE_LEAVING) {
        set_give_up(set, actions, event->connected ? ZKL_TIMEOUT : ZKL_DISCONNECTED, true);
    }
}

/* ---- The user's, and the client's ----------------------------------------------------------- */

static void on_called_off(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions) {
    if (set->stage < ZKL_SET_STAGE_HELD) {
        set_give_up(set, actions, event->status, false);
    }
}

static void on_client_closes(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions) {
    (void)event;
    if (set->stage < ZKL_SET_STAGE_HELD) {
        set_end(set, actions, ZKL_SET_ACTION_FAIL, ZKL_CLOSED);
    }
}

/* ---- The machine ---------------------------------------------------------------------------- */

typedef void reaction(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions);

static reaction *const reactions[] = {
    [ZKL_SET_EVENT_MEMBER_GRANTED] = on_member_granted,
    [ZKL_SET_EVENT_MEMBER_FAILED] = on_member_failed,
    [ZKL_SET_EVENT_MEMBER_LOST] = on_member_lost,
    [ZKL_SET_EVENT_MEMBER_ENDED] = on_member_ended,
    [ZKL_SET_EVENT_TURN] = on_turn,
    [ZKL_SET_EVENT_TIMED_OUT] = on_timed_out,
    [ZKL_SET_EVENT_CALLED_OFF] = on_called_off,
    [ZKL_SET_EVENT_CLIENT_CLOSES] = on_client_closes,
};

void zkl_set_step(zkl_set *set, const zkl_set_event *event, zkl_set_actions *actions) {
    actions->count = 0;
    reactions[event->kind](set, event, actions);
}
