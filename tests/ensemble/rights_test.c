/*
 * Leases below a lock root that is another team's: rights to it are withheld, and the resource is
 * named by an absolute path, or is below it and there already.
 *
 * It holds as well where the servers check rights early, each by itself:
 * JDK_JAVA_OPTIONS=-Dzookeeper.enableEagerACLCheck=true ensemble/ensemble --local run ...
 */
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>

/* Where nothing is to expire on a busy machine, and two thirds of it can be waited for. */
#define SESSION_TICKS 8

enum { PATH_SIZE = 320 };

static int32_t timeout_ms(void) {
    return (int32_t)servers_tick_ms() * SESSION_TICKS;
}

struct stage {
    struct scene scene;
    char root[PATH_SIZE]; /* the other team's */
    char below[PATH_SIZE + 8];
    char resource[PATH_SIZE];
    zkl_client *client;
    zkl_client *other;
};

static void make_root(struct stage *stage, int32_t granted) {
    struct ACL one = { .perms = granted, .id = ZOO_ANYONE_ID_UNSAFE };
    struct ACL_vector granted_to_all = { .count = 1, .data = &one };
    ASSERT_NUMBER(zoo_set_acl(stage->scene.raw, stage->root, -1, &granted_to_all), ZOK);
}

static zkl_client *open_client(const struct stage *stage, const char *hosts) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_client *client = NULL;
    options.session_timeout_ms = timeout_ms();
    options.connect_timeout_ms = PATIENCE_MS;
    options.lease_tick_ms = (int32_t)servers_tick_ms();
    options.lock_root = stage->root;
    int status = zkl_client_open(hosts, &options, &client);
    if (status != ZKL_OK) {
        give_up("zkl_client_open(%s): %s", hosts, zkl_strerror(status));
    }
    return client;
}

/* One client at a follower, which may refuse by itself, and one at the leader. */
static void begin(struct stage *stage, const char *stem, bool absolute, int32_t granted) {
    scene_begin(&stage->scene, stem);
    /* What is granted by hand is in force at once, for whoever asks at the leader. */
    raw_close(stage->scene.raw);
    stage->scene.raw = raw_open(server_host(servers_leader()));
    snprintf(stage->root, sizeof(stage->root), "/%s-root", stage->scene.resource);
    snprintf(stage->below, sizeof(stage->below), "%s/stock", stage->root);
    snprintf(stage->resource, sizeof(stage->resource), "%s",
             absolute ? stage->scene.path : "stock");
    raw_make(stage->scene.raw, stage->root);
    raw_make(stage->scene.raw, stage->below);
    make_root(stage, granted);
    stage->client = open_client(stage, server_host(servers_follower()));
    stage->other = open_client(stage, server_host(servers_leader()));
}

static void end(struct stage *stage) {
    client_close(stage->client);
    client_close(stage->other);
    ASSERT_NUMBER(raw_children(stage->scene.raw, stage->below), 0);
    make_root(stage, ZOO_PERM_ALL);
    raw_delete(stage->scene.raw, stage->below);
    raw_delete(stage->scene.raw, stage->root);
    scene_end(&stage->scene);
}

static zkl_lock *open_lock(const struct stage *stage, zkl_client *client) {
    zkl_lock *lock = NULL;
    ASSERT_STATUS(zkl_lock_open(client, stage->resource, NULL, &lock), ZKL_OK);
    return lock;
}

/* The first grant rests on the lease that comes with the session, the later ones on what was
 * earned: by the time of the last look the session's own has long ended. */
static void hold_and_release(zkl_lock *lock, int64_t within_ms) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int64_t began_ms = now_ms();
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, within_ms, &grant), ZKL_OK);
    CU_ASSERT_TRUE(now_ms() - began_ms < timeout_ms());
    STAYS(zkl_lock_check(lock, NULL) == ZKL_OK, timeout_ms());
    ASSERT_STATUS(zkl_lock_verify(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
}

/* So long that nothing is left of a lease. */
static void let_the_lease_end(zkl_lock *lock) {
    STAYS(zkl_lock_check(lock, NULL) == ZKL_NOT_HELD, timeout_ms());
}

static void lock_again_and_again(const struct stage *stage) {
    zkl_lock *lock = open_lock(stage, stage->client);
    zkl_lock *other = open_lock(stage, stage->other);
    hold_and_release(lock, PATIENCE_MS);
    let_the_lease_end(lock);
    hold_and_release(lock, 0); /* a try */
    hold_and_release(lock, PATIENCE_MS);
    hold_and_release(other, PATIENCE_MS);
    zkl_lock_close(lock);
    zkl_lock_close(other);
}

static void lease_below_a_root_without_delete_is_kept(void) {
    struct stage stage;
    begin(&stage, "no-delete", false, ZOO_PERM_ALL & ~ZOO_PERM_DELETE);
    lock_again_and_again(&stage);
    end(&stage);
}

static void lease_beside_a_root_without_any_right_is_kept(void) {
    struct stage stage;
    begin(&stage, "no-rights", true, ZOO_PERM_ADMIN);
    lock_again_and_again(&stage);
    end(&stage);
}

static void waiter_below_a_root_without_delete_is_next(void) {
    struct stage stage;
    struct waiter waiter;
    begin(&stage, "next", false, ZOO_PERM_ALL & ~ZOO_PERM_DELETE);
    zkl_lock *lock = open_lock(&stage, stage.client);
    zkl_lock *other = open_lock(&stage, stage.other);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&waiter, other, ZKL_EXCLUSIVE, PATIENCE_MS);
    STAYS(!waiter_is_done(&waiter), timeout_ms());
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_STATUS(zkl_lock_check(other, NULL), ZKL_OK);
    zkl_lock_close(lock);
    zkl_lock_close(other);
    end(&stage);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(lease_below_a_root_without_delete_is_kept),
        TEST_CASE(lease_beside_a_root_without_any_right_is_kept),
        TEST_CASE(waiter_below_a_root_without_delete_is_next),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
