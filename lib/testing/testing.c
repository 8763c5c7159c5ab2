#include "zklock/testing.h"

#include <stdio.h>
#include <string.h>

#include "client.h"
#include "testing/ensemble.h"
#include "testing/memory.h"
#include "testing/world.h"

enum { US_PER_MS = 1000, TICK_MIN_MS = 10, TICK_MAX_MS = 60000 };

/* ---- Mistakes -------------------------------------------------------------------------- */

static void insist(bool good, const char *function, const char *rule) {
    if (!good) {
        zkl_testing_fail("%s: %s", function, rule);
    }
}

static zkl_ensemble *ensemble_for(const char *function) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    insist(ensemble != NULL, function, "zkl_testing_begin comes first");
    return ensemble;
}

static int64_t to_us(const char *function, int64_t ms) {
    insist(ms >= 0 && ms <= INT64_MAX / US_PER_MS, function, "a duration must be >= 0 ms");
    return ms * US_PER_MS;
}

/* ---- Beginning and end --------------------------------------------------------------------- */

static void check_options(const zkl_testing_options *options) {
    static const char function[] = "zkl_testing_begin";
    insist(options->struct_size == sizeof(*options), function,
           "struct_size must be that of ZKL_TESTING_OPTIONS_INIT");
    insist(options->servers >= 1 && options->servers <= ZKL_SERVERS_MAX, function,
           "servers must be from 1 to 9");
    insist(options->tick_ms >= TICK_MIN_MS && options->tick_ms <= TICK_MAX_MS, function,
           "tick_ms must be from 10 to 60000");
}

void zkl_testing_begin(const zkl_testing_options *given) {
    static const zkl_testing_options defaults = ZKL_TESTING_OPTIONS_INIT;
    const zkl_testing_options *options = given != NULL ? given : &defaults;
    check_options(options);
    zkl_testing_end();
    zkl_world_begin(options->seed);
    zkl_ensemble_options its = zkl_ensemble_defaults();
    its.servers = options->servers;
    its.tick_ms = options->tick_ms;
    (void)zkl_ensemble_begin(&its);
}

void zkl_testing_end(void) {
    if (zkl_ensemble_current() != NULL) {
        zkl_ensemble_end();
        zkl_world_end();
    }
}

/* ---- Time, tasks and processes ----------------------------------------------------------------
 */

int64_t zkl_testing_now_ms(void) {
    return zkl_world_now_us() / US_PER_MS;
}

void zkl_testing_sleep(int64_t ms) {
    (void)ensemble_for("zkl_testing_sleep");
    zkl_world_sleep_us(to_us("zkl_testing_sleep", ms));
}

/* A task of the application; the world's own keeps it until its end. */
struct zkl_testing_task {
    void (*run)(void *arg);
    void *arg;
    zkl_task *task;
};

static void *run_task(void *arg) {
    zkl_testing_task *task = arg;
    task->run(task->arg);
    return NULL;
}

zkl_testing_task *zkl_testing_start(void (*run)(void *arg), void *arg) {
    (void)ensemble_for("zkl_testing_start");
    insist(run != NULL, "zkl_testing_start", "run must not be NULL");
    zkl_testing_task *task = zkl_world_allocate(sizeof(*task));
    task->run = run;
    task->arg = arg;
    task->task = zkl_task_start(run_task, task);
    return task;
}

void zkl_testing_join(zkl_testing_task *task) {
    insist(task != NULL, "zkl_testing_join", "task must not be NULL");
    while (!zkl_task_has_ended(task->task)) {
        zkl_world_wait_on(task->task, INT64_MAX);
    }
}

static void continue_process(void *arg) {
    zkl_process_continue(arg);
}

void zkl_testing_stop_process(int64_t ms) {
    (void)ensemble_for("zkl_testing_stop_process");
    int64_t until_us = zkl_world_now_us() + to_us("zkl_testing_stop_process", ms);
    zkl_process *process = zkl_process_current();
    zkl_world_event go_on = { .run = continue_process, .arg = process };
    zkl_world_schedule(&go_on, until_us);
    zkl_process_stop(process);
    zkl_world_sleep_us(until_us - zkl_world_now_us());
}

zkl_testing_process *zkl_testing_process_make(void) {
    (void)ensemble_for("zkl_testing_process_make");
    return (zkl_testing_process *)zkl_process_begin(0);
}

void zkl_testing_process_enter(zkl_testing_process *process) {
    (void)ensemble_for("zkl_testing_process_enter");
    (void)zkl_process_enter(process != NULL ? (zkl_process *)process : zkl_process_first());
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static void for_each_session(const char *function, zkl_client *client,
                             void (*act)(zkl_ensemble *ensemble, int64_t session_id)) {
    zkl_ensemble *ensemble = ensemble_for(function);
    insist(client != NULL, function, "client must not be NULL");
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        if (one->session.established) {
            act(ensemble, one->session.id);
        }
    }
}

void zkl_testing_expire_session(zkl_client *client) {
    for_each_session("zkl_testing_expire_session", client, zkl_ensemble_expire);
}

static void cut(zkl_ensemble *ensemble, int64_t session_id) {
    (void)zkl_ensemble_cut(ensemble, session_id, ZKL_CUT_REQUESTS_LOST);
}

void zkl_testing_disconnect(zkl_client *client, int64_t ms) {
    zkl_ensemble *ensemble = ensemble_for("zkl_testing_disconnect");
    int64_t for_us = to_us("zkl_testing_disconnect", ms);
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        zkl_ensemble_refuse_connections(ensemble, i, for_us);
    }
    for_each_session("zkl_testing_disconnect", client, cut);
}

void zkl_testing_lose_reply(zkl_client *client, zkl_testing_request request, int applied) {
    zkl_ensemble *ensemble = ensemble_for("zkl_testing_lose_reply");
    insist(client != NULL, "zkl_testing_lose_reply", "client must not be NULL");
    zkl_call_kind kind = request == ZKL_TESTING_CREATE ? ZKL_CALL_CREATE : ZKL_CALL_DELETE;
    zkl_cut how = applied != 0 ? ZKL_CUT_WHEN_ANSWERED : ZKL_CUT_REQUESTS_LOST;
    zkl_ensemble_cut_next(ensemble, client->sessions->session.id, kind, how, 0);
}

void zkl_testing_stop_servers(void) {
    zkl_ensemble *ensemble = ensemble_for("zkl_testing_stop_servers");
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        zkl_ensemble_stop_server(ensemble, i);
    }
}

void zkl_testing_start_servers(void) {
    zkl_ensemble *ensemble = ensemble_for("zkl_testing_start_servers");
    for (uint32_t i = 0; i < zkl_ensemble_server_count(ensemble); i++) {
        zkl_ensemble_start_server(ensemble, i);
    }
}

void zkl_testing_elect(void) {
    zkl_ensemble_change_leader(ensemble_for("zkl_testing_elect"));
}

/* ---- Nodes -------------------------------------------------------------------------------------
 */

/* The path and all that is missing above it. */
static void make_path(zkl_ensemble *ensemble, const char *path) {
    char part[ZKL_NODE_PATH_SIZE];
    for (const char *slash = path; slash != NULL && slash[0] != '\0';) {
        slash = strchr(slash + 1, '/');
        size_t length = slash != NULL ? (size_t)(slash - path) : strlen(path);
        snprintf(part, sizeof(part), "%.*s", (int)length, path);
        (void)zkl_ensemble_create(ensemble, 0, part, NULL, false, false, NULL, 0);
    }
}

void zkl_testing_rival(const char *resource_path, zkl_mode mode, char node[ZKL_NODE_PATH_SIZE]) {
    static const char function[] = "zkl_testing_rival";
    static const char *const kinds[] = { "lock-", "__READ__", "__WRIT__" };
    zkl_ensemble *ensemble = ensemble_for(function);
    insist(resource_path != NULL && resource_path[0] == '/', function,
           "resource_path must be a full path");
    insist(node != NULL, function, "node must not be NULL");
    insist((unsigned)mode < sizeof(kinds) / sizeof(kinds[0]), function, "mode must be a zkl_mode");
    make_path(ensemble, resource_path);
    char path[ZKL_NODE_PATH_SIZE];
    uint64_t number = zkl_world_random(UINT32_MAX);
    snprintf(path, sizeof(path), "%s/_c_%08x-0000-4000-8000-000000000000-%s", resource_path,
             (unsigned)number, kinds[mode]);
    zkl_server_error error = zkl_ensemble_create(ensemble, zkl_ensemble_make_session(ensemble),
                                                 path, NULL, true, true, node, ZKL_NODE_PATH_SIZE);
    insist(error == ZKL_SERVER_ERROR_NONE, function, zkl_server_error_name(error));
}

int zkl_testing_delete_node(const char *path) {
    zkl_ensemble *ensemble = ensemble_for("zkl_testing_delete_node");
    insist(path != NULL, "zkl_testing_delete_node", "path must not be NULL");
    return zkl_ensemble_delete(ensemble, path) == ZKL_SERVER_ERROR_NONE;
}

size_t zkl_testing_count_children(const char *path) {
    const zkl_ensemble *ensemble = ensemble_for("zkl_testing_count_children");
    insist(path != NULL, "zkl_testing_count_children", "path must not be NULL");
    const zkl_node *node = zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID);
    return node != NULL ? zkl_node_get_stat(node).child_count : 0;
}
