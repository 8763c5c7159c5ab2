#include "support/scene.h"

#include "support/closed.h"
#include "support/servers.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* ---- The resource ------------------------------------------------------ */

void scene_begin(struct scene *scene, const char *stem) {
    static int count;
    /* Process and time: the ensemble may have seen earlier runs. */
    snprintf(scene->resource, sizeof scene->resource, "%s-%d-%" PRIx64 "-%d", stem, (int)getpid(),
             (uint64_t)now_ms(), ++count);
    snprintf(scene->path, sizeof scene->path, "/locks/%s", scene->resource);
    scene->raw = raw_open(servers_hosts());
}

int scene_queue(struct scene *scene) {
    raw_catch_up(scene->raw);
    return raw_children(scene->raw, scene->path);
}

struct census {
    zhandle_t *raw;
    int watches;
};

/* What watches a node that is gone watches nothing of its own. */
static void count_unless_own(void *arg, const char *node, int64_t session_id) {
    struct census *census = arg;
    struct Stat stat = { 0 };
    bool own = raw_stat(census->raw, node, &stat) && stat.ephemeralOwner == session_id;
    census->watches += own ? 0 : 1;
}

int scene_watches_on(struct scene *scene, const char *node) {
    struct census census = { scene->raw, 0 };
    raw_catch_up(scene->raw);
    servers_visit_watches(node, count_unless_own, &census);
    return census.watches;
}

int scene_watches(struct scene *scene) {
    return scene_watches_on(scene, scene->path);
}

void scene_end(struct scene *scene) {
    WAIT_UNTIL(scene_queue(scene) == 0);
    WAIT_UNTIL(servers_watches(scene->path) == 0);
    CU_ASSERT_TRUE(closed_secret() == NULL || raw_is_closed(scene->raw, scene->path));
    raw_close(scene->raw);
}

/* ---- Clients ----------------------------------------------------------- */

static zkl_client *open_client(const char *hosts, int32_t session_timeout_ms, bool unprotected) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    options.session_timeout_ms = session_timeout_ms;
    options.connect_timeout_ms = PATIENCE_MS;
    options.security = &security;
    security.unprotected = unprotected;
    zkl_client *client = NULL;
    int status = zkl_client_open(hosts, &options, &client);
    if (status != ZKL_OK) {
        give_up("zkl_client_open(%s): %s", hosts, zkl_strerror(status));
    }
    return client;
}

zkl_client *client_open(const char *hosts, int32_t session_timeout_ms) {
    return open_client(hosts, session_timeout_ms, false);
}

zkl_client *client_open_unprotected(const char *hosts, int32_t session_timeout_ms) {
    return open_client(hosts, session_timeout_ms, true);
}

zkl_client *client_open_on(int server) {
    return client_open(server_host(server), LONG_SESSION_MS);
}

void client_close(zkl_client *client) {
    ASSERT_STATUS(zkl_client_close(client, PATIENCE_MS), ZKL_OK);
}

zkl_client_information client_information(zkl_client *client) {
    zkl_client_information information = { .struct_size = sizeof information };
    ASSERT_STATUS(zkl_client_info(client, &information), ZKL_OK);
    return information;
}

zkl_lock *lock_open(zkl_client *client, const char *resource) {
    zkl_lock *lock = NULL;
    int status = zkl_lock_open(client, resource, NULL, &lock);
    if (status != ZKL_OK) {
        give_up("zkl_lock_open(%s): %s", resource, zkl_strerror(status));
    }
    return lock;
}

/* ---- Threads ----------------------------------------------------------- */

void thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
    if (pthread_create(thread, NULL, run, arg) != 0) {
        give_up("no thread");
    }
}

static void *wait_for_lock(void *arg) {
    struct waiter *waiter = arg;
    waiter->status =
        zkl_lock_acquire(waiter->lock, waiter->mode, waiter->timeout_ms, &waiter->grant);
    waiter->returned_at_ms = now_ms();
    atomic_store(&waiter->done, true);
    return NULL;
}

void waiter_start(struct waiter *waiter, zkl_lock *lock, zkl_mode mode, int64_t timeout_ms) {
    waiter->lock = lock;
    waiter->mode = mode;
    waiter->timeout_ms = timeout_ms;
    waiter->grant = (zkl_grant)ZKL_GRANT_INIT;
    atomic_init(&waiter->done, false);
    thread_start(&waiter->thread, wait_for_lock, waiter);
}

bool waiter_is_done(struct waiter *waiter) {
    return atomic_load(&waiter->done);
}

int waiter_join(struct waiter *waiter) {
    pthread_join(waiter->thread, NULL);
    return waiter->status;
}
