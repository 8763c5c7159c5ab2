/*
 * A client that is closed in the middle of its requests. Unread replies would make the kernel reset
 * the connection, and the end of the session be lost with it: then its locks stay until the servers
 * have timed the session out.
 */
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>
#include <string.h>
#include <zklock/zklock.h>

enum { ACQUIRES_MAX = 2000 };

struct round {
    struct scene *scene;
    zkl_client *next_client;
    int acquires;
    zkl_lock *locks[ACQUIRES_MAX];
    atomic_int closed; /* acquires that were told so */
};

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    struct round *round = arg;
    (void)grant;
    atomic_fetch_add(&round->closed, status == ZKL_CLOSED ? 1 : 0);
}

static void begin_acquires(struct round *round, zkl_client *client) {
    for (int i = 0; i < round->acquires; i++) {
        round->locks[i] = lock_open(client, round->scene->resource);
        ASSERT_STATUS(zkl_lock_acquire_async(round->locks[i], ZKL_EXCLUSIVE, PATIENCE_MS, NULL,
                                             on_acquired, round),
                      ZKL_OK);
    }
}

static void close_locks(struct round *round) {
    for (int i = 0; i < round->acquires; i++) {
        zkl_lock_close(round->locks[i]);
    }
}

/* How long the next holder waits, once the client has been closed with the requests under way. */
static int64_t wait_of_the_next_holder(struct round *round) {
    zkl_client *client = client_open_on(1);
    zkl_lock *next = lock_open(round->next_client, round->scene->resource);
    begin_acquires(round, client);
    int status = zkl_client_close(client, 0);
    CU_ASSERT_TRUE(status == ZKL_OK || status == ZKL_PENDING);
    int64_t begun = now_ms();
    ASSERT_STATUS(zkl_lock_acquire(next, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    int64_t waited = now_ms() - begun;
    zkl_lock_close(next);
    close_locks(round);
    return waited;
}

static void next_holder_does_not_wait_for_the_session(int rounds, int acquires) {
    struct scene scene;
    scene_begin(&scene, "closed");
    zkl_client *next_client = client_open_on(2);
    for (int i = 0; i < rounds; i++) {
        struct round round = { .scene = &scene, .next_client = next_client, .acquires = acquires };
        int64_t waited = wait_of_the_next_holder(&round);
        CU_ASSERT_TRUE(waited < SLACK_MS);
    }
    client_close(next_client);
    scene_end(&scene);
}

static void close_with_5_acquires_under_way_leaves_no_lock_to_the_session_timeout(void) {
    next_holder_does_not_wait_for_the_session(25, 5);
}

static void close_with_60_acquires_under_way_leaves_no_lock_to_the_session_timeout(void) {
    next_holder_does_not_wait_for_the_session(20, 60);
}

/* Their replies take longer than a second; close waits as long as they come. */
static void close_with_2000_acquires_under_way_leaves_no_lock_to_the_session_timeout(void) {
    next_holder_does_not_wait_for_the_session(3, ACQUIRES_MAX);
}

/* ---- Without servers ------------------------------------------------------------------------ */

struct stage {
    struct scene scene;
    zkl_client *client;
    zkl_lock *lock;
    zkl_lock *set;
};

struct call {
    int (*call)(struct stage *stage);
    struct stage *stage;
    int status; /* that it returned */
    atomic_bool begun;
    atomic_bool done;
};

static int release_for_ever(struct stage *stage) {
    return zkl_lock_release(stage->lock, ZKL_FOREVER);
}

static int verify_for_ever(struct stage *stage) {
    return zkl_lock_verify(stage->lock, ZKL_FOREVER);
}

static int release_all_for_ever(struct stage *stage) {
    return zkl_lock_release(stage->set, ZKL_FOREVER);
}

static void close_lock(struct stage *stage) {
    zkl_lock_close(stage->lock);
    stage->lock = NULL;
}

static void close_set(struct stage *stage) {
    zkl_lock_close(stage->set);
    stage->set = NULL;
}

static void *make_call(void *arg) {
    struct call *self = arg;
    atomic_store(&self->begun, true);
    self->status = self->call(self->stage);
    atomic_store(&self->done, true);
    return NULL;
}

static void stage_begin(struct stage *stage, char other[256]) {
    zkl_lock_member members[2] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    scene_begin(&stage->scene, "without");
    snprintf(other, 256, "%s-other", stage->scene.resource);
    members[0].resource = other;
    members[1].resource = stage->scene.resource;
    members[0].mode = ZKL_READ;
    members[1].mode = ZKL_READ;
    stage->client = client_open(servers_hosts(), LONG_SESSION_MS);
    stage->lock = lock_open(stage->client, stage->scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(stage->lock, ZKL_READ, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_open_set(stage->client, members, 2, NULL, &stage->set), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(stage->set, ZKL_AS_OPENED, PATIENCE_MS, NULL), ZKL_OK);
}

static void stage_end(struct stage *stage) {
    servers_heal();
    close_lock(stage);
    close_set(stage);
    client_close(stage->client);
    scene_end(&stage->scene);
}

/* They are stopped, and their connections stay: nobody hears anything. */
static void close_ends(int (*call)(struct stage *stage), void (*close)(struct stage *stage),
                       int status) {
    struct stage stage;
    struct call other = { .call = call, .stage = &stage };
    char name[256];
    pthread_t thread;
    stage_begin(&stage, name);
    servers_pause();
    thread_start(&thread, make_call, &other);
    WAIT_UNTIL(atomic_load(&other.begun));
    STAYS(!atomic_load(&other.done), 100);
    int64_t begun = now_ms();
    close(&stage);
    CU_ASSERT_TRUE(now_ms() - begun < SLACK_MS);
    (void)pthread_join(thread, NULL);
    ASSERT_STATUS(other.status, status);
    stage_end(&stage);
}

static void close_ends_a_release_while_no_server_answers(void) {
    close_ends(release_for_ever, close_lock, ZKL_PENDING);
}

static void close_ends_a_verification_while_no_server_answers(void) {
    close_ends(verify_for_ever, close_lock, ZKL_SUSPECT);
}

static void close_ends_a_release_of_all_while_no_server_answers(void) {
    close_ends(release_all_for_ever, close_set, ZKL_PENDING);
}

/* ---- Several sessions ----------------------------------------------------------------------- */

enum { CROWD = 480, NAME_LENGTH = 500 }; /* more than one session watches for */

static void name_one(char name[NAME_LENGTH + 1], const struct scene *scene, int number) {
    char digits[16];
    snprintf(digits, sizeof digits, "%015d", number);
    memset(name, '0', NAME_LENGTH);
    memcpy(name, scene->resource, strlen(scene->resource));
    memcpy(name + NAME_LENGTH - strlen(digits), digits, strlen(digits) + 1);
}

static int nodes_left(const struct scene *scene) {
    int left = 0;
    raw_catch_up(scene->raw);
    for (int i = 0; i < CROWD; i++) {
        char name[NAME_LENGTH + 1];
        char path[NAME_LENGTH + 16];
        name_one(name, scene, i);
        snprintf(path, sizeof path, "/locks/%s", name);
        left += raw_children(scene->raw, path);
    }
    return left;
}

static void close_of_several_sessions_says_ok_when_no_node_of_any_is_left(void) {
    static zkl_lock *locks[CROWD];
    struct scene scene;
    scene_begin(&scene, "sessions");
    zkl_client *client = client_open_on(1);
    for (int i = 0; i < CROWD; i++) {
        char name[NAME_LENGTH + 1];
        name_one(name, &scene, i);
        locks[i] = lock_open(client, name);
        ASSERT_STATUS(zkl_lock_acquire(locks[i], ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    }
    ASSERT_NUMBER(client_information(client).sessions, 2);
    ASSERT_STATUS(zkl_client_close(client, PATIENCE_MS), ZKL_OK);
    ASSERT_NUMBER(nodes_left(&scene), 0);
    for (int i = 0; i < CROWD; i++) {
        zkl_lock_close(locks[i]);
    }
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(close_with_5_acquires_under_way_leaves_no_lock_to_the_session_timeout),
        TEST_CASE(close_with_60_acquires_under_way_leaves_no_lock_to_the_session_timeout),
        TEST_CASE(close_with_2000_acquires_under_way_leaves_no_lock_to_the_session_timeout),
        TEST_CASE(close_ends_a_release_while_no_server_answers),
        TEST_CASE(close_ends_a_verification_while_no_server_answers),
        TEST_CASE(close_ends_a_release_of_all_while_no_server_answers),
        TEST_CASE(close_of_several_sessions_says_ok_when_no_node_of_any_is_left),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
