#include "faults.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "allocation.h"
#include "asker.h"
#include "foreign.h"
#include "nodes.h"
#include "oracle.h"
#include "testing/ensemble.h"
#include "testing/machine.h"
#include "trace.h"

enum { US_PER_MS = 1000, PATH_SIZE = 256, SWEEP_EVERY_US = 200 * US_PER_MS };

/* A fault that lasts has an end, which is an event of its own. */
typedef struct fault {
    const plan_fault *plan;
    zkl_world_event begin;
    zkl_world_event end;
} fault;

static struct {
    const run_plan *plan;
    zkl_process *const *processes;
    fault faults[PLAN_FAULTS_MAX];
    int64_t stopped_at_us[PLAN_CLIENTS_MAX]; /* -1: it runs */
    zkl_world_event deaths[PLAN_CLIENTS_MAX];
    bool dead[PLAN_CLIENTS_MAX];
    zkl_world_event last_sweep; /* of the foreign nodes: there may be no leader at first */
} all;

static int64_t duration_us(const fault *self) {
    return self->plan->duration_ms * (int64_t)US_PER_MS;
}

static uint32_t server_of(const fault *self) {
    return self->plan->target % zkl_ensemble_server_count(zkl_ensemble_current());
}

static size_t client_of(const fault *self) {
    return self->plan->target % all.plan->client_count;
}

/* A session of a client that is alive; 0: there is none. */
static int64_t session_of(const fault *self) {
    const zkl_ensemble *ensemble = zkl_ensemble_current();
    int64_t alive[PLAN_CLIENTS_MAX * 8];
    size_t count = 0;
    int64_t session_id;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        if (zkl_ensemble_session_is_alive(ensemble, session_id)) {
            alive[count++ % (PLAN_CLIENTS_MAX * 8)] = session_id;
        }
    }
    return count > 0 ? alive[self->plan->target % count] : 0;
}

static void resource_path(const fault *self, char path[PLAN_QUEUE_PATH_SIZE]) {
    plan_queue_path(all.plan, self->plan->target % plan_queue_count(all.plan), path);
}

/* ---- Faults of one moment --------------------------------------------------------------- */

static void cut_connection(const fault *self) {
    int64_t session_id = session_of(self);
    if (session_id == 0) {
        return;
    }
    zkl_ensemble *ensemble = zkl_ensemble_current();
    static const zkl_cut now[] = { ZKL_CUT_REQUESTS_LOST, ZKL_CUT_REPLIES_LOST, ZKL_CUT_SILENT };
    static const zkl_cut next[] = { ZKL_CUT_REQUESTS_LOST, ZKL_CUT_REPLIES_LOST,
                                    ZKL_CUT_WHEN_ANSWERED };
    size_t cut = self->plan->choice % (sizeof(now) / sizeof(now[0]));
    zkl_call_kind kind = self->plan->choice / 3 % 2 == 0 ? ZKL_CALL_CREATE : ZKL_CALL_DELETE;
    if (self->plan->choice / 6 % 2 == 0) {
        (void)zkl_ensemble_cut(ensemble, session_id, now[cut]);
    } else {
        int64_t late_us = self->plan->choice / 12 % 2 == 0 ? 0 : duration_us(self) / 8;
        bool is_held_back = late_us > 0 && kind == ZKL_CALL_CREATE &&
                            next[cut] == ZKL_CUT_REPLIES_LOST && self->plan->choice / 24 % 2 == 0;
        zkl_ensemble_cut_next(ensemble, session_id, kind,
                              is_held_back ? ZKL_CUT_HELD_BACK : next[cut], late_us);
    }
}

static void expire_session(const fault *self) {
    int64_t session_id = session_of(self);
    if (session_id != 0 && zkl_ensemble_expire(zkl_ensemble_current(), session_id)) {
        nodes_ends_by_hand(session_id);
    }
}

/* It ends, or somebody else takes it to another server; often its connection stays all the same. */
static void leave_session(const fault *self) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    int64_t session_id = session_of(self);
    if (self->plan->choice / 2 % 4 != 0) {
        (void)zkl_ensemble_keep_connection(ensemble, session_id);
    }
    if (self->plan->choice % 2 == 0) {
        expire_session(self);
    } else {
        (void)zkl_ensemble_move(ensemble, session_id);
    }
}

/* One of the resource's children, ours or another's; often who is next in line, as it matters most
 * there. */
static size_t which_child(const fault *self, size_t count) {
    size_t any = self->plan->choice % count;
    return self->plan->choice / 1000 % 2 == 0 && count > 1 ? 1 : any;
}

/* False: there is none. */
static bool choose_child(const fault *self, char path[PATH_SIZE]) {
    resource_path(self, path);
    const zkl_tree *tree = zkl_ensemble_tree(zkl_ensemble_current());
    const zkl_node *parent = zkl_tree_find(tree, path, ZKL_LATEST_ZXID);
    size_t count = parent != NULL ? zkl_node_get_stat(parent).child_count : 0;
    if (count == 0) {
        return false;
    }
    const zkl_node *child = zkl_node_first_child(parent, ZKL_LATEST_ZXID);
    for (size_t i = which_child(self, count); i > 0; i--) {
        child = zkl_node_next_child(child, ZKL_LATEST_ZXID);
    }
    snprintf(path, PATH_SIZE, "%s", zkl_node_path(child));
    return true;
}

static void delete_node(const fault *self) {
    char path[PATH_SIZE];
    if (choose_child(self, path)) {
        (void)zkl_ensemble_delete(zkl_ensemble_current(), path);
    }
}

/* Not where somebody sets the data of nodes: he could set those of one whose name is protected. */
static void replace_node(const fault *self) {
    char path[PATH_SIZE];
    if (!all.plan->administered && choose_child(self, path)) {
        foreign_replaces(path);
    }
}

static void delete_parent(const fault *self) {
    char path[PATH_SIZE];
    resource_path(self, path);
    (void)zkl_ensemble_delete(zkl_ensemble_current(), path);
}

static void repeat_news(const fault *self) {
    int64_t session_id = session_of(self);
    if (session_id != 0) {
        (void)zkl_ensemble_repeat_news(zkl_ensemble_current(), session_id);
    }
}

static void replace_connection(const fault *self) {
    int64_t session_id = session_of(self);
    if (session_id != 0) {
        (void)zkl_ensemble_replace_connection(zkl_ensemble_current(), session_id);
    }
}

/* They break off what they have; so few find them again before they are all found. */
static void move_servers(void) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    int64_t session_id;
    zkl_names_move();
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        (void)zkl_ensemble_cut(ensemble, session_id, ZKL_CUT_REPLIES_LOST);
    }
}

/* ---- Faults that last ---------------------------------------------------------------------- */

static void stop_all_servers(void) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        zkl_ensemble_stop_server(ensemble, i);
    }
}

static void start_all_servers(void) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        zkl_ensemble_start_server(ensemble, i);
    }
}

static void lag(const fault *self) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    int64_t by_us = self->plan->choice % 500 * US_PER_MS;
    if (self->plan->choice / 500 % 2 == 0) {
        zkl_ensemble_slow_server(ensemble, server_of(self), by_us, duration_us(self));
    } else {
        zkl_ensemble_slow_commits(ensemble, by_us, duration_us(self));
    }
}

static void stop_process(const fault *self) {
    size_t client = client_of(self);
    if (all.stopped_at_us[client] < 0) {
        all.stopped_at_us[client] = zkl_world_now_us();
        if (self->plan->choice % 3 == 0) {
            zkl_process_stop_machine(all.processes[client]);
        } else {
            zkl_process_stop(all.processes[client]);
        }
    }
}

static void continue_process(size_t client) {
    if (all.stopped_at_us[client] >= 0 && !all.dead[client]) {
        oracle_was_stopped((unsigned)client, zkl_world_now_us() - all.stopped_at_us[client]);
        all.stopped_at_us[client] = -1;
        zkl_process_continue(all.processes[client]);
    }
}

/* As by kill -9: its connections break, and it never runs again. It is stopped rather than
 * dropped, so that it can be revived in the end, and free what it owns. */
static void die(void *arg) {
    const plan_client *client = arg;
    size_t number = (size_t)(client - all.plan->clients);
    trace_event("FAULT", "client %zu dies", number);
    oracle_ends_early((unsigned)number);
    all.dead[number] = true;
    if (all.stopped_at_us[number] < 0) {
        all.stopped_at_us[number] = zkl_world_now_us();
        zkl_process_stop(all.processes[number]);
    }
    zkl_ensemble *ensemble = zkl_ensemble_current();
    int64_t session_id;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        if (nodes_session_process(session_id) == zkl_process_number(all.processes[number])) {
            (void)zkl_ensemble_cut(ensemble, session_id, ZKL_CUT_REPLIES_LOST);
        }
    }
}

bool faults_has_died(size_t client) {
    return all.dead[client];
}

bool faults_revive_the_dead(void) {
    bool any = false;
    for (size_t i = 0; i < all.plan->client_count; i++) {
        any = any || all.dead[i];
        all.dead[i] = false;
        continue_process(i);
    }
    return any;
}

/* Contenders of other libraries, for a while. */
static void add_foreign_node(const fault *self) {
    char path[PATH_SIZE];
    resource_path(self, path);
    foreign_comes(path, self->plan->choice);
}

/* A node of the queue cannot be read for a while: meanwhile nobody hears what becomes of it. Not
 * where nodes are deleted by hand as well: its owner would not hear of it (docs/security.md). */
static bool hides_node(const fault *self) {
    return self->plan->kind == PLAN_REFUSE && self->plan->choice / 4 % 4 == 0 &&
           !asker_plan_has(all.plan, PLAN_DELETE_NODE) &&
           !asker_plan_has(all.plan, PLAN_REPLACE_NODE) && !all.plan->breaks;
}

/* So who waits for it needs another connection: at once, where it is refused, or at the end. */
static bool cuts_at_once(const fault *self) {
    return self->plan->choice / 16 % 2 == 0;
}

static void cut_all(void) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    int64_t session_id;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        (void)zkl_ensemble_cut(ensemble, session_id, ZKL_CUT_REQUESTS_LOST);
    }
}

static void refuse(const fault *self) {
    char path[PATH_SIZE];
    if (hides_node(self)) {
        if (choose_child(self, path)) {
            zkl_ensemble_withhold(zkl_ensemble_current(), path, ZKL_RIGHT_READ, duration_us(self));
        }
        if (cuts_at_once(self)) {
            cut_all();
        }
        return;
    }
    resource_path(self, path);
    static const unsigned rights[] = { ZKL_RIGHT_CREATE, ZKL_RIGHT_DELETE,
                                       ZKL_RIGHT_CREATE | ZKL_RIGHT_DELETE, ZKL_RIGHT_READ };
    zkl_ensemble_withhold(zkl_ensemble_current(), path, rights[self->plan->choice % 4],
                          duration_us(self));
}

/* Names lead to one server, or to all but one. */
static void name_few(const fault *self) {
    uint32_t one = UINT32_C(1) << server_of(self);
    zkl_names_lead_to(self->plan->choice % 2 == 0 ? one : ~one);
}

/* Nothing answers there any more, and those that have a connection mostly lose it. */
static void open_holes(const fault *self) {
    int64_t session_id = session_of(self);
    zkl_holes_open(self->plan->choice % 2 == 0 ? ~(UINT32_C(1) << server_of(self))
                                               : UINT32_C(1) << server_of(self));
    if (session_id != 0 && self->plan->choice / 2 % 4 > 0) {
        (void)zkl_ensemble_cut(zkl_ensemble_current(), session_id,
                               self->plan->choice / 2 % 4 > 1 ? ZKL_CUT_REPLIES_LOST
                                                              : ZKL_CUT_SILENT);
    }
}

/* All but one; who has a connection to that loses it. */
static void move_some(const fault *self) {
    int64_t session_id = session_of(self);
    zkl_names_move_some(~(UINT32_C(1) << server_of(self)));
    if (session_id != 0) {
        (void)zkl_ensemble_cut(zkl_ensemble_current(), session_id, ZKL_CUT_REPLIES_LOST);
    }
}

static void fail_names(const fault *self) {
    zkl_names_fail(duration_us(self));
    zkl_names_take(self->plan->choice % 1000 * US_PER_MS);
}

static void fail_opens(const fault *self) {
    zkl_opens_fail(self->plan->choice % 4);
    zkl_opens_take(self->plan->choice / 4 % 1000 * US_PER_MS);
}

/* ---- Beginning and end of each ----------------------------------------------------------------
 */

/* Names, and connections that cannot be opened. */
static void begin_on_machine(const fault *self) {
    switch (self->plan->kind) {
    case PLAN_FAIL_NAMES:
        fail_names(self);
        break;
    case PLAN_FEW_NAMES:
        name_few(self);
        break;
    case PLAN_MOVE_SERVERS:
        move_servers();
        break;
    case PLAN_FAIL_OPENS:
        fail_opens(self);
        break;
    case PLAN_OPEN_HOLES:
        open_holes(self);
        break;
    case PLAN_MOVE_SOME:
        move_some(self);
        break;
    default:
        break;
    }
}

static void begin(void *arg) {
    const fault *self = arg;
    zkl_ensemble *ensemble = zkl_ensemble_current();
    trace_event("FAULT", "%s for %d ms, target %u, choice %u", plan_fault_name(self->plan->kind),
                (int)self->plan->duration_ms, self->plan->target, self->plan->choice);
    switch (self->plan->kind) {
    case PLAN_CUT_CONNECTION:
        cut_connection(self);
        break;
    case PLAN_CUT_SERVER_OFF:
        zkl_ensemble_cut_off_server(ensemble, server_of(self));
        break;
    case PLAN_STOP_SERVER:
        zkl_ensemble_stop_server(ensemble, server_of(self));
        break;
    case PLAN_STOP_ALL_SERVERS:
        stop_all_servers();
        break;
    case PLAN_ELECT:
        zkl_ensemble_change_leader(ensemble);
        break;
    case PLAN_LAG:
        lag(self);
        break;
    case PLAN_EXPIRE_SESSION:
        expire_session(self);
        break;
    case PLAN_STOP_PROCESS:
        stop_process(self);
        break;
    case PLAN_DELETE_NODE:
        delete_node(self);
        break;
    case PLAN_FOREIGN_NODE:
        add_foreign_node(self);
        break;
    case PLAN_DELETE_PARENT:
        delete_parent(self);
        break;
    case PLAN_REFUSE:
        refuse(self);
        break;
    case PLAN_THROTTLE:
        zkl_ensemble_throttle(ensemble, server_of(self), duration_us(self));
        break;
    case PLAN_ALLOCATION:
        allocation_fail_after(self->plan->choice % 50);
        break;
    case PLAN_REPEAT_NEWS:
        repeat_news(self);
        break;
    case PLAN_MUTE:
        zkl_ensemble_mute_connections(ensemble, server_of(self), duration_us(self));
        break;
    case PLAN_REPLACE_CONNECTION:
        replace_connection(self);
        break;
    case PLAN_LEAVE_SESSION:
        leave_session(self);
        break;
    case PLAN_REPLACE_NODE:
        replace_node(self);
        break;
    default:
        begin_on_machine(self);
        break;
    }
}

static void end(void *arg) {
    const fault *self = arg;
    trace_event("FAULT", "end of %s", plan_fault_name(self->plan->kind));
    zkl_ensemble *ensemble = zkl_ensemble_current();
    if (self->plan->kind == PLAN_CUT_SERVER_OFF) {
        zkl_ensemble_mend_server(ensemble, server_of(self));
    } else if (self->plan->kind == PLAN_STOP_SERVER) {
        zkl_ensemble_start_server(ensemble, server_of(self));
    } else if (self->plan->kind == PLAN_STOP_ALL_SERVERS) {
        start_all_servers();
    } else if (self->plan->kind == PLAN_STOP_PROCESS) {
        continue_process(client_of(self));
    } else if (self->plan->kind == PLAN_FOREIGN_NODE || self->plan->kind == PLAN_REPLACE_NODE) {
        (void)foreign_all_leave();
    } else if (self->plan->kind == PLAN_ALLOCATION) {
        allocation_fail_after(ALLOCATION_NEVER);
    } else if (self->plan->kind == PLAN_FAIL_NAMES) {
        zkl_names_take(0);
    } else if (self->plan->kind == PLAN_FEW_NAMES) {
        zkl_names_lead_to(UINT32_MAX);
    } else if (self->plan->kind == PLAN_FAIL_OPENS) {
        zkl_opens_take(0);
    } else if (self->plan->kind == PLAN_OPEN_HOLES) {
        zkl_holes_open(0);
    } else if (hides_node(self) && !cuts_at_once(self)) {
        cut_all();
    }
}

static void schedule_deaths(const run_plan *plan) {
    for (size_t i = 0; i < plan->client_count; i++) {
        if (plan->clients[i].dies_at_ms >= 0) {
            all.deaths[i] = (zkl_world_event){ .run = die, .arg = (void *)&plan->clients[i] };
            zkl_world_schedule(&all.deaths[i], plan->clients[i].dies_at_ms * (int64_t)US_PER_MS);
        }
    }
}

void faults_begin(const run_plan *plan, zkl_process *const *processes) {
    memset(&all, 0, sizeof(all));
    all.plan = plan;
    all.processes = processes;
    foreign_begin(plan);
    for (size_t i = 0; i < PLAN_CLIENTS_MAX; i++) {
        all.stopped_at_us[i] = -1;
    }
    schedule_deaths(plan);
    for (size_t i = 0; i < plan->fault_count; i++) {
        fault *self = &all.faults[i];
        self->plan = &plan->faults[i];
        if (self->plan->left_out) {
            continue;
        }
        self->begin = (zkl_world_event){ .run = begin, .arg = self };
        self->end = (zkl_world_event){ .run = end, .arg = self };
        int64_t at_us = self->plan->at_ms * (int64_t)US_PER_MS;
        zkl_world_schedule(&self->begin, at_us);
        zkl_world_schedule(&self->end, at_us + duration_us(self));
    }
}

static void sweep(void *arg) {
    (void)arg;
    if (!foreign_all_leave()) {
        all.last_sweep.run = sweep;
        zkl_world_schedule(&all.last_sweep, zkl_world_now_us() + SWEEP_EVERY_US);
    }
}

void faults_heal(void) {
    trace_event("FAULT", "nothing goes wrong from here on");
    for (size_t i = 0; i < all.plan->fault_count; i++) {
        zkl_world_unschedule(&all.faults[i].begin);
        zkl_world_unschedule(&all.faults[i].end);
    }
    for (size_t i = 0; i < all.plan->client_count; i++) {
        zkl_world_unschedule(&all.deaths[i]);
        continue_process(i);
    }
    for (size_t i = 0; i < all.plan->fault_count; i++) {
        if (all.faults[i].plan != NULL && hides_node(&all.faults[i]) &&
            !cuts_at_once(&all.faults[i])) {
            cut_all();
        }
    }
    oracle_is_healed();
    allocation_fail_after(ALLOCATION_NEVER);
    zkl_ensemble_heal(zkl_ensemble_current());
    sweep(NULL);
}

void faults_end(void) {
    allocation_fail_after(ALLOCATION_NEVER);
    foreign_end();
    memset(&all, 0, sizeof(all));
}
