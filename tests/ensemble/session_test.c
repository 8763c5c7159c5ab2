/* Sessions that expire, and connections that come and go. */
#include "support/news.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <signal.h>

/* ---- A process that stops for longer than its session ------------------- */

static void start_short_lived(struct process *process, const struct scene *scene,
                              int fail_on_session_expiry) {
    struct process_options options = {
        .hosts = servers_hosts(),
        .resource = scene->resource,
        .session_timeout_ms = SHORT_SESSION_MS,
        .fail_on_session_expiry = fail_on_session_expiry,
    };
    process_start(process, &options);
}

/* Stops it until the servers have expired its session, and so deleted its
 * node: `left` others stay in the queue. */
static void stop_until_expired(struct process *process, struct scene *scene, int left) {
    process_signal(process, SIGSTOP);
    WAIT_UNTIL(scene_queue(scene) == left);
}

static void holder_stopped_past_its_session_finds_the_lock_lost_and_acquires_again(void) {
    struct scene scene;
    struct process stopped;
    struct waiter next;
    zkl_grant first;
    zkl_grant again;
    scene_begin(&scene, "stopped-holder");
    start_short_lived(&stopped, &scene, 0);
    ASSERT_STATUS(process_acquire(&stopped, ZKL_EXCLUSIVE, PATIENCE_MS, &first), ZKL_OK);
    ASSERT_STATUS(process_check(&stopped), ZKL_OK);
    stop_until_expired(&stopped, &scene, 0);
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *lock = lock_open(client, scene.resource);
    waiter_start(&next, lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    ASSERT_STATUS(waiter_join(&next), ZKL_OK);
    CU_ASSERT_TRUE(next.grant.token > first.token);
    process_signal(&stopped, SIGCONT);
    WAIT_UNTIL(process_check(&stopped) == ZKL_LOST);
    ASSERT_STATUS(process_acquire(&stopped, ZKL_EXCLUSIVE, PATIENCE_MS, &again), ZKL_ALREADY_HELD);
    ASSERT_STATUS(process_release(&stopped), ZKL_LOST);
    ASSERT_STATUS(process_check(&stopped), ZKL_NOT_HELD);
    ASSERT_STATUS(zkl_lock_check(lock, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(process_acquire(&stopped, ZKL_EXCLUSIVE, PATIENCE_MS, &again), ZKL_OK);
    CU_ASSERT_TRUE(again.token > next.grant.token);
    process_end(&stopped);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

/* A holder here, and a process that waits behind it and is stopped. */
struct sleeper {
    struct scene scene;
    zkl_client *client;
    zkl_lock *holder;
    struct process process;
};

static void sleeper_begin(struct sleeper *sleeper, const char *stem, int fail_on_session_expiry) {
    scene_begin(&sleeper->scene, stem);
    sleeper->client = client_open(servers_hosts(), LONG_SESSION_MS);
    sleeper->holder = lock_open(sleeper->client, sleeper->scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(sleeper->holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    start_short_lived(&sleeper->process, &sleeper->scene, fail_on_session_expiry);
    process_tell(&sleeper->process, "acquire %d %d\n", (int)ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&sleeper->scene) == 1);
    stop_until_expired(&sleeper->process, &sleeper->scene, 1);
}

static void sleeper_end(struct sleeper *sleeper) {
    process_end(&sleeper->process);
    zkl_lock_close(sleeper->holder);
    client_close(sleeper->client);
    scene_end(&sleeper->scene);
}

static void session_expired_while_waiting_the_waiter_rejoins_and_is_granted(void) {
    struct sleeper sleeper;
    zkl_grant grant;
    sleeper_begin(&sleeper, "rejoin", 0);
    /* While it sleeps another comes, and is before it from now on. */
    struct waiter other;
    zkl_lock *lock = lock_open(sleeper.client, sleeper.scene.resource);
    waiter_start(&other, lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&sleeper.scene) == 2);
    process_signal(&sleeper.process, SIGCONT);
    WAIT_UNTIL(scene_queue(&sleeper.scene) == 3);
    ASSERT_STATUS(zkl_lock_release(sleeper.holder, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&other), ZKL_OK);
    CU_ASSERT_FALSE(process_has_answered(&sleeper.process));
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(process_answer_grant(&sleeper.process, &grant), ZKL_OK);
    CU_ASSERT_TRUE(grant.token > other.grant.token);
    ASSERT_STATUS(process_check(&sleeper.process), ZKL_OK);
    zkl_lock_close(lock);
    sleeper_end(&sleeper);
}

static void session_expired_while_waiting_fails_where_that_is_asked_for(void) {
    struct sleeper sleeper;
    sleeper_begin(&sleeper, "expiry-fails", 1);
    process_signal(&sleeper.process, SIGCONT);
    ASSERT_STATUS(process_answer(&sleeper.process), ZKL_SESSION_EXPIRED);
    ASSERT_STATUS(process_check(&sleeper.process), ZKL_NOT_HELD);
    ASSERT_NUMBER(scene_queue(&sleeper.scene), 1);
    ASSERT_STATUS(zkl_lock_check(sleeper.holder, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(sleeper.holder, PATIENCE_MS), ZKL_OK);
    zkl_grant grant;
    ASSERT_STATUS(process_acquire(&sleeper.process, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    sleeper_end(&sleeper);
}

/* ---- A client whose only server goes away and comes back ---------------- */

struct cut_off {
    struct scene scene;
    int server;
    zkl_client *client;
    zkl_lock *lock;
};

static void cut_off_begin(struct cut_off *cut_off, const char *stem) {
    scene_begin(&cut_off->scene, stem);
    cut_off->server = servers_follower();
    cut_off->client = client_open(server_host(cut_off->server), 3 * LONG_SESSION_MS);
    cut_off->lock = lock_open(cut_off->client, cut_off->scene.resource);
}

static void cut_off_kill(struct cut_off *cut_off) {
    server_kill(cut_off->server);
    WAIT_UNTIL(!client_information(cut_off->client).connected);
}

static void cut_off_heal(struct cut_off *cut_off) {
    server_start(cut_off->server);
    WAIT_UNTIL(client_information(cut_off->client).connected);
}

static void cut_off_end(struct cut_off *cut_off) {
    ASSERT_NUMBER(client_information(cut_off->client).sessions_expired, 0);
    zkl_lock_close(cut_off->lock);
    client_close(cut_off->client);
    scene_end(&cut_off->scene);
}

static void holder_cut_off_is_suspect_and_holds_again_after_reconnect(void) {
    struct cut_off cut_off;
    struct waiter waiter;
    cut_off_begin(&cut_off, "suspect");
    ASSERT_STATUS(zkl_lock_acquire(cut_off.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    zkl_client *other = client_open_on(servers_leader());
    zkl_lock *lock = lock_open(other, cut_off.scene.resource);
    waiter_start(&waiter, lock, ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&cut_off.scene) == 1);
    cut_off_kill(&cut_off);
    ASSERT_STATUS(zkl_lock_check(cut_off.lock, NULL), ZKL_SUSPECT);
    cut_off_heal(&cut_off);
    WAIT_UNTIL(zkl_lock_check(cut_off.lock, NULL) == ZKL_OK);
    CU_ASSERT_FALSE(waiter_is_done(&waiter));
    ASSERT_STATUS(zkl_lock_release(cut_off.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    zkl_lock_close(lock);
    client_close(other);
    cut_off_end(&cut_off);
}

static void release_while_cut_off_is_done_after_reconnect(void) {
    struct cut_off cut_off;
    cut_off_begin(&cut_off, "release-cut-off");
    ASSERT_STATUS(zkl_lock_acquire(cut_off.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    cut_off_kill(&cut_off);
    ASSERT_STATUS(zkl_lock_release(cut_off.lock, 100), ZKL_PENDING);
    ASSERT_STATUS(zkl_lock_check(cut_off.lock, NULL), ZKL_NOT_HELD);
    ASSERT_NUMBER(scene_queue(&cut_off.scene), 1);
    cut_off_heal(&cut_off);
    WAIT_UNTIL(scene_queue(&cut_off.scene) == 0);
    cut_off_end(&cut_off);
}

static void waiter_cut_off_hears_of_a_release_after_reconnect(void) {
    struct cut_off cut_off;
    struct waiter waiter;
    cut_off_begin(&cut_off, "waiter-cut-off");
    zkl_client *other = client_open_on(servers_leader());
    zkl_lock *holder = lock_open(other, cut_off.scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&waiter, cut_off.lock, ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&cut_off.scene) == 1);
    cut_off_kill(&cut_off);
    ASSERT_STATUS(zkl_lock_release(holder, PATIENCE_MS), ZKL_OK);
    cut_off_heal(&cut_off);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    zkl_lock_close(holder);
    client_close(other);
    cut_off_end(&cut_off);
}

static void acquire_while_cut_off_keeps_its_deadline_and_a_try_does_not_wait(void) {
    const int64_t timeout_ms = 500;
    struct cut_off cut_off;
    cut_off_begin(&cut_off, "acquire-cut-off");
    cut_off_kill(&cut_off);
    int64_t begun = now_ms();
    ASSERT_STATUS(zkl_lock_acquire(cut_off.lock, ZKL_EXCLUSIVE, timeout_ms, NULL),
                  ZKL_DISCONNECTED);
    int64_t took = now_ms() - begun;
    CU_ASSERT_TRUE(took >= timeout_ms);
    CU_ASSERT_TRUE(took <= timeout_ms + SLACK_MS);
    ASSERT_STATUS(zkl_lock_acquire(cut_off.lock, ZKL_EXCLUSIVE, 0, NULL), ZKL_DISCONNECTED);
    cut_off_heal(&cut_off);
    ASSERT_STATUS(zkl_lock_acquire(cut_off.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    cut_off_end(&cut_off);
}

/* Given addresses among which its server is not, libzookeeper closes the connection, and tells
 * nobody. */
static void reconnect_that_libzookeeper_makes_by_itself_is_suspect_and_held_again(void) {
    struct scene scene;
    struct news news;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    scene_begin(&scene, "set-servers");
    news_begin(&news);
    options.state_callback = news_callback;
    options.state_arg = &news;
    int leader = servers_leader();
    struct proxy *first = proxy_start(servers_follower());
    struct proxy *proxy = proxy_start_at(leader, "127.0.0.70", 0);
    zkl_client *client = client_open(proxy_hosts(first), LONG_SESSION_MS);
    ASSERT_STATUS(zkl_lock_open(client, scene.resource, &options, &lock), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    int64_t session_id = client_information(client).session_id;
    ASSERT_STATUS(zkl_client_set_hosts(client, proxy_hosts(proxy)), ZKL_OK);
    WAIT_UNTIL(servers_of_session(session_id) == leader);
    WAIT_UNTIL(news_total(&news) == 2);
    ASSERT_NUMBER(news_first(&news, ZKL_STATE_SUSPECT).state, ZKL_STATE_SUSPECT);
    ASSERT_NUMBER(news_last(&news).state, ZKL_STATE_HELD);
    ASSERT_STATUS(zkl_lock_check(lock, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_NUMBER(client_information(client).sessions_expired, 0);
    zkl_lock_close(lock);
    news_end(&news);
    client_close(client);
    proxy_stop(proxy);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(holder_stopped_past_its_session_finds_the_lock_lost_and_acquires_again),
        TEST_CASE(session_expired_while_waiting_the_waiter_rejoins_and_is_granted),
        TEST_CASE(session_expired_while_waiting_fails_where_that_is_asked_for),
        TEST_CASE(holder_cut_off_is_suspect_and_holds_again_after_reconnect),
        TEST_CASE(release_while_cut_off_is_done_after_reconnect),
        TEST_CASE(waiter_cut_off_hears_of_a_release_after_reconnect),
        TEST_CASE(acquire_while_cut_off_keeps_its_deadline_and_a_try_does_not_wait),
        TEST_CASE(reconnect_that_libzookeeper_makes_by_itself_is_suspect_and_held_again),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
