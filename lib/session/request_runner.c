#include "session/request_runner.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "recipe/request.h"
#include "recipe/request_common.h"
#include "session/request_answers.h"
#include "telemetry/record_file.h"

/* Pauses double from the first to the longest, each shortened at random by up
 * to half, so that clients that failed together do not come back together. */
enum { BACK_OFF_FIRST_MS = 50, BACK_OFF_LONGEST_MS = 5000, BACK_OFF_DOUBLINGS = 7 };

/* The leader gives a server up that has been silent for syncLimit ticks. A session timeout is two
 * ticks or more. */
enum { LINGER_TIMEOUTS = 5 };

enum { QUEUED_EVENTS_MAX = 8 };

void zkl_request_runner_node_path(const zkl_request_runner *runner, char path[ZKL_NODE_PATH_SIZE]) {
    path[0] = '\0';
    if (runner->request.own.node[0] != '\0') {
        zkl_request_node_path(&runner->sender, runner->request.own.node, path);
    }
}

/* ---- Events in --------------------------------------------------------- */

/* An event that arises while a step is under way waits for its end. It carries
 * no strings, as nothing would keep them. */
struct event_queue {
    size_t count, taken;
    zkl_event list[QUEUED_EVENTS_MAX]; /* around */
};

static void queue_event(zkl_request_runner *runner, const zkl_event *event) {
    struct event_queue *queued = runner->queued;
    zkl_assert(runner->sender.session->recorder, queued->count - queued->taken < QUEUED_EVENTS_MAX);
    queued->list[queued->count++ % QUEUED_EVENTS_MAX] = *event;
}

/* ---- Time -------------------------------------------------------------- */

static const int64_t NEVER = INT64_MAX;

static void set_runner_timer(zkl_request_runner *runner) {
    int64_t next =
        runner->limit_ms < runner->pause_ends_ms ? runner->limit_ms : runner->pause_ends_ms;
    if (next == NEVER) {
        zkl_timer_stop(&runner->timer);
    } else {
        zkl_timers_set(runner->sender.session->timers, &runner->timer, next);
    }
}

static void set_limit(zkl_request_runner *runner, int64_t limit_ms) {
    runner->limit_ms = limit_ms;
    set_runner_timer(runner);
}

static void on_limit(zkl_request_runner *runner) {
    set_limit(runner, NEVER);
    zkl_request_runner_feed(runner, &(zkl_event){ .kind = ZKL_EVENT_HOLD_LIMIT });
}

/* Feeds what is due, one of the two at a time, as the runner may be gone then. */
static void on_timer(void *arg) {
    zkl_request_runner *runner = arg;
    if (runner->limit_ms <= runner->timer.deadline_ms) {
        on_limit(runner);
        return;
    }
    runner->pause_ends_ms = NEVER;
    set_runner_timer(runner);
    zkl_request_runner_feed(runner, &(zkl_event){ .kind = ZKL_EVENT_BACKED_OFF });
}

/* ---- Actions out ------------------------------------------------------- */

/* Lets only lists serve the request that are sent from now on: these show what is asked for now, or
 * was before. */
static void want_new_list(zkl_request_runner *runner) {
    runner->list.after = zkl_listings_mark(&runner->sender.session->listings);
}

/* Tells whether another request of this session made the node. When the session ends one
 * transaction deletes it together with our own, and the news of the two come in any order: then its
 * deletion is no hand-off. The GUID is known before the node is. */
static bool is_ours(const zkl_request_runner *runner, const char *node) {
    for (const zkl_request_runner *one = runner->sender.session->runners; one != NULL;
         one = one->next) {
        if (zkl_node_name_has_guid(node, one->request.session.guid)) {
            return true;
        }
    }
    return false;
}

/* Watches what the request waits for. While n or more are in its way that is the n nearest: when
 * fewer are left at least one of these has gone. */
static void wait_behind(zkl_request_runner *runner, const char *node, zkl_listed children) {
    zkl_contenders_place place = zkl_request_place(&runner->request);
    zkl_telemetry_queued(zkl_request_facts_of(&runner->sender), node);
    runner->blocker_is_ours = runner->request.wait.next_in_line && is_ours(runner, node);
    zkl_neighbour one = { .text = NULL };
    bool are_several = zkl_contenders_room(runner->request.options.permits) > 1;
    zkl_neighbour *nearest = are_several ? runner->nearest : &one;
    size_t count = zkl_contenders_find_nearest(children, &place, nearest);
    zkl_watch_set_watch(&runner->watches, nearest, count);
}

/* Returns when the pause before a retry ends. */
static int64_t retry_at_ms(zkl_request_runner *runner) {
    int64_t longest = runner->back_offs < BACK_OFF_DOUBLINGS
                          ? (int64_t)BACK_OFF_FIRST_MS << runner->back_offs
                          : BACK_OFF_LONGEST_MS;
    if (runner->back_offs < BACK_OFF_DOUBLINGS) {
        runner->back_offs++;
    }
    ZKL_COUNT(runner->sender.options.origin->metrics, retries);
    int64_t now_ms = zkl_session_now_ms(runner->sender.session);
    int64_t until_ms = now_ms + zkl_session_shorten(runner->sender.session, longest);
    return zkl_create_group_pause(runner->sender.options.group, now_ms, until_ms);
}

static void back_off(zkl_request_runner *runner) {
    const zkl_session *session = runner->sender.session;
    int64_t linger_ms = (int64_t)LINGER_TIMEOUTS * session->timeout_ms;
    runner->pause_ends_ms = runner->request.lost.lingers ? zkl_session_deadline(session, linger_ms)
                                                         : retry_at_ms(runner);
    set_runner_timer(runner);
}

/* ---- Verdicts and the end ---------------------------------------------- */

/* Tells whether the owner hears of waiters behind the request. A loan always does. */
static bool tells_contended(const zkl_request_origin *origin, const zkl_request_options *request) {
    return origin->options->tell_contended != 0 || request->lent;
}

static void take_room(zkl_request_runner *runner, unsigned permits) {
    const zkl_run_options *options = &runner->sender.options;
    bool tells = tells_contended(options->origin, &runner->request.options);
    runner->sender.session->watched_bytes -= runner->watched_bytes;
    runner->watched_bytes =
        (unsigned)zkl_request_runner_watched_bytes(options->parent_path, permits, tells);
    runner->sender.session->watched_bytes += runner->watched_bytes;
}

void zkl_request_runner_hold_from_now(zkl_request_runner *runner, int64_t max_hold_ms) {
    if (runner->others_are_awaited) {
        runner->others_are_awaited = false;
        runner->sender.granted_ms = zkl_session_now_ms(runner->sender.session);
    }
    set_limit(runner, zkl_session_deadline(runner->sender.session, max_hold_ms));
}

void zkl_request_runner_check_hold(zkl_request_runner *runner) {
    if (runner->limit_ms <= zkl_session_now_ms(runner->sender.session)) {
        on_limit(runner);
    }
}

/* Tells whether the node is lent: then what counts, and is logged, is what becomes of the handles
 * that it is lent to. */
static bool is_lent(const zkl_request_runner *runner) {
    return runner->request.options.lent;
}

static void tell_decided(zkl_request_runner *runner, int status) {
    if (status == ZKL_OK) {
        runner->back_offs = 0;
        /* The holder of a permit watches as few nodes as any other holder. */
        take_room(runner, 0);
        runner->sender.granted_ms = zkl_session_now_ms(runner->sender.session);
        zkl_holder_watch_look_behind(&runner->holder_watch);
    }
    if (!is_lent(runner)) {
        zkl_explanation why = zkl_explain_verdict(&runner->sender, status);
        zkl_telemetry_decided(zkl_request_facts_of(&runner->sender), status, why.text);
    }
    zkl_request_tell_owner(&runner->sender, ZKL_REQUEST_DECIDED, status);
    zkl_watch_set_remove_left(&runner->watches);
}

static void tell_lost(zkl_request_runner *runner, int status) {
    zkl_holder_watch_look_no_more(&runner->holder_watch);
    if (runner->request.stage != ZKL_STAGE_KEPT) {
        set_limit(runner, NEVER);
    }
    if (!is_lent(runner)) {
        zkl_telemetry_lost(zkl_request_facts_of(&runner->sender), status);
    }
    zkl_request_tell_owner(&runner->sender, ZKL_REQUEST_LOST, status);
}

static void tell_downgraded(zkl_request_runner *runner, int status) {
    if (status == ZKL_OK) {
        zkl_holder_watch_forget_data(&runner->holder_watch);
    }
    zkl_request_tell_owner(&runner->sender, ZKL_REQUEST_DOWNGRADED, status);
}

/* Reports news of the session to the owner. What could not be found out is tried again on each new
 * connection, and now and then. */
static void take_session_news(zkl_request_runner *runner, zkl_event_kind kind) {
    bool is_connected = kind == ZKL_EVENT_CONNECTED;
    bool is_news = is_connected || kind == ZKL_EVENT_DISCONNECTED;
    if (is_news && runner->request.stage == ZKL_STAGE_HELD) {
        zkl_request_tell_owner(&runner->sender,
                               is_connected ? ZKL_REQUEST_CONNECTED : ZKL_REQUEST_DISCONNECTED,
                               ZKL_OK);
    }
    if (kind == ZKL_EVENT_PROBE || is_connected) {
        zkl_holder_watch_review(&runner->holder_watch);
    }
}

/* Tells its owner that it has ended, which it does once. It needs no watches any more. */
static void leave_owner(zkl_request_runner *runner) {
    if (runner->has_left) {
        return;
    }
    runner->has_left = true;
    zkl_watch_set_remove_all(&runner->watches);
    zkl_holder_watch_remove_own(&runner->holder_watch);
    zkl_holder_watch_look_no_more(&runner->holder_watch);
    runner->sender.session->watched_bytes -= runner->watched_bytes;
    runner->sender.options.origin->leaving--; /* it was leaving by now */
    zkl_request_tell_owner(&runner->sender, ZKL_REQUEST_ENDED, ZKL_OK);
    zkl_request_runner_disown(runner);
}

static void end_runner(zkl_request_runner *runner) {
    zkl_session *session = runner->sender.session;
    zkl_assert(session->recorder, session->runners != NULL);
    zkl_timer_stop(&runner->timer);
    DL_DELETE(session->runners, runner);
    zkl_create_group_leave(&runner->sender);
    leave_owner(runner);
    zkl_request_origin_drop(runner->sender.options.origin);
    free(runner);
}

static void rejoin(zkl_request_runner *runner) {
    runner->sender.position = -1;
    zkl_holder_watch_forget_data(&runner->holder_watch);
    zkl_watch_set_remove_left(&runner->watches);
    zkl_telemetry_rejoined(zkl_request_facts_of(&runner->sender));
}

static zkl_outcome send_action(zkl_request_runner *runner, const zkl_action *action) {
    zkl_request_sender *sender = &runner->sender;
    if (action->kind == ZKL_ACTION_CREATE || action->kind == ZKL_ACTION_SETTLE) {
        want_new_list(runner);
    }
    if (action->kind == ZKL_ACTION_LIST) {
        return zkl_listings_ask(&sender->session->listings, sender->options.parent_path,
                                &runner->list);
    }
    bool is_shared = action->kind == ZKL_ACTION_CREATE && sender->options.group != NULL;
    return is_shared ? zkl_create_group_ask(sender) : zkl_request_send(sender, action);
}

/* Asks the servers. What cannot be sent is answered at the end of this step. */
static void ask_servers(zkl_request_runner *runner, const zkl_action *action) {
    zkl_outcome outcome = send_action(runner, action);
    if (outcome != ZKL_OUTCOME_OK) {
        queue_event(runner, &(zkl_event){ .kind = zkl_request_answer_of((int)action->kind),
                                          .outcome = outcome,
                                          .status = ZKL_SERVER_REFUSED });
    }
}

static void perform_action(zkl_request_runner *runner, const zkl_action *action,
                           const zkl_event *event) {
    switch (action->kind) {
    case ZKL_ACTION_WATCH:
        wait_behind(runner, action->node, event->children);
        break;
    case ZKL_ACTION_UNWATCH:
        zkl_watch_set_remove_all(&runner->watches);
        break;
    case ZKL_ACTION_WATCH_OWN:
        zkl_holder_watch_add_own(&runner->holder_watch, action->node);
        break;
    case ZKL_ACTION_UNWATCH_OWN:
        zkl_holder_watch_remove_own(&runner->holder_watch);
        break;
    case ZKL_ACTION_BACK_OFF:
        back_off(runner);
        break;
    case ZKL_ACTION_DOWNGRADE_ENDED:
        tell_downgraded(runner, action->status);
        break;
    case ZKL_ACTION_GRANT:
        if (event->kind != ZKL_EVENT_LISTED) {
            ZKL_COUNT(runner->sender.options.origin->metrics, hand_offs);
        }
        /* fall through */
    case ZKL_ACTION_FAIL:
        tell_decided(runner, action->status);
        break;
    case ZKL_ACTION_LOSE:
        tell_lost(runner, action->status);
        break;
    case ZKL_ACTION_REJOIN:
        rejoin(runner);
        break;
    case ZKL_ACTION_REPORT:
        zkl_telemetry_unknown_child(zkl_request_facts_of(&runner->sender), action->node);
        break;
    case ZKL_ACTION_WARN:
        zkl_telemetry_not_deleted(zkl_request_facts_of(&runner->sender), action->status);
        break;
    case ZKL_ACTION_END:
        break; /* step looks for it */
    default:
        ask_servers(runner, action);
        break;
    }
}

static void step(zkl_request_runner *runner, const zkl_event *event) {
    zkl_recorder *recorder = runner->sender.session->recorder;
    zkl_assert(recorder, runner->request.stage != ZKL_STAGE_ENDED);
    zkl_actions actions;
    if (event->outcome == ZKL_OUTCOME_REFUSED) {
        runner->sender.refused = event->kind;
    }
    if (recorder != NULL) {
        const zkl_recorded_request recorded = { .session = runner->sender.session->recorded_number,
                                                .path = runner->sender.options.parent_path,
                                                .mark = &runner->recorded };
        zkl_recorder_begin_step(recorder, &recorded, zkl_session_now_ms(runner->sender.session),
                                &runner->request, event);
    }
    bool stays = runner->request.stage < ZKL_STAGE_LEAVING;
    zkl_request_step(&runner->request, event, &actions);
    if (recorder != NULL) {
        zkl_recorder_end_step(recorder, &runner->recorded, &actions);
    }
    if (stays && runner->request.stage >= ZKL_STAGE_LEAVING) {
        runner->sender.options.origin->leaving++;
    }
    zkl_assert(recorder, !actions.overflowed); /* those that had room are in the record */
    for (size_t i = 0; i < actions.count; i++) {
        bool last = i + 1 == actions.count;
        zkl_assert(recorder, last || actions.list[i].kind != ZKL_ACTION_END);
        perform_action(runner, &actions.list[i], event);
    }
}

/* Takes the step, and those that it leads to. What the group does comes last: the runner may be
 * gone then. */
void zkl_request_runner_feed(zkl_request_runner *runner, const zkl_event *event) {
    if (runner->queued != NULL) {
        queue_event(runner, event);
        return;
    }
    if (event->kind == ZKL_EVENT_RELEASED && runner->request.stage == ZKL_STAGE_HELD) {
        if (!is_lent(runner)) {
            zkl_telemetry_released(zkl_request_facts_of(&runner->sender));
        }
        /* Before the node's deletion would fire its watch. */
        zkl_holder_watch_look_no_more(&runner->holder_watch);
    }
    struct event_queue queued;
    queued.count = queued.taken = 0;
    runner->queued = &queued;
    step(runner, event);
    take_session_news(runner, event->kind);
    while (runner->request.stage != ZKL_STAGE_ENDED && queued.taken < queued.count) {
        zkl_event next = queued.list[queued.taken++ % QUEUED_EVENTS_MAX];
        step(runner, &next);
    }
    runner->queued = NULL;
    if (runner->request.stage == ZKL_STAGE_ENDED) {
        end_runner(runner);
        return;
    }
    if (runner->request.lost.lingers) {
        leave_owner(runner);
    }
    zkl_create_group_review(&runner->sender, event->kind);
}

void zkl_request_runner_leave(zkl_request_runner *runner, int status) {
    bool holds = runner->request.stage == ZKL_STAGE_HELD;
    zkl_request_runner_feed(runner,
                            &(zkl_event){ .kind = holds ? ZKL_EVENT_RELEASED : ZKL_EVENT_CANCELLED,
                                          .status = holds ? ZKL_OK : status });
}

void zkl_request_runner_time_out(zkl_request_runner *runner) {
    zkl_request_runner_feed(runner, &(zkl_event){ .kind = ZKL_EVENT_TIMED_OUT });
}

void zkl_request_runner_disown(zkl_request_runner *runner) {
    runner->sender.options.owner = (zkl_request_owner){ .arg = NULL };
}

size_t zkl_request_runner_watched_bytes(const char *parent_path, unsigned permits,
                                        bool tells_contended) {
    size_t length = strlen(parent_path);
    size_t watches = 1 + zkl_contenders_room(permits);
    return watches * zkl_watch_path_bytes(length + 1 + ZKL_NODE_NAME_SIZE) +
           (tells_contended ? zkl_watch_path_bytes(length) : 0);
}

/* ---- The beginning ----------------------------------------------------- */

/* Allocates a runner, with what it needs only sometimes behind it. */
static zkl_request_runner *allocate(const zkl_request_options *wanted,
                                    const zkl_run_options *options) {
    const char *companion = wanted->companion;
    size_t nodes = zkl_contenders_room(wanted->permits);
    size_t nearest = nodes > 1 ? nodes * sizeof(zkl_neighbour) : 0;
    bool tells = tells_contended(options->origin, wanted);
    size_t children = tells ? sizeof(zkl_children_waiter) : 0;
    size_t name = companion != NULL ? strlen(companion) + 1 : 0;
    zkl_request_runner *runner = calloc(1, sizeof(*runner) + nearest + children + name);
    if (runner == NULL) {
        return NULL;
    }
    char *room = (char *)runner->nearest + nearest;
    runner->holder_watch.children = tells ? (zkl_children_waiter *)room : NULL;
    if (companion != NULL) {
        runner->request.options.companion = memcpy(room + children, companion, name);
    }
    return runner;
}

static zkl_request_runner *make_runner(zkl_session *session, const zkl_request_options *wanted,
                                       const zkl_run_options *options) {
    zkl_request_runner *runner = allocate(wanted, options);
    if (runner == NULL) {
        return NULL;
    }
    runner->others_are_awaited = options->group != NULL;
    runner->timer = (zkl_timer){ .fire = on_timer, .arg = runner };
    runner->limit_ms = runner->pause_ends_ms = NEVER;
    runner->sender.session = session;
    runner->list = (zkl_list_waiter){ .arg = runner, .listener = &zkl_request_list_listener };
    want_new_list(runner);
    runner->watches =
        (zkl_watch_set){ .sender = &runner->sender, .listener = &zkl_request_watch_listener };
    runner->holder_watch.own =
        (zkl_watch_waiter){ .arg = runner, .listener = &zkl_request_own_watch_listener };
    runner->sender.request = &runner->request;
    runner->sender.listener = &zkl_request_reply_listener;
    runner->sender.granted_ms = -1;
    runner->sender.position = -1;
    runner->sender.options = *options;
    options->origin->keepers++;
    return runner;
}

static unsigned depth_of(const char *path) {
    unsigned depth = 0;
    for (; *path != '\0'; path++) {
        depth += *path == '/' ? 1 : 0;
    }
    return depth;
}

static void join_session(zkl_request_runner *runner) {
    zkl_session *session = runner->sender.session;
    DL_APPEND(session->runners, runner);
    take_room(runner, runner->request.options.permits);
    zkl_create_group_join(&runner->sender);
}

int zkl_request_runner_start(zkl_session *session, const zkl_request_options *wanted,
                             const zkl_run_options *options, zkl_request_runner **result) {
    if (session->established && !zkl_lease_is_possible(&session->liveness.lease)) {
        return ZKL_LEASE_IMPOSSIBLE;
    }
    zkl_request_session begun = { .connected = session->connected };
    if (!zkl_session_make_guid(session, options->origin->options->revocable == 0, begun.guid)) {
        return ZKL_SYSTEM;
    }
    zkl_request_runner *runner = make_runner(session, wanted, options);
    if (runner == NULL) {
        return ZKL_NO_MEMORY;
    }
    zkl_liveness_check_lease(&session->liveness);
    begun.lease_runs = session->liveness.lease_ample;
    zkl_request_options request = *wanted;
    request.companion = runner->request.options.companion; /* its own copy */
    request.depth = depth_of(options->parent_path);
    request.is_member = options->group != NULL;
    request.naming = options->origin->options->naming;
    request.needs_lease = session->liveness.lease.tick_ms > 0;
    zkl_request_begin(&runner->request, &request, &begun);
    join_session(runner);
    *result = runner;
    zkl_liveness_wake(&session->liveness);
    if (!is_lent(runner)) {
        zkl_telemetry_begun(zkl_request_facts_of(&runner->sender));
    }
    zkl_request_runner_feed(runner, &(zkl_event){ .kind = ZKL_EVENT_START });
    return ZKL_OK;
}
