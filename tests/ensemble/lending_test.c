/*
 * A node that a client keeps and lends to its handles, on real servers: how many requests that
 * takes, what others see of it, and who learns of its end. The rules are those of
 * docs/internals/lending.md.
 */
#include "support/news.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>
#include <string.h>

/* No probe of the session comes between the requests that are counted. */
#define QUIET_SESSION_MS 60000
/* For what must not happen, and for news to be known everywhere. */
#define QUIET_MS 300
#define RETAIN_MS 600000
#define RAW_NODE "/_c_0a1b2c3d-4e5f-4678-9abc-def012345678-lock-"

enum { HANDLES = 8, HAND_OFFS = 3 };

/* A client whose handles share a node, behind a proxy that counts; and another client. */
struct cast {
    struct scene scene;
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *others_client;
    struct news news[HANDLES];
    struct waiter all[HANDLES];
    struct waiter other;
};

static void open_all(struct cast *cast, int32_t hand_offs, int64_t retain_ms) {
    for (int i = 0; i < HANDLES; i++) {
        zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
        news_begin(&cast->news[i]);
        options.lending =
            &(zkl_lending){ sizeof(zkl_lending), .hand_offs = hand_offs, .retain_ms = retain_ms };
        options.state_callback = news_callback;
        options.state_arg = &cast->news[i];
        cast->all[i] = (struct waiter){ .grant = ZKL_GRANT_INIT };
        ASSERT_STATUS(
            zkl_lock_open(cast->client, cast->scene.resource, &options, &cast->all[i].lock),
            ZKL_OK);
    }
}

static void cast_begin(struct cast *cast, const char *stem, int32_t hand_offs, int64_t retain_ms) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    cast->other = (struct waiter){ .grant = ZKL_GRANT_INIT };
    scene_begin(&cast->scene, stem);
    raw_make(cast->scene.raw, "/locks");
    raw_make(cast->scene.raw, cast->scene.path);
    cast->proxy = proxy_start(0);
    options.session_timeout_ms = QUIET_SESSION_MS;
    options.lease_tick_ms = retain_ms > 0 ? (int32_t)servers_tick_ms() : 0;
    ASSERT_STATUS(zkl_client_open(proxy_hosts(cast->proxy), &options, &cast->client), ZKL_OK);
    cast->others_client = client_open(servers_hosts(), LONG_SESSION_MS);
    open_all(cast, hand_offs, retain_ms);
    cast->other.lock = lock_open(cast->others_client, cast->scene.resource);
}

static void cast_end(struct cast *cast) {
    for (int i = 0; i < HANDLES; i++) {
        zkl_lock_close(cast->all[i].lock);
        news_end(&cast->news[i]);
    }
    zkl_lock_close(cast->other.lock);
    client_close(cast->others_client);
    client_close(cast->client);
    proxy_stop(cast->proxy);
    scene_end(&cast->scene);
}

static void acquire(struct waiter *one) {
    ASSERT_STATUS(zkl_lock_acquire(one->lock, ZKL_EXCLUSIVE, PATIENCE_MS, &one->grant), ZKL_OK);
}

static void release(struct waiter *one) {
    ASSERT_STATUS(zkl_lock_release(one->lock, PATIENCE_MS), ZKL_OK);
}

static bool waits(struct waiter *one) {
    zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
    ASSERT_STATUS(zkl_lock_info(one->lock, &now), ZKL_OK);
    return now.state == ZKL_STATE_ACQUIRING;
}

/* The first holds, and the others wait for it in their order. */
static void first_holds_and_the_others_wait(struct cast *cast) {
    acquire(&cast->all[0]);
    for (int i = 1; i < HANDLES; i++) {
        waiter_start(&cast->all[i], cast->all[i].lock, ZKL_EXCLUSIVE, PATIENCE_MS);
        WAIT_UNTIL(waits(&cast->all[i]));
    }
}

/* The client has sent all that it sends of its own accord. */
static int requests_when_quiet(struct cast *cast) {
    int before = -1;
    while (before != proxy_requests(cast->proxy)) {
        before = proxy_requests(cast->proxy);
        STAYS(true, QUIET_MS);
    }
    return before;
}

/* ---- Local hand-off ---------------------------------------------------------------------- */

static void lock_passes_among_the_threads_of_a_client_without_a_request(void) {
    struct cast cast;
    cast_begin(&cast, "lending-hand-off", HAND_OFFS, 0);
    first_holds_and_the_others_wait(&cast);
    int before = requests_when_quiet(&cast);
    for (int i = 1; i < HANDLES; i++) {
        release(&cast.all[i - 1]);
        ASSERT_STATUS(waiter_join(&cast.all[i]), ZKL_OK);
        ASSERT_NUMBER(cast.all[i].grant.token, cast.all[0].grant.token);
        ASSERT_NUMBER(cast.all[i].grant.local_number, i + 1);
        ASSERT_STATUS(zkl_lock_check(cast.all[i - 1].lock, NULL), ZKL_NOT_HELD);
    }
    ASSERT_NUMBER(scene_queue(&cast.scene), 1);
    ASSERT_NUMBER(proxy_requests(cast.proxy), before);
    release(&cast.all[HANDLES - 1]);
    WAIT_UNTIL(scene_queue(&cast.scene) == 0);
    cast_end(&cast);
}

/* From the second on; the others wait behind whoever came between. */
static void pass_on_as_often_as_it_may_be(struct cast *cast) {
    STAYS(true, QUIET_MS); /* the client knows of the other */
    for (int i = 1; i <= HAND_OFFS; i++) {
        release(&cast->all[i - 1]);
        ASSERT_STATUS(waiter_join(&cast->all[i]), ZKL_OK);
    }
    release(&cast->all[HAND_OFFS]);
}

static void rest_is_handed_on(struct cast *cast) {
    int next = HAND_OFFS + 1;
    ASSERT_STATUS(waiter_join(&cast->all[next]), ZKL_OK);
    CU_ASSERT_TRUE(cast->all[next].grant.token > cast->all[0].grant.token);
    ASSERT_NUMBER(cast->all[next].grant.local_number, 1);
    for (next++; next < HANDLES; next++) {
        release(&cast->all[next - 1]);
        ASSERT_STATUS(waiter_join(&cast->all[next]), ZKL_OK);
    }
    release(&cast->all[HANDLES - 1]);
}

static void contender_of_another_client_is_overtaken_only_so_often(void) {
    struct cast cast;
    cast_begin(&cast, "lending-bound", HAND_OFFS, 0);
    first_holds_and_the_others_wait(&cast);
    waiter_start(&cast.other, cast.other.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&cast.scene) == 2);
    pass_on_as_often_as_it_may_be(&cast);
    ASSERT_STATUS(waiter_join(&cast.other), ZKL_OK);
    STAYS(!waiter_is_done(&cast.all[HAND_OFFS + 1]), QUIET_MS);
    release(&cast.other);
    rest_is_handed_on(&cast);
    CU_ASSERT_TRUE(cast.all[HANDLES - 1].grant.token > cast.other.grant.token);
    cast_end(&cast);
}

/* Curator knows nothing of lending, and needs not to. */
static void plain_contender_is_overtaken_only_so_often(void) {
    struct cast cast;
    char path[ZKL_NODE_PATH_SIZE];
    char node[ZKL_NODE_PATH_SIZE];
    cast_begin(&cast, "lending-plain", HAND_OFFS, 0);
    first_holds_and_the_others_wait(&cast);
    snprintf(path, sizeof path, "%s" RAW_NODE, cast.scene.path);
    raw_make_ephemeral(cast.scene.raw, path, true, node, sizeof node);
    pass_on_as_often_as_it_may_be(&cast);
    STAYS(!waiter_is_done(&cast.all[HAND_OFFS + 1]), QUIET_MS);
    ASSERT_NUMBER(scene_queue(&cast.scene), 2);
    raw_delete(cast.scene.raw, node);
    rest_is_handed_on(&cast);
    cast_end(&cast);
}

static void end_of_the_session_is_told_to_the_holder_and_the_others_wait_anew(void) {
    struct cast cast;
    cast_begin(&cast, "lending-lost", HANDLES, 0);
    first_holds_and_the_others_wait(&cast);
    release(&cast.all[0]);
    ASSERT_STATUS(waiter_join(&cast.all[1]), ZKL_OK);
    clientid_t session = proxy_session(cast.proxy);
    raw_expire(servers_hosts(), &session);
    WAIT_UNTIL(news_count(&cast.news[1], ZKL_STATE_LOST) == 1);
    ASSERT_NUMBER(news_count(&cast.news[0], ZKL_STATE_LOST), 0);
    ASSERT_STATUS(zkl_lock_check(cast.all[1].lock, NULL), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(cast.all[1].lock, PATIENCE_MS), ZKL_LOST);
    for (int i = 2; i < HANDLES; i++) {
        ASSERT_STATUS(waiter_join(&cast.all[i]), ZKL_OK);
        CU_ASSERT_TRUE(cast.all[i].grant.token > cast.all[1].grant.token);
        ASSERT_NUMBER(cast.all[i].grant.local_number, i - 1);
        release(&cast.all[i]);
    }
    cast_end(&cast);
}

/* ---- Retained locks ------------------------------------------------------------------------ */

static void retain(struct cast *cast) {
    acquire(&cast->all[0]);
    release(&cast->all[0]);
    (void)requests_when_quiet(cast);
    ASSERT_NUMBER(scene_queue(&cast->scene), 1);
}

static void retained_lock_is_acquired_and_released_without_a_request(void) {
    struct cast cast;
    cast_begin(&cast, "lending-retained", 0, RETAIN_MS);
    retain(&cast);
    int before = proxy_requests(cast.proxy);
    for (int i = 0; i < 1000; i++) {
        acquire(&cast.all[i % HANDLES]);
        release(&cast.all[i % HANDLES]);
    }
    ASSERT_NUMBER(proxy_requests(cast.proxy), before);
    ASSERT_NUMBER(cast.all[999 % HANDLES].grant.local_number, 1001);
    cast_end(&cast);
}

static void retained_lock_is_called_back_by_another_client(void) {
    struct cast cast;
    cast_begin(&cast, "lending-called", 0, RETAIN_MS);
    retain(&cast);
    acquire(&cast.other);
    CU_ASSERT_TRUE(cast.other.grant.waited_ms < PATIENCE_MS / 2);
    ASSERT_STATUS(zkl_lock_acquire(cast.all[0].lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_BUSY);
    release(&cast.other);
    acquire(&cast.all[0]);
    CU_ASSERT_TRUE(cast.all[0].grant.token > cast.other.grant.token);
    cast_end(&cast);
}

static void retained_lock_is_called_back_by_a_try(void) {
    struct cast cast;
    cast_begin(&cast, "lending-try", 0, RETAIN_MS);
    retain(&cast);
    int status = zkl_lock_acquire(cast.other.lock, ZKL_EXCLUSIVE, 0, &cast.other.grant);
    if (status != ZKL_OK) { /* OK: the node was given up before the list of the try was read */
        ASSERT_STATUS(status, ZKL_BUSY);
        WAIT_UNTIL(scene_queue(&cast.scene) == 0);
        ASSERT_STATUS(zkl_lock_acquire(cast.other.lock, ZKL_EXCLUSIVE, 0, &cast.other.grant),
                      ZKL_OK);
    }
    CU_ASSERT_TRUE(cast.other.grant.token > cast.all[0].grant.token);
    ASSERT_STATUS(zkl_lock_acquire(cast.all[0].lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_BUSY);
    cast_end(&cast);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(lock_passes_among_the_threads_of_a_client_without_a_request),
        TEST_CASE(contender_of_another_client_is_overtaken_only_so_often),
        TEST_CASE(plain_contender_is_overtaken_only_so_often),
        TEST_CASE(end_of_the_session_is_told_to_the_holder_and_the_others_wait_anew),
        TEST_CASE(retained_lock_is_acquired_and_released_without_a_request),
        TEST_CASE(retained_lock_is_called_back_by_another_client),
        TEST_CASE(retained_lock_is_called_back_by_a_try),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
