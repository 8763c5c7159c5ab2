#include "session/request_answers.h"

#include <string.h>

#include "recipe/request_common.h"

/* Counts on from the action: the recipe's lists of actions and of events begin with operations and
 * with their answers. */
zkl_event_kind zkl_request_answer_of(int action) {
    return (zkl_event_kind)(action + ZKL_EVENT_CREATED);
}

/* ---- Replies and lists ------------------------------------------------- */

/* Notes the request's position for messages only: the recipe itself needs none. */
static void note_position(zkl_request_runner *runner, const zkl_list_answer *answer) {
    if (answer->outcome != ZKL_OUTCOME_OK || runner->request.own.state != ZKL_OWN_NODE_OURS) {
        return;
    }
    zkl_contenders_place place = zkl_request_place(&runner->request);
    zkl_contenders_view view = zkl_contenders_examine(answer->children, &place);
    if (runner->sender.position < 0) {
        runner->sender.listed_ms = zkl_session_now_ms(runner->sender.session);
    }
    runner->sender.position = view.listed ? (int)view.earlier : -1;
}

/* Tells whether a list must go behind a committed write, as the session may be over: a process that
 * was stopped may ask with such a one, and a server that lags would still show its node. (A list
 * that goes with a create comes after a write as it is.) */
static bool must_settle(const void *arg) {
    const zkl_request_runner *runner = arg;
    return runner->request.own.state == ZKL_OWN_NODE_OURS &&
           !zkl_liveness_is_fresh(&runner->sender.session->liveness);
}

/* Feeds a list. Many requests may get one list, which takes time: the lease may end meanwhile. */
static void on_request_listed(void *arg, const zkl_list_answer *answer) {
    zkl_request_runner *runner = arg;
    zkl_liveness_check_lease(&runner->sender.session->liveness);
    zkl_event event = {
        .kind = ZKL_EVENT_LISTED,
        .outcome = answer->outcome,
        .status = answer->status,
        .fresh = zkl_liveness_is_fresh(&runner->sender.session->liveness),
        .children = answer->children,
    };
    note_position(runner, answer);
    zkl_request_runner_feed(runner, &event);
}

static void on_request_reply(void *arg, const zkl_reply *reply) {
    zkl_request_runner *runner = arg;
    zkl_event event = zkl_request_read_reply(&runner->sender, reply);
    event.kind = zkl_request_answer_of(reply->tag);
    zkl_request_runner_feed(runner, &event);
}

static void on_watch_armed(void *arg, zkl_outcome outcome, int status) {
    zkl_request_runner *runner = arg;
    zkl_event event = {
        .kind = ZKL_EVENT_WATCHED,
        .outcome = outcome,
        .status = status,
        .fresh = zkl_liveness_is_fresh(&runner->sender.session->liveness),
    };
    zkl_request_runner_feed(runner, &event);
}

static void on_watch_fired(void *arg, zkl_watch_event event) {
    zkl_request_runner *runner = arg;
    zkl_event fired = {
        .kind = ZKL_EVENT_WATCH_FIRED,
        .deleted = event == ZKL_WATCH_EVENT_DELETED,
        .data_set = event == ZKL_WATCH_EVENT_CHANGED,
        .fresh = zkl_liveness_is_fresh(&runner->sender.session->liveness),
        .own_session = runner->blocker_is_ours,
    };
    zkl_request_runner_feed(runner, &fired);
}

/* Finds the upgrade of what is held, which has a node of its own that is to take its place. */
static const char *find_upgrade(const void *arg) {
    const zkl_request_runner *runner = arg;
    for (const zkl_request_runner *one = runner->sender.session->runners; one != NULL;
         one = one->next) {
        const char *companion = one->request.options.companion;
        if (companion != NULL && strcmp(companion, runner->request.own.node) == 0) {
            return one->request.session.guid;
        }
    }
    return "";
}

/* Returns the czxid of the node: the half that is known of it, and the other half of ours. */
static int64_t czxid_of(const zkl_request_runner *runner, zkl_watched_node node) {
    const int64_t high = ~(int64_t)UINT32_MAX;
    return node.zxid_low != 0 ? (runner->request.own.zxid & high) | node.zxid_low : 0;
}

static void on_own_watch_armed(void *arg, zkl_outcome outcome, int status) {
    zkl_request_runner *runner = arg;
    zkl_watched_node node = zkl_watch_table_node(&runner->holder_watch.own);
    zkl_holder_watch_own_armed(&runner->holder_watch);
    zkl_event event = {
        .kind = ZKL_EVENT_OWN_WATCHED,
        .outcome = outcome,
        .status = status,
        .zxid = czxid_of(runner, node),
        .own_session = node.own_session,
        .fresh = zkl_liveness_is_fresh(&runner->sender.session->liveness),
    };
    zkl_request_runner_feed(runner, &event);
}

static void on_own_watch_fired(void *arg, zkl_watch_event event) {
    (void)event;
    zkl_request_runner_feed(arg, &(zkl_event){ .kind = ZKL_EVENT_OWN_WATCH_FIRED });
}

const zkl_request_listener zkl_request_reply_listener = { .replied = on_request_reply,
                                                          .find_upgrade = find_upgrade };
const zkl_list_listener zkl_request_list_listener = { .listed = on_request_listed,
                                                      .must_settle = must_settle };
const zkl_watch_listener zkl_request_watch_listener = { .armed = on_watch_armed,
                                                        .fired = on_watch_fired };
const zkl_watch_listener zkl_request_own_watch_listener = { .armed = on_own_watch_armed,
                                                            .fired = on_own_watch_fired };
