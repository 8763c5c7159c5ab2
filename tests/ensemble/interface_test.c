/* The public interface against real servers: names, nodes, and misuse. */
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* ---- The node ----------------------------------------------------------- */

static bool has_line(const char *data, const char *key, const char *value) {
    char line[512];
    snprintf(line, sizeof line, "%s=%s\n", key, value);
    return strstr(data, line) != NULL;
}

static void granted_node_is_ours_and_tells_who_we_are(void) {
    struct scene scene;
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    struct Stat stat;
    char data[1024];
    char host[256] = "";
    char pid[32];
    scene_begin(&scene, "node");
    options.label = "cashier \xc3\xa9";
    zkl_client *client = NULL;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    CU_ASSERT_EQUAL(strncmp(grant.node, scene.path, strlen(scene.path)), 0);
    raw_catch_up(scene.raw);
    CU_ASSERT_TRUE(raw_stat(scene.raw, grant.node, &stat));
    ASSERT_NUMBER(stat.ephemeralOwner, client_information(client).session_id);
    ASSERT_NUMBER(stat.czxid, grant.token);
    raw_data(scene.raw, grant.node, data, sizeof data);
    gethostname(host, sizeof host - 1);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    CU_ASSERT_TRUE(has_line(data, "host", host));
    CU_ASSERT_TRUE(has_line(data, "pid", pid));
    CU_ASSERT_TRUE(has_line(data, "label", options.label));
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

static void release_takes_the_node_away(void) {
    struct scene scene;
    zkl_grant grant = ZKL_GRANT_INIT;
    struct Stat stat;
    scene_begin(&scene, "released");
    zkl_client *client = client_open_on(1);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    raw_catch_up(scene.raw);
    CU_ASSERT_FALSE(raw_stat(scene.raw, grant.node, &stat));
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

/* ---- Paths -------------------------------------------------------------- */

/* Acquires, and asserts that the node is below `parent` as the servers see it. */
static void assert_acquires_below(struct scene *scene, zkl_client *client, const char *resource,
                                  const char *parent) {
    zkl_grant grant = ZKL_GRANT_INIT;
    struct Stat stat;
    zkl_lock *lock = lock_open(client, resource);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    raw_catch_up(scene->raw);
    ASSERT_NUMBER(raw_children(scene->raw, parent), 1);
    CU_ASSERT_EQUAL(strncmp(grant.node, parent, strlen(parent)), 0);
    CU_ASSERT_TRUE(raw_stat(scene->raw, grant.node, &stat));
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    raw_catch_up(scene->raw);
    ASSERT_NUMBER(raw_children(scene->raw, parent), 0);
    zkl_lock_close(lock);
}

static void chroot_that_is_missing_is_made(void) {
    struct scene scene;
    char hosts[512];
    char parent[512];
    scene_begin(&scene, "chroot");
    snprintf(hosts, sizeof hosts, "%s/%s/deeper", servers_hosts(), scene.resource);
    snprintf(parent, sizeof parent, "/%s/deeper/locks/stock", scene.resource);
    zkl_client *client = client_open(hosts, LONG_SESSION_MS);
    assert_acquires_below(&scene, client, "stock", parent);
    snprintf(parent, sizeof parent, "/%s/deeper/plain/path", scene.resource);
    assert_acquires_below(&scene, client, "/plain/path", parent);
    client_close(client);
    scene_end(&scene);
}

static void absolute_resource_path_is_taken_as_it_is(void) {
    struct scene scene;
    char path[512];
    scene_begin(&scene, "absolute");
    snprintf(path, sizeof path, "/%s/a/b c", scene.resource);
    zkl_client *client = client_open_on(1);
    assert_acquires_below(&scene, client, path, path);
    client_close(client);
    scene_end(&scene);
}

static void lock_root_that_is_missing_is_made(void) {
    struct scene scene;
    char root[256];
    char parent[512];
    scene_begin(&scene, "root");
    snprintf(root, sizeof root, "/%s/locks here", scene.resource);
    snprintf(parent, sizeof parent, "%s/stock", root);
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.lock_root = root;
    zkl_client *client = NULL;
    ASSERT_STATUS(zkl_client_open(servers_hosts(), &options, &client), ZKL_OK);
    assert_acquires_below(&scene, client, "stock", parent);
    client_close(client);
    scene_end(&scene);
}

/* ---- Misuse ------------------------------------------------------------- */

static void acquire_on_a_handle_that_holds_gives_already_held(void) {
    struct scene scene;
    scene_begin(&scene, "already");
    zkl_client *client = client_open_on(1);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_ALREADY_HELD);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_READ, 0, NULL), ZKL_ALREADY_HELD);
    ASSERT_NUMBER(scene_queue(&scene), 1);
    ASSERT_STATUS(zkl_lock_check(lock, NULL), ZKL_OK);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

static void release_of_what_is_not_held_gives_not_held(void) {
    struct scene scene;
    scene_begin(&scene, "not-held");
    zkl_client *client = client_open_on(1);
    zkl_lock *holder = lock_open(client, scene.resource);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_NOT_HELD);
    ASSERT_STATUS(zkl_lock_check(lock, NULL), ZKL_NOT_HELD);
    ASSERT_STATUS(zkl_lock_release(holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(holder, PATIENCE_MS), ZKL_NOT_HELD);
    ASSERT_STATUS(zkl_lock_cancel(holder), ZKL_NOT_WAITING);
    zkl_lock_close(holder);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

static void handle_that_waits_is_in_use_for_other_threads(void) {
    struct scene scene;
    struct waiter waiter;
    scene_begin(&scene, "in-use");
    zkl_client *client = client_open_on(1);
    zkl_lock *holder = lock_open(client, scene.resource);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&waiter, lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&scene) == 2);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_HANDLE_IN_USE);
    ASSERT_STATUS(zkl_lock_release(lock, 0), ZKL_HANDLE_IN_USE);
    ASSERT_STATUS(zkl_lock_cancel(lock), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_CANCELLED);
    zkl_lock_close(holder);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

/* ---- Scopes ------------------------------------------------------------- */

/* Leaves in the middle, as a function does that meets an error. */
static bool hold_and_return_early(zkl_lock *lock, struct scene *scene) {
    if (zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL) != ZKL_OK) {
        return false;
    }
    ZKL_RELEASE_AT_SCOPE_END zkl_lock *held = lock;
    if (scene_queue(scene) == 1) {
        return true;
    }
    return false;
}

static bool open_hold_and_return_early(zkl_client *client, struct scene *scene) {
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *lock = lock_open(client, scene->resource);
    if (zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL) == ZKL_OK) {
        return scene_queue(scene) == 1;
    }
    return false;
}

static void early_return_releases_and_keeps_or_closes_the_handle(void) {
    struct scene scene;
    scene_begin(&scene, "scope");
    zkl_client *client = client_open_on(1);
    zkl_lock *lock = lock_open(client, scene.resource);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_TRUE(hold_and_return_early(lock, &scene));
        ASSERT_STATUS(zkl_lock_check(lock, NULL), ZKL_NOT_HELD);
        WAIT_UNTIL(scene_queue(&scene) == 0);
    }
    CU_ASSERT_TRUE(open_hold_and_return_early(client, &scene));
    WAIT_UNTIL(scene_queue(&scene) == 0);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

/* ---- The client --------------------------------------------------------- */

static void client_tells_its_session(void) {
    zkl_client *client = client_open(servers_hosts(), SHORT_SESSION_MS);
    zkl_client_information information = client_information(client);
    CU_ASSERT_TRUE(information.connected);
    ASSERT_NUMBER(information.session_timeout_ms, SHORT_SESSION_MS);
    ASSERT_NUMBER(information.unsupported_servers, 0);
    CU_ASSERT_NOT_EQUAL(servers_of_session(information.session_id), 0);
    ASSERT_NUMBER(information.sessions_expired, 0);
    client_close(client);
    WAIT_UNTIL(servers_of_session(information.session_id) == 0);
}

static void session_timeout_is_raised_to_the_least_that_the_servers_grant(void) {
    zkl_client *client = client_open(servers_hosts(), (int32_t)servers_tick_ms() / 2);
    ASSERT_NUMBER(client_information(client).session_timeout_ms, 2 * servers_tick_ms());
    client_close(client);
}

static void open_without_a_server_says_that_there_is_no_connection(void) {
    const int32_t timeout_ms = 300;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.connect_timeout_ms = timeout_ms;
    zkl_client *client = NULL;
    int64_t begun = now_ms();
    /* Port 1: nobody listens there. */
    ASSERT_STATUS(zkl_client_open("127.0.0.1:1", &options, &client), ZKL_DISCONNECTED);
    CU_ASSERT_TRUE(now_ms() - begun >= timeout_ms);
    CU_ASSERT_PTR_NULL(client);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(granted_node_is_ours_and_tells_who_we_are),
        TEST_CASE(release_takes_the_node_away),
        TEST_CASE(chroot_that_is_missing_is_made),
        TEST_CASE(absolute_resource_path_is_taken_as_it_is),
        TEST_CASE(lock_root_that_is_missing_is_made),
        TEST_CASE(acquire_on_a_handle_that_holds_gives_already_held),
        TEST_CASE(release_of_what_is_not_held_gives_not_held),
        TEST_CASE(handle_that_waits_is_in_use_for_other_threads),
        TEST_CASE(early_return_releases_and_keeps_or_closes_the_handle),
        TEST_CASE(client_tells_its_session),
        TEST_CASE(session_timeout_is_raised_to_the_least_that_the_servers_grant),
        TEST_CASE(open_without_a_server_says_that_there_is_no_connection),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
