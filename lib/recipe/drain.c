#include "recipe/request_common.h"

/* Deletes our own node first. Then inspects the resource's node, as each request that drains does,
 * to delete it if it is empty and may be deleted: see zkl_request_on_parent_inspected. Somebody
 * else may make it again at once; its sequence then begins with 0. */
void zkl_request_advance_drain(zkl_request *request, const zkl_step *step) {
    bool ours = request->own.state == ZKL_OWN_NODE_OURS;
    if (ours && request->lost.twins && request->session.settled) {
        zkl_request_ask(request, step, ZKL_ACTION_LIST, NULL);
    } else if (ours && request->lost.twins) {
        zkl_request_look_for_lost_node(request, step);
    } else if (ours) {
        zkl_request_ask(request, step, ZKL_ACTION_DELETE, request->own.node);
    } else {
        zkl_request_ask(request, step, ZKL_ACTION_INSPECT_PARENT, NULL);
    }
}

/* Joins the queue again. A member of a set makes no node on its own: all members begin again, as
 * after the loss of a place, unless they only try. */
static void end_drain(zkl_request *request, const zkl_step *step, bool parent_is_gone) {
    request->draining = false;
    request->parents.missing = parent_is_gone;
    request->wait.way_was_free = false;
    if (!request->options.is_member) {
        zkl_request_tell(step, ZKL_ACTION_REJOIN, NULL, ZKL_OK);
    } else {
        zkl_request_fail(request, step,
                         request->options.only_try ? ZKL_SEQUENCE_EXHAUSTED : ZKL_NODE_DELETED);
    }
}

/* Decides what an inspected resource's node means. If it is younger than the node that we had in
 * it, somebody else has made it again, and it may never be empty. If it holds data it is an
 * application's own node, which we must not delete. */
static void take_inspection(zkl_request *request, const zkl_step *step) {
    const zkl_event *event = step->event;
    if (event->outcome == ZKL_OUTCOME_NO_NODE) {
        end_drain(request, step, true);
    } else if (event->outcome != ZKL_OUTCOME_OK) {
        zkl_request_note_failure(request, step);
    } else if (event->zxid > request->own.zxid) {
        end_drain(request, step, false);
    } else if (event->holds_data) {
        zkl_request_fail(request, step, ZKL_SEQUENCE_EXHAUSTED);
    }
}

void zkl_request_on_parent_inspected(zkl_request *request, const zkl_step *step) {
    const zkl_event *event = step->event;
    if (!request->draining) {
        zkl_request_on_parent_seen(request, step);
        return;
    }
    bool may_go = event->outcome == ZKL_OUTCOME_OK && event->zxid <= request->own.zxid &&
                  !event->holds_data && request->session.connected;
    if (may_go) {
        zkl_request_ask(request, step, ZKL_ACTION_REMOVE_PARENT, NULL);
    } else if (request->stage < ZKL_STAGE_LEAVING) {
        take_inspection(request, step);
    }
    if (request->stage >= ZKL_STAGE_LEAVING) {
        request->draining = may_go;
    }
}

/* Ends the drain if the resource's node was deleted. While it has other children, old or new, each
 * request that drains pauses for a time of its own. */
static void take_removal(zkl_request *request, const zkl_step *step) {
    zkl_outcome outcome = step->event->outcome;
    if (outcome == ZKL_OUTCOME_OK || outcome == ZKL_OUTCOME_NO_NODE) {
        end_drain(request, step, true);
    } else if (outcome == ZKL_OUTCOME_NOT_EMPTY && request->options.only_try) {
        zkl_request_fail(request, step, ZKL_SEQUENCE_EXHAUSTED);
    } else if (outcome == ZKL_OUTCOME_NOT_EMPTY) {
        request->retry.pause = true;
    } else {
        zkl_request_note_failure(request, step);
    }
}

void zkl_request_on_parent_removed(zkl_request *request, const zkl_step *step) {
    if (request->stage < ZKL_STAGE_LEAVING) {
        take_removal(request, step);
    } else if (step->event->outcome == ZKL_OUTCOME_SESSION_OVER) {
        zkl_request_note_failure(request, step);
    }
    if (request->stage >= ZKL_STAGE_LEAVING) {
        request->draining = false; /* once is enough */
    }
}
