/* zklock/testing.h: what the servers have. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/validation.h"
#include "client/client.h"
#include "recipe/node_name.h"
#include "testing/testing.h"
#include "testing/world.h"
#include "zklock/testing.h"

/* ---- By hand ------------------------------------------------------------------------ */

/* The path and all that is missing above it. */
static void make_path(zkl_ensemble *ensemble, const char *path) {
    char part[ZKL_NODE_PATH_SIZE];
    for (const char *slash = path; slash != NULL;) {
        slash = strchr(slash + 1, '/');
        size_t length = slash != NULL ? (size_t)(slash - path) : strlen(path);
        snprintf(part, sizeof(part), "%.*s", (int)length, path);
        (void)zkl_ensemble_create(ensemble, 0, part, NULL, false, false, NULL, 0);
    }
}

static void insist_on_path(const char *function, const char *path) {
    zkl_testing_insist(path != NULL && path[0] == '/', function,
                       "the path must be a full one, as \"/locks/stock\"");
    zkl_testing_insist(strlen(path) < ZKL_NODE_PATH_SIZE, function, "the path is too long");
}

static void write_guid(char guid[ZKL_GUID_SIZE]) {
    snprintf(guid, ZKL_GUID_SIZE, "%08" PRIx64 "-0000-4000-8000-%012" PRIx64,
             zkl_world_random((uint64_t)UINT32_MAX + 1), zkl_world_random((uint64_t)1 << 48));
}

void zkl_testing_add_contender(const char *resource_path, zkl_mode mode,
                               char node[ZKL_NODE_PATH_SIZE]) {
    static const char function[] = "zkl_testing_add_contender";
    zkl_ensemble *ensemble = zkl_testing_led_ensemble(function);
    insist_on_path(function, resource_path);
    zkl_testing_insist(zkl_validate_resource(resource_path) == ZKL_OK, function,
                       zkl_error_message());
    zkl_testing_insist(mode == ZKL_EXCLUSIVE || mode == ZKL_READ || mode == ZKL_WRITE, function,
                       "the mode must be ZKL_EXCLUSIVE, ZKL_READ or ZKL_WRITE");
    char guid[ZKL_GUID_SIZE];
    char name[ZKL_NODE_NAME_SIZE];
    char path[ZKL_NODE_PATH_SIZE];
    write_guid(guid);
    zkl_node_name_prefix(name, guid, zkl_node_name_of(mode, 0, ZKL_NAMING_CURATOR));
    snprintf(path, sizeof(path), "%s/%s", resource_path, name);
    make_path(ensemble, resource_path);
    zkl_server_error error = zkl_ensemble_create(ensemble, zkl_ensemble_make_session(ensemble),
                                                 path, NULL, true, true, node, ZKL_NODE_PATH_SIZE);
    zkl_testing_insist(error == ZKL_SERVER_ERROR_NONE, function, zkl_server_error_name(error));
}

int zkl_testing_delete_node(const char *path) {
    static const char function[] = "zkl_testing_delete_node";
    zkl_ensemble *ensemble = zkl_testing_led_ensemble(function);
    insist_on_path(function, path);
    return zkl_ensemble_delete(ensemble, path) == ZKL_SERVER_ERROR_NONE;
}

/* ---- What there is ------------------------------------------------------------------ */

size_t zkl_testing_count_children(const char *path) {
    static const char function[] = "zkl_testing_count_children";
    const zkl_ensemble *ensemble = zkl_testing_ensemble(function);
    insist_on_path(function, path);
    const zkl_node *node = zkl_tree_find(zkl_ensemble_tree(ensemble), path, ZKL_LATEST_ZXID);
    return node != NULL ? zkl_node_get_stat(node).child_count : 0;
}

static size_t count_all_watches(const zkl_ensemble *ensemble) {
    size_t count = 0;
    int64_t session_id = 0;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        count += zkl_ensemble_watch_count(ensemble, session_id);
    }
    return count;
}

size_t zkl_testing_count_watches(zkl_client *client) {
    const zkl_ensemble *ensemble = zkl_testing_ensemble("zkl_testing_count_watches");
    if (client == NULL) {
        return count_all_watches(ensemble);
    }
    size_t count = 0;
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        count += zkl_ensemble_watch_count(ensemble, one->session.id);
    }
    return count;
}

size_t zkl_testing_count_sessions(void) {
    const zkl_ensemble *ensemble = zkl_testing_ensemble("zkl_testing_count_sessions");
    size_t count = 0;
    int64_t session_id = 0;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        count += zkl_ensemble_session_is_alive(ensemble, session_id) ? 1 : 0;
    }
    return count;
}

/* ---- What is left ------------------------------------------------------------------- */

static bool is_a_clients(const zkl_ensemble *ensemble, int64_t session_id) {
    int64_t other = 0;
    for (size_t i = 0; (other = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        if (other == session_id) {
            return true;
        }
    }
    return false;
}

/* A node of a client, here or below; NULL: there is none. */
static const zkl_node *find_owned(const zkl_ensemble *ensemble, const zkl_node *node) {
    int64_t owner = zkl_node_get_stat(node).ephemeral_owner;
    if (owner != 0 && is_a_clients(ensemble, owner)) {
        return node;
    }
    const zkl_node *found = NULL;
    for (const zkl_node *child = zkl_node_first_child(node, ZKL_LATEST_ZXID);
         child != NULL && found == NULL; child = zkl_node_next_child(child, ZKL_LATEST_ZXID)) {
        found = find_owned(ensemble, child);
    }
    return found;
}

static const zkl_node *find_left(const zkl_ensemble *ensemble) {
    return find_owned(ensemble, zkl_tree_find(zkl_ensemble_tree(ensemble), "/", ZKL_LATEST_ZXID));
}

static bool is_clean(void *arg) {
    const zkl_ensemble *ensemble = arg;
    return zkl_testing_tasks_have_ended() && count_all_watches(ensemble) == 0 &&
           find_left(ensemble) == NULL;
}

void zkl_testing_expect_clean(int64_t within_ms) {
    static const char function[] = "zkl_testing_expect_clean";
    zkl_ensemble *ensemble = zkl_testing_ensemble(function);
    if (zkl_testing_wait(is_clean, ensemble, zkl_testing_moment_after(function, within_ms))) {
        return;
    }
    const zkl_node *left = find_left(ensemble);
    if (left != NULL) {
        zkl_testing_fail("%s: the node %s is left", function, zkl_node_path(left));
    }
    zkl_testing_insist(zkl_testing_tasks_have_ended(), function, "a task has not ended");
    zkl_testing_fail("%s: %zu watches are left", function, count_all_watches(ensemble));
}
