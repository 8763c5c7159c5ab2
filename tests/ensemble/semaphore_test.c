/*
 * Semaphores on real servers: never more than n hold, in the order of the queue; whose permit it is
 * goes free with its session, with its limit or with its release, and wakes as few as the recipe
 * promises. And queues that take no more than max_waiting.
 */
#include "support/ledger.h"
#include "support/news.h"
#include "support/process.h"
#include "support/proxy.h"
#include "support/rounds.h"
#include "support/scene.h"
#include "support/servers.h"

#include <signal.h>
#include <stdio.h>

/* For what must not happen; a wrong grant would come within a round trip. */
#define QUIET_MS 300
/* Where connections are cut. */
#define SESSION_MS 6000
#define ENOUGH_MS (2 * SESSION_MS)
/* A third of it passes before a holder watches its own node as well, which would count. */
#define LONGEST_SESSION_MS 60000

static zkl_lock *open_with(zkl_client *client, const char *resource,
                           const zkl_lock_options *options) {
    zkl_lock *lock = NULL;
    ASSERT_STATUS(zkl_lock_open(client, resource, options, &lock), ZKL_OK);
    return lock;
}

static zkl_lock *open_permit(zkl_client *client, const char *resource, int32_t permits) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.permits = permits;
    return open_with(client, resource, &options);
}

static void acquire(zkl_lock *lock) {
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
}

static void release(zkl_lock *lock) {
    ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
}

/* The servers count each birth and death of a child. */
static int32_t births_and_deaths(struct scene *scene) {
    struct Stat stat = { 0 };
    raw_catch_up(scene->raw);
    CU_ASSERT_TRUE(raw_stat(scene->raw, scene->path, &stat));
    return stat.cversion;
}

/* ---- A queue of contenders, each in a session of its own -------------------------------- */

enum { LINE_LENGTH = 12 };

struct line {
    struct scene scene;
    zhandle_t *raws[SERVERS];
    int32_t permits;
    int count;
    zkl_client *clients[LINE_LENGTH];
    zkl_lock *locks[LINE_LENGTH];
    struct waiter waiters[LINE_LENGTH];
};

static void line_begin(struct line *line, const char *stem, int32_t permits, int count) {
    scene_begin(&line->scene, stem);
    line->permits = permits;
    line->count = count;
    for (int i = 0; i < SERVERS; i++) {
        line->raws[i] = raw_open(server_host(i + 1));
    }
    for (int i = 0; i < count; i++) {
        line->clients[i] = client_open(server_host(i % SERVERS + 1), LONGEST_SESSION_MS);
        line->locks[i] = open_permit(line->clients[i], line->scene.resource, permits);
    }
}

/* Each has its place before the next comes; those who wait have all their watches when it returns.
 */
static void line_up(struct line *line) {
    for (int i = 0; i < line->count; i++) {
        waiter_start(&line->waiters[i], line->locks[i], ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
        WAIT_UNTIL(scene_queue(&line->scene) == i + 1);
    }
    WAIT_UNTIL(scene_watches(&line->scene) == line->permits * (line->count - line->permits));
}

static int granted(struct line *line) {
    int count = 0;
    for (int i = 0; i < line->count; i++) {
        count += waiter_is_done(&line->waiters[i]);
    }
    return count;
}

static void line_end(struct line *line) {
    for (int i = 0; i < line->count; i++) {
        zkl_lock_close(line->locks[i]);
        client_close(line->clients[i]);
    }
    for (int i = 0; i < SERVERS; i++) {
        raw_close(line->raws[i]);
    }
    scene_end(&line->scene);
}

/* Watches fired by deletions, on all servers, once each has caught up. */
static int64_t fired(struct line *line) {
    for (int i = 0; i < SERVERS; i++) {
        raw_catch_up(line->raws[i]);
    }
    return servers_sum("zk_sum_node_deleted_watch_count");
}

/* ---- Who holds -------------------------------------------------------------------------- */

enum { CROWD = 6, PERMITS = 3, ROUNDS = 40 };

static void never_more_than_n_processes_hold(void) {
    struct scene scene;
    struct process crowd[CROWD];
    char ledger[64];
    scene_begin(&scene, "permits");
    ledger_make(ledger);
    for (int i = 0; i < CROWD; i++) {
        process_start(&crowd[i], &(struct process_options){ .hosts = servers_hosts(),
                                                            .resource = scene.resource,
                                                            .session_timeout_ms = LONG_SESSION_MS,
                                                            .permits = PERMITS });
    }
    for (int i = 0; i < CROWD; i++) {
        process_tell(&crowd[i], "count %d %d %s\n", (int)ZKL_EXCLUSIVE, ROUNDS, ledger);
    }
    for (int i = 0; i < CROWD; i++) {
        ASSERT_STATUS(process_answer(&crowd[i]), ZKL_OK);
        process_end(&crowd[i]);
    }
    printf("at most %d of %d at once ", (int)ledger_most_inside(ledger), CROWD);
    ledger_remove(ledger);
    scene_end(&scene);
}

/* All n at once, and the others as they came, whichever permit goes free. */
static void permits_are_given_in_the_order_of_the_queue(void) {
    static const int leavers[] = { 1, 0, 3, 2 };
    struct line line;
    line_begin(&line, "permit-order", 2, 6);
    line_up(&line);
    for (int i = 0; i < 2; i++) {
        ASSERT_STATUS(waiter_join(&line.waiters[i]), ZKL_OK);
        ASSERT_STATUS(zkl_lock_verify(line.locks[i], PATIENCE_MS), ZKL_OK);
    }
    for (int i = 0; i < 4; i++) {
        STAYS(granted(&line) == 2 + i, QUIET_MS);
        release(line.locks[leavers[i]]);
        ASSERT_STATUS(waiter_join(&line.waiters[2 + i]), ZKL_OK);
    }
    ASSERT_NUMBER(scene_queue(&line.scene), 2);
    line_end(&line);
}

static void holder_that_is_killed_frees_its_permit(void) {
    struct scene scene;
    struct process holder;
    struct waiter waiter;
    zkl_grant grant;
    scene_begin(&scene, "permit-killed");
    process_start(&holder, &(struct process_options){ .hosts = servers_hosts(),
                                                      .resource = scene.resource,
                                                      .session_timeout_ms = SHORT_SESSION_MS,
                                                      .permits = 2 });
    ASSERT_STATUS(process_acquire(&holder, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *other = open_permit(client, scene.resource, 2);
    zkl_lock *next = open_permit(client, scene.resource, 2);
    acquire(other);
    waiter_start(&waiter, next, ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    WAIT_UNTIL(scene_watches_on(&scene, grant.node) == 1);
    CU_ASSERT_FALSE(waiter_is_done(&waiter));
    process_signal(&holder, SIGKILL);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&scene), 2);
    ASSERT_STATUS(zkl_lock_check(other, NULL), ZKL_OK);
    process_end(&holder);
    zkl_lock_close(other);
    zkl_lock_close(next);
    client_close(client);
    scene_end(&scene);
}

static void permit_held_past_its_limit_is_lost_and_the_others_stay(void) {
    struct scene scene;
    struct news news;
    struct waiter waiter;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    scene_begin(&scene, "permit-limit");
    news_begin(&news);
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *unlimited = open_permit(client, scene.resource, 2);
    zkl_lock *next = open_permit(client, scene.resource, 2);
    options.permits = 2;
    options.max_hold_ms = 1000;
    options.state_callback = news_callback;
    options.state_arg = &news;
    zkl_lock *limited = open_with(client, scene.resource, &options);
    acquire(unlimited);
    acquire(limited);
    waiter_start(&waiter, next, ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    WAIT_UNTIL(news_count(&news, ZKL_STATE_LOST) == 1);
    ASSERT_STATUS(news_last(&news).reason, ZKL_HOLD_LIMIT);
    ASSERT_STATUS(zkl_lock_check(limited, NULL), ZKL_LOST);
    ASSERT_STATUS(zkl_lock_check(unlimited, NULL), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&scene), 2);
    ASSERT_STATUS(zkl_lock_release(limited, PATIENCE_MS), ZKL_LOST);
    zkl_lock_close(unlimited);
    zkl_lock_close(limited);
    zkl_lock_close(next);
    news_end(&news);
    client_close(client);
    scene_end(&scene);
}

static void contenders_that_differ_in_the_number_are_told_and_leave_nothing(void) {
    struct scene scene;
    struct process holder;
    zkl_grant grant;
    scene_begin(&scene, "permit-differ");
    process_start(&holder, &(struct process_options){ .hosts = servers_hosts(),
                                                      .resource = scene.resource,
                                                      .session_timeout_ms = LONG_SESSION_MS,
                                                      .permits = 2 });
    ASSERT_STATUS(process_acquire(&holder, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *three = open_permit(client, scene.resource, 3);
    zkl_lock *two = open_permit(client, scene.resource, 2);
    ASSERT_STATUS(zkl_lock_acquire(three, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_USED_DIFFERENTLY);
    ASSERT_STATUS(zkl_lock_acquire(three, ZKL_EXCLUSIVE, 0, NULL), ZKL_USED_DIFFERENTLY);
    WAIT_UNTIL(scene_queue(&scene) == 1);
    acquire(two);
    ASSERT_STATUS(process_check(&holder), ZKL_OK);
    ASSERT_STATUS(process_release(&holder), ZKL_OK);
    release(two);
    acquire(three);
    zkl_lock_close(two);
    zkl_lock_close(three);
    process_end(&holder);
    client_close(client);
    scene_end(&scene);
}

/* ---- No herd ---------------------------------------------------------------------------- */

static void releases_in_the_order_of_the_queue_fire_one_watch_each(void) {
    struct line line;
    line_begin(&line, "permit-herd", PERMITS, LINE_LENGTH);
    line_up(&line);
    for (int i = 0; i < LINE_LENGTH; i++) {
        WAIT_UNTIL(granted(&line) == (i + PERMITS < LINE_LENGTH ? i + PERMITS : LINE_LENGTH));
        int waiting = i + PERMITS < LINE_LENGTH ? LINE_LENGTH - PERMITS - i : 0;
        WAIT_UNTIL(scene_watches(&line.scene) == PERMITS * waiting);
        int64_t before = fired(&line);
        ASSERT_STATUS(waiter_join(&line.waiters[i]), ZKL_OK);
        release(line.locks[i]);
        ASSERT_NUMBER(fired(&line) - before, waiting > 0 ? 1 : 0);
    }
    line_end(&line);
}

/* The last holder is one of the n nearest of as many as there are: n. One of them gets the permit.
 */
static void release_of_the_last_holder_fires_n_watches_and_lets_one_in(void) {
    struct line line;
    line_begin(&line, "permit-herd-last", PERMITS, LINE_LENGTH);
    line_up(&line);
    for (int i = 0; i < PERMITS; i++) {
        ASSERT_STATUS(waiter_join(&line.waiters[i]), ZKL_OK);
    }
    int64_t before = fired(&line);
    release(line.locks[PERMITS - 1]);
    ASSERT_STATUS(waiter_join(&line.waiters[PERMITS]), ZKL_OK);
    WAIT_UNTIL(scene_watches(&line.scene) == PERMITS * (LINE_LENGTH - PERMITS - 1));
    ASSERT_NUMBER(fired(&line) - before, PERMITS);
    STAYS(granted(&line) == PERMITS + 1, QUIET_MS);
    for (int i = 0; i < LINE_LENGTH; i++) {
        if (i != PERMITS - 1) {
            ASSERT_STATUS(i <= PERMITS ? ZKL_OK : waiter_join(&line.waiters[i]), ZKL_OK);
            release(line.locks[i]);
        }
    }
    line_end(&line);
}

/* ---- Lost requests and replies ---------------------------------------------------------- */

/* The client behind the proxy wants the permit that a rival leaves, beside one that another keeps.
 */
struct stage {
    struct scene scene;
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *rivals_client;
    zkl_lock *permit;
    zkl_lock *kept;
    zkl_lock *rival;
    zkl_lock *witness; /* only tries */
};

static void stage_begin(struct stage *stage) {
    scene_begin(&stage->scene, "permit-reply");
    stage->proxy = proxy_start(0);
    stage->client = client_open(proxy_hosts(stage->proxy), SESSION_MS);
    stage->rivals_client = client_open_on(1);
    stage->permit = open_permit(stage->client, stage->scene.resource, 2);
    stage->kept = open_permit(stage->rivals_client, stage->scene.resource, 2);
    stage->rival = open_permit(stage->rivals_client, stage->scene.resource, 2);
    stage->witness = open_permit(stage->rivals_client, stage->scene.resource, 2);
    acquire(stage->kept);
}

/* Returns the number of cuts. */
static int stage_end(struct stage *stage) {
    int cuts = proxy_end_plan(stage->proxy);
    ASSERT_STATUS(zkl_lock_check(stage->kept, NULL), ZKL_OK);
    ASSERT_NUMBER(client_information(stage->client).sessions_expired, 0);
    zkl_lock_close(stage->permit);
    zkl_lock_close(stage->kept);
    zkl_lock_close(stage->rival);
    zkl_lock_close(stage->witness);
    client_close(stage->client);
    client_close(stage->rivals_client);
    proxy_stop(stage->proxy);
    scene_end(&stage->scene);
    return cuts;
}

static void assert_holds_and_release(struct stage *stage) {
    ASSERT_STATUS(zkl_lock_verify(stage->permit, ENOUGH_MS), ZKL_OK);
    WAIT_UNTIL(scene_queue(&stage->scene) == 2);
    ASSERT_STATUS(zkl_lock_acquire(stage->witness, ZKL_EXCLUSIVE, 0, NULL), ZKL_BUSY);
    ASSERT_STATUS(zkl_lock_release(stage->permit, ENOUGH_MS), ZKL_OK);
    WAIT_UNTIL(scene_queue(&stage->scene) == 1);
    acquire(stage->witness);
    release(stage->witness);
}

static int take_the_free_permit(enum proxy_fault fault, int request) {
    struct stage stage;
    const struct proxy_plan plan = { { { fault, request } }, 1, false };
    stage_begin(&stage);
    proxy_set_plan(stage.proxy, &plan);
    ASSERT_STATUS(zkl_lock_acquire(stage.permit, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    assert_holds_and_release(&stage);
    return stage_end(&stage);
}

static int wait_for_a_permit(enum proxy_fault fault, int request) {
    struct stage stage;
    struct waiter waiter;
    const struct proxy_plan plan = { { { fault, request } }, 1, false };
    stage_begin(&stage);
    acquire(stage.rival);
    proxy_set_plan(stage.proxy, &plan);
    waiter_start(&waiter, stage.permit, ZKL_EXCLUSIVE, 2 * ENOUGH_MS);
    WAIT_UNTIL(scene_watches(&stage.scene) == 2);
    CU_ASSERT_FALSE(waiter_is_done(&waiter));
    release(stage.rival);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    assert_holds_and_release(&stage);
    return stage_end(&stage);
}

/* Create and list, and the deletion; a watch on each of two, and the list when one has gone. */
enum { FREE_REQUESTS = 2 + 1, WAIT_REQUESTS = 2 + 2 + 1 + 1 };

static void request_lost_at_every_step_of_a_free_permit_leaves_one_node(void) {
    cut_at_every_request(take_the_free_permit, PROXY_REQUEST_LOST, FREE_REQUESTS);
}

static void reply_lost_at_every_request_of_a_free_permit_leaves_one_node(void) {
    cut_at_every_request(take_the_free_permit, PROXY_REPLY_LOST, FREE_REQUESTS);
}

static void reply_lost_at_every_request_of_a_wait_for_a_permit_keeps_its_place(void) {
    cut_at_every_request(wait_for_a_permit, PROXY_REPLY_LOST, WAIT_REQUESTS);
}

/* ---- Queues with a limit ---------------------------------------------------------------- */

static zkl_lock *open_limited(zkl_client *client, const char *resource, int32_t permits,
                              int32_t max_waiting) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.permits = permits;
    options.max_waiting = max_waiting;
    return open_with(client, resource, &options);
}

/* All in one session, which sees what it has done itself: nobody queues in vain. */
static void full_queue_refuses_at_once_and_without_a_write(void) {
    static const zkl_mode modes[] = { ZKL_EXCLUSIVE, ZKL_EXCLUSIVE };
    for (int i = 0; i < 2; i++) {
        struct scene scene;
        struct waiter waiter;
        int32_t permits = modes[i] == ZKL_EXCLUSIVE ? 1 : 0;
        scene_begin(&scene, "queue-full");
        zkl_client *client = client_open_on(servers_follower());
        zkl_lock *holder = open_limited(client, scene.resource, permits, 1);
        zkl_lock *patient = open_limited(client, scene.resource, permits, 1);
        zkl_lock *refused = open_limited(client, scene.resource, permits, 1);
        ASSERT_STATUS(zkl_lock_acquire(holder, modes[i], PATIENCE_MS, NULL), ZKL_OK);
        waiter_start(&waiter, patient, modes[i], 2 * PATIENCE_MS);
        WAIT_UNTIL(scene_queue(&scene) == 2);
        int32_t before = births_and_deaths(&scene);
        ASSERT_STATUS(zkl_lock_acquire(refused, modes[i], PATIENCE_MS, NULL), ZKL_QUEUE_FULL);
        ASSERT_NUMBER(births_and_deaths(&scene), before);
        release(holder);
        ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
        waiter_start(&waiter, refused, modes[i], 2 * PATIENCE_MS); /* there is room again */
        WAIT_UNTIL(scene_queue(&scene) == 2);
        release(patient);
        ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
        zkl_lock_close(holder);
        zkl_lock_close(patient);
        zkl_lock_close(refused);
        client_close(client);
        scene_end(&scene);
    }
}

/* In whatever order they are granted; true: it was refused. */
static bool leave_line(struct line *line, int i) {
    int status = waiter_join(&line->waiters[i]);
    ASSERT_STATUS(status == ZKL_QUEUE_FULL ? ZKL_OK : status, ZKL_OK);
    zkl_lock_close(line->locks[i]);
    line->locks[i] = NULL;
    return status == ZKL_QUEUE_FULL;
}

static int leave_line_as_granted(struct line *line) {
    int refused = 0;
    for (int left = line->count; left > 0;) {
        for (int i = 0; i < line->count; i++) {
            if (line->locks[i] != NULL && waiter_is_done(&line->waiters[i])) {
                refused += leave_line(line, i);
                left--;
            }
        }
        nap();
    }
    return refused;
}

/* Whoever comes at the same time may queue before it sees that, and leaves again. */
static void as_many_as_may_wait_wait_when_all_come_at_once(void) {
    enum { ALLOWED = 2 };
    struct line line;
    line_begin(&line, "queue-limit", 0, CROWD);
    zkl_lock *holder = lock_open(line.clients[0], line.scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(holder, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    for (int i = 0; i < CROWD; i++) {
        zkl_lock_close(line.locks[i]);
        line.locks[i] = open_limited(line.clients[i], line.scene.resource, 0, ALLOWED);
        waiter_start(&line.waiters[i], line.locks[i], ZKL_EXCLUSIVE, 2 * PATIENCE_MS);
    }
    WAIT_UNTIL(granted(&line) == CROWD - ALLOWED && scene_queue(&line.scene) == 1 + ALLOWED);
    release(holder);
    ASSERT_NUMBER(leave_line_as_granted(&line), CROWD - ALLOWED);
    zkl_lock_close(holder);
    line_end(&line);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(never_more_than_n_processes_hold),
        TEST_CASE(permits_are_given_in_the_order_of_the_queue),
        TEST_CASE(holder_that_is_killed_frees_its_permit),
        TEST_CASE(permit_held_past_its_limit_is_lost_and_the_others_stay),
        TEST_CASE(contenders_that_differ_in_the_number_are_told_and_leave_nothing),
        TEST_CASE(releases_in_the_order_of_the_queue_fire_one_watch_each),
        TEST_CASE(release_of_the_last_holder_fires_n_watches_and_lets_one_in),
        TEST_CASE(request_lost_at_every_step_of_a_free_permit_leaves_one_node),
        TEST_CASE(reply_lost_at_every_request_of_a_free_permit_leaves_one_node),
        TEST_CASE(reply_lost_at_every_request_of_a_wait_for_a_permit_keeps_its_place),
        TEST_CASE(full_queue_refuses_at_once_and_without_a_write),
        TEST_CASE(as_many_as_may_wait_wait_when_all_come_at_once),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
