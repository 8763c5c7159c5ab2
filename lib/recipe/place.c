#include "recipe/request.h"
#include "recipe/request_common.h"

zkl_contenders_place zkl_request_place(const zkl_request *request) {
    const zkl_request_options *options = &request->options;
    zkl_contenders_place place = { .companion =
                                       options->companion != NULL ? options->companion : "" };
    if (request->own.state == ZKL_OWN_NODE_OURS) {
        place.own = zkl_neighbour_read(request->own.node);
    } else {
        place.own.name = zkl_node_name_of(options->mode, options->permits, options->naming);
    }
    return place;
}

void zkl_request_name_node(const zkl_request *request, char prefix[ZKL_NODE_NAME_SIZE]) {
    zkl_node_name_prefix(prefix, request->session.guid, zkl_request_place(request).own.name);
}

int zkl_request_verdict_at_deadline(const zkl_request *request) {
    if (!request->session.connected) {
        return ZKL_DISCONNECTED;
    }
    return request->draining ? ZKL_SEQUENCE_EXHAUSTED : ZKL_TIMEOUT;
}

bool zkl_request_must_look_first(const zkl_request *request) {
    return (request->options.only_try || request->options.max_waiting > 0) &&
           !request->wait.way_was_free;
}

void zkl_request_lose_place(zkl_request *request, const zkl_step *step) {
    zkl_request_unwatch(&request->wait.watching, step, ZKL_ACTION_UNWATCH);
    zkl_request_unwatch(&request->own.watched, step, ZKL_ACTION_UNWATCH_OWN);
    zkl_request_forget_node(request);
    request->stage = ZKL_STAGE_JOINING;
    request->wait.way_was_free = false;
    if (request->options.is_member) {
        zkl_request_fail(request, step, ZKL_NODE_DELETED);
        return;
    }
    request->retry.pause = request->retry.rejoins > 0;
    request->retry.rejoins++;
    zkl_request_tell(step, ZKL_ACTION_REJOIN, NULL, ZKL_OK);
}

/* Looks for a node of ours that a lost create left behind. A list proves that there is none only
 * after a committed write of its connection: our node was created, or SETTLE has gone through. */
static bool find_twin(zkl_request *request, zkl_listed children) {
    if (!request->lost.twins) {
        return false;
    }
    if (request->lost.unconfirmed) {
        return true;
    }
    const char *twin = zkl_contenders_find_guid(
        children, request->session.guid, zkl_request_place(request).own.text, request->lost.node);
    if (twin != NULL) {
        zkl_request_find_lost(request, twin);
        return true;
    }
    if (request->session.settled) {
        request->lost = (zkl_request_lost){ .late = request->lost.late };
        if (request->own.state == ZKL_OWN_NODE_UNSURE) {
            zkl_request_forget_node(request);
        }
    }
    return false;
}

/* Returns why we may not join this queue, or stay in it; ZKL_OK: we may. */
static int find_refusal(const zkl_request *request, zkl_listed children,
                        const zkl_contenders_place *place, const zkl_contenders_view *view) {
    if (view->unlike != NULL) {
        return ZKL_USED_DIFFERENTLY;
    }
    if (!view->accompanied) {
        return ZKL_NODE_DELETED; /* others may have come and gone since the companion was deleted */
    }
    bool is_full = view->blocker != NULL && request->options.max_waiting > 0 &&
                   zkl_contenders_count_waiting(children, place) >= request->options.max_waiting;
    return is_full ? ZKL_QUEUE_FULL : ZKL_OK;
}

/* Tells whether the deletion of the blocker can be a hand-off to us, without another list: nobody
 * else is before us, and the blocker's owner cannot have put anybody there meanwhile. (The owner of
 * a Curator writer can: a reader with the writer's own sequence.) Then our own node is watched too:
 * see zkl_request_take_over. */
static bool is_next_in_line(const zkl_contenders_view *view) {
    zkl_node_kind kind = zkl_node_name_parse(view->blocker).kind;
    return view->earlier == 1 && (kind == ZKL_NODE_EXCLUSIVE || kind == ZKL_NODE_READ);
}

/* Tells whether a change of this node's data means that its holder releases: only its owner can set
 * the data of a protected node, and does so only when it releases an exclusive lock. (A client
 * whose own node is not protected does not rely on that.) Not among those with the names of
 * Curator's LeaderLatch: that one takes no notice of a change, and its watch is spent then. */
static bool tells_release(const char *node) {
    zkl_node_name name = zkl_node_name_parse(node);
    return zkl_node_name_is_protected(node) && name.naming != ZKL_NAMING_LEADER_LATCH &&
           (name.kind == ZKL_NODE_EXCLUSIVE || name.kind == ZKL_NODE_WRITE);
}

bool zkl_request_may_hand_over(const zkl_request *request) {
    return request->own.hands_over && request->options.companion == NULL &&
           tells_release(request->own.node);
}

/* Watches the blocker, and from the same moment on our own node: somebody may delete ours by hand,
 * and then no release is a hand-off to us. */
static void wait_behind(zkl_request *request, const zkl_contenders_view *view,
                        const zkl_step *step) {
    request->wait.is_free = false;
    request->wait.next_in_line = is_next_in_line(view);
    request->wait.hears_release =
        zkl_node_name_is_protected(request->own.node) && tells_release(view->blocker);
    zkl_request_ask(request, step, ZKL_ACTION_WATCH, view->blocker);
    if (request->wait.next_in_line || request->wait.hears_release) {
        zkl_request_watch_own(request, step);
    }
}

static void judge_queue(zkl_request *request, const zkl_contenders_view *view, int refusal,
                        const zkl_step *step) {
    if (view->unknown != NULL && !request->reported.unknown) {
        request->reported.unknown = true;
        zkl_request_tell(step, ZKL_ACTION_REPORT, view->unknown, ZKL_OK);
    }
    if (!view->listed) {
        zkl_request_lose_place(
            request, step); /* the servers made this list after our create, so our node is gone */
    } else if (refusal != ZKL_OK) {
        zkl_request_fail(request, step, refusal);
    } else if (view->blocker == NULL) {
        zkl_request_come_first(request, step);
    } else if (request->options.only_try) {
        zkl_request_fail_once_gone(request, ZKL_BUSY);
    } else {
        wait_behind(request, view, step);
    }
}

/* Decides whether to join, before anything was written. A lent node may be idle: its client learns
 * of a try only by the try's own node, and then gives the lent one up for the next try. */
static void judge_first_list(zkl_request *request, const zkl_contenders_view *view, int refusal,
                             const zkl_step *step) {
    if (refusal != ZKL_OK) {
        zkl_request_fail(request, step, refusal);
    } else if (request->options.only_try && view->unlent != NULL && view->blocker != NULL) {
        zkl_request_fail(request, step, ZKL_BUSY);
    } else {
        request->wait.way_was_free = true;
    }
}

/* Decides by a list. The process may have been stopped between the question and the answer, and our
 * session may have ended since: so only a fresh list can be a grant. To wait, an old list is good
 * enough. Without a connection a list decides nothing: a server that has denied our session may go
 * on answering. */
static void on_children(zkl_request *request, zkl_listed children, const zkl_step *step) {
    if (!request->session.connected) {
        return;
    }
    bool searching = find_twin(request, children);
    if (request->stage >= ZKL_STAGE_LEAVING || searching || request->draining) {
        return;
    }
    zkl_contenders_place place = zkl_request_place(request);
    zkl_contenders_view view = zkl_contenders_examine(children, &place);
    int refusal = find_refusal(request, children, &place, &view);
    bool ours = request->own.state == ZKL_OWN_NODE_OURS;
    if (ours && view.blocker == NULL && !step->event->fresh) {
        zkl_request_ask(request, step, ZKL_ACTION_LIST, NULL);
    } else if (ours) {
        judge_queue(request, &view, refusal, step);
    } else if (request->own.state == ZKL_OWN_NODE_NONE && zkl_request_must_look_first(request)) {
        judge_first_list(request, &view, refusal, step);
    }
}

void zkl_request_on_listed(zkl_request *request, const zkl_step *step) {
    if (step->event->outcome == ZKL_OUTCOME_OK) {
        on_children(request, step->event->children, step);
    } else if (step->event->outcome == ZKL_OUTCOME_NO_NODE) {
        on_children(request, (zkl_listed){ .count = 0 },
                    step); /* no resource, and so no children */
    } else {
        zkl_request_note_failure(request, step);
    }
}

void zkl_request_on_watched(zkl_request *request, const zkl_step *step) {
    if (step->event->outcome == ZKL_OUTCOME_OK) {
        request->wait.watching = true;
        if (request->own.state != ZKL_OWN_NODE_OURS) { /* we have lost our place meanwhile */
            zkl_request_unwatch(&request->wait.watching, step, ZKL_ACTION_UNWATCH);
        }
    } else if (step->event->outcome == ZKL_OUTCOME_NO_NODE) {
        request->wait.is_free = request->wait.next_in_line;
        zkl_request_take_over(request, step);
    } else {
        zkl_request_note_failure(request, step);
    }
}

/* Decides whether what happened to the blocker leaves nobody before us:
 *
 * - The holder has released the blocker, and has said so. It held, so nobody was left before it.
 * - The blocker was deleted, we were next in line, and it is another session's: when ours ends, one
 *   transaction deletes both nodes, and the news of the two come in any order. */
void zkl_request_on_watch_fired(zkl_request *request, const zkl_step *step) {
    const zkl_event *event = step->event;
    bool is_free = event->deleted ? request->wait.next_in_line && !event->own_session
                                  : event->data_set && request->wait.hears_release;
    request->wait.is_free = request->wait.watching && is_free;
    request->wait.watching = false;
    zkl_request_take_over(request, step);
}

/* Takes over, without another list, only if our own node lives: its watch was armed after the list,
 * and has not fired (on one connection events and answers arrive in the order of what happened).
 * Nor may this be old news, read by a process that was stopped for longer than its session lasts.
 * Otherwise a list decides, once nothing else is awaited. */
void zkl_request_take_over(zkl_request *request, const zkl_step *step) {
    bool is_ours_to_take = step->event->fresh && request->own.watched &&
                           request->session.connected && request->stage == ZKL_STAGE_JOINING &&
                           request->outstanding == 0;
    if (request->wait.is_free && is_ours_to_take) {
        zkl_request_come_first(request, step);
    }
}
