#include "recipe/request_common.h"

void zkl_request_end_downgrade(zkl_request *request, const zkl_step *step, int status) {
    if (request->downgrade.wanted) {
        request->downgrade.wanted = false;
        zkl_request_tell(step, ZKL_ACTION_DOWNGRADE_ENDED, NULL, status);
    }
}

void zkl_request_on_downgrade(zkl_request *request, const zkl_step *step) {
    (void)step;
    request->downgrade.wanted =
        request->stage == ZKL_STAGE_HELD && request->options.mode == ZKL_WRITE;
}

static void put_reader_in_place(zkl_request *request, const zkl_step *step) {
    request->session.settled = false;
    zkl_node_name_downgrade(request->lost.node, request->own.node);
    zkl_request_ask(request, step, ZKL_ACTION_DOWNGRADE, request->lost.node);
}

/* Watches our node before it sends the transaction, which knows our node only by its name. While
 * the watch stands, the node of that name is ours, or the news of its deletion is on its way. */
void zkl_request_begin_downgrade(zkl_request *request, const zkl_step *step) {
    if (request->own.watched) {
        put_reader_in_place(request, step);
    } else {
        zkl_request_watch_own(request, step);
    }
}

/* Goes on without a watch if we may not read the node at all. Without a connection it begins again
 * with the next: a server that has denied our session may go on answering. */
void zkl_request_on_not_watched_for_downgrade(zkl_request *request, const zkl_step *step) {
    if (step->event->outcome != ZKL_OUTCOME_REFUSED) {
        zkl_request_note_failure(request, step);
    } else if (request->session.connected) {
        put_reader_in_place(request, step);
    }
}

/* Looks for the reader's node, which shows whether the downgrade was applied, once a committed
 * write of this connection has come after it. Until then our node has either name. */
void zkl_request_resolve_downgrade(zkl_request *request, const zkl_step *step) {
    if (request->session.settled) {
        zkl_request_ask(request, step, ZKL_ACTION_INSPECT, request->lost.node);
    } else {
        zkl_request_ask(request, step, ZKL_ACTION_SETTLE, NULL);
    }
}

/* Notes whether the reply is missing. Until it is known, lost.node names the reader's node. */
static void note_doubt(zkl_request *request, bool is_unsure) {
    request->downgrade.unsure = is_unsure;
    request->lost.late |= is_unsure;
    if (!is_unsure) {
        request->lost.node[0] = '\0';
    }
}

/* Notes that our node is now the reader's. The place in the queue and its zxid stay the writer's.
 */
static void take_readers_place(zkl_request *request, const zkl_step *step) {
    /* the watch of the writer's node, which is gone */
    zkl_request_unwatch(&request->own.watched, step, ZKL_ACTION_UNWATCH_OWN);
    zkl_node_name_copy(request->own.node, request->lost.node);
    request->own.downgraded = true;
    request->options.mode = ZKL_READ;
    zkl_request_end_downgrade(request, step, ZKL_OK);
}

void zkl_request_on_downgraded(zkl_request *request, const zkl_step *step) {
    const zkl_event *event = step->event;
    if (event->outcome == ZKL_OUTCOME_OK) {
        take_readers_place(request, step);
    } else if (event->outcome == ZKL_OUTCOME_REFUSED) {
        zkl_request_end_downgrade(request, step, event->status);
    } else if (event->outcome == ZKL_OUTCOME_NO_NODE) {
        request->retry.pause = true; /* until the news of its deletion arrives */
    } else {
        zkl_request_note_failure(request, step);
    }
    note_doubt(request, event->outcome == ZKL_OUTCOME_UNKNOWN);
    zkl_request_watch_held(request, step); /* the answer shows whether our node still exists */
}

void zkl_request_on_downgrade_inspected(zkl_request *request, const zkl_step *step) {
    zkl_outcome outcome = step->event->outcome;
    bool is_known = outcome == ZKL_OUTCOME_OK || outcome == ZKL_OUTCOME_NO_NODE;
    if (outcome == ZKL_OUTCOME_OK && step->event->own_session) {
        take_readers_place(request, step);
    } else if (!is_known) {
        zkl_request_note_failure(request, step);
    }
    note_doubt(request, !is_known);
    zkl_request_watch_held(request, step);
}
