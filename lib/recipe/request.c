#include "recipe/request.h"

#include <string.h>

#include "recipe/request_common.h"

/* ---- What is held, and lost ------------------------------------------------- */

static bool was_granted(const zkl_request *request) {
    return request->stage == ZKL_STAGE_HELD || request->stage == ZKL_STAGE_KEPT;
}

/* Ends what was granted. It is news only if it was not lost already. */
static void end_grant(zkl_request *request, const zkl_step *step, zkl_request_stage next,
                      int status) {
    bool is_news = request->stage == ZKL_STAGE_HELD;
    request->stage = next;
    if (is_news) {
        zkl_request_end_downgrade(request, step, ZKL_LOST);
        zkl_request_tell(step, ZKL_ACTION_LOSE, NULL, status);
    }
}

/* ---- What to do next --------------------------------------------------- */

static void end_request(zkl_request *request, const zkl_step *step) {
    zkl_request_give_late_verdict(request, step);
    request->stage = ZKL_STAGE_ENDED;
    zkl_request_tell(step, ZKL_ACTION_END, NULL, ZKL_OK);
}

/* Deletes our node. It is handed over at the first attempt only: after that it just has to go. */
static void delete_own(zkl_request *request, const zkl_step *step) {
    bool hands_over = zkl_request_may_hand_over(request);
    request->own.hands_over = false;
    zkl_request_ask(request, step, hands_over ? ZKL_ACTION_HAND_OVER : ZKL_ACTION_DELETE,
                    request->own.node);
}

/* Pauses for so long that no server can still pass on what was lost, to look for it once more. Our
 * owner need not wait for that. */
static void linger(zkl_request *request, const zkl_step *step) {
    request->lost.lingers = true;
    zkl_request_ask(request, step, ZKL_ACTION_BACK_OFF, NULL);
}

/* Asks for what is left to do on the way out: deletes our node, and finds or rules out one that may
 * exist. Then the drain goes on, as perhaps nobody else waits long enough for the resource to be
 * empty. */
static void advance_leave(zkl_request *request, const zkl_step *step) {
    zkl_request_unwatch(&request->wait.watching, step, ZKL_ACTION_UNWATCH);
    bool is_gone =
        request->own.state == ZKL_OWN_NODE_NONE && !request->lost.surplus && !request->lost.twins;
    if (is_gone && request->draining && request->session.connected) {
        zkl_request_advance_drain(request, step);
    } else if (is_gone && request->lost.late) {
        linger(request, step);
    } else if (is_gone) {
        end_request(request, step);
    } else if (!request->session.connected) {
        return;
    } else if (request->lost.surplus) {
        zkl_request_ask(request, step, ZKL_ACTION_DELETE, request->lost.node);
    } else if (request->own.state == ZKL_OWN_NODE_OURS) {
        delete_own(request, step);
    } else {
        zkl_request_look_for_lost_node(request, step);
    }
}

static void ask_for_node(zkl_request *request, const zkl_step *step) {
    zkl_request_name_node(request, step->actions->prefix);
    zkl_request_ask(request, step, ZKL_ACTION_CREATE, step->actions->prefix);
}

/* Asks for what a request needs to join the queue. The create and the list travel together:
 * requests of a session are answered in their order, so the list contains the node. After a lost
 * reply the same pair resolves it: the create is the committed write that must come before the list
 * that looks for the first node. */
static void advance_join(zkl_request *request, const zkl_step *step) {
    if (request->stage != ZKL_STAGE_JOINING || request->wait.watching ||
        !request->session.connected) {
        return;
    }
    if (request->lost.surplus) {
        zkl_request_ask(request, step, ZKL_ACTION_DELETE, request->lost.node);
    } else if (request->draining) {
        zkl_request_advance_drain(request, step);
    } else if (request->own.state == ZKL_OWN_NODE_OURS || zkl_request_must_look_first(request)) {
        zkl_request_ask(request, step, ZKL_ACTION_LIST, NULL);
    } else if (!request->options.is_member) {
        ask_for_node(request, step);
        zkl_request_ask(request, step, ZKL_ACTION_LIST, NULL);
    } else if (request->own.state == ZKL_OWN_NODE_UNSURE) {
        zkl_request_look_for_lost_node(request, step);
    } else {
        ask_for_node(request, step);
    }
}

static void advance(zkl_request *request, const zkl_step *step) {
    if (request->outstanding != 0) {
        return;
    }
    if (request->retry.pause) {
        request->retry.pause = false;
        zkl_request_ask(request, step, ZKL_ACTION_BACK_OFF, NULL);
    } else if (request->downgrade.unsure && request->session.connected) {
        zkl_request_resolve_downgrade(request, step);
    } else if (request->lost.unconfirmed && request->session.connected) {
        zkl_request_ask(request, step, ZKL_ACTION_INSPECT, request->lost.node);
    } else if (request->stage >= ZKL_STAGE_LEAVING) {
        advance_leave(request, step);
    } else if (request->parents.missing && request->session.connected) {
        zkl_request_ask_of_parent(request, step, ZKL_ACTION_MAKE_PARENT);
    } else if (request->downgrade.wanted && request->session.connected) {
        zkl_request_begin_downgrade(request, step);
    } else {
        advance_join(request, step);
    }
}

/* ---- Answers ----------------------------------------------------------- */

/* Notes that a write was committed, if it was on this connection. Lists behind its first one show
 * what was lost before, so their search begins anew, unless lost.node is still to be seen to. */
static void note_commit(zkl_request *request) {
    bool is_first = request->session.connected && !request->session.settled;
    bool is_needed =
        request->lost.unconfirmed || request->lost.surplus || request->downgrade.unsure;
    if (is_first && !is_needed) {
        request->lost.node[0] = '\0';
    }
    request->session.settled |= is_first;
}

/* Takes the answer to a create. A parent that vanishes again and again (a container, an
 * administrator) must not make us spin: we pause before we make it again, as it may vanish while it
 * is empty. */
static void on_created(zkl_request *request, const zkl_step *step) {
    switch (step->event->outcome) {
    case ZKL_OUTCOME_OK:
        request->parents.made = 0;
        note_commit(request);
        if (step->event->zxid > 0) {
            zkl_request_take_node(request, step->event->node, step->event->zxid);
        } else {
            request->own.state = ZKL_OWN_NODE_UNSURE;
            zkl_request_find_lost(request, step->event->node);
            request->lost.is_answer = true;
        }
        break;
    case ZKL_OUTCOME_NO_NODE:
        request->parents.missing = true;
        request->retry.pause = request->stage < ZKL_STAGE_LEAVING && request->parents.made > 0;
        break;
    case ZKL_OUTCOME_UNKNOWN:
        request->own.state = ZKL_OWN_NODE_UNSURE;
        request->lost.twins = request->lost.late = true;
        request->session.settled = false;
        /* fall through */
    default:
        zkl_request_note_failure(request, step);
        break;
    }
}

/* Reacts to the news that somebody else has deleted our own node. */
static void on_own_node_gone(zkl_request *request, const zkl_step *step) {
    if (request->stage >= ZKL_STAGE_LEAVING || request->own.state != ZKL_OWN_NODE_OURS) {
        return; /* our own delete will find it gone; or a list has shown it already */
    }
    if (was_granted(request)) {
        request->own.state = ZKL_OWN_NODE_NONE;    /* its name is kept, for the news of the loss */
        request->lost.twins |= request->lost.late; /* perhaps by a downgrade that came late */
        end_grant(request, step, ZKL_STAGE_LEAVING, ZKL_NODE_DELETED);
    } else {
        zkl_request_lose_place(request, step);
    }
}

/* Tells whether somebody has deleted our node and made another of that name. The reply to a
 * downgrade has no czxid of the reader's node: there only the owner is compared. */
static bool is_another(const zkl_request *request, const zkl_event *event) {
    bool is_made_anew = !request->own.downgraded && event->zxid != request->own.zxid;
    return event->zxid > 0 && (is_made_anew || !event->own_session);
}

/* Reacts to the news that another node has our node's name. That one is not ours to delete. */
static void on_own_node_replaced(zkl_request *request, const zkl_step *step) {
    if (request->stage >= ZKL_STAGE_LEAVING) {
        zkl_request_forget_node(request);
    } else {
        on_own_node_gone(request, step);
    }
}

/* Takes the answer to WATCH_OWN. A failure proves nothing about our node: the next probe asks
 * again, and so does a downgrade. */
static void on_own_watched(zkl_request *request, const zkl_step *step) {
    const zkl_event *event = step->event;
    request->own.watched = event->outcome == ZKL_OUTCOME_OK;
    request->session.connected =
        request->session.connected && event->outcome != ZKL_OUTCOME_SESSION_OVER;
    if (event->outcome == ZKL_OUTCOME_NO_NODE) {
        on_own_node_gone(request, step);
    } else if (event->outcome == ZKL_OUTCOME_OK && is_another(request, event)) {
        zkl_request_unwatch(&request->own.watched, step, ZKL_ACTION_UNWATCH_OWN);
        on_own_node_replaced(request, step);
    } else if (event->outcome == ZKL_OUTCOME_OK) {
        zkl_request_take_over(request, step);
    } else if (request->downgrade.wanted) {
        zkl_request_on_not_watched_for_downgrade(request, step);
    }
}

/* Takes a node that was found by its name, and that our session owns. Of two, the lower keeps its
 * place, and the other is deleted. */
static void adopt_unconfirmed(zkl_request *request, int64_t zxid) {
    char found[ZKL_NODE_NAME_SIZE];
    zkl_node_name_copy(found, request->lost.node);
    bool ours = request->own.state == ZKL_OWN_NODE_OURS;
    bool lower = !ours || zkl_node_name_parse(found).sequence <
                              zkl_node_name_parse(request->own.node).sequence;
    request->lost.surplus = ours;
    if (lower) {
        zkl_node_name_copy(request->lost.node, ours ? request->own.node : "");
        zkl_request_take_node(request, found, zxid);
    }
}

static void on_inspected(zkl_request *request, const zkl_step *step) {
    if (request->downgrade.unsure) {
        zkl_request_on_downgrade_inspected(request, step);
        return;
    }
    zkl_outcome outcome = step->event->outcome;
    bool is_to_go = outcome == ZKL_OUTCOME_REFUSED && request->lost.is_answer;
    if (outcome != ZKL_OUTCOME_OK && outcome != ZKL_OUTCOME_NO_NODE) {
        zkl_request_note_failure(request, step);
        if (!is_to_go) {
            return;
        }
    }
    /* A node of somebody else, with a name copied from ours, is left alone. It must not hide the
     * one that we look for: the next list is searched behind it. */
    request->lost.unconfirmed = false;
    if (outcome == ZKL_OUTCOME_NO_NODE) {
        request->lost.node[0] = '\0';
    } else if (step->event->own_session || is_to_go) {
        adopt_unconfirmed(request, step->event->zxid);
    }
}

static void on_deleted(zkl_request *request, const zkl_step *step) {
    if (step->event->outcome != ZKL_OUTCOME_OK && step->event->outcome != ZKL_OUTCOME_NO_NODE) {
        zkl_request_note_failure(request, step);
        return;
    }
    if (request->lost.surplus) {
        request->lost.surplus = false;
        request->lost.node[0] = '\0';
    } else {
        zkl_request_forget_node(request);
    }
}

/* Takes the answer to HAND_OVER. If it was refused, a plain deletion may still be allowed. */
static void on_handed_over(zkl_request *request, const zkl_step *step) {
    if (step->event->outcome != ZKL_OUTCOME_REFUSED) {
        on_deleted(request, step);
    }
}

/* Takes the answer to SETTLE. A refusal settles nothing: the server may not have asked the leader.
 */
static void on_settled(zkl_request *request, const zkl_step *step) {
    if (step->event->outcome == ZKL_OUTCOME_OK) {
        note_commit(request);
    } else {
        zkl_request_note_failure(request, step);
    }
}

/* Looks for the last time if it has lingered. Nothing comes after that. */
static void on_backed_off(zkl_request *request, const zkl_step *step) {
    (void)step;
    if (request->lost.lingers) {
        request->lost = (zkl_request_lost){ .twins = true };
        request->session.settled = false; /* what was committed before the pause proves nothing */
    }
}

/* ---- News -------------------------------------------------------------- */

static void on_start(zkl_request *request, const zkl_step *step) {
    if (request->options.only_try && !request->session.connected) {
        zkl_request_fail(request, step, ZKL_DISCONNECTED);
    }
}

/* Asks again for a watch on our own node: it counts only if the servers of this connection have
 * armed it. */
static void on_session_connected(zkl_request *request, const zkl_step *step) {
    request->session.connected = true;
    request->own.watched = false;
    if (request->own.to_watch && request->stage < ZKL_STAGE_LEAVING) {
        zkl_request_watch_own(request, step);
    }
}

/* Ends the pause of a request that lingers: what came late may be why the connection is lost. */
static void look_again_when_connected(zkl_request *request) {
    request->lost.twins |= request->lost.late;
    if (request->lost.lingers) {
        request->lost.lingers = false;
        zkl_request_await_no_more(request, ZKL_ACTION_BACK_OFF);
    }
}

static void on_session_disconnected(zkl_request *request, const zkl_step *step) {
    request->session.connected = false;
    request->session.settled = false;
    look_again_when_connected(request);
    request->wait.next_in_line = false; /* news may come in any order until the next connection */
    request->wait.hears_release = false;
    request->wait.is_free = false;
    zkl_request_give_late_verdict(request, step);
    if (request->options.only_try && !request->verdict.given) {
        zkl_request_fail(request, step, ZKL_DISCONNECTED);
    }
}

/* Takes the mark of a protected node out of our GUID. No node has been made by that name yet. */
static void on_unprotected(zkl_request *request, const zkl_step *step) {
    (void)step;
    request->session.guid[ZKL_GUID_VERSION_AT] = ZKL_GUID_VERSION_RANDOM;
}

/* Arms the watch on our own node again: the answer shows whether the node was deleted or only
 * changed. */
static void on_own_watch_fired(zkl_request *request, const zkl_step *step) {
    request->own.watched = false;
    if (request->stage < ZKL_STAGE_LEAVING) {
        zkl_request_watch_own(request, step);
    }
}

/* Looks after our own node. A try that waits for a lease gives up at the second probe: from one
 * probe to the next a lease can be earned, if all is well. */
static void on_probe(zkl_request *request, const zkl_step *step) {
    if (request->own.to_watch && request->stage < ZKL_STAGE_LEAVING) {
        zkl_request_watch_own(request, step);
    }
    zkl_request_watch_held(request, step);
    if (!request->options.only_try || request->stage != ZKL_STAGE_FIRST) {
        return;
    }
    if (request->retry.probed_in_vain) {
        zkl_request_fail_once_gone(request, ZKL_SERVER_REFUSED);
    }
    request->retry.probed_in_vain = true;
}

/* Lists again, as everything may have changed while the request waited for the lease. */
static void on_lease_begun(zkl_request *request, const zkl_step *step) {
    (void)step;
    request->session.lease_runs = true;
    if (request->stage == ZKL_STAGE_FIRST) {
        request->stage = ZKL_STAGE_JOINING;
    }
}

static void on_lease_thin(zkl_request *request, const zkl_step *step) {
    (void)step;
    request->session.lease_runs = false;
}

/* Notes that the lock is lost. The holder may still be at work: its node keeps others out until it
 * releases. */
static void on_lease_ended(zkl_request *request, const zkl_step *step) {
    request->session.lease_runs = false;
    if (request->options.needs_lease && request->stage == ZKL_STAGE_HELD) {
        end_grant(request, step, ZKL_STAGE_KEPT, ZKL_LEASE_ENDED);
    }
}

static void on_hold_limit(zkl_request *request, const zkl_step *step) {
    if (was_granted(request)) {
        end_grant(request, step, ZKL_STAGE_LEAVING, ZKL_HOLD_LIMIT);
    }
}

/* Marks the GUID of this session, by which our nodes are named, if they are lent. */
static void mark_guid(zkl_request *request) {
    if (request->options.lent) {
        zkl_node_name_mark_lent(request->session.guid);
    }
}

/* Forgets a session: all its nodes and watches are gone, and a pause has nothing left to spare. */
static void forget_session(zkl_request *request, const char *guid) {
    zkl_request_await_no_more(request, ZKL_ACTION_BACK_OFF);
    request->retry.pause = false;
    request->retry.rejoins = 0;
    request->draining = false;
    request->wait = (zkl_request_wait){ .watching = false };
    request->lost = (zkl_request_lost){ .twins = false };
    request->downgrade.unsure = false;
    request->own.watched = false;
    request->own.state = ZKL_OWN_NODE_NONE;
    if (request->stage != ZKL_STAGE_HELD) {
        zkl_request_forget_node(request); /* otherwise its name is kept, for the news of the loss */
    }
    request->session.connected = false;
    request->session.lease_runs = false;
    request->session.settled = false;
    if (guid != NULL) {
        memcpy(request->session.guid, guid, ZKL_GUID_SIZE);
        mark_guid(request);
    }
}

static void join_in_next_session(zkl_request *request, const zkl_step *step, bool had_place) {
    request->stage = ZKL_STAGE_JOINING;
    if (request->options.fail_on_session_expiry || request->options.only_try) {
        zkl_request_fail(request, step, ZKL_SESSION_EXPIRED);
    } else if (step->event->guid == NULL) {
        zkl_request_fail(request, step, ZKL_SYSTEM);
    } else if (had_place) {
        zkl_request_tell(step, ZKL_ACTION_REJOIN, NULL, ZKL_OK);
    }
}

static void on_session_ended(zkl_request *request, const zkl_step *step) {
    bool had_place = request->own.state != ZKL_OWN_NODE_NONE;
    forget_session(request, step->event->guid);
    if (was_granted(request)) {
        end_grant(request, step, ZKL_STAGE_LEAVING, ZKL_SESSION_EXPIRED);
    } else if (request->stage < ZKL_STAGE_LEAVING) {
        join_in_next_session(request, step, had_place);
    }
}

/* Fails a request that does not hold. A holder that has lost its lock with its lease waits for
 * nothing: its node goes when it releases, or when the client closes. */
static void give_up_waiting(zkl_request *request, const zkl_step *step, int status) {
    bool is_released = request->stage != ZKL_STAGE_KEPT || status != ZKL_LEASE_IMPOSSIBLE;
    if (request->stage != ZKL_STAGE_HELD && is_released) {
        zkl_request_fail(request, step, status);
    }
}

static void on_timed_out(zkl_request *request, const zkl_step *step) {
    give_up_waiting(request, step, zkl_request_verdict_at_deadline(request));
}

static void on_cancelled(zkl_request *request, const zkl_step *step) {
    give_up_waiting(request, step, step->event->status);
}

static void on_released(zkl_request *request, const zkl_step *step) {
    zkl_request_end_downgrade(request, step, ZKL_NOT_HELD);
    request->own.hands_over = request->stage == ZKL_STAGE_HELD;
    request->stage = ZKL_STAGE_LEAVING;
}

/* ---- The machine ------------------------------------------------------- */

typedef void reaction(zkl_request *request, const zkl_step *step);

static reaction *const reactions[] = {
    [ZKL_EVENT_START] = on_start,
    [ZKL_EVENT_CREATED] = on_created,
    [ZKL_EVENT_LISTED] = zkl_request_on_listed,
    [ZKL_EVENT_PARENT_MADE] = zkl_request_on_parent_made,
    [ZKL_EVENT_WATCHED] = zkl_request_on_watched,
    [ZKL_EVENT_INSPECTED] = on_inspected,
    [ZKL_EVENT_DELETED] = on_deleted,
    [ZKL_EVENT_SETTLED] = on_settled,
    [ZKL_EVENT_OWN_WATCHED] = on_own_watched,
    [ZKL_EVENT_PARENT_REMOVED] = zkl_request_on_parent_removed,
    [ZKL_EVENT_PARENT_INSPECTED] = zkl_request_on_parent_inspected,
    [ZKL_EVENT_DOWNGRADED] = zkl_request_on_downgraded,
    [ZKL_EVENT_HANDED_OVER] = on_handed_over,
    [ZKL_EVENT_BACKED_OFF] = on_backed_off,
    [ZKL_EVENT_WATCH_FIRED] = zkl_request_on_watch_fired,
    [ZKL_EVENT_OWN_WATCH_FIRED] = on_own_watch_fired,
    [ZKL_EVENT_PROBE] = on_probe,
    [ZKL_EVENT_LEASE_BEGUN] = on_lease_begun,
    [ZKL_EVENT_LEASE_THIN] = on_lease_thin,
    [ZKL_EVENT_LEASE_ENDED] = on_lease_ended,
    [ZKL_EVENT_HOLD_LIMIT] = on_hold_limit,
    [ZKL_EVENT_CONNECTED] = on_session_connected,
    [ZKL_EVENT_DISCONNECTED] = on_session_disconnected,
    [ZKL_EVENT_UNPROTECTED] = on_unprotected,
    [ZKL_EVENT_SESSION_ENDED] = on_session_ended,
    [ZKL_EVENT_TIMED_OUT] = on_timed_out,
    [ZKL_EVENT_CANCELLED] = on_cancelled,
    [ZKL_EVENT_RELEASED] = on_released,
    [ZKL_EVENT_DOWNGRADE] = zkl_request_on_downgrade,
};

void zkl_request_begin(zkl_request *request, const zkl_request_options *options,
                       const zkl_request_session *session) {
    *request = (zkl_request){ .options = *options, .session = *session };
    mark_guid(request);
}

_Static_assert(ZKL_EVENT_WATCH_FIRED == ZKL_EVENT_BACKED_OFF + 1, "an operation after BACK_OFF");

/* Tells whether an event is an answer that nobody awaits, and notes that one was given: a node must
 * not become ours, or be deleted, by such an answer. Answers come in the order of their operations.
 */
static bool is_unasked_for(zkl_request *request, zkl_event_kind kind) {
    if (kind < ZKL_EVENT_CREATED || kind > ZKL_EVENT_BACKED_OFF) {
        return false;
    }
    zkl_action_kind operation = (zkl_action_kind)(kind - ZKL_EVENT_CREATED);
    bool awaited = zkl_request_awaits(request, operation);
    zkl_request_await_no_more(request, operation);
    return !awaited;
}

void zkl_request_step(zkl_request *request, const zkl_event *event, zkl_actions *actions) {
    const zkl_step step = { event, actions };
    actions->count = 0;
    actions->overflowed = false;
    if (request->stage == ZKL_STAGE_ENDED || is_unasked_for(request, event->kind)) {
        return;
    }
    reactions[event->kind](request, &step);
    advance(request, &step);
}
