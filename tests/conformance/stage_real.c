/* Three servers, a proxy before each speaker, and libzookeeper itself for the rest. */
#include "stage.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/proxy.h"
#include "support/raw.h"
#include "support/scene.h"
#include "support/servers.h"

enum { PATH_SIZE = 256, AGES_MAX = 8 };

struct stage_way {
    struct proxy *proxy;
};

static zhandle_t *raw;
static zhandle_t *stranger;
static int server; /* to which the speakers connect */
static char root[64];

const char *stage_name(void) {
    return "real";
}

bool stage_is_the_measure(void) {
    return true;
}

/* On the leader, and on a follower. */
int stage_passes(void) {
    return 2;
}

void stage_program_begin(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    zoo_set_debug_level((ZooLogLevel)0);
    servers_begin();
}

const char *stage_root(void) {
    return root;
}

void stage_nap(void) {
    nap();
}

void stage_begin(int pass) {
    static int count;
    snprintf(root, sizeof(root), "/conformance-%d-%d", (int)getpid(), ++count);
    server = pass == 0 ? servers_leader() : servers_follower();
    raw = raw_open(servers_hosts());
    raw_make(raw, root);
}

static void delete_all(void *arg, const char *name) {
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s/%s", (const char *)arg, name);
    raw_visit_children(raw, path, delete_all, path);
    raw_delete(raw, path);
}

void stage_end(void) {
    raw_catch_up(raw);
    raw_visit_children(raw, root, delete_all, root);
    raw_delete(raw, root);
    raw_close(raw);
}

/* ---- By hand ----------------------------------------------------------------------- */

static const char *full_path(const char *path) {
    static char full[PATH_SIZE];
    snprintf(full, sizeof(full), "%s%s", root, path);
    return full;
}

void stage_make(const char *path) {
    raw_make(raw, full_path(path));
}

void stage_delete(const char *path) {
    raw_delete(raw, full_path(path));
}

int64_t stage_stranger_enter(void) {
    /* On the leader, which answers when it has carried out itself what was asked. */
    stranger = raw_open(server_host(servers_leader()));
    return zoo_client_id(stranger)->client_id;
}

void stage_stranger_make(const char *path, bool sequential) {
    char made[PATH_SIZE];
    raw_make_ephemeral(stranger, full_path(path), sequential, made, sizeof(made));
}

void stage_stranger_leave(void) {
    raw_close(stranger);
}

static const char *error_name(int rc) {
    switch (rc) {
    case ZOK:
        return "Ok";
    case ZNONODE:
        return "NoNode";
    case ZNODEEXISTS:
        return "NodeExists";
    case ZNOTEMPTY:
        return "NotEmpty";
    case ZBADVERSION:
        return "BadVersion";
    case ZNOCHILDRENFOREPHEMERALS:
        return "NoChildrenForEphemerals";
    case ZRUNTIMEINCONSISTENCY:
        return "RuntimeInconsistency";
    default:
        return zerror(rc);
    }
}

static void prepare(zoo_op_t *raw_operation, const char *path, const stage_operation *operation,
                    stage_result *result) {
    int mode = (operation->ephemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT) |
               (operation->sequential ? ZOO_SEQUENCE : 0);
    switch (operation->kind) {
    case STAGE_OPERATION_CHECK:
        zoo_check_op_init(raw_operation, path, operation->version);
        break;
    case STAGE_OPERATION_CREATE:
        zoo_create_op_init(raw_operation, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, mode, result->made,
                           sizeof(result->made));
        break;
    case STAGE_OPERATION_DELETE:
        zoo_delete_op_init(raw_operation, path, operation->version);
        break;
    }
}

const char *stage_stranger_transact(const stage_operation *operations, int count,
                                    stage_result *results) {
    char paths[STAGE_OPERATIONS_MAX][PATH_SIZE];
    zoo_op_t raw_operations[STAGE_OPERATIONS_MAX] = { { 0 } };
    zoo_op_result_t raw_results[STAGE_OPERATIONS_MAX] = { { 0 } };
    for (int i = 0; i < count; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s%s", root, operations[i].path);
        prepare(&raw_operations[i], paths[i], &operations[i], &results[i]);
    }
    int rc = raw_multi(stranger, count, raw_operations, raw_results);
    for (int i = 0; i < count; i++) {
        results[i].error = error_name(raw_results[i].err);
    }
    return error_name(rc);
}

struct watches {
    int64_t session_id;
    int count;
};

static void count_watch(void *arg, const char *node, int64_t session_id) {
    struct watches *watches = arg;
    (void)node;
    watches->count += session_id == watches->session_id ? 1 : 0;
}

int stage_watches(int64_t session_id) {
    struct watches watches = { .session_id = session_id };
    servers_visit_watches(root, count_watch, &watches);
    return watches.count;
}

bool stage_set_creates(const stage_age *ages, int count) {
    char paths[AGES_MAX][PATH_SIZE];
    struct age all[AGES_MAX];
    if (!servers_can_age()) {
        return false;
    }
    for (int i = 0; i < count && i < AGES_MAX; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s%s", root, ages[i].path);
        all[i] = (struct age){ paths[i], ages[i].creates };
    }
    servers_age(all, count);
    server = servers_follower();
    return true;
}

/* ---- The way -------------------------------------------------------------------------- */

stage_way *stage_way_open(void) {
    stage_way *way = malloc(sizeof(*way));
    if (way == NULL) {
        give_up("out of memory");
    }
    way->proxy = proxy_start(server);
    return way;
}

void stage_way_close(stage_way *way) {
    proxy_stop(way->proxy);
    free(way);
}

const char *stage_way_addresses(const stage_way *way) {
    return proxy_hosts(way->proxy);
}

void stage_way_cut_next(stage_way *way, int64_t session_id, stage_request kind, stage_loss loss,
                        bool then_away) {
    (void)session_id;
    (void)kind;
    const struct proxy_plan plan = {
        .cuts = { { loss == STAGE_REQUEST_LOST ? PROXY_REQUEST_LOST : PROXY_REPLY_LOST, 1 } },
        .count = 1,
        .then_stay_away = then_away,
    };
    proxy_set_plan(way->proxy, &plan);
}

void stage_way_admit(stage_way *way) {
    proxy_admit(way->proxy);
}

void stage_way_turn_watches_away(stage_way *way) {
    proxy_turn_watches_away(way->proxy);
}

void stage_way_end_of_turning_away(stage_way *way) {
    while (!proxy_has_turned_watches_away(way->proxy)) {
        nap();
    }
}

/* By a client on another server: the speaker's own would end his connection at once. */
void stage_way_expire(stage_way *way, int64_t session_id) {
    (void)session_id;
    const clientid_t session = proxy_session(way->proxy);
    raw_expire(server_host(server % SERVERS + 1), &session);
}

void stage_way_move(stage_way *way, int64_t session_id) {
    (void)session_id;
    const clientid_t session = proxy_session(way->proxy);
    raw_move(server_host(server % SERVERS + 1), &session);
}
