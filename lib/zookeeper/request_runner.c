#include "zookeeper/request_runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <utlist.h>

#include "assertion.h"
#include "observer.h"
#include "recipe/node_data.h"

/* Pauses double from the first to the longest, each shortened at random by up
 * to half, so that clients that failed together do not come back together. */
enum { BACK_OFF_FIRST_MS = 50, BACK_OFF_LONGEST_MS = 5000, BACK_OFF_DOUBLINGS_MAX = 7 };

enum { NODE_DATA_SIZE = 1536 };

/* What travels with each path of a watch: its length. */
enum { PATH_OVERHEAD = 4 };

void zkl_request_runner_node_path(const zkl_request_runner *runner, char *path, size_t size) {
    if (runner->request.own.node[0] == '\0') {
        path[0] = '\0';
    } else {
        snprintf(path, size, "%s/%s", runner->parent_path, runner->request.own.node);
    }
}

/* ---- Events in --------------------------------------------------------- */

/* An event that arises while a step is under way waits for its end. It carries
 * no strings, as nothing would keep them. */
static void queue_event(zkl_request_runner *runner, const zkl_event *event) {
    zkl_assert(runner->session->recorder, runner->queued_count < ZKL_QUEUED_EVENTS_MAX);
    runner->queued[runner->queued_count++] = *event;
}

static void queue_failure(zkl_request_runner *runner, zkl_event_kind answer, zkl_outcome outcome) {
    queue_event(runner,
                &(zkl_event){ .kind = answer, .outcome = outcome, .status = ZKL_SERVER_REFUSED });
}

static const char *last_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash == NULL ? path : slash + 1;
}

/* For people to know: the recipe asks no more than who is in the way. */
static void note_position(zkl_request_runner *runner, const zkl_event *event) {
    if (event->kind != ZKL_EVENT_LISTED || event->outcome != ZKL_OUTCOME_OK ||
        runner->request.own.state != ZKL_OWN_NODE_OURS) {
        return;
    }
    zkl_queue_place place = zkl_request_place(&runner->request);
    zkl_queue_view view = zkl_queue_examine(event->children, &place);
    if (runner->position < 0) {
        runner->listed_ms = zkl_session_now_ms(runner->session);
    }
    runner->position = view.listed ? (int64_t)view.earlier : -1;
}

/* A process that was stopped asks with a session that may be over; a server that lags would
 * still show its node. (A list that goes with a create comes after a write as it is.) */
static bool must_settle(const void *arg) {
    const zkl_request_runner *runner = arg;
    return runner->request.own.state == ZKL_OWN_NODE_OURS &&
           !zkl_liveness_is_fresh(&runner->session->liveness);
}

/* Many may be told of one list, which takes time: the lease may end meanwhile. */
static void on_listed(void *arg, const zkl_list_answer *answer) {
    zkl_request_runner *runner = arg;
    zkl_liveness_check_lease(&runner->session->liveness);
    zkl_event event = {
        .kind = ZKL_EVENT_LISTED,
        .outcome = answer->outcome,
        .status = answer->status,
        .fresh = zkl_liveness_is_fresh(&runner->session->liveness),
        .children = answer->children,
    };
    note_position(runner, &event);
    zkl_request_runner_feed(runner, &event);
}

/* Operations are sent with the kind of the event that their reply is. */
static void on_reply(void *arg, const zkl_reply *reply) {
    zkl_request_runner *runner = arg;
    zkl_event event = {
        .kind = (zkl_event_kind)reply->tag,
        .outcome = reply->outcome,
        .status = reply->status,
        .node = reply->path != NULL ? last_name(reply->path) : NULL,
        .zxid = reply->zxid,
        .own_session = reply->ephemeral_owner == runner->session->id,
        .holds_data = reply->data_length > 0,
    };
    zkl_request_runner_feed(runner, &event);
}

static void on_watch_armed(void *arg, zkl_outcome outcome, int status) {
    zkl_event event = { .kind = ZKL_EVENT_WATCHED, .outcome = outcome, .status = status };
    zkl_request_runner_feed(arg, &event);
}

static void on_watch_fired(void *arg, bool deleted) {
    zkl_request_runner *runner = arg;
    zkl_event event = {
        .kind = ZKL_EVENT_WATCH_FIRED,
        .deleted = deleted,
        .fresh = zkl_liveness_is_fresh(&runner->session->liveness),
        .own_session = runner->blocker_is_ours,
    };
    zkl_request_runner_feed(runner, &event);
}

/* ---- Being asked for the lock -------------------------------------------- */

struct zkl_data_read {
    zkl_request_runner *runner; /* NULL: it has gone */
    char node[ZKL_NODE_NAME_SIZE];
};

static void on_data_read(void *arg, const zkl_reply *reply) {
    zkl_data_read *reading = arg;
    zkl_request_runner *runner = reading->runner;
    bool is_current = runner != NULL && strcmp(reading->node, runner->request.own.node) == 0;
    free(reading);
    if (runner == NULL) {
        return;
    }
    runner->reading = NULL;
    runner->read_failed = reply->outcome != ZKL_OUTCOME_OK && reply->outcome != ZKL_OUTCOME_NO_NODE;
    if (reply->outcome == ZKL_OUTCOME_OK && is_current && !runner->revoke_requested &&
        zkl_node_data_is_revocation(reply->data, reply->data_length)) {
        runner->revoke_requested = true;
        if (runner->owner.revoke_requested != NULL) {
            runner->owner.revoke_requested(runner->owner.arg);
        }
    }
}

static void read_own_data(zkl_request_runner *runner) {
    char path[ZKL_NODE_PATH_SIZE];
    if (runner->reading != NULL || runner->request.own.state != ZKL_OWN_NODE_OURS) {
        return;
    }
    zkl_data_read *reading = malloc(sizeof(*reading));
    runner->read_failed = reading == NULL;
    if (reading == NULL) {
        return;
    }
    *reading = (zkl_data_read){ .runner = runner };
    snprintf(reading->node, sizeof(reading->node), "%s", runner->request.own.node);
    zkl_request_runner_node_path(runner, path, sizeof(path));
    runner->reading = reading;
    const zkl_operation get = { .kind = ZKL_OPERATION_GET, .path = path };
    if (zkl_send(&runner->session->sender, &get, on_data_read, reading) != ZKL_OUTCOME_OK) {
        runner->reading = NULL;
        runner->read_failed = true;
        free(reading);
    }
}

/* Our own data are set by nobody but those who ask for the lock. Whoever sets them after the
 * watch was armed fires it, and it is armed again. */
static void look_for_revocation(zkl_request_runner *runner) {
    bool is_set = zkl_watch_table_data_version(&runner->own_watch) > 0;
    if (is_set && !runner->revoke_requested) {
        read_own_data(runner);
    }
}

static void look_again(zkl_request_runner *runner, zkl_event_kind kind) {
    if (kind != ZKL_EVENT_PROBE && kind != ZKL_EVENT_CONNECTED) {
        return;
    }
    if (runner->read_failed) {
        read_own_data(runner);
    }
    zkl_contention_review(runner);
}

static void stop_reading(zkl_request_runner *runner) {
    if (runner->reading != NULL) {
        runner->reading->runner = NULL;
        runner->reading = NULL;
    }
}

/* ---- The own node's watch -------------------------------------------------- */

static void on_own_watch_armed(void *arg, zkl_outcome outcome, int status) {
    if (outcome == ZKL_OUTCOME_OK) {
        look_for_revocation(arg);
    }
    zkl_event event = { .kind = ZKL_EVENT_OWN_WATCHED, .outcome = outcome, .status = status };
    zkl_request_runner_feed(arg, &event);
}

static void on_own_watch_fired(void *arg, bool deleted) {
    (void)deleted;
    zkl_request_runner_feed(arg, &(zkl_event){ .kind = ZKL_EVENT_OWN_WATCH_FIRED });
}

static void on_hold_limit(void *arg) {
    zkl_request_runner_feed(arg, &(zkl_event){ .kind = ZKL_EVENT_HOLD_LIMIT });
}

static void on_deadline(void *arg) {
    zkl_request_runner_feed(arg, &(zkl_event){ .kind = ZKL_EVENT_TIMED_OUT });
}

static void on_backed_off(void *arg) {
    zkl_request_runner_feed(arg, &(zkl_event){ .kind = ZKL_EVENT_BACKED_OFF });
}

/* ---- Actions out ------------------------------------------------------- */

static void write_path(const zkl_request_runner *runner, const char *node,
                       char path[ZKL_NODE_PATH_SIZE]) {
    snprintf(path, ZKL_NODE_PATH_SIZE, "%s/%s", runner->parent_path, node);
}

/* What cannot be sent is answered at the end of this step. */
static void ask(zkl_request_runner *runner, zkl_event_kind answer, zkl_operation operation,
                zkl_reply_callback *done) {
    operation.tag = (int)answer;
    zkl_outcome outcome = zkl_send(&runner->session->sender, &operation, done, runner);
    if (outcome != ZKL_OUTCOME_OK) {
        queue_failure(runner, answer, outcome);
    }
}

static void format_time(char *text, size_t size, int64_t wall_clock_ms) {
    time_t seconds = (time_t)(wall_clock_ms / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) == NULL || strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        text[0] = '\0';
    }
}

/* What the node says of who made it, and when. */
static void write_data(const zkl_request_runner *runner, char data[NODE_DATA_SIZE]) {
    zkl_operations *operations = runner->session->operations;
    char now[32];
    format_time(now, sizeof(now), operations->table->wall_clock_ms(operations));
    bool has_owner = runner->owner_text != NULL;
    bool has_note = runner->note != NULL;
    snprintf(data, NODE_DATA_SIZE, "%s%s%s%stime=%s\n%s%s%s", runner->session->identity,
             has_owner ? "owner=" : "", has_owner ? runner->owner_text : "", has_owner ? "\n" : "",
             now, has_note ? "note=" : "", has_note ? runner->note : "", has_note ? "\n" : "");
}

/* A list that is sent from now on shows what is asked for now, or what was asked for before it. */
static void want_new_list(zkl_request_runner *runner) {
    runner->list.after = zkl_listings_mark(&runner->session->listings);
}

static void create(zkl_request_runner *runner, const char *prefix) {
    char path[ZKL_NODE_PATH_SIZE];
    char data[NODE_DATA_SIZE];
    write_path(runner, prefix, path);
    write_data(runner, data);
    want_new_list(runner);
    if (runner->group == NULL) {
        ask(runner, ZKL_EVENT_CREATED,
            (zkl_operation){ .kind = ZKL_OPERATION_CREATE, .path = path, .data = data }, on_reply);
        return;
    }
    zkl_outcome outcome = zkl_create_group_ask(runner->group, runner, path, data);
    if (outcome != ZKL_OUTCOME_OK) {
        queue_failure(runner, ZKL_EVENT_CREATED, outcome);
    }
}

/* Requests about one node of the resource, ours or another's. */
static void ask_about(zkl_request_runner *runner, zkl_event_kind answer, zkl_operation_kind kind,
                      const char *node) {
    char path[ZKL_NODE_PATH_SIZE];
    write_path(runner, node, path);
    ask(runner, answer, (zkl_operation){ .kind = kind, .path = path }, on_reply);
}

/* In one transaction, so that nobody ever sees neither of the two. */
static void downgrade(zkl_request_runner *runner, const char *node) {
    char reader[ZKL_NODE_PATH_SIZE];
    char writer[ZKL_NODE_PATH_SIZE];
    char data[NODE_DATA_SIZE];
    write_path(runner, node, reader);
    write_path(runner, runner->request.own.node, writer);
    write_data(runner, data);
    size_t used = strlen(data);
    snprintf(data + used, sizeof(data) - used, "token=%" PRId64 "\n", runner->request.own.zxid);
    const zkl_multi_operation changes[] = {
        { ZKL_MULTI_CREATE_EPHEMERAL, reader, data, strlen(data), ZKL_ANY_VERSION },
        { ZKL_MULTI_REMOVE, writer, NULL, 0, ZKL_ANY_VERSION },
    };
    ask(runner, ZKL_EVENT_DOWNGRADED,
        (zkl_operation){ .kind = ZKL_OPERATION_TRANSACTION, .all = changes, .count = 2 }, on_reply);
}

/* Whatever its failure, if it is committed. */
static void on_settled(void *arg, const zkl_reply *reply) {
    zkl_reply told = *reply;
    told.tag = ZKL_EVENT_SETTLED;
    if (zkl_is_committed(reply)) {
        told.outcome = ZKL_OUTCOME_OK;
    }
    on_reply(arg, &told);
}

static void settle(zkl_request_runner *runner) {
    want_new_list(runner);
    zkl_outcome outcome =
        zkl_liveness_write_nothing(&runner->session->liveness, on_settled, runner);
    if (outcome != ZKL_OUTCOME_OK) {
        queue_failure(runner, ZKL_EVENT_SETTLED, outcome);
    }
}

static void request_list(zkl_request_runner *runner) {
    zkl_outcome outcome =
        zkl_listings_ask(&runner->session->listings, runner->parent_path, &runner->list);
    if (outcome != ZKL_OUTCOME_OK) {
        queue_failure(runner, ZKL_EVENT_LISTED, outcome);
    }
}

/* Whether another request of this session made the node. When the session ends
 * one transaction deletes it together with our own, and the news of the two
 * come in any order: then its deletion is no hand-off. The GUID is known before the node is. */
static bool is_ours(const zkl_request_runner *runner, const char *node) {
    for (const zkl_request_runner *one = runner->session->runners; one != NULL; one = one->next) {
        if (zkl_node_name_has_guid(node, one->request.session.guid)) {
            return true;
        }
    }
    return false;
}

static void watch_own_node(zkl_request_runner *runner, const char *node) {
    char path[ZKL_NODE_PATH_SIZE];
    write_path(runner, node, path);
    zkl_watch_added added =
        zkl_watch_table_add(&runner->session->watches, path, &runner->own_watch);
    if (added != ZKL_WATCH_ARMING) {
        queue_failure(runner, ZKL_EVENT_OWN_WATCHED,
                      added == ZKL_WATCH_ARMED ? ZKL_OUTCOME_OK : ZKL_OUTCOME_NOT_NOW);
    }
}

/* While n or more are in its way it watches the n nearest: when fewer are left at least one of
 * these has gone. */
static void watch_nearest(zkl_request_runner *runner, zkl_listed children) {
    zkl_queue_place place = zkl_request_place(&runner->request);
    size_t count = zkl_queue_find_nearest(children, &place, runner->nearest);
    zkl_outcome outcome = ZKL_OUTCOME_OK;
    if (!zkl_watch_set_watch(&runner->watches, runner->nearest, count, &outcome)) {
        queue_failure(runner, ZKL_EVENT_WATCHED, outcome);
    }
}

static void wait_behind(zkl_request_runner *runner, const char *node, zkl_listed children) {
    zkl_observe_queued(runner, node);
    runner->blocker_is_ours = runner->request.wait.next_in_line && is_ours(runner, node);
    watch_nearest(runner, children);
}

static void on_parent_inspected(void *arg, const zkl_reply *reply) {
    ((zkl_request_runner *)arg)->parent_version = reply->version;
    on_reply(arg, reply);
}

/* Of the resource's node, or of the one so many levels above it. */
static void write_parent_path(const zkl_request_runner *runner, unsigned level,
                              char path[ZKL_NODE_PATH_SIZE]) {
    snprintf(path, ZKL_NODE_PATH_SIZE, "%s", runner->parent_path);
    for (; level > 0; level--) {
        *strrchr(path, '/') = '\0';
    }
}

static void inspect_parent(zkl_request_runner *runner, unsigned level) {
    char path[ZKL_NODE_PATH_SIZE];
    write_parent_path(runner, level, path);
    ask(runner, ZKL_EVENT_PARENT_INSPECTED,
        (zkl_operation){ .kind = ZKL_OPERATION_EXISTS, .path = path }, on_parent_inspected);
}

static void make_parent(zkl_request_runner *runner, unsigned level) {
    char path[ZKL_NODE_PATH_SIZE];
    write_parent_path(runner, level, path);
    runner->parent_made_length = strlen(path);
    ask(runner, ZKL_EVENT_PARENT_MADE,
        (zkl_operation){ .kind = ZKL_OPERATION_CREATE_PARENT,
                         .path = path,
                         .container = runner->session->container_parents && level == 0 },
        on_reply);
}

/* Who has written to it meanwhile uses it, as they do who have children there. */
static void on_parent_removed(void *arg, const zkl_reply *reply) {
    zkl_reply told = *reply;
    if (reply->outcome == ZKL_OUTCOME_REFUSED && reply->status == ZKL_BAD_VERSION) {
        told.outcome = ZKL_OUTCOME_NOT_EMPTY;
    }
    on_reply(arg, &told);
}

/* A transaction, as only there a version can be given. */
static void remove_parent(zkl_request_runner *runner) {
    const zkl_multi_operation removal = { .kind = ZKL_MULTI_REMOVE,
                                          .path = runner->parent_path,
                                          .version = runner->parent_version };
    ask(runner, ZKL_EVENT_PARENT_REMOVED,
        (zkl_operation){ .kind = ZKL_OPERATION_TRANSACTION, .all = &removal, .count = 1 },
        on_parent_removed);
}

static void back_off(zkl_request_runner *runner) {
    zkl_operations *operations = runner->session->operations;
    unsigned doublings =
        runner->back_offs < BACK_OFF_DOUBLINGS_MAX ? runner->back_offs : BACK_OFF_DOUBLINGS_MAX;
    runner->back_offs++;
    zkl_observe_retry(runner);
    int64_t longest = (int64_t)BACK_OFF_FIRST_MS << doublings;
    if (longest > BACK_OFF_LONGEST_MS) {
        longest = BACK_OFF_LONGEST_MS;
    }
    uint32_t random = 0;
    (void)operations->table->random(operations, &random, sizeof(random));
    int64_t now_ms = zkl_session_now_ms(runner->session);
    int64_t until_ms = now_ms + longest - random % (longest / 2 + 1);
    if (runner->group != NULL) {
        until_ms = zkl_create_group_pause(runner->group, now_ms, until_ms);
    }
    zkl_session_set_timer(runner->session, &runner->back_off, until_ms);
}

/* ---- Verdicts and the end ---------------------------------------------- */

/* Who holds a permit watches as few nodes as any other holder. */
static void give_room_back(zkl_request_runner *runner) {
    const zkl_contender_kind kind = { runner->request.options.mode,
                                      runner->request.options.permits };
    const zkl_contender_kind holder = { ZKL_EXCLUSIVE, 0 };
    size_t spare = zkl_request_runner_watched_bytes(runner->parent_path, kind) -
                   zkl_request_runner_watched_bytes(runner->parent_path, holder);
    runner->session->watched_bytes -= spare;
    runner->watched_bytes -= spare;
}

static void tell_decided(zkl_request_runner *runner, int status) {
    zkl_timer_stop(&runner->deadline);
    if (status == ZKL_OK) {
        runner->back_offs = 0;
        give_room_back(runner);
        runner->granted_ms = zkl_session_now_ms(runner->session);
        zkl_session_set_timer_after(runner->session, &runner->hold_limit, runner->granted_ms,
                                    runner->max_hold_ms);
        zkl_contention_begin(runner);
    }
    zkl_observe_decided(runner, status);
    if (runner->owner.decided != NULL) {
        runner->owner.decided(runner->owner.arg, status);
    }
    zkl_watch_set_remove_left(&runner->watches);
}

static void tell_lost(zkl_request_runner *runner, int status) {
    zkl_contention_end(runner);
    if (runner->request.stage != ZKL_STAGE_KEPT) {
        zkl_timer_stop(&runner->hold_limit);
    }
    zkl_observe_lost(runner, status);
    if (runner->owner.lost != NULL) {
        runner->owner.lost(runner->owner.arg, status);
    }
}

static void tell_downgraded(zkl_request_runner *runner, int status) {
    if (status == ZKL_OK) {
        runner->revoke_requested = false; /* by the data of the node before */
    }
    if (runner->owner.downgraded != NULL) {
        runner->owner.downgraded(runner->owner.arg, status);
    }
}

static void tell_connection(zkl_request_runner *runner, zkl_event_kind kind) {
    bool is_news = kind == ZKL_EVENT_CONNECTED || kind == ZKL_EVENT_DISCONNECTED;
    if (is_news && runner->request.stage == ZKL_STAGE_HELD && runner->owner.connection != NULL) {
        runner->owner.connection(runner->owner.arg, kind == ZKL_EVENT_CONNECTED);
    }
}

static void free_runner(zkl_request_runner *runner) {
    zkl_watch_set_end(&runner->watches);
    free(runner->nearest);
    free(runner->resource);
    free(runner->parent_path);
    free(runner->owner_text);
    free(runner->note);
    free(runner);
}

static void end(zkl_request_runner *runner) {
    zkl_session *session = runner->session;
    zkl_assert(session->recorder, session->runner_count > 0);
    zkl_timer_stop(&runner->deadline);
    zkl_timer_stop(&runner->back_off);
    zkl_timer_stop(&runner->hold_limit);
    zkl_watch_table_remove(&runner->own_watch);
    zkl_contention_end(runner);
    DL_DELETE(session->runners, runner);
    if (runner->group != NULL) {
        zkl_create_group_leave(runner->group, runner);
    }
    session->runner_count--;
    session->watched_bytes -= runner->watched_bytes;
    if (runner->owner.ended != NULL) {
        runner->owner.ended(runner->owner.arg);
    }
    if (session->request_ended != NULL) {
        session->request_ended(session->request_ended_arg);
    }
    stop_reading(runner);
    free_runner(runner);
}

/* What asks the servers for nothing. */
static void tell(zkl_request_runner *runner, const zkl_action *action) {
    switch (action->kind) {
    case ZKL_ACTION_DOWNGRADE_ENDED:
        tell_downgraded(runner, action->status);
        break;
    case ZKL_ACTION_GRANT:
    case ZKL_ACTION_FAIL:
        tell_decided(runner, action->status);
        break;
    case ZKL_ACTION_LOSE:
        tell_lost(runner, action->status);
        break;
    case ZKL_ACTION_REJOIN:
        runner->position = -1;
        runner->revoke_requested = false;
        zkl_watch_set_remove_left(&runner->watches);
        zkl_observe_rejoined(runner);
        break;
    case ZKL_ACTION_REPORT:
        zkl_observe_unknown_child(runner, action->node);
        break;
    case ZKL_ACTION_WARN:
        zkl_observe_not_deleted(runner, action->status);
        break;
    default:
        break; /* END, the last of all, is the runner's own: see step */
    }
}

static void perform(zkl_request_runner *runner, const zkl_action *action, zkl_listed children) {
    switch (action->kind) {
    case ZKL_ACTION_CREATE:
        create(runner, action->node);
        break;
    case ZKL_ACTION_LIST:
        request_list(runner);
        break;
    case ZKL_ACTION_MAKE_PARENT:
        make_parent(runner, action->level);
        break;
    case ZKL_ACTION_WATCH:
        wait_behind(runner, action->node, children);
        break;
    case ZKL_ACTION_UNWATCH:
        zkl_watch_set_remove_all(&runner->watches);
        break;
    case ZKL_ACTION_WATCH_OWN:
        watch_own_node(runner, action->node);
        look_for_revocation(runner); /* a watch that others share may be armed already */
        break;
    case ZKL_ACTION_UNWATCH_OWN:
        zkl_watch_table_remove(&runner->own_watch);
        break;
    case ZKL_ACTION_INSPECT:
        ask_about(runner, ZKL_EVENT_INSPECTED, ZKL_OPERATION_EXISTS, action->node);
        break;
    case ZKL_ACTION_DELETE:
        ask_about(runner, ZKL_EVENT_DELETED, ZKL_OPERATION_DELETE, action->node);
        break;
    case ZKL_ACTION_INSPECT_PARENT:
        inspect_parent(runner, action->level);
        break;
    case ZKL_ACTION_REMOVE_PARENT:
        remove_parent(runner);
        break;
    case ZKL_ACTION_DOWNGRADE:
        downgrade(runner, action->node);
        break;
    case ZKL_ACTION_SETTLE:
        settle(runner);
        break;
    case ZKL_ACTION_BACK_OFF:
        back_off(runner);
        break;
    default:
        tell(runner, action);
        break;
    }
}

static void step(zkl_request_runner *runner, const zkl_event *event) {
    zkl_recorder *recorder = runner->session->recorder;
    zkl_assert(recorder, runner->request.stage != ZKL_STAGE_ENDED);
    zkl_actions actions;
    if (event->outcome == ZKL_OUTCOME_REFUSED) {
        runner->refused = event->kind;
    }
    if (recorder != NULL) {
        zkl_recorder_begin_step(recorder, &runner->recorded, zkl_session_now_ms(runner->session),
                                &runner->request, event);
    }
    zkl_request_step(&runner->request, event, &actions);
    if (recorder != NULL) {
        zkl_recorder_end_step(recorder, &runner->recorded, &actions);
    }
    zkl_assert(recorder, !actions.overflowed); /* those that had room are in the record */
    for (size_t i = 0; i < actions.count; i++) {
        bool last = i + 1 == actions.count;
        zkl_assert(recorder, last || actions.list[i].kind != ZKL_ACTION_END);
        perform(runner, &actions.list[i], event->children);
    }
}

static zkl_event take_queued(zkl_request_runner *runner) {
    zkl_event event = runner->queued[0];
    runner->queued_count--;
    memmove(runner->queued, runner->queued + 1, runner->queued_count * sizeof(zkl_event));
    return event;
}

/* The last that is done with an event: the runner may be gone when it returns. */
static void tell_group(zkl_request_runner *runner, zkl_event_kind kind) {
    if (runner->request.stage >= ZKL_STAGE_LEAVING) {
        zkl_create_group_withdraw(runner->group, runner);
    } else if (kind == ZKL_EVENT_INSPECTED) {
        zkl_create_group_look(runner->group);
    }
}

void zkl_request_runner_feed(zkl_request_runner *runner, const zkl_event *event) {
    if (runner->stepping) {
        queue_event(runner, event);
        return;
    }
    if (event->kind == ZKL_EVENT_RELEASED && runner->request.stage == ZKL_STAGE_HELD) {
        zkl_observe_released(runner);
        zkl_contention_end(runner); /* before the node's deletion would fire its watch */
    }
    runner->stepping = true;
    step(runner, event);
    tell_connection(runner, event->kind);
    look_again(runner, event->kind);
    while (runner->request.stage != ZKL_STAGE_ENDED && runner->queued_count > 0) {
        zkl_event queued = take_queued(runner);
        step(runner, &queued);
    }
    runner->stepping = false;
    if (runner->request.stage == ZKL_STAGE_ENDED) {
        end(runner);
    } else if (runner->group != NULL) {
        tell_group(runner, event->kind);
    }
}

void zkl_request_runner_disown(zkl_request_runner *runner) {
    runner->owner = (zkl_request_owner){ .arg = NULL };
}

size_t zkl_request_runner_watched_bytes(const char *parent_path, zkl_contender_kind kind) {
    size_t watches = 1 + zkl_queue_room(zkl_node_name_of(kind));
    return watches * zkl_request_runner_path_bytes(strlen(parent_path) + 1 + ZKL_NODE_NAME_SIZE);
}

size_t zkl_request_runner_path_bytes(size_t length) {
    return length + PATH_OVERHEAD;
}

/* ---- The beginning ----------------------------------------------------- */

static bool make_watches(zkl_request_runner *runner, zkl_contender_kind kind) {
    size_t count = zkl_queue_room(zkl_node_name_of(kind));
    runner->watches.arg = runner;
    runner->watches.armed = on_watch_armed;
    runner->watches.fired = on_watch_fired;
    runner->nearest = calloc(count, sizeof(*runner->nearest));
    return runner->nearest != NULL &&
           zkl_watch_set_begin(&runner->watches, &runner->session->watches, runner->parent_path,
                               count);
}

static zkl_request_runner *make_runner(zkl_session *session, const zkl_run_options *options) {
    zkl_request_runner *runner = calloc(1, sizeof(*runner));
    if (runner == NULL) {
        return NULL;
    }
    runner->session = session;
    runner->owner = options->owner;
    runner->resource = strdup(options->resource);
    runner->parent_path = strdup(options->parent_path);
    runner->owner_text = options->owner_text != NULL ? strdup(options->owner_text) : NULL;
    runner->position = -1;
    runner->note = options->note != NULL ? strdup(options->note) : NULL;
    runner->deadline = (zkl_timer){ .fire = on_deadline, .arg = runner };
    runner->back_off = (zkl_timer){ .fire = on_backed_off, .arg = runner };
    runner->hold_limit = (zkl_timer){ .fire = on_hold_limit, .arg = runner };
    runner->max_hold_ms = options->max_hold_ms;
    runner->list =
        (zkl_list_waiter){ .arg = runner, .listed = on_listed, .must_settle = must_settle };
    want_new_list(runner);
    runner->own_watch = (zkl_watch_waiter){ .arg = runner,
                                            .armed = on_own_watch_armed,
                                            .fired = on_own_watch_fired };
    runner->watched_bytes = zkl_request_runner_watched_bytes(options->parent_path, options->kind);
    zkl_contention_prepare(runner, options->tells_contended);
    if (options->tells_contended) {
        runner->watched_bytes += zkl_contention_watched_bytes(options->parent_path);
    }
    runner->owner_id = options->owner_id;
    runner->group = options->group;
    runner->others_are_awaited = options->group != NULL;
    runner->metrics = options->metrics;
    runner->started_ms = zkl_session_now_ms(session);
    runner->granted_ms = -1;
    bool has_owner = options->owner_text == NULL || runner->owner_text != NULL;
    bool has_note = options->note == NULL || runner->note != NULL;
    if (runner->resource == NULL || runner->parent_path == NULL || !has_owner || !has_note ||
        !make_watches(runner, options->kind)) {
        free_runner(runner);
        return NULL;
    }
    return runner;
}

void zkl_request_runner_hold_from_now(zkl_request_runner *runner, int64_t max_hold_ms) {
    runner->granted_ms = zkl_session_now_ms(runner->session);
    runner->max_hold_ms = max_hold_ms;
    runner->others_are_awaited = false;
    zkl_session_set_timer_after(runner->session, &runner->hold_limit, runner->granted_ms,
                                max_hold_ms);
}

void zkl_request_runner_check_hold(zkl_request_runner *runner) {
    bool is_limited = runner->max_hold_ms > 0 && runner->granted_ms >= 0;
    if (is_limited &&
        zkl_session_now_ms(runner->session) - runner->granted_ms >= runner->max_hold_ms) {
        zkl_request_runner_feed(runner, &(zkl_event){ .kind = ZKL_EVENT_HOLD_LIMIT });
    }
}

static unsigned depth_of(const char *path) {
    unsigned depth = 0;
    for (; *path != '\0'; path++) {
        depth += *path == '/' ? 1 : 0;
    }
    return depth;
}

int zkl_request_runner_start(zkl_session *session, const zkl_run_options *options,
                             zkl_request_runner **result) {
    if (session->established && !zkl_liveness_lease_is_possible(&session->liveness)) {
        return ZKL_LEASE_IMPOSSIBLE;
    }
    zkl_request_session begun = { .connected = session->connected };
    if (!zkl_session_make_guid(session, begun.guid)) {
        return ZKL_SYSTEM;
    }
    zkl_request_runner *runner = make_runner(session, options);
    if (runner == NULL) {
        return ZKL_NO_MEMORY;
    }
    zkl_liveness_check_lease(&session->liveness);
    begun.lease_runs = session->liveness.lease_ample;
    zkl_request_options request = {
        .mode = options->kind.mode,
        .permits = options->kind.permits,
        .depth = depth_of(options->parent_path),
        .max_waiting = options->max_waiting,
        .is_member = options->group != NULL,
        .only_try = options->only_try || options->timeout_ms == 0,
        .fail_on_session_expiry = options->fail_on_session_expiry,
        .needs_lease = session->liveness.lease.tick_ms > 0,
    };
    if (options->companion != NULL) {
        zkl_node_name_copy(request.companion, options->companion);
    }
    zkl_request_begin(&runner->request, &request, &begun);
    DL_APPEND(session->runners, runner);
    if (runner->group != NULL) {
        zkl_create_group_join(runner->group, runner);
    }
    session->runner_count++;
    session->watched_bytes += runner->watched_bytes;
    *result = runner;
    zkl_recorder_begin_request(session->recorder, &runner->recorded, session->recorded_number,
                               runner->parent_path);
    zkl_session_set_timer_after(session, &runner->deadline, runner->started_ms,
                                options->timeout_ms);
    zkl_liveness_wake(&session->liveness);
    zkl_observe_begun(runner);
    zkl_request_runner_feed(runner, &(zkl_event){ .kind = ZKL_EVENT_START });
    return ZKL_OK;
}
