#include "recipe/request.h"

#include <string.h>

/* The events that answer operations come in the order of these. */
static unsigned bit_of(zkl_action_kind operation) {
    return 1U << operation;
}

static unsigned bit_answered_by(zkl_event_kind kind) {
    bool is_answer = kind >= ZKL_EVENT_CREATED && kind <= ZKL_EVENT_BACKED_OFF;
    return is_answer ? bit_of((zkl_action_kind)(kind - ZKL_EVENT_CREATED)) : 0;
}

/* ---- Names ------------------------------------------------------------- */

/* Names of ours always fit: a prefix of ours and at most eleven characters. */
static void copy_name(char *to, const char *from) {
    size_t length = strlen(from);
    if (length >= ZKL_NODE_NAME_SIZE) {
        length = ZKL_NODE_NAME_SIZE - 1;
    }
    memcpy(to, from, length);
    to[length] = '\0';
}

/* ---- Emitting actions -------------------------------------------------- */

void zkl_actions_add(zkl_actions *actions, const zkl_action *action) {
    if (actions->count < ZKL_ACTIONS_MAX) {
        actions->list[actions->count++] = *action;
    } else {
        actions->overflowed = true;
    }
}

static void emit(zkl_actions *actions, zkl_action_kind kind, const char *node, int status) {
    zkl_actions_add(actions, &(zkl_action){ kind, node, status });
}

static void ask(zkl_request *request, zkl_actions *actions, zkl_action_kind operation,
                const char *node) {
    request->outstanding |= bit_of(operation);
    emit(actions, operation, node, ZKL_OK);
}

static void list(zkl_request *request, zkl_actions *actions) {
    ask(request, actions, ZKL_ACTION_LIST, NULL);
}

static void settle(zkl_request *request, zkl_actions *actions) {
    ask(request, actions, ZKL_ACTION_SETTLE, NULL);
}

static void delete_node(zkl_request *request, zkl_actions *actions, const char *node) {
    ask(request, actions, ZKL_ACTION_DELETE, node);
}

/* ---- Verdicts ---------------------------------------------------------- */

static void decide(zkl_request *request, zkl_actions *actions, zkl_action_kind kind, int status) {
    if (!request->decided) {
        request->decided = true;
        emit(actions, kind, NULL, status);
    }
}

/* Nobody is in our way. Without a lease where one is asked for that is not yet
 * enough; it is looked at again when there is one. */
static void come_first(zkl_request *request, zkl_actions *actions) {
    if (request->needs_lease && !request->lease_runs) {
        request->waits_for_lease = true;
        return;
    }
    request->held = true;
    decide(request, actions, ZKL_ACTION_GRANT, ZKL_OK);
}

static void end_downgrade(zkl_request *request, zkl_actions *actions, int status) {
    if (request->downgrade_wanted) {
        request->downgrade_wanted = false;
        emit(actions, ZKL_ACTION_DOWNGRADE_ENDED, NULL, status);
    }
}

/* A lock that was granted and is not held any more, for a reason of its own. */
static void lose(zkl_request *request, zkl_actions *actions, int status) {
    request->held = false;
    end_downgrade(request, actions, ZKL_LOST);
    emit(actions, ZKL_ACTION_LOSE, NULL, status);
}

static void fail(zkl_request *request, zkl_actions *actions, int status) {
    request->aim = ZKL_AIM_LEAVE;
    /* ZKL_OK would read as a grant, whoever came up with it. */
    decide(request, actions, ZKL_ACTION_FAIL, status != ZKL_OK ? status : ZKL_SERVER_REFUSED);
}

/* A try that queued and lost says so when its node is gone again, so that the
 * next try of the same caller does not meet it. */
static void fail_once_gone(zkl_request *request, int status) {
    request->aim = ZKL_AIM_LEAVE;
    request->late_verdict = status;
}

static void give_late_verdict(zkl_request *request, zkl_actions *actions) {
    if (request->late_verdict != ZKL_OK) {
        decide(request, actions, ZKL_ACTION_FAIL, request->late_verdict);
    }
}

/* ---- What to do next --------------------------------------------------- */

static void end(zkl_request *request, zkl_actions *actions) {
    give_late_verdict(request, actions);
    request->ended = true;
    emit(actions, ZKL_ACTION_END, NULL, ZKL_OK);
}

static void stop_watching(zkl_request *request, zkl_actions *actions) {
    if (request->watching) {
        request->watching = false;
        emit(actions, ZKL_ACTION_UNWATCH, NULL, ZKL_OK);
    }
}

static void stop_watching_own(zkl_request *request, zkl_actions *actions) {
    if (request->watching_own) {
        request->watching_own = false;
        emit(actions, ZKL_ACTION_UNWATCH_OWN, NULL, ZKL_OK);
    }
}

/* Only a list after a committed write of this connection proves that a lost create
 * was not applied and never will be. */
static void look_for_lost_node(zkl_request *request, zkl_actions *actions) {
    settle(request, actions);
    list(request, actions);
}

/* Our own node goes first; then whoever finds the resource empty deletes its node, if that may be
 * deleted: see on_parent_inspected. It may be made again at once by somebody else, who begins with
 * the sequence 0. */
static void advance_drain(zkl_request *request, zkl_actions *actions) {
    bool ours = request->own_node == ZKL_OWN_NODE_OURS;
    if (ours && request->twins) {
        list(request, actions);
    } else if (ours) {
        delete_node(request, actions, request->node);
    } else {
        ask(request, actions, ZKL_ACTION_INSPECT_PARENT, NULL);
    }
}

/* Nobody else may come who has the time to wait until the resource is empty. */
static void advance_without_node(zkl_request *request, zkl_actions *actions) {
    if (request->draining && request->connected) {
        advance_drain(request, actions);
    } else {
        end(request, actions);
    }
}

/* On the way out, a node that may exist is first found or ruled out. */
static void advance_leave(zkl_request *request, zkl_actions *actions) {
    stop_watching(request, actions);
    if (request->own_node == ZKL_OWN_NODE_NONE && request->surplus[0] == '\0' && !request->twins) {
        advance_without_node(request, actions);
    } else if (!request->connected) {
        return;
    } else if (request->surplus[0] != '\0') {
        delete_node(request, actions, request->surplus);
    } else if (request->own_node == ZKL_OWN_NODE_OURS) {
        delete_node(request, actions, request->node);
    } else {
        look_for_lost_node(request, actions);
    }
}

/* Whether a list must show that a request may join, before it does. */
static bool must_look_first(const zkl_request *request) {
    return (request->only_try || request->max_waiting > 0) && !request->way_was_free;
}

/* The create and the list travel together: requests of a session are answered
 * in their order, so the list contains the node. After a lost reply the same
 * pair resolves it: the create is the committed write that must come before
 * the list that looks for the first node. */
static void advance_join(zkl_request *request, zkl_actions *actions) {
    if (request->held || request->keeps_node || request->watching || request->waits_for_lease ||
        !request->connected) {
        return;
    }
    if (request->surplus[0] != '\0') {
        delete_node(request, actions, request->surplus);
    } else if (request->draining) {
        advance_drain(request, actions);
    } else if (request->own_node == ZKL_OWN_NODE_OURS || must_look_first(request)) {
        list(request, actions);
    } else if (!request->is_member) {
        ask(request, actions, ZKL_ACTION_CREATE, request->prefix);
        list(request, actions);
    } else if (request->own_node == ZKL_OWN_NODE_UNSURE) {
        look_for_lost_node(request, actions);
    } else {
        ask(request, actions, ZKL_ACTION_CREATE, request->prefix);
    }
}

/* Whether it was applied shows in the reader's node, once a committed write of this
 * connection has come after it. Until then our node has either name. */
static void resolve_downgrade(zkl_request *request, zkl_actions *actions) {
    if (request->settled) {
        copy_name(request->candidate, request->downgraded);
        ask(request, actions, ZKL_ACTION_INSPECT, request->candidate);
    } else {
        settle(request, actions);
    }
}

static void downgrade(zkl_request *request, zkl_actions *actions) {
    request->settled = false;
    zkl_node_name_downgrade(request->downgraded, request->node);
    ask(request, actions, ZKL_ACTION_DOWNGRADE, request->downgraded);
}

static void advance(zkl_request *request, zkl_actions *actions) {
    if (request->ended || request->outstanding != 0) {
        return;
    }
    if (request->must_back_off) {
        request->must_back_off = false;
        ask(request, actions, ZKL_ACTION_BACK_OFF, NULL);
    } else if (request->downgrade_unsure && request->connected) {
        resolve_downgrade(request, actions);
    } else if (request->candidate[0] != '\0' && request->connected) {
        ask(request, actions, ZKL_ACTION_INSPECT, request->candidate);
    } else if (request->aim == ZKL_AIM_LEAVE) {
        advance_leave(request, actions);
    } else if (request->parent_missing && request->connected) {
        ask(request, actions, ZKL_ACTION_MAKE_PARENT, NULL);
    } else if (request->downgrade_wanted && request->connected) {
        downgrade(request, actions);
    } else {
        advance_join(request, actions);
    }
}

/* ---- Replies ----------------------------------------------------------- */

/* Joining, a refusal is the verdict; leaving, it is reported, and tried again. */
static void note_refusal(zkl_request *request, int status, zkl_actions *actions) {
    if (request->aim == ZKL_AIM_JOIN && !request->decided) {
        fail(request, actions, status);
        return;
    }
    request->must_back_off = true;
    if (!request->refusal_reported) {
        request->refusal_reported = true;
        emit(actions, ZKL_ACTION_WARN, NULL, status);
    }
}

/* What every failed reply means, whatever was asked. A reply is lost with its
 * connection, and the next one is waited for; where the connection stands all
 * the same, the same request is not sent again at once. */
static void note_failure(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    if (request->aim == ZKL_AIM_LEAVE) {
        give_late_verdict(request, actions); /* leaving may take long from here on */
    }
    if (event->outcome == ZKL_OUTCOME_NOT_NOW ||
        (event->outcome == ZKL_OUTCOME_UNKNOWN && request->connected)) {
        request->must_back_off = true;
        if (request->only_try && !request->decided) {
            fail(request, actions, ZKL_SERVER_REFUSED); /* a try does not wait */
        }
    } else if (event->outcome == ZKL_OUTCOME_SESSION_OVER) {
        request->connected = false; /* the news of it is on its way */
    } else if (event->outcome == ZKL_OUTCOME_REFUSED) {
        note_refusal(request, event->status, actions);
    }
}

static void forget_node(zkl_request *request) {
    request->own_node = ZKL_OWN_NODE_NONE;
    request->node[0] = '\0';
}

/* Somebody has deleted our node while we waited: join again. */
static void lose_place(zkl_request *request, zkl_actions *actions) {
    stop_watching(request, actions);
    stop_watching_own(request, actions);
    forget_node(request);
    request->waits_for_lease = false;
    request->way_was_free = false;
    if (request->is_member) {
        fail(request, actions, ZKL_NODE_DELETED);
        return;
    }
    request->must_back_off = request->rejoins > 0;
    request->rejoins++;
    emit(actions, ZKL_ACTION_REJOIN, NULL, ZKL_OK);
}

static bool sequence_is_exhausted(const char *name) {
    int32_t sequence = zkl_node_name_parse(name).sequence;
    return sequence < 0 || sequence >= ZKL_SEQUENCE_LIMIT;
}

/* However we came by the node, its place must be one that can be trusted. */
static void take_node(zkl_request *request, const char *name, int64_t zxid) {
    request->own_node = ZKL_OWN_NODE_OURS;
    request->zxid = zxid;
    copy_name(request->node, name);
    request->draining = sequence_is_exhausted(name) && request->aim == ZKL_AIM_JOIN;
}

/* A parent that vanishes again and again (a container, an administrator) must not make us spin. The
 * pause is before it is made: while it is empty it may vanish. */
static void on_created(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    switch (event->outcome) {
    case ZKL_OUTCOME_OK:
        request->parents_made = 0;
        if (event->zxid > 0) {
            take_node(request, event->node, event->zxid);
        } else {
            request->own_node = ZKL_OWN_NODE_UNSURE;
            request->twins = true;
            copy_name(request->candidate, event->node);
        }
        break;
    case ZKL_OUTCOME_NO_NODE:
        request->parent_missing = true;
        request->must_back_off = request->aim == ZKL_AIM_JOIN && request->parents_made > 0;
        break;
    case ZKL_OUTCOME_UNKNOWN:
        request->own_node = ZKL_OWN_NODE_UNSURE;
        request->twins = true;
        request->settled = false;
        note_failure(request, event, actions);
        break;
    default:
        note_failure(request, event, actions);
        break;
    }
}

static void on_parent_made(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    if (event->outcome == ZKL_OUTCOME_OK) {
        request->parent_missing = false;
        request->parents_made++;
    } else if (event->outcome == ZKL_OUTCOME_NO_NODE) {
        request->must_back_off = true;
    } else {
        note_failure(request, event, actions);
    }
}

/* A member makes no node alone: all begin anew, as after the loss of a place. But a try has had
 * its turn. */
static void end_drain(zkl_request *request, zkl_actions *actions) {
    request->draining = false;
    request->way_was_free = false;
    if (!request->is_member) {
        emit(actions, ZKL_ACTION_REJOIN, NULL, ZKL_OK);
    } else {
        fail(request, actions, request->only_try ? ZKL_SEQUENCE_EXHAUSTED : ZKL_NODE_DELETED);
    }
}

static void end_drain_without_parent(zkl_request *request, zkl_actions *actions) {
    request->parent_missing = true;
    end_drain(request, actions);
}

/* Others are still there, of before, or again. All who wait for its end pause, each for a time of
 * its own. */
static void wait_for_empty_parent(zkl_request *request, zkl_actions *actions) {
    request->must_back_off = !request->only_try;
    if (request->only_try) {
        fail(request, actions, ZKL_SEQUENCE_EXHAUSTED);
    }
}

static void take_removal(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    if (event->outcome == ZKL_OUTCOME_OK || event->outcome == ZKL_OUTCOME_NO_NODE) {
        end_drain_without_parent(request, actions);
    } else if (event->outcome == ZKL_OUTCOME_NOT_EMPTY) {
        wait_for_empty_parent(request, actions);
    } else {
        note_failure(request, event, actions);
    }
}

static void on_parent_removed(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    if (request->aim == ZKL_AIM_JOIN) {
        take_removal(request, event, actions);
    }
    if (request->aim == ZKL_AIM_LEAVE) {
        request->draining = false; /* once is enough */
    }
}

/* A resource that is younger than the node which we had in it was made anew by somebody else,
 * and may never be empty again. One that holds data is an application's own node: it is not for us
 * to delete. */
static void take_inspection(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    if (event->outcome == ZKL_OUTCOME_NO_NODE) {
        end_drain_without_parent(request, actions);
    } else if (event->outcome != ZKL_OUTCOME_OK) {
        note_failure(request, event, actions);
    } else if (event->zxid > request->zxid) {
        end_drain(request, actions);
    } else if (event->holds_data) {
        fail(request, actions, ZKL_SEQUENCE_EXHAUSTED);
    }
}

static void on_parent_inspected(zkl_request *request, const zkl_event *event,
                                zkl_actions *actions) {
    bool may_go = event->outcome == ZKL_OUTCOME_OK && event->zxid <= request->zxid &&
                  !event->holds_data && request->connected;
    if (may_go) {
        ask(request, actions, ZKL_ACTION_REMOVE_PARENT, NULL);
    } else if (request->aim == ZKL_AIM_JOIN) {
        take_inspection(request, event, actions);
    }
    if (request->aim == ZKL_AIM_LEAVE) {
        request->draining = may_go;
    }
}

/* Looks for a node of ours that a lost create left behind. Such a list counts
 * only after a committed write: ours was created or SETTLE has gone through. */
static bool find_twin(zkl_request *request, zkl_listed children) {
    bool conclusive = request->own_node == ZKL_OWN_NODE_OURS || request->settled;
    if (!request->twins || !conclusive) {
        return false;
    }
    const char *except = request->own_node == ZKL_OWN_NODE_OURS ? request->node : NULL;
    const char *twin = zkl_queue_find_guid(children, request->guid, except, request->rejected);
    if (twin != NULL) {
        copy_name(request->candidate, twin);
        return true;
    }
    request->twins = false;
    request->rejected[0] = '\0';
    if (request->own_node == ZKL_OWN_NODE_UNSURE) {
        forget_node(request);
    }
    return false;
}

static void watch_own(zkl_request *request, zkl_actions *actions) {
    bool changes =
        request->downgrade_unsure || (request->outstanding & bit_of(ZKL_ACTION_DOWNGRADE)) != 0;
    bool possible = request->connected && request->own_node == ZKL_OWN_NODE_OURS && !changes &&
                    !request->watching_own &&
                    (request->outstanding & bit_of(ZKL_ACTION_WATCH_OWN)) == 0;
    if (possible) {
        ask(request, actions, ZKL_ACTION_WATCH_OWN, request->node);
    }
}

static void watch_held(zkl_request *request, zkl_actions *actions) {
    if (request->held) {
        watch_own(request, actions);
    }
}

static zkl_contender_kind kind_of(const zkl_request *request) {
    return (zkl_contender_kind){ request->mode, request->permits };
}

zkl_queue_place zkl_request_place(const zkl_request *request) {
    const char *own = request->own_node == ZKL_OWN_NODE_OURS ? request->node : NULL;
    return (zkl_queue_place){ own, kind_of(request), request->companion };
}

/* Why nobody may join such a queue, or stay in it; ZKL_OK: there is no reason. */
static int find_refusal(const zkl_request *request, zkl_listed children,
                        const zkl_queue_view *view) {
    if (view->unlike != NULL) {
        return ZKL_PERMITS_DIFFER;
    }
    if (!view->accompanied) {
        return ZKL_NODE_DELETED; /* since then others may have come and gone */
    }
    if (view->blocker == NULL || request->max_waiting == 0) {
        return ZKL_OK;
    }
    zkl_queue_place place = zkl_request_place(request);
    size_t waiting = zkl_queue_count_waiting(children, &place);
    return waiting >= request->max_waiting ? ZKL_QUEUE_FULL : ZKL_OK;
}

/* Whether the deletion of the blocker can be a hand-off to us, without another
 * list: nobody else is before us, and its owner cannot have put anybody there
 * meanwhile. (The owner of a Curator writer can: a reader with the writer's own
 * sequence.) Then our own node is watched as well: see on_watch_fired. */
static bool is_next_in_line(const zkl_queue_view *view) {
    zkl_node_kind kind = zkl_node_name_parse(view->blocker).kind;
    return view->earlier == 1 && (kind == ZKL_NODE_EXCLUSIVE || kind == ZKL_NODE_READ);
}

static void wait_behind(zkl_request *request, const zkl_queue_view *view, zkl_actions *actions) {
    request->next_in_line = is_next_in_line(view);
    ask(request, actions, ZKL_ACTION_WATCH, view->blocker);
    if (request->next_in_line) {
        watch_own(request, actions);
    }
}

static void judge_queue(zkl_request *request, zkl_listed children, zkl_actions *actions) {
    zkl_queue_place place = zkl_request_place(request);
    zkl_queue_view view = zkl_queue_examine(children, &place);
    int refusal = find_refusal(request, children, &view);
    if (view.unknown != NULL && !request->unknown_reported) {
        request->unknown_reported = true;
        emit(actions, ZKL_ACTION_REPORT, view.unknown, ZKL_OK);
    }
    if (!view.listed) {
        lose_place(request, actions); /* our create was answered before this list was made */
    } else if (refusal != ZKL_OK) {
        fail(request, actions, refusal);
    } else if (view.blocker == NULL) {
        come_first(request, actions);
    } else if (request->only_try) {
        fail_once_gone(request, ZKL_BUSY);
    } else {
        wait_behind(request, &view, actions);
    }
}

/* Nothing was written yet. */
static void on_first_list(zkl_request *request, zkl_listed children, zkl_actions *actions) {
    zkl_queue_place tail = zkl_request_place(request);
    zkl_queue_view view = zkl_queue_examine(children, &tail);
    int refusal = find_refusal(request, children, &view);
    if (refusal != ZKL_OK) {
        fail(request, actions, refusal);
    } else if (request->only_try && view.blocker != NULL) {
        fail(request, actions, ZKL_BUSY);
    } else {
        request->way_was_free = true;
    }
}

static void on_children(zkl_request *request, zkl_listed children, zkl_actions *actions) {
    bool searching = find_twin(request, children);
    if (request->aim != ZKL_AIM_JOIN || searching || request->draining) {
        return;
    }
    if (request->own_node == ZKL_OWN_NODE_OURS) {
        judge_queue(request, children, actions);
    } else if (request->own_node == ZKL_OWN_NODE_NONE && must_look_first(request)) {
        on_first_list(request, children, actions);
    }
}

static void on_listed(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    switch (event->outcome) {
    case ZKL_OUTCOME_OK:
        on_children(request, event->children, actions);
        break;
    case ZKL_OUTCOME_NO_NODE:
        /* No parent: no children, neither others' nor ours. */
        on_children(request, (zkl_listed){ NULL, 0 }, actions);
        break;
    default:
        note_failure(request, event, actions);
        break;
    }
}

static void on_watched(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    if (event->outcome == ZKL_OUTCOME_OK) {
        request->watching = true;
        if (request->own_node != ZKL_OWN_NODE_OURS) {
            stop_watching(request, actions); /* our place was lost meanwhile */
        }
    } else if (event->outcome != ZKL_OUTCOME_NO_NODE) {
        note_failure(request, event, actions);
    }
}

/* Our own node is gone, and it was not us who deleted it. */
static void on_own_node_gone(zkl_request *request, zkl_actions *actions) {
    if (request->aim == ZKL_AIM_LEAVE || request->own_node != ZKL_OWN_NODE_OURS) {
        return; /* the delete that is due will find it out; or a list has found it out */
    }
    if (!request->held && !request->keeps_node) {
        lose_place(request, actions);
        return;
    }
    request->own_node = ZKL_OWN_NODE_NONE; /* its name is kept, for the news of the loss */
    request->aim = ZKL_AIM_LEAVE;
    if (request->held) {
        lose(request, actions, ZKL_NODE_DELETED);
    }
}

/* A failure means only that nothing is known: a waiter lists, and for a lock
 * that is held the next probe tries again. */
static void on_own_watched(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    if (event->outcome == ZKL_OUTCOME_NO_NODE) {
        on_own_node_gone(request, actions);
    } else {
        request->watching_own = event->outcome == ZKL_OUTCOME_OK;
        request->connected = request->connected && event->outcome != ZKL_OUTCOME_SESSION_OVER;
    }
}

/* A node found by name is ours only if our session owns it. Of two, the lower
 * keeps its place and the other goes. */
static void adopt_candidate(zkl_request *request, int64_t zxid) {
    bool lower =
        request->own_node != ZKL_OWN_NODE_OURS || zkl_node_name_parse(request->candidate).sequence <
                                                      zkl_node_name_parse(request->node).sequence;
    if (!lower) {
        copy_name(request->surplus, request->candidate);
        return;
    }
    if (request->own_node == ZKL_OWN_NODE_OURS) {
        copy_name(request->surplus, request->node);
    }
    take_node(request, request->candidate, zxid);
}

/* Our node is now the reader's: the place in the queue and its zxid stay the writer's. */
static void take_readers_place(zkl_request *request, zkl_actions *actions) {
    stop_watching_own(request, actions); /* of the writer's node, which is gone */
    copy_name(request->node, request->downgraded);
    request->mode = ZKL_READ;
    end_downgrade(request, actions, ZKL_OK);
}

static void on_downgraded(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    request->downgrade_unsure = event->outcome == ZKL_OUTCOME_UNKNOWN;
    if (event->outcome == ZKL_OUTCOME_OK) {
        take_readers_place(request, actions);
    } else if (event->outcome == ZKL_OUTCOME_REFUSED) {
        end_downgrade(request, actions, event->status);
    } else if (event->outcome == ZKL_OUTCOME_NO_NODE) {
        request->must_back_off = true; /* until the news of its deletion has come */
    } else {
        note_failure(request, event, actions);
    }
    watch_held(request, actions); /* tells whether it is there */
}

static void on_downgrade_inspected(zkl_request *request, const zkl_event *event,
                                   zkl_actions *actions) {
    if (event->outcome == ZKL_OUTCOME_OK && event->own_session) {
        request->downgrade_unsure = false;
        take_readers_place(request, actions);
    } else if (event->outcome == ZKL_OUTCOME_OK || event->outcome == ZKL_OUTCOME_NO_NODE) {
        request->downgrade_unsure = false;
    } else {
        note_failure(request, event, actions);
    }
    request->candidate[0] = '\0';
    watch_held(request, actions);
}

static void on_inspected(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    if (request->downgrade_unsure) {
        on_downgrade_inspected(request, event, actions);
        return;
    }
    if (event->outcome == ZKL_OUTCOME_OK && event->own_session) {
        adopt_candidate(request, event->zxid);
    } else if (event->outcome == ZKL_OUTCOME_OK) {
        /* Somebody else's, with a name copied from ours: not to be touched, and
         * not to hide the one that we look for. */
        copy_name(request->rejected, request->candidate);
    } else if (event->outcome != ZKL_OUTCOME_NO_NODE) {
        note_failure(request, event, actions);
        return;
    }
    request->candidate[0] = '\0';
}

static void on_deleted(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    if (event->outcome != ZKL_OUTCOME_OK && event->outcome != ZKL_OUTCOME_NO_NODE) {
        note_failure(request, event, actions);
        return;
    }
    if (request->surplus[0] != '\0') {
        request->surplus[0] = '\0';
    } else {
        forget_node(request);
    }
}

/* A refusal settles nothing: it may be that of a server which has not asked the leader. */
static void on_settled(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    request->settled = event->outcome == ZKL_OUTCOME_OK;
    if (!request->settled) {
        note_failure(request, event, actions);
    }
}

/* ---- News -------------------------------------------------------------- */

static void on_disconnected(zkl_request *request, zkl_actions *actions) {
    request->connected = false;
    request->settled = false;
    request->next_in_line = false; /* what happens until the next connection is told in any order */
    give_late_verdict(request, actions);
    if (request->only_try && !request->decided) {
        fail(request, actions, ZKL_DISCONNECTED);
    }
}

/* The blocker's deletion is a hand-off to us, without another list, only if we
 * were next in line, if our own node lives (its watch was armed after the list,
 * and has not fired: on one connection events arrive in the order of what
 * happened), and if this is no old news, read by a process that was stopped for
 * longer than its session lasts. In all other cases a list tells. */
static void on_watch_fired(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    bool handed_over = request->watching && event->deleted && event->fresh &&
                       request->next_in_line && request->watching_own && request->connected &&
                       request->aim == ZKL_AIM_JOIN && request->outstanding == 0;
    request->watching = false;
    if (handed_over) {
        come_first(request, actions);
    }
}

/* It may have been changed rather than deleted: arming the watch again tells. */
static void on_own_watch_fired(zkl_request *request, zkl_actions *actions) {
    request->watching_own = false;
    if (request->aim == ZKL_AIM_JOIN) {
        watch_own(request, actions);
    }
}

/* A try that waits for a lease does so from one probe to the next at most, whatever becomes of the
 * lease: that is long enough to earn one, if all is well. */
static void on_probe(zkl_request *request, zkl_actions *actions) {
    watch_held(request, actions);
    if (!request->only_try || !request->waits_for_lease) {
        return;
    }
    if (request->probed_in_vain) {
        request->waits_for_lease = false;
        fail_once_gone(request, ZKL_SERVER_REFUSED);
    }
    request->probed_in_vain = true;
}

/* While it waited for the lease everything may have changed: list again. */
static void on_lease_begun(zkl_request *request) {
    request->lease_runs = true;
    request->waits_for_lease = false;
}

/* Lost, but the holder may still be at work: its node goes on keeping others out
 * until it is released. */
static void on_lease_ended(zkl_request *request, zkl_actions *actions) {
    request->lease_runs = false;
    if (request->needs_lease && request->held) {
        request->keeps_node = true;
        lose(request, actions, ZKL_LEASE_ENDED);
    }
}

static void on_hold_limit(zkl_request *request, zkl_actions *actions) {
    if (request->held || request->keeps_node) {
        request->aim = ZKL_AIM_LEAVE;
        request->keeps_node = false;
    }
    if (request->held) {
        lose(request, actions, ZKL_HOLD_LIMIT);
    }
}

/* With the session all its nodes and watches are gone. */
static void on_session_ended(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    bool had_place = request->own_node != ZKL_OWN_NODE_NONE;
    request->outstanding &= ~bit_of(ZKL_ACTION_BACK_OFF); /* nothing is left to spare */
    request->must_back_off = false;
    request->connected = false;
    request->draining = false;
    request->way_was_free = false;
    request->downgrade_unsure = false;
    request->watching = false;
    request->watching_own = false;
    request->waits_for_lease = false;
    request->lease_runs = false;
    request->twins = false;
    request->settled = false;
    request->candidate[0] = '\0';
    request->surplus[0] = '\0';
    request->rejected[0] = '\0';
    request->own_node = ZKL_OWN_NODE_NONE;
    if (!request->held) {
        forget_node(request); /* else its name is kept, for the news of the loss */
    }
    if (event->guid != NULL) {
        memcpy(request->guid, event->guid, ZKL_GUID_SIZE);
        zkl_node_name_prefix(request->prefix, request->guid, kind_of(request));
    }
    if (request->aim == ZKL_AIM_LEAVE) {
        return;
    }
    if (request->held || request->keeps_node) {
        request->aim = ZKL_AIM_LEAVE;
    }
    if (request->held) {
        lose(request, actions, ZKL_SESSION_EXPIRED);
    } else if (request->keeps_node) {
        request->keeps_node = false;
    } else if (request->fail_on_session_expiry || request->only_try) {
        fail(request, actions, ZKL_SESSION_EXPIRED);
    } else if (event->guid == NULL) {
        fail(request, actions, ZKL_SYSTEM);
    } else if (had_place) {
        emit(actions, ZKL_ACTION_REJOIN, NULL, ZKL_OK);
    }
}

/* Who has lost its lock with its lease has nothing to wait for: its node goes when it releases, or
 * with the client. */
static void give_up_waiting(zkl_request *request, zkl_actions *actions, int status) {
    bool is_released = !request->keeps_node || status != ZKL_LEASE_IMPOSSIBLE;
    if (!request->held && is_released) {
        request->waits_for_lease = false;
        fail(request, actions, status);
    }
}

static void on_released(zkl_request *request, zkl_actions *actions) {
    end_downgrade(request, actions, ZKL_NOT_HELD);
    request->held = false;
    request->keeps_node = false;
    request->aim = ZKL_AIM_LEAVE;
}

/* ---- The machine ------------------------------------------------------- */

static void take_reply(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    switch (event->kind) {
    case ZKL_EVENT_CREATED:
        on_created(request, event, actions);
        break;
    case ZKL_EVENT_LISTED:
        on_listed(request, event, actions);
        break;
    case ZKL_EVENT_PARENT_MADE:
        on_parent_made(request, event, actions);
        break;
    case ZKL_EVENT_WATCHED:
        on_watched(request, event, actions);
        break;
    case ZKL_EVENT_INSPECTED:
        on_inspected(request, event, actions);
        break;
    case ZKL_EVENT_DELETED:
        on_deleted(request, event, actions);
        break;
    case ZKL_EVENT_SETTLED:
        on_settled(request, event, actions);
        break;
    case ZKL_EVENT_OWN_WATCHED:
        on_own_watched(request, event, actions);
        break;
    case ZKL_EVENT_PARENT_REMOVED:
        on_parent_removed(request, event, actions);
        break;
    case ZKL_EVENT_PARENT_INSPECTED:
        on_parent_inspected(request, event, actions);
        break;
    case ZKL_EVENT_DOWNGRADED:
        on_downgraded(request, event, actions);
        break;
    default:
        break; /* the end of a pause says no more than that */
    }
}

static int verdict_at_deadline(const zkl_request *request) {
    if (!request->connected) {
        return ZKL_DISCONNECTED;
    }
    return request->draining ? ZKL_SEQUENCE_EXHAUSTED : ZKL_TIMEOUT;
}

static void take_news(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    switch (event->kind) {
    case ZKL_EVENT_START:
        if (request->only_try && !request->connected) {
            fail(request, actions, ZKL_DISCONNECTED);
        }
        break;
    case ZKL_EVENT_WATCH_FIRED:
        on_watch_fired(request, event, actions);
        break;
    case ZKL_EVENT_OWN_WATCH_FIRED:
        on_own_watch_fired(request, actions);
        break;
    case ZKL_EVENT_PROBE:
        on_probe(request, actions);
        break;
    case ZKL_EVENT_LEASE_BEGUN:
        on_lease_begun(request);
        break;
    case ZKL_EVENT_LEASE_THIN:
        request->lease_runs = false;
        break;
    case ZKL_EVENT_LEASE_ENDED:
        on_lease_ended(request, actions);
        break;
    case ZKL_EVENT_HOLD_LIMIT:
        on_hold_limit(request, actions);
        break;
    case ZKL_EVENT_CONNECTED:
        request->connected = true;
        break;
    case ZKL_EVENT_DISCONNECTED:
        on_disconnected(request, actions);
        break;
    case ZKL_EVENT_SESSION_ENDED:
        on_session_ended(request, event, actions);
        break;
    case ZKL_EVENT_TIMED_OUT:
        give_up_waiting(request, actions, verdict_at_deadline(request));
        break;
    case ZKL_EVENT_CANCELLED:
        give_up_waiting(request, actions, event->status);
        break;
    case ZKL_EVENT_DOWNGRADE:
        request->downgrade_wanted = request->held && request->mode == ZKL_WRITE;
        break;
    case ZKL_EVENT_RELEASED:
        on_released(request, actions);
        break;
    default:
        break;
    }
}

void zkl_request_begin(zkl_request *request, const zkl_request_options *options, bool connected) {
    *request = (zkl_request){
        .mode = options->kind.mode,
        .permits = options->kind.permits,
        .max_waiting = options->max_waiting,
        .is_member = options->is_member,
        .only_try = options->only_try,
        .fail_on_session_expiry = options->fail_on_session_expiry,
        .needs_lease = options->needs_lease,
        .lease_runs = options->lease_runs,
        .connected = connected,
    };
    memcpy(request->guid, options->guid, ZKL_GUID_SIZE);
    zkl_node_name_prefix(request->prefix, request->guid, options->kind);
    if (options->companion != NULL) {
        copy_name(request->companion, options->companion);
    }
}

void zkl_request_step(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    actions->count = 0;
    actions->overflowed = false;
    unsigned answered = bit_answered_by(event->kind);
    if (answered != 0 && (request->outstanding & answered) == 0) {
        return; /* nobody asked: a node must not become ours, or be deleted, by such a reply */
    }
    request->outstanding &= ~answered;
    if (answered != 0) {
        take_reply(request, event, actions);
    } else {
        take_news(request, event, actions);
    }
    advance(request, actions);
}
