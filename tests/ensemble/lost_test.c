/* A holder knows: what takes a lock away from it, and that it is told. */
#include "support/news.h"
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

/* The client looks after its session, and after the nodes of its locks, every
 * third of this. */
#define SESSION_MS 6000
#define PROBE_PERIOD_MS (SESSION_MS / 3)

/* For what must not happen; a wrong piece of news would come within a round trip. */
#define QUIET_MS 300

/* ---- One handle, its news, and the proxy before its client ----------------- */

struct hold {
    struct scene scene;
    struct proxy *proxy;
    zkl_client *client;
    struct news news;
    zkl_lock *lock;
    zkl_grant grant;
};

static zkl_lock *open_with_news(zkl_client *client, const char *resource, struct news *news,
                                int64_t max_hold_ms) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lock *lock = NULL;
    options.max_hold_ms = max_hold_ms;
    options.state_callback = news_callback;
    options.state_arg = news;
    ASSERT_STATUS(zkl_lock_open(client, resource, &options, &lock), ZKL_OK);
    return lock;
}

typedef zkl_client *open_function(const char *hosts, int32_t session_timeout_ms);

static void hold_begin_as(struct hold *hold, const char *stem, int64_t max_hold_ms,
                          open_function *open) {
    scene_begin(&hold->scene, stem);
    hold->proxy = proxy_start(0);
    hold->client = open(proxy_hosts(hold->proxy), SESSION_MS);
    news_begin(&hold->news);
    hold->lock = open_with_news(hold->client, hold->scene.resource, &hold->news, max_hold_ms);
    hold->grant = (zkl_grant)ZKL_GRANT_INIT;
}

static void hold_begin(struct hold *hold, const char *stem, int64_t max_hold_ms) {
    hold_begin_as(hold, stem, max_hold_ms, client_open);
}

static void hold_acquire(struct hold *hold, zkl_mode mode) {
    ASSERT_STATUS(zkl_lock_acquire(hold->lock, mode, PATIENCE_MS, &hold->grant), ZKL_OK);
}

static void hold_end(struct hold *hold) {
    ASSERT_NUMBER(client_information(hold->client).sessions_expired, 0);
    zkl_lock_close(hold->lock);
    client_close(hold->client);
    proxy_stop(hold->proxy);
    news_end(&hold->news);
    scene_end(&hold->scene);
}

/* The server has the watch by which the client learns of its node's deletion. */
static bool own_node_is_watched(struct hold *hold) {
    return servers_watches(hold->grant.node) == 1;
}

static void cut_off(struct hold *hold) {
    const struct proxy_plan plan = { .cuts = { { PROXY_REQUEST_LOST, 1 } },
                                     .count = 1,
                                     .then_stay_away = true };
    proxy_set_plan(hold->proxy, &plan);
    WAIT_UNTIL(proxy_cuts_made(hold->proxy) == 1); /* the next probe makes it */
    WAIT_UNTIL(!client_information(hold->client).connected);
}

static void let_back(struct hold *hold) {
    (void)proxy_end_plan(hold->proxy);
    WAIT_UNTIL(client_information(hold->client).connected);
}

static zkl_lock_information information_on(const zkl_lock *lock) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    ASSERT_STATUS(zkl_lock_info(lock, &information), ZKL_OK);
    return information;
}

/* All that can be asked says the same. */
static void assert_lost(struct hold *hold, int reason) {
    ASSERT_STATUS(zkl_lock_check(hold->lock, NULL), ZKL_LOST);
    zkl_lock_information information = information_on(hold->lock);
    ASSERT_NUMBER(information.state, ZKL_STATE_LOST);
    ASSERT_STATUS(information.lost_reason, reason);
    CU_ASSERT_TRUE(information.token == hold->grant.token);
    WAIT_UNTIL(news_count(&hold->news, ZKL_STATE_LOST) == 1);
    struct told last = news_last(&hold->news);
    ASSERT_NUMBER(last.state, ZKL_STATE_LOST);
    ASSERT_STATUS(last.reason, reason);
    CU_ASSERT_TRUE(last.token == hold->grant.token);
}

static void assert_told_lost_within(struct hold *hold, int reason, int64_t since_ms,
                                    int64_t bound_ms) {
    WAIT_UNTIL(news_count(&hold->news, ZKL_STATE_LOST) == 1);
    CU_ASSERT_TRUE(news_first(&hold->news, ZKL_STATE_LOST).at_ms - since_ms <= bound_ms + SLACK_MS);
    assert_lost(hold, reason);
}

/* LOST is final; the handle is as good as new once that was acknowledged. */
static void assert_starts_again_after_the_loss(struct hold *hold, zkl_mode mode) {
    zkl_grant again = ZKL_GRANT_INIT;
    STAYS(zkl_lock_check(hold->lock, NULL) == ZKL_LOST, QUIET_MS);
    ASSERT_STATUS(zkl_lock_acquire(hold->lock, mode, PATIENCE_MS, NULL), ZKL_ALREADY_HELD);
    ASSERT_STATUS(zkl_lock_release(hold->lock, PATIENCE_MS), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_check(hold->lock, NULL), ZKL_NOT_HELD);
    ASSERT_STATUS(zkl_lock_release(hold->lock, PATIENCE_MS), ZKL_NOT_HELD);
    ASSERT_NUMBER(news_last(&hold->news).state, ZKL_STATE_LOST);
    ASSERT_NUMBER(news_count(&hold->news, ZKL_STATE_LOST), 1);
    ASSERT_STATUS(zkl_lock_acquire(hold->lock, mode, PATIENCE_MS, &again), ZKL_OK);
    CU_ASSERT_TRUE(again.token > hold->grant.token);
    ASSERT_STATUS(zkl_lock_check(hold->lock, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(hold->lock, PATIENCE_MS), ZKL_OK);
}

static int64_t delete_node(struct hold *hold) {
    int64_t deleted_at = boot_ms();
    raw_delete(hold->scene.raw, hold->grant.node);
    return deleted_at;
}

/* ---- The node is deleted by hand ------------------------------------------- */

static void node_deleted_right_after_the_grant_the_holder_is_told_within_a_probe_period(void) {
    struct hold hold;
    hold_begin(&hold, "deleted-early", 0);
    hold_acquire(&hold, ZKL_EXCLUSIVE);
    int64_t deleted_at = delete_node(&hold);
    assert_told_lost_within(&hold, ZKL_NODE_DELETED, deleted_at, PROBE_PERIOD_MS);
    assert_starts_again_after_the_loss(&hold, ZKL_EXCLUSIVE);
    hold_end(&hold);
}

static void node_of_a_reader_deleted_while_watched_the_reader_is_told_at_once(void) {
    struct hold hold;
    hold_begin(&hold, "deleted-reader", 0);
    hold_acquire(&hold, ZKL_READ);
    WAIT_UNTIL(own_node_is_watched(&hold));
    int64_t deleted_at = delete_node(&hold);
    assert_told_lost_within(&hold, ZKL_NODE_DELETED, deleted_at, 0);
    assert_starts_again_after_the_loss(&hold, ZKL_READ);
    hold_end(&hold);
}

static void node_deleted_after_a_hand_over_the_new_holder_is_told(void) {
    struct hold hold;
    struct waiter waiter;
    hold_begin(&hold, "deleted-handed-over", 0);
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *first = lock_open(client, hold.scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(first, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&waiter, hold.lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_watches(&hold.scene) == 1);
    ASSERT_STATUS(zkl_lock_release(first, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    hold.grant = waiter.grant;
    int64_t deleted_at = delete_node(&hold);
    assert_told_lost_within(&hold, ZKL_NODE_DELETED, deleted_at, PROBE_PERIOD_MS);
    assert_starts_again_after_the_loss(&hold, ZKL_EXCLUSIVE);
    zkl_lock_close(first);
    client_close(client);
    hold_end(&hold);
}

static void node_deleted_while_disconnected(const char *stem, bool watched) {
    struct hold hold;
    hold_begin(&hold, stem, 0);
    hold_acquire(&hold, ZKL_EXCLUSIVE);
    if (watched) {
        WAIT_UNTIL(own_node_is_watched(&hold));
    }
    cut_off(&hold);
    ASSERT_STATUS(zkl_lock_check(hold.lock, NULL), ZKL_SUSPECT);
    (void)delete_node(&hold);
    STAYS(zkl_lock_check(hold.lock, NULL) == ZKL_SUSPECT, QUIET_MS);
    int64_t back_at = boot_ms();
    let_back(&hold);
    assert_told_lost_within(&hold, ZKL_NODE_DELETED, back_at, PROBE_PERIOD_MS);
    CU_ASSERT_TRUE(news_count(&hold.news, ZKL_STATE_SUSPECT) >= 1);
    assert_starts_again_after_the_loss(&hold, ZKL_EXCLUSIVE);
    hold_end(&hold);
}

static void node_deleted_while_disconnected_the_holder_is_told_after_the_reconnect(void) {
    node_deleted_while_disconnected("deleted-away", true);
}

static void node_deleted_while_disconnected_and_not_yet_watched_the_holder_is_told(void) {
    node_deleted_while_disconnected("deleted-away-early", false);
}

static void data_of_the_node_changed_by_hand_it_is_held_and_still_looked_after(void) {
    struct hold hold;
    hold_begin_as(&hold, "changed", 0, client_open_unprotected);
    hold_acquire(&hold, ZKL_EXCLUSIVE);
    for (int i = 0; i < 3; i++) {
        WAIT_UNTIL(own_node_is_watched(&hold));
        raw_write(hold.scene.raw, hold.grant.node, i);
    }
    WAIT_UNTIL(own_node_is_watched(&hold));
    STAYS(zkl_lock_check(hold.lock, NULL) == ZKL_OK, QUIET_MS);
    ASSERT_NUMBER(news_total(&hold.news), 0);
    int64_t deleted_at = delete_node(&hold);
    assert_told_lost_within(&hold, ZKL_NODE_DELETED, deleted_at, PROBE_PERIOD_MS);
    assert_starts_again_after_the_loss(&hold, ZKL_EXCLUSIVE);
    hold_end(&hold);
}

/* ---- The hold limit ---------------------------------------------------------- */

/* Another client's waiter behind the holder. */
struct next_one {
    zkl_client *client;
    zkl_lock *lock;
    struct waiter waiter;
};

static void next_one_begin(struct next_one *next, struct hold *hold) {
    next->client = client_open(servers_hosts(), LONG_SESSION_MS);
    next->lock = lock_open(next->client, hold->scene.resource);
    waiter_start(&next->waiter, next->lock, ZKL_EXCLUSIVE, PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&hold->scene) == 2);
}

static void next_one_end(struct next_one *next) {
    zkl_lock_close(next->lock);
    client_close(next->client);
}

static void holder_stuck_past_its_limit_has_lost_and_the_next_is_granted(void) {
    const int64_t limit_ms = 1500;
    struct hold hold;
    struct next_one next;
    hold_begin(&hold, "limit", limit_ms);
    int64_t begun = boot_ms();
    hold_acquire(&hold, ZKL_EXCLUSIVE);
    int64_t granted = boot_ms();
    next_one_begin(&next, &hold);
    ASSERT_STATUS(waiter_join(&next.waiter), ZKL_OK); /* the holder does nothing */
    CU_ASSERT_TRUE(boot_ms() - begun >= limit_ms);
    assert_told_lost_within(&hold, ZKL_HOLD_LIMIT, granted, limit_ms);
    CU_ASSERT_TRUE(next.waiter.grant.token > hold.grant.token);
    ASSERT_NUMBER(scene_queue(&hold.scene), 1);
    ASSERT_STATUS(zkl_lock_release(next.lock, PATIENCE_MS), ZKL_OK);
    assert_starts_again_after_the_loss(&hold, ZKL_EXCLUSIVE);
    next_one_end(&next);
    hold_end(&hold);
}

static void limit_reached_while_disconnected_the_node_is_deleted_after_the_reconnect(void) {
    const int64_t limit_ms = PROBE_PERIOD_MS + 500; /* the cut comes with a probe */
    struct hold hold;
    struct next_one next;
    hold_begin(&hold, "limit-away", limit_ms);
    hold_acquire(&hold, ZKL_EXCLUSIVE);
    int64_t granted = boot_ms();
    next_one_begin(&next, &hold);
    cut_off(&hold);
    assert_told_lost_within(&hold, ZKL_HOLD_LIMIT, granted, limit_ms);
    CU_ASSERT_FALSE(waiter_is_done(&next.waiter));
    let_back(&hold);
    ASSERT_STATUS(waiter_join(&next.waiter), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(next.lock, PATIENCE_MS), ZKL_OK);
    assert_starts_again_after_the_loss(&hold, ZKL_EXCLUSIVE);
    next_one_end(&next);
    hold_end(&hold);
}

static void holder_without_a_limit_is_left_alone_and_the_next_waits(void) {
    struct hold hold;
    struct next_one next;
    hold_begin(&hold, "no-limit", 0);
    hold_acquire(&hold, ZKL_EXCLUSIVE);
    next_one_begin(&next, &hold);
    STAYS(!waiter_is_done(&next.waiter), PROBE_PERIOD_MS + QUIET_MS);
    ASSERT_STATUS(zkl_lock_check(hold.lock, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&next.waiter), ZKL_OK);
    ASSERT_NUMBER(news_total(&hold.news), 0);
    next_one_end(&next);
    hold_end(&hold);
}

/* The limit is that of one hold: what is left of an earlier one's must not end
 * the next. */
static void holder_that_releases_before_its_limit_is_told_nothing(void) {
    const int64_t limit_ms = 4000;
    struct hold hold;
    hold_begin(&hold, "limit-kept", limit_ms);
    hold_acquire(&hold, ZKL_EXCLUSIVE);
    int64_t first_ends = boot_ms() + limit_ms;
    STAYS(zkl_lock_check(hold.lock, NULL) == ZKL_OK, limit_ms / 2);
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_OK);
    hold_acquire(&hold, ZKL_EXCLUSIVE);
    STAYS(zkl_lock_check(hold.lock, NULL) == ZKL_OK, first_ends + QUIET_MS - boot_ms());
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_NUMBER(news_total(&hold.news), 0);
    hold_end(&hold);
}

/* ---- The connection breaks ---------------------------------------------------- */

static void connection_lost_and_made_again_the_holder_is_suspect_and_holds_again(void) {
    struct hold hold;
    hold_begin(&hold, "suspect-news", 0);
    hold_acquire(&hold, ZKL_EXCLUSIVE);
    for (int round = 1; round <= 2; round++) {
        cut_off(&hold);
        WAIT_UNTIL(news_count(&hold.news, ZKL_STATE_SUSPECT) == round);
        ASSERT_NUMBER(news_last(&hold.news).state, ZKL_STATE_SUSPECT);
        ASSERT_NUMBER(information_on(hold.lock).state, ZKL_STATE_SUSPECT);
        let_back(&hold);
        WAIT_UNTIL(news_count(&hold.news, ZKL_STATE_HELD) == round);
        CU_ASSERT_TRUE(news_last(&hold.news).token == hold.grant.token);
        ASSERT_STATUS(zkl_lock_check(hold.lock, NULL), ZKL_OK);
        ASSERT_NUMBER(information_on(hold.lock).state, ZKL_STATE_HELD);
    }
    ASSERT_STATUS(zkl_lock_release(hold.lock, PATIENCE_MS), ZKL_OK);
    ASSERT_NUMBER(news_total(&hold.news), 4);
    hold_end(&hold);
}

static void server_killed_the_holder_is_suspect_until_another_server_takes_it(void) {
    struct scene scene;
    struct news news;
    zkl_grant grant = ZKL_GRANT_INIT;
    scene_begin(&scene, "suspect-killed");
    news_begin(&news);
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *lock = open_with_news(client, scene.resource, &news, 0);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    int server = servers_of_session(client_information(client).session_id);
    server_kill(server);
    WAIT_UNTIL(news_count(&news, ZKL_STATE_SUSPECT) >= 1);
    WAIT_UNTIL(news_last(&news).state == ZKL_STATE_HELD);
    ASSERT_NUMBER(news_first(&news, ZKL_STATE_SUSPECT).state, ZKL_STATE_SUSPECT);
    CU_ASSERT_TRUE(news_last(&news).token == grant.token);
    server_start(server);
    WAIT_UNTIL(zkl_lock_check(lock, NULL) == ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    ASSERT_NUMBER(news_count(&news, ZKL_STATE_LOST), 0);
    zkl_lock_close(lock);
    client_close(client);
    news_end(&news);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(node_deleted_right_after_the_grant_the_holder_is_told_within_a_probe_period),
        TEST_CASE(node_of_a_reader_deleted_while_watched_the_reader_is_told_at_once),
        TEST_CASE(node_deleted_after_a_hand_over_the_new_holder_is_told),
        TEST_CASE(node_deleted_while_disconnected_the_holder_is_told_after_the_reconnect),
        TEST_CASE(node_deleted_while_disconnected_and_not_yet_watched_the_holder_is_told),
        TEST_CASE(data_of_the_node_changed_by_hand_it_is_held_and_still_looked_after),
        TEST_CASE(holder_stuck_past_its_limit_has_lost_and_the_next_is_granted),
        TEST_CASE(limit_reached_while_disconnected_the_node_is_deleted_after_the_reconnect),
        TEST_CASE(holder_without_a_limit_is_left_alone_and_the_next_waits),
        TEST_CASE(holder_that_releases_before_its_limit_is_told_nothing),
        TEST_CASE(connection_lost_and_made_again_the_holder_is_suspect_and_holds_again),
        TEST_CASE(server_killed_the_holder_is_suspect_until_another_server_takes_it),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
