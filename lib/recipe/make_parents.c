#include "recipe/request_common.h"

/* Goes on with the parent's own parent, which is missing; from the topmost back to the bottom,
 * after a pause. */
static void go_up(zkl_request *request) {
    bool is_topmost = request->parents.level + 1 >= request->options.depth;
    request->parents.level = is_topmost ? 0 : request->parents.level + 1;
    request->retry.pause = is_topmost;
}

static void go_down(zkl_request *request) {
    if (request->parents.level > 0) {
        request->parents.level--;
    } else {
        request->parents.missing = false;
        request->parents.made++;
    }
}

static void begin_anew(zkl_request *request, const zkl_step *step) {
    request->parents.level = 0;
    zkl_request_note_failure(request, step);
}

/* Takes the answer to MAKE_PARENT. Servers check the rights before they look for the node. So a
 * client without the right to make it looks whether it exists: another member's parent may be the
 * missing one, or somebody has just made it. */
void zkl_request_on_parent_made(zkl_request *request, const zkl_step *step) {
    const zkl_event *event = step->event;
    bool may_be_there = event->outcome == ZKL_OUTCOME_REFUSED &&
                        event->status == ZKL_NO_PERMISSION && request->stage < ZKL_STAGE_LEAVING &&
                        request->session.connected;
    if (event->outcome == ZKL_OUTCOME_OK) {
        go_down(request);
    } else if (event->outcome == ZKL_OUTCOME_NO_NODE) {
        go_up(request);
    } else if (may_be_there) {
        zkl_request_ask_of_parent(request, step, ZKL_ACTION_INSPECT_PARENT);
    } else {
        begin_anew(request, step);
    }
}

void zkl_request_on_parent_seen(zkl_request *request, const zkl_step *step) {
    zkl_outcome outcome = step->event->outcome;
    if (outcome == ZKL_OUTCOME_OK) {
        go_down(request);
    } else if (outcome != ZKL_OUTCOME_NO_NODE) {
        begin_anew(request, step);
    } else if (request->stage < ZKL_STAGE_LEAVING) {
        zkl_request_fail(request, step, ZKL_NO_PERMISSION);
    }
}
