/*
 * A create or a delete whose reply was lost is carried out only after its client
 * has reconnected elsewhere, and has looked: the disks are slow, and with them
 * each commit; a reconnect and a list need no disk.
 */
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>

/* Longer than any reconnect: a commit waits until the disks are normal again. */
#define DISK_MS 4000
/* The client reconnects after a sixtieth of it, and loses patience with a
 * connection that is silent, while commits wait, after two thirds. */
#define SESSION_MS 12000
#define ENOUGH_MS (2 * SESSION_MS)
/* Strikes well before the commit. */
#define SHORT_WAIT_MS 300

static const struct proxy_plan cut_under_way = { { { PROXY_LOST_WHEN_TOLD, 1 } }, 1, false };
static const struct proxy_plan cut_and_stay_away = { { { PROXY_LOST_WHEN_TOLD, 1 } }, 1, true };

/* ---- The stage ---------------------------------------------------------- */

/* Leads the first connection to one server and the second to another, which is not
 * the leader: that lets a session's reads wait for all writes of the session that
 * are under way, also for those that came by another server. */
static struct proxy *proxy_to_a_follower_next(void) {
    struct proxy *proxy = proxy_start(0);
    if (servers_leader() == 2) {
        raw_close(raw_open(proxy_hosts(proxy)));
    }
    return proxy;
}

/* A client behind the proxy, which leads it to another server each time. */
struct stage {
    struct scene scene;
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *rivals_client;
    zkl_lock *lock;
    zkl_lock *rival;
    int64_t session_id;
    int32_t changes;   /* to the queue, when the stage was set */
    int64_t proposals; /* when the disks had become slow */
};

/* The servers count each birth and each death of a child. */
static int32_t births_and_deaths(struct scene *scene) {
    struct Stat stat = { 0 };
    raw_catch_up(scene->raw);
    CU_ASSERT_TRUE(raw_stat(scene->raw, scene->path, &stat));
    return stat.cversion;
}

/* What the leaders have proposed so far. */
static int64_t proposals(void) {
    return servers_sum("zk_proposal_count");
}

static void slow_disks(void) {
    for (int server = 1; server <= SERVERS; server++) {
        server_slow_disk(server, DISK_MS);
    }
}

/* Cut earlier, the request might come to the leader only after the session has
 * moved to another server: then it is turned away. */
static void cut_when_proposed(struct proxy *proxy, int64_t proposals_before) {
    WAIT_UNTIL(proposals() > proposals_before);
    proxy_cut_now(proxy);
    WAIT_UNTIL(proxy_cuts_made(proxy) > 0);
}

static void acquire_and_release(zkl_lock *lock) {
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
}

static void stage_begin(struct stage *stage) {
    scene_begin(&stage->scene, "late-create");
    stage->proxy = proxy_to_a_follower_next();
    stage->client = client_open(proxy_hosts(stage->proxy), SESSION_MS);
    stage->rivals_client = client_open(servers_hosts(), LONG_SESSION_MS);
    stage->lock = lock_open(stage->client, stage->scene.resource);
    stage->rival = lock_open(stage->rivals_client, stage->scene.resource);
    stage->session_id = client_information(stage->client).session_id;
    acquire_and_release(stage->rival); /* makes the queue's node */
    stage->changes = births_and_deaths(&stage->scene);
}

static void set_plan_on_slow_disks(struct stage *stage, const struct proxy_plan *plan) {
    slow_disks();
    stage->proposals = proposals();
    proxy_set_plan(stage->proxy, plan);
}

static void cut_in_time(struct stage *stage) {
    cut_when_proposed(stage->proxy, stage->proposals);
}

static int changes(struct stage *stage) {
    return births_and_deaths(&stage->scene) - stage->changes;
}

static bool is_connected(struct stage *stage) {
    return client_information(stage->client).connected != 0;
}

/* The client has reconnected and looked; the request that was lost is carried
 * out only now. */
static void commit_late(struct stage *stage, int queue_before) {
    WAIT_UNTIL(is_connected(stage));
    ASSERT_NUMBER(raw_children(stage->scene.raw, stage->scene.path), queue_before);
    servers_normal_disk();
}

static void assert_session_lives(struct stage *stage) {
    zkl_client_information now = client_information(stage->client);
    ASSERT_NUMBER(now.sessions_expired, 0);
    ASSERT_NUMBER(now.session_id, stage->session_id);
}

/* Nothing is left, while the session lives; and others get the lock. */
static void stage_end(struct stage *stage) {
    (void)proxy_end_plan(stage->proxy);
    ASSERT_NUMBER(scene_queue(&stage->scene), 0);
    assert_session_lives(stage);
    acquire_and_release(stage->rival);
    acquire_and_release(stage->lock);
    zkl_lock_close(stage->lock);
    zkl_lock_close(stage->rival);
    client_close(stage->client);
    client_close(stage->rivals_client);
    proxy_stop(stage->proxy);
    scene_end(&stage->scene);
}

/* ---- The fault itself, without zklock ------------------------------------ */

/* An application's own connection behind the proxy. */
struct bystander {
    struct scene scene;
    struct proxy *proxy;
    zhandle_t *raw;
};

static void on_created(int rc, const char *name, const void *arg) {
    (void)rc; /* connection loss, or none where the reply was faster */
    (void)name;
    (void)arg;
}

static void create_and_lose_the_connection(struct bystander *bystander) {
    char prefix[300];
    snprintf(prefix, sizeof prefix, "%s/late-", bystander->scene.path);
    int64_t before = proposals();
    proxy_set_plan(bystander->proxy, &cut_under_way);
    ASSERT_NUMBER(zoo_acreate(bystander->raw, prefix, NULL, -1, raw_acl(),
                              ZOO_EPHEMERAL | ZOO_SEQUENCE, on_created, NULL),
                  ZOK);
    cut_when_proposed(bystander->proxy, before);
}

static void bystander_begin(struct bystander *bystander) {
    scene_begin(&bystander->scene, "late-create-raw");
    raw_make(bystander->scene.raw, "/locks");
    raw_make(bystander->scene.raw, bystander->scene.path);
    bystander->proxy = proxy_to_a_follower_next();
    bystander->raw = zookeeper_init(proxy_hosts(bystander->proxy), NULL, SESSION_MS, NULL, NULL, 0);
    raw_introduce(bystander->raw);
    WAIT_UNTIL(zoo_state(bystander->raw) == ZOO_CONNECTED_STATE);
    slow_disks();
}

static void bystander_end(struct bystander *bystander) {
    (void)proxy_end_plan(bystander->proxy);
    raw_close(bystander->raw);
    proxy_stop(bystander->proxy);
    scene_end(&bystander->scene);
}

static void list_after_the_reconnect_does_not_show_a_create_that_comes_later(void) {
    struct bystander bystander;
    bystander_begin(&bystander);
    int64_t session_id = zoo_client_id(bystander.raw)->client_id;
    create_and_lose_the_connection(&bystander);
    int64_t lost_at = now_ms();
    ASSERT_NUMBER(raw_children(bystander.raw, bystander.scene.path), 0);
    printf("not there after %d ms, ", (int)(now_ms() - lost_at));
    servers_normal_disk();
    WAIT_UNTIL(raw_children(bystander.raw, bystander.scene.path) == 1);
    printf("there after %d ms ", (int)(now_ms() - lost_at));
    ASSERT_NUMBER(zoo_client_id(bystander.raw)->client_id, session_id);
    bystander_end(&bystander);
}

static void list_after_a_write_after_the_reconnect_shows_the_create(void) {
    struct bystander bystander;
    bystander_begin(&bystander);
    create_and_lose_the_connection(&bystander);
    raw_catch_up(bystander.raw);
    ASSERT_NUMBER(raw_children(bystander.raw, bystander.scene.path), 1);
    servers_normal_disk();
    bystander_end(&bystander);
}

/* ---- An acquire that goes on --------------------------------------------- */

static void acquire_on_slow_disks(zkl_mode mode) {
    struct stage stage;
    struct waiter waiter;
    struct Stat stat = { 0 };
    stage_begin(&stage);
    set_plan_on_slow_disks(&stage, &cut_under_way);
    waiter_start(&waiter, stage.lock, mode, ENOUGH_MS);
    cut_in_time(&stage);
    commit_late(&stage, 0);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&stage.scene), 1);
    ASSERT_NUMBER(changes(&stage), 2 + 1); /* the late one, the second, which goes */
    CU_ASSERT_TRUE(waiter.grant.node[0] != '\0' &&
                   raw_stat(stage.scene.raw, waiter.grant.node, &stat));
    ASSERT_NUMBER(stat.czxid, waiter.grant.token);
    ASSERT_NUMBER(stat.ephemeralOwner, stage.session_id);
    ASSERT_STATUS(zkl_lock_check(stage.lock, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(stage.rival, ZKL_WRITE, 0, NULL), ZKL_BUSY);
    ASSERT_STATUS(zkl_lock_release(stage.lock, ENOUGH_MS), ZKL_OK);
    ASSERT_NUMBER(changes(&stage), 2 + 2);
    stage_end(&stage);
}

static void acquire_whose_create_comes_late_keeps_one_node(void) {
    acquire_on_slow_disks(ZKL_EXCLUSIVE);
}

static void reader_whose_create_comes_late_keeps_one_node(void) {
    acquire_on_slow_disks(ZKL_READ);
}

/* ---- An acquire that is given up ----------------------------------------- */

/* Its verdict comes while the connection is away; what was to be created is
 * found when it is back, and deleted. */
static void give_up_away(struct stage *stage, int64_t timeout_ms, int wanted) {
    struct waiter waiter;
    set_plan_on_slow_disks(stage, &cut_and_stay_away);
    waiter_start(&waiter, stage->lock, ZKL_EXCLUSIVE, timeout_ms);
    cut_in_time(stage);
    if (wanted == ZKL_CANCELLED) {
        ASSERT_STATUS(zkl_lock_cancel(stage->lock), ZKL_OK);
    }
    ASSERT_STATUS(waiter_join(&waiter), wanted);
    proxy_admit(stage->proxy);
    commit_late(stage, 0);
}

static void assert_late_create_goes_again(struct stage *stage) {
    WAIT_UNTIL(changes(stage) == 1 + 1);
    ASSERT_NUMBER(scene_queue(&stage->scene), 0);
}

static void cancel_before_a_create_that_comes_late_leaves_nothing(void) {
    struct stage stage;
    stage_begin(&stage);
    give_up_away(&stage, ZKL_FOREVER, ZKL_CANCELLED);
    assert_late_create_goes_again(&stage);
    stage_end(&stage);
}

static void timeout_before_a_create_that_comes_late_leaves_nothing(void) {
    struct stage stage;
    stage_begin(&stage);
    give_up_away(&stage, SHORT_WAIT_MS, ZKL_DISCONNECTED);
    assert_late_create_goes_again(&stage);
    stage_end(&stage);
}

/* The lost create would stand before the rival, who comes later. */
static void rival_gets_the_lock_behind_a_create_that_comes_late(void) {
    struct stage stage;
    stage_begin(&stage);
    give_up_away(&stage, ZKL_FOREVER, ZKL_CANCELLED);
    ASSERT_STATUS(zkl_lock_acquire(stage.rival, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(stage.rival, ENOUGH_MS), ZKL_OK);
    stage_end(&stage);
}

/* A try does not wait: it says that it does not know, and cleans up. */
static void try_whose_create_comes_late_is_disconnected_and_leaves_nothing(void) {
    static const struct proxy_plan plan = { { { PROXY_LOST_WHEN_TOLD, 2 } }, 1, false };
    struct stage stage;
    struct waiter waiter;
    stage_begin(&stage);
    set_plan_on_slow_disks(&stage, &plan);
    waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, 0);
    cut_in_time(&stage);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_DISCONNECTED);
    commit_late(&stage, 0);
    assert_late_create_goes_again(&stage);
    stage_end(&stage);
}

/* ---- A release ------------------------------------------------------------ */

/* The delete that is sent again may be carried out after the first: no node is
 * what was wanted. */
struct releaser {
    zkl_lock *lock;
    int64_t timeout_ms;
    int status;
    pthread_t thread;
};

static void *release(void *arg) {
    struct releaser *releaser = arg;
    releaser->status = zkl_lock_release(releaser->lock, releaser->timeout_ms);
    return NULL;
}

static void release_on_slow_disks(int64_t timeout_ms, int wanted) {
    struct stage stage;
    stage_begin(&stage);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    set_plan_on_slow_disks(&stage, &cut_under_way);
    struct releaser releaser = { .lock = stage.lock, .timeout_ms = timeout_ms };
    thread_start(&releaser.thread, release, &releaser);
    cut_in_time(&stage);
    if (wanted == ZKL_PENDING) {
        pthread_join(releaser.thread, NULL);
    }
    commit_late(&stage, 1);
    if (wanted != ZKL_PENDING) {
        pthread_join(releaser.thread, NULL);
    }
    ASSERT_STATUS(releaser.status, wanted);
    ASSERT_STATUS(zkl_lock_check(stage.lock, NULL), ZKL_NOT_HELD);
    WAIT_UNTIL(changes(&stage) == 1 + 1);
    ASSERT_NUMBER(scene_queue(&stage.scene), 0);
    stage_end(&stage);
}

static void release_whose_delete_comes_late_is_ok(void) {
    release_on_slow_disks(ENOUGH_MS, ZKL_OK);
}

static void release_whose_delete_comes_late_is_pending_at_its_deadline(void) {
    release_on_slow_disks(SHORT_WAIT_MS, ZKL_PENDING);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(list_after_the_reconnect_does_not_show_a_create_that_comes_later),
        TEST_CASE(list_after_a_write_after_the_reconnect_shows_the_create),
        TEST_CASE(acquire_whose_create_comes_late_keeps_one_node),
        TEST_CASE(reader_whose_create_comes_late_keeps_one_node),
        TEST_CASE(cancel_before_a_create_that_comes_late_leaves_nothing),
        TEST_CASE(timeout_before_a_create_that_comes_late_leaves_nothing),
        TEST_CASE(rival_gets_the_lock_behind_a_create_that_comes_late),
        TEST_CASE(try_whose_create_comes_late_is_disconnected_and_leaves_nothing),
        TEST_CASE(release_whose_delete_comes_late_is_ok),
        TEST_CASE(release_whose_delete_comes_late_is_pending_at_its_deadline),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
