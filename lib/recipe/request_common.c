#include "recipe/request_common.h"

/* ---- Asking and telling ---------------------------------------------------- */

void zkl_actions_add(zkl_actions *actions, const zkl_action *action) {
    if (actions->count < ZKL_ACTIONS_MAX) {
        actions->list[actions->count++] = *action;
    } else {
        actions->overflowed = true;
    }
}

void zkl_request_tell(const zkl_step *step, zkl_action_kind kind, const char *node, int status) {
    zkl_actions_add(step->actions, &(zkl_action){ .kind = kind, .node = node, .status = status });
}

void zkl_request_ask(zkl_request *request, const zkl_step *step, zkl_action_kind operation,
                     const char *node) {
    request->outstanding |= 1U << operation;
    zkl_request_tell(step, operation, node, ZKL_OK);
}

void zkl_request_ask_of_parent(zkl_request *request, const zkl_step *step,
                               zkl_action_kind operation) {
    request->outstanding |= 1U << operation;
    zkl_actions_add(step->actions,
                    &(zkl_action){ .kind = operation, .level = request->parents.level });
}

bool zkl_request_awaits(const zkl_request *request, zkl_action_kind operation) {
    return (request->outstanding & 1U << operation) != 0;
}

void zkl_request_await_no_more(zkl_request *request, zkl_action_kind operation) {
    request->outstanding &= ~(1U << operation);
}

/* ---- Verdicts ---------------------------------------------------------------- */

/* Gives the verdict, GRANT or FAIL, if none was given yet. */
static void give_verdict(zkl_request *request, const zkl_step *step, zkl_action_kind kind,
                         int status) {
    if (!request->verdict.given) {
        request->verdict.given = true;
        zkl_request_tell(step, kind, NULL, status);
    }
}

/* Replaces ZKL_OK, which would read as a grant. */
void zkl_request_fail(zkl_request *request, const zkl_step *step, int status) {
    request->stage = ZKL_STAGE_LEAVING;
    give_verdict(request, step, ZKL_ACTION_FAIL, status != ZKL_OK ? status : ZKL_SERVER_REFUSED);
}

void zkl_request_give_late_verdict(zkl_request *request, const zkl_step *step) {
    if (request->verdict.late != ZKL_OK) {
        give_verdict(request, step, ZKL_ACTION_FAIL, request->verdict.late);
    }
}

/* Grants the lock, or, if it needs a lease and none runs, waits: the queue is listed again when
 * there is one. No pause is due any more: a release would wait for its end. */
void zkl_request_come_first(zkl_request *request, const zkl_step *step) {
    request->retry.pause = false;
    if (request->options.needs_lease && !request->session.lease_runs) {
        request->stage = ZKL_STAGE_FIRST;
        return;
    }
    request->stage = ZKL_STAGE_HELD;
    if (request->options.lent) {
        zkl_request_watch_own(request, step); /* before its lender looks who waits behind it */
    }
    give_verdict(request, step, ZKL_ACTION_GRANT, ZKL_OK);
}

void zkl_request_fail_once_gone(zkl_request *request, int status) {
    request->stage = ZKL_STAGE_LEAVING;
    request->verdict.late = status;
}

/* ---- Failures ---------------------------------------------------------------- */

/* Takes a refusal: the verdict of a request that joins. One that leaves reports it, and tries
 * again. */
static void note_refusal(zkl_request *request, const zkl_step *step) {
    if (request->stage < ZKL_STAGE_LEAVING && !request->verdict.given) {
        zkl_request_fail(request, step, step->event->status);
        return;
    }
    request->retry.pause = true;
    if (!request->reported.refusal) {
        request->reported.refusal = true;
        zkl_request_tell(step, ZKL_ACTION_WARN, NULL, step->event->status);
    }
}

/* Draws the conclusions of a failed answer. A reply is lost with its connection, and we wait for
 * the next connection. If the connection stands all the same, we pause before we send the operation
 * again. */
void zkl_request_note_failure(zkl_request *request, const zkl_step *step) {
    zkl_outcome outcome = step->event->outcome;
    if (request->stage >= ZKL_STAGE_LEAVING) {
        zkl_request_give_late_verdict(request, step); /* from here on leaving may take long */
    }
    if (outcome == ZKL_OUTCOME_NOT_NOW ||
        (outcome == ZKL_OUTCOME_UNKNOWN && request->session.connected)) {
        request->retry.pause = true;
        if (request->options.only_try && !request->verdict.given) {
            zkl_request_fail(request, step, ZKL_SERVER_REFUSED); /* a try does not wait */
        }
    } else if (outcome == ZKL_OUTCOME_SESSION_OVER) {
        request->session.connected = false; /* the session's end is on its way as an event */
    } else if (outcome == ZKL_OUTCOME_REFUSED) {
        note_refusal(request, step);
    }
}

/* ---- The own node --------------------------------------------------------------- */

static bool sequence_is_exhausted(const char *name) {
    int32_t sequence = zkl_node_name_parse(name).sequence;
    return sequence < 0 || sequence >= ZKL_SEQUENCE_LIMIT;
}

/* Notes that a node is ours. However we came by it, we drain the resource if its sequence cannot be
 * trusted. */
void zkl_request_take_node(zkl_request *request, const char *name, int64_t zxid) {
    request->own.state = ZKL_OWN_NODE_OURS;
    request->own.zxid = zxid;
    request->own.downgraded = false;
    zkl_node_name_copy(request->own.node, name);
    request->draining = sequence_is_exhausted(name) && request->stage < ZKL_STAGE_LEAVING;
}

void zkl_request_forget_node(zkl_request *request) {
    request->own.state = ZKL_OWN_NODE_NONE;
    request->own.to_watch = false;
    request->own.node[0] = '\0';
}

void zkl_request_find_lost(zkl_request *request, const char *name) {
    request->lost.twins = true;
    request->lost.unconfirmed = true;
    request->lost.is_answer = false;
    zkl_node_name_copy(request->lost.node, name);
}

void zkl_request_look_for_lost_node(zkl_request *request, const zkl_step *step) {
    zkl_request_ask(request, step, ZKL_ACTION_SETTLE, NULL);
    zkl_request_ask(request, step, ZKL_ACTION_LIST, NULL);
}

void zkl_request_watch_own(zkl_request *request, const zkl_step *step) {
    bool changes = request->downgrade.unsure || zkl_request_awaits(request, ZKL_ACTION_DOWNGRADE);
    bool possible = request->session.connected && request->own.state == ZKL_OWN_NODE_OURS &&
                    !changes && !request->own.watched &&
                    !zkl_request_awaits(request, ZKL_ACTION_WATCH_OWN);
    if (possible) {
        request->own.to_watch = true;
        zkl_request_ask(request, step, ZKL_ACTION_WATCH_OWN, request->own.node);
    }
}

void zkl_request_watch_held(zkl_request *request, const zkl_step *step) {
    if (request->stage == ZKL_STAGE_HELD) {
        zkl_request_watch_own(request, step);
    }
}

void zkl_request_unwatch(bool *watched, const zkl_step *step, zkl_action_kind order) {
    if (*watched) {
        *watched = false;
        zkl_request_tell(step, order, NULL, ZKL_OK);
    }
}
