/*
 * A holder that asked for it is told when somebody waits behind it. The servers do not say on
 * whose children a watch is, so all their watches are counted.
 */
#include "support/news.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

/* For what must not happen; news would come within a round trip. */
#define QUIET_MS 300

/* One who asks, on the first server; and others, on the next ones. */
struct cast {
    struct scene scene;
    int64_t watches; /* that the servers had before */
    struct news news;
    zkl_client *client;
    zkl_client *others[2];
    zkl_lock *lock;
};

static int64_t watches(void) {
    return servers_sum("zk_watch_count");
}

static zkl_lock *open_listener(const struct cast *cast, struct news *news) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    options.state_callback = news_callback;
    options.state_arg = news;
    options.tell_contended = 1;
    ASSERT_STATUS(zkl_lock_open(cast->client, cast->scene.resource, &options, &lock), ZKL_OK);
    return lock;
}

static void cast_begin(struct cast *cast, const char *stem) {
    scene_begin(&cast->scene, stem);
    cast->watches = watches();
    news_begin(&cast->news);
    cast->client = client_open(server_host(1), 3 * LONG_SESSION_MS);
    for (int i = 0; i < 2; i++) {
        cast->others[i] = client_open(server_host(i + 2), 3 * LONG_SESSION_MS);
    }
    cast->lock = open_listener(cast, &cast->news);
}

static void cast_end(struct cast *cast) {
    zkl_lock_close(cast->lock);
    WAIT_UNTIL(scene_queue(&cast->scene) == 0);
    WAIT_UNTIL(watches() == cast->watches);
    for (int i = 0; i < 2; i++) {
        client_close(cast->others[i]);
    }
    client_close(cast->client);
    news_end(&cast->news);
    scene_end(&cast->scene);
}

static int64_t acquire(struct cast *cast, zkl_mode mode) {
    zkl_grant grant = ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(cast->lock, mode, PATIENCE_MS, &grant), ZKL_OK);
    return grant.token;
}

static void release(zkl_lock *lock) {
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
}

static int told(struct cast *cast) {
    return news_count(&cast->news, ZKL_STATE_CONTENDED);
}

static void holder_is_told_once_when_others_come(void) {
    struct cast cast;
    struct waiter waiters[2];
    cast_begin(&cast, "contended-once");
    int64_t token = acquire(&cast, ZKL_EXCLUSIVE);
    STAYS(told(&cast) == 0, QUIET_MS);
    for (int i = 0; i < 2; i++) {
        waiter_start(&waiters[i], lock_open(cast.others[i], cast.scene.resource), ZKL_EXCLUSIVE,
                     PATIENCE_MS);
        WAIT_UNTIL(told(&cast) == 1);
        WAIT_UNTIL(scene_queue(&cast.scene) == i + 2);
    }
    STAYS(news_total(&cast.news) == 1, QUIET_MS);
    ASSERT_NUMBER(news_first(&cast.news, ZKL_STATE_CONTENDED).token, token);
    ASSERT_STATUS(zkl_lock_check(cast.lock, NULL), ZKL_OK);
    release(cast.lock);
    for (int i = 0; i < 2; i++) {
        ASSERT_STATUS(waiter_join(&waiters[i]), ZKL_OK);
        zkl_lock_close(waiters[i].lock);
    }
    cast_end(&cast);
}

static void fellow_reader_is_no_news_and_a_writer_is(void) {
    struct cast cast;
    struct waiter writer;
    cast_begin(&cast, "contended-readers");
    (void)acquire(&cast, ZKL_READ);
    zkl_lock *reader = lock_open(cast.others[0], cast.scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(reader, ZKL_READ, PATIENCE_MS, NULL), ZKL_OK);
    STAYS(told(&cast) == 0, QUIET_MS);
    release(reader);
    STAYS(told(&cast) == 0, QUIET_MS);
    zkl_lock_close(reader);
    waiter_start(&writer, lock_open(cast.others[1], cast.scene.resource), ZKL_WRITE, PATIENCE_MS);
    WAIT_UNTIL(told(&cast) == 1);
    release(cast.lock);
    ASSERT_STATUS(waiter_join(&writer), ZKL_OK);
    zkl_lock_close(writer.lock);
    cast_end(&cast);
}

static void who_waits_at_the_grant_already_is_told_with_it(void) {
    struct cast cast;
    struct waiter mine;
    struct waiter behind;
    cast_begin(&cast, "contended-already");
    zkl_lock *before = lock_open(cast.others[0], cast.scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(before, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&mine, cast.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&cast.scene) == 2);
    waiter_start(&behind, lock_open(cast.others[1], cast.scene.resource), ZKL_EXCLUSIVE,
                 PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&cast.scene) == 3);
    STAYS(told(&cast) == 0, QUIET_MS);
    release(before);
    ASSERT_STATUS(waiter_join(&mine), ZKL_OK);
    WAIT_UNTIL(told(&cast) == 1);
    ASSERT_NUMBER(news_first(&cast.news, ZKL_STATE_CONTENDED).token, mine.grant.token);
    release(cast.lock);
    ASSERT_STATUS(waiter_join(&behind), ZKL_OK);
    zkl_lock_close(behind.lock);
    zkl_lock_close(before);
    cast_end(&cast);
}

/* The client's session is so long that no holder watches its own node yet. */
static void readers_of_one_client_share_one_watch(void) {
    enum { READERS = 5 };
    struct cast cast;
    struct news news;
    zkl_lock *readers[READERS];
    struct waiter writer;
    cast_begin(&cast, "contended-shared");
    news_begin(&news);
    (void)acquire(&cast, ZKL_READ);
    for (int i = 0; i < READERS; i++) {
        readers[i] = open_listener(&cast, &news);
        ASSERT_STATUS(zkl_lock_acquire(readers[i], ZKL_READ, PATIENCE_MS, NULL), ZKL_OK);
    }
    WAIT_UNTIL(watches() == cast.watches + 1);
    waiter_start(&writer, lock_open(cast.others[0], cast.scene.resource), ZKL_WRITE, PATIENCE_MS);
    WAIT_UNTIL(told(&cast) == 1);
    WAIT_UNTIL(news_count(&news, ZKL_STATE_CONTENDED) == READERS);
    WAIT_UNTIL(watches() == cast.watches + 1); /* the writer's; nobody else looks any more */
    for (int i = 0; i < READERS; i++) {
        zkl_lock_close(readers[i]);
    }
    news_end(&news);
    release(cast.lock);
    ASSERT_STATUS(waiter_join(&writer), ZKL_OK);
    zkl_lock_close(writer.lock);
    cast_end(&cast);
}

static void who_came_during_an_outage_of_our_server_is_told_afterwards(void) {
    struct cast cast;
    struct waiter behind;
    cast_begin(&cast, "contended-outage");
    (void)acquire(&cast, ZKL_EXCLUSIVE);
    server_kill(1);
    WAIT_UNTIL(news_count(&cast.news, ZKL_STATE_SUSPECT) > 0);
    zkl_client *outside = client_open(server_host(2), 3 * LONG_SESSION_MS);
    waiter_start(&behind, lock_open(outside, cast.scene.resource), ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    server_start(1);
    WAIT_UNTIL(told(&cast) == 1);
    release(cast.lock);
    ASSERT_STATUS(waiter_join(&behind), ZKL_OK);
    zkl_lock_close(behind.lock);
    client_close(outside);
    cast_end(&cast);
}

/* Nobody knows which node the holder has when the waiter comes; later no child changes any more. */
static void waiter_that_comes_while_a_downgrades_reply_is_lost_is_told_of(void) {
    const struct proxy_plan plan = { { { PROXY_REPLY_LOST, 1 } }, 1, true };
    struct cast cast;
    struct waiter writer;
    cast_begin(&cast, "contended-downgrade");
    struct proxy *proxy = proxy_start(0);
    zkl_client *client = cast.client;
    zkl_lock_close(cast.lock);
    cast.client = client_open(proxy_hosts(proxy), LONG_SESSION_MS);
    cast.lock = open_listener(&cast, &cast.news);
    (void)acquire(&cast, ZKL_WRITE);
    STAYS(told(&cast) == 0, QUIET_MS);
    proxy_set_plan(proxy, &plan);
    ASSERT_STATUS(zkl_lock_downgrade(cast.lock, QUIET_MS), ZKL_PENDING);
    writer.done = false;
    waiter_start(&writer, lock_open(cast.others[1], cast.scene.resource), ZKL_WRITE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&cast.scene) == 2);
    proxy_admit(proxy);
    WAIT_UNTIL(told(&cast) == 1);
    release(cast.lock);
    ASSERT_STATUS(waiter_join(&writer), ZKL_OK);
    zkl_lock_close(writer.lock);
    (void)proxy_end_plan(proxy);
    zkl_client *behind_the_proxy = cast.client;
    cast.client = client;
    zkl_lock_close(cast.lock);
    cast.lock = NULL;
    client_close(behind_the_proxy);
    proxy_stop(proxy);
    cast_end(&cast);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(holder_is_told_once_when_others_come),
        TEST_CASE(fellow_reader_is_no_news_and_a_writer_is),
        TEST_CASE(who_waits_at_the_grant_already_is_told_with_it),
        TEST_CASE(readers_of_one_client_share_one_watch),
        TEST_CASE(who_came_during_an_outage_of_our_server_is_told_afterwards),
        TEST_CASE(waiter_that_comes_while_a_downgrades_reply_is_lost_is_told_of),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
