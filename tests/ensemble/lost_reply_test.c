/*
 * The connection is cut at every request in turn: before the server has it,
 * after the server has carried it out, and in between. Whatever was lost,
 * exclusion holds, nothing is left behind while the session lives, and all goes
 * on.
 */
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <stdio.h>

/* Reconnecting takes a sixtieth of it at least, and must be done within it. */
#define SESSION_MS 6000
/* Who has not got it by then has not got it within the session. */
#define ENOUGH_MS (2 * SESSION_MS)
/* For whom the deadline strikes, connected or not; the requests before it take
 * some milliseconds. */
#define SHORT_WAIT_MS 400
/* No path has as many requests: one that never ends is noticed. */
#define REQUESTS_MAX 30

/* ---- The stage ---------------------------------------------------------- */

/* A client behind the proxy, and another that is connected directly. */
struct stage {
    struct scene scene; /* its path is that of the round's resource */
    char home[200];     /* above the resources of all rounds */
    char round_home[220];
    struct proxy *proxy;
    zkl_client *client;
    zkl_client *rivals_client;
    zkl_lock *lock;
    zkl_lock *rival;
    zkl_lock *witness; /* of the rival's client as well: only tries */
    int64_t session_id;
};

static void stage_begin(struct stage *stage, int server) {
    scene_begin(&stage->scene, "lost-reply");
    snprintf(stage->home, sizeof stage->home, "/locks/%s", stage->scene.resource);
    raw_make(stage->scene.raw, "/locks");
    raw_make(stage->scene.raw, stage->home);
    stage->proxy = proxy_start(server);
    stage->client = client_open(proxy_hosts(stage->proxy), SESSION_MS);
    stage->rivals_client = client_open_on(1);
    stage->session_id = client_information(stage->client).session_id;
}

/* Where a test has failed, something is left in it. */
static void delete_if_empty(struct stage *stage, const char *path) {
    raw_catch_up(stage->scene.raw);
    if (raw_children(stage->scene.raw, path) == 0) {
        raw_delete(stage->scene.raw, path);
    }
}

static void stage_end(struct stage *stage) {
    client_close(stage->client);
    client_close(stage->rivals_client);
    proxy_stop(stage->proxy);
    delete_if_empty(stage, stage->home);
    scene_end(&stage->scene);
}

/* Each round has a resource of its own, of which nothing exists: neither it nor
 * its parent. */
static void round_begin(struct stage *stage, int number) {
    snprintf(stage->round_home, sizeof stage->round_home, "%s/%d", stage->home, number);
    snprintf(stage->scene.path, sizeof stage->scene.path, "%s/lock", stage->round_home);
    stage->lock = lock_open(stage->client, stage->scene.path);
    stage->rival = lock_open(stage->rivals_client, stage->scene.path);
    stage->witness = lock_open(stage->rivals_client, stage->scene.path);
}

static void assert_session_lives(struct stage *stage) {
    zkl_client_information now = client_information(stage->client);
    ASSERT_NUMBER(now.sessions_expired, 0);
    ASSERT_NUMBER(now.session_id, stage->session_id);
}

static void acquire_and_release(zkl_lock *lock) {
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(lock, ENOUGH_MS), ZKL_OK);
}

/* Returns the number of cuts. */
static int round_end(struct stage *stage) {
    WAIT_UNTIL(scene_queue(&stage->scene) == 0);
    WAIT_UNTIL(scene_watches(&stage->scene) == 0);
    int cuts = proxy_end_plan(stage->proxy);
    acquire_and_release(stage->lock);
    acquire_and_release(stage->rival);
    assert_session_lives(stage);
    ASSERT_NUMBER(scene_queue(&stage->scene), 0);
    ASSERT_NUMBER(scene_watches(&stage->scene), 0);
    zkl_lock_close(stage->lock);
    zkl_lock_close(stage->rival);
    zkl_lock_close(stage->witness);
    delete_if_empty(stage, stage->scene.path);
    delete_if_empty(stage, stage->round_home);
    return cuts;
}

/* ---- What holds meanwhile ----------------------------------------------- */

static void assert_nobody_else_gets_it(struct stage *stage, zkl_mode mode) {
    ASSERT_STATUS(zkl_lock_check(stage->lock, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(stage->witness, mode, 0, NULL), ZKL_BUSY);
}

static void assert_token_is_of_the_node(struct stage *stage, const zkl_grant *grant) {
    struct Stat stat = { 0 };
    raw_catch_up(stage->scene.raw);
    bool there = grant->node[0] != '\0' && raw_stat(stage->scene.raw, grant->node, &stat);
    CU_ASSERT_TRUE(there);
    ASSERT_NUMBER(grant->token, stat.czxid);
    ASSERT_NUMBER(stat.ephemeralOwner, stage->session_id);
}

static void rival_acquires(struct stage *stage, zkl_mode mode, zkl_grant *grant) {
    *grant = (zkl_grant)ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(stage->rival, mode, ENOUGH_MS, grant), ZKL_OK);
}

static void rival_releases(struct stage *stage) {
    ASSERT_STATUS(zkl_lock_check(stage->rival, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(stage->rival, ENOUGH_MS), ZKL_OK);
}

static bool only_the_rival_is_left(struct stage *stage) {
    return scene_queue(&stage->scene) == 1 && scene_watches(&stage->scene) == 0;
}

static bool is_cut(struct stage *stage) {
    return proxy_cuts_made(stage->proxy) > 0;
}

/* ---- Paths through the protocol ----------------------------------------- */

static void acquire_what_is_free(struct stage *stage) {
    zkl_grant grant = ZKL_GRANT_INIT;
    ASSERT_STATUS(zkl_lock_acquire(stage->lock, ZKL_EXCLUSIVE, ENOUGH_MS, &grant), ZKL_OK);
    assert_nobody_else_gets_it(stage, ZKL_EXCLUSIVE);
    assert_token_is_of_the_node(stage, &grant);
    ASSERT_NUMBER(scene_queue(&stage->scene), 1);
    ASSERT_STATUS(zkl_lock_release(stage->lock, ENOUGH_MS), ZKL_OK);
}

static void wait_in_mode(struct stage *stage, zkl_mode held, zkl_mode wanted) {
    struct waiter waiter;
    zkl_grant rivals;
    rival_acquires(stage, held, &rivals);
    waiter_start(&waiter, stage->lock, wanted, ENOUGH_MS);
    WAIT_UNTIL(scene_watches(&stage->scene) == 1 && scene_queue(&stage->scene) == 2);
    CU_ASSERT_FALSE(waiter_is_done(&waiter));
    rival_releases(stage);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    CU_ASSERT_TRUE(waiter.grant.token > rivals.token);
    assert_nobody_else_gets_it(stage, held);
    assert_token_is_of_the_node(stage, &waiter.grant);
    ASSERT_NUMBER(scene_queue(&stage->scene), 1);
    ASSERT_STATUS(zkl_lock_release(stage->lock, ENOUGH_MS), ZKL_OK);
}

static void wait_for_a_holder(struct stage *stage) {
    wait_in_mode(stage, ZKL_EXCLUSIVE, ZKL_EXCLUSIVE);
}

static void write_after_a_reader(struct stage *stage) {
    wait_in_mode(stage, ZKL_READ, ZKL_WRITE);
}

static void read_after_a_writer(struct stage *stage) {
    wait_in_mode(stage, ZKL_WRITE, ZKL_READ);
}

static void read_beside_a_reader(struct stage *stage) {
    zkl_grant rivals;
    zkl_grant grant = ZKL_GRANT_INIT;
    rival_acquires(stage, ZKL_READ, &rivals);
    ASSERT_STATUS(zkl_lock_acquire(stage->lock, ZKL_READ, ENOUGH_MS, &grant), ZKL_OK);
    rival_releases(stage);
    assert_nobody_else_gets_it(stage, ZKL_WRITE);
    assert_token_is_of_the_node(stage, &grant);
    ASSERT_NUMBER(scene_queue(&stage->scene), 1);
    ASSERT_STATUS(zkl_lock_release(stage->lock, ENOUGH_MS), ZKL_OK);
}

/* The verdict must not wait for the connection, which may stay away: what is to
 * be cleaned up is cleaned up when it is back. */
static void leave_to_the_rival(struct stage *stage) {
    WAIT_UNTIL(is_cut(stage) || only_the_rival_is_left(stage));
    proxy_admit(stage->proxy);
    WAIT_UNTIL(only_the_rival_is_left(stage));
    rival_releases(stage);
}

static void time_out(struct stage *stage) {
    zkl_grant rivals;
    rival_acquires(stage, ZKL_EXCLUSIVE, &rivals);
    ASSERT_STATUS(zkl_lock_acquire(stage->lock, ZKL_EXCLUSIVE, SHORT_WAIT_MS, NULL), ZKL_TIMEOUT);
    leave_to_the_rival(stage);
}

static void time_out_away(struct stage *stage) {
    zkl_grant rivals;
    rival_acquires(stage, ZKL_EXCLUSIVE, &rivals);
    int status = zkl_lock_acquire(stage->lock, ZKL_EXCLUSIVE, SHORT_WAIT_MS, NULL);
    CU_ASSERT_TRUE(status == ZKL_TIMEOUT || (status == ZKL_DISCONNECTED && is_cut(stage)));
    leave_to_the_rival(stage);
}

static void cancel(struct stage *stage) {
    zkl_grant rivals;
    struct waiter waiter;
    rival_acquires(stage, ZKL_EXCLUSIVE, &rivals);
    waiter_start(&waiter, stage->lock, ZKL_EXCLUSIVE, ZKL_FOREVER);
    WAIT_UNTIL(is_cut(stage) || scene_watches(&stage->scene) == 1);
    ASSERT_STATUS(zkl_lock_cancel(stage->lock), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_CANCELLED);
    leave_to_the_rival(stage);
}

static void try_what_is_free(struct stage *stage) {
    int status = zkl_lock_acquire(stage->lock, ZKL_EXCLUSIVE, 0, NULL);
    ASSERT_STATUS(status, is_cut(stage) ? ZKL_DISCONNECTED : ZKL_OK);
    if (status == ZKL_OK) {
        assert_nobody_else_gets_it(stage, ZKL_EXCLUSIVE);
        ASSERT_NUMBER(scene_queue(&stage->scene), 1);
        ASSERT_STATUS(zkl_lock_release(stage->lock, ENOUGH_MS), ZKL_OK);
    }
}

static void try_what_is_held(struct stage *stage) {
    zkl_grant rivals;
    rival_acquires(stage, ZKL_EXCLUSIVE, &rivals);
    int status = zkl_lock_acquire(stage->lock, ZKL_EXCLUSIVE, 0, NULL);
    ASSERT_STATUS(status, is_cut(stage) ? ZKL_DISCONNECTED : ZKL_BUSY);
    /* Its server may not have seen the rival yet: then it queued, and leaves. */
    WAIT_UNTIL(scene_queue(&stage->scene) == 1);
    rival_releases(stage);
}

/* ---- Every request of a path in turn ------------------------------------ */

struct path {
    void (*run)(struct stage *stage);
    int requests;   /* as docs/internals/protocol.md tells; there may be more, not fewer */
    bool stay_away; /* no reconnect before the verdict */
};

/* Two nodes are missing above ours: the lower is tried, the upper made, then the
 * lower. */
enum { PAIR = 2, MAKE_PARENTS = 3, WATCH = 1, LIST_AGAIN = 1, DELETE = 1, UNWATCH = 1 };

static const struct path free_path = { acquire_what_is_free, PAIR + MAKE_PARENTS + PAIR + DELETE,
                                       false };
static const struct path waiting = { wait_for_a_holder, PAIR + WATCH + LIST_AGAIN + DELETE, false };
static const struct path writer = { write_after_a_reader, PAIR + WATCH + LIST_AGAIN + DELETE,
                                    false };
static const struct path reader = { read_after_a_writer, PAIR + WATCH + LIST_AGAIN + DELETE,
                                    false };
static const struct path readers = { read_beside_a_reader, PAIR + DELETE, false };
static const struct path timing_out = { time_out, PAIR + WATCH + UNWATCH + DELETE, false };
static const struct path timing_out_away = { time_out_away, PAIR + WATCH + UNWATCH + DELETE, true };
static const struct path cancelled = { cancel, PAIR + WATCH + UNWATCH + DELETE, false };
static const struct path cancelled_away = { cancel, PAIR + WATCH + UNWATCH + DELETE, true };
static const struct path try_free = { try_what_is_free, 1 + PAIR + MAKE_PARENTS + PAIR + DELETE,
                                      false };
static const struct path try_held = { try_what_is_held, 1, false };

/* Returns the number of cuts. */
static int run_round(struct stage *stage, const struct path *path, const struct proxy_plan *plan,
                     int number) {
    round_begin(stage, number);
    proxy_set_plan(stage->proxy, plan);
    path->run(stage);
    int cuts = round_end(stage);
    if (cuts > 0) { /* what was lost is asked again, and then lost again */
        ASSERT_NUMBER(cuts, plan->count);
    }
    return cuts;
}

/* Rounds until one passes without its request having come: then each has had
 * its turn. A failure ends them: what it has left behind would fail the others.
 * With `again`, the next connection is cut at its first request. */
static void cut_at_every_request(const struct path *path, enum proxy_fault fault, bool again) {
    struct stage stage;
    unsigned failures = CU_get_number_of_failures();
    int request = 1;
    bool cut;
    stage_begin(&stage, 0);
    do {
        struct proxy_plan plan = { { { fault, request }, { fault, 1 } },
                                   again ? 2 : 1,
                                   path->stay_away };
        cut = run_round(&stage, path, &plan, request) > 0;
        request += cut;
    } while (cut && request < REQUESTS_MAX && CU_get_number_of_failures() == failures);
    CU_ASSERT_FALSE(cut);
    printf("%d requests ", request - 1);
    if (request - 1 < path->requests) {
        ASSERT_NUMBER(request - 1, path->requests);
    }
    stage_end(&stage);
}

#define FOR_EACH_REQUEST(name, path, fault)                                                        \
    static void name(void) {                                                                       \
        cut_at_every_request(&(path), fault, false);                                               \
    }

FOR_EACH_REQUEST(request_lost_at_every_step_of_an_acquire_leaves_one_node, free_path,
                 PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_at_every_request_of_an_acquire_leaves_one_node, free_path,
                 PROXY_REPLY_LOST)
FOR_EACH_REQUEST(request_lost_at_every_step_of_a_wait_keeps_its_place, waiting, PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_at_every_request_of_a_wait_keeps_its_place, waiting, PROXY_REPLY_LOST)
FOR_EACH_REQUEST(request_lost_at_every_step_of_a_writer_shuts_readers_out, writer,
                 PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_at_every_request_of_a_writer_shuts_readers_out, writer,
                 PROXY_REPLY_LOST)
FOR_EACH_REQUEST(request_lost_at_every_step_of_a_reader_shuts_writers_out, reader,
                 PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_at_every_request_of_a_reader_shuts_writers_out, reader,
                 PROXY_REPLY_LOST)
FOR_EACH_REQUEST(request_lost_at_every_step_of_a_reader_beside_another_is_sent_again, readers,
                 PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_at_every_request_of_a_reader_beside_another_leaves_one_node, readers,
                 PROXY_REPLY_LOST)
FOR_EACH_REQUEST(request_lost_at_every_step_of_a_timeout_leaves_nothing, timing_out,
                 PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_at_every_request_of_a_timeout_leaves_nothing, timing_out,
                 PROXY_REPLY_LOST)
FOR_EACH_REQUEST(request_lost_before_a_timeout_while_away_leaves_nothing, timing_out_away,
                 PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_before_a_timeout_while_away_leaves_nothing, timing_out_away,
                 PROXY_REPLY_LOST)
FOR_EACH_REQUEST(request_lost_at_every_step_of_a_cancel_leaves_nothing, cancelled,
                 PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_at_every_request_of_a_cancel_leaves_nothing, cancelled,
                 PROXY_REPLY_LOST)
FOR_EACH_REQUEST(request_lost_before_a_cancel_while_away_leaves_nothing, cancelled_away,
                 PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_before_a_cancel_while_away_leaves_nothing, cancelled_away,
                 PROXY_REPLY_LOST)
FOR_EACH_REQUEST(request_lost_at_every_step_of_a_try_is_disconnected_and_leaves_nothing, try_free,
                 PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_at_every_request_of_a_try_is_disconnected_and_leaves_nothing, try_free,
                 PROXY_REPLY_LOST)
FOR_EACH_REQUEST(request_lost_of_a_try_on_a_held_lock_is_disconnected, try_held, PROXY_REQUEST_LOST)
FOR_EACH_REQUEST(reply_lost_of_a_try_on_a_held_lock_is_disconnected, try_held, PROXY_REPLY_LOST)
FOR_EACH_REQUEST(connection_lost_under_every_request_of_an_acquire_leaves_one_node, free_path,
                 PROXY_LOST_UNDER_WAY)
FOR_EACH_REQUEST(connection_lost_under_every_request_of_a_wait_keeps_its_place, waiting,
                 PROXY_LOST_UNDER_WAY)
FOR_EACH_REQUEST(connection_lost_under_every_request_of_a_cancel_leaves_nothing, cancelled,
                 PROXY_LOST_UNDER_WAY)
FOR_EACH_REQUEST(connection_lost_under_every_request_of_a_try_is_disconnected, try_free,
                 PROXY_LOST_UNDER_WAY)

static void replies_lost_twice_from_every_request_of_an_acquire_on_leave_one_node(void) {
    cut_at_every_request(&free_path, PROXY_REPLY_LOST, true);
}

static void replies_lost_twice_from_every_request_of_a_wait_on_keep_its_place(void) {
    cut_at_every_request(&waiting, PROXY_REPLY_LOST, true);
}

/* ---- Both creates are applied, both replies lost ------------------------- */

/* The lowest czxid of the nodes in the queue. */
static int64_t first_in_queue(struct stage *stage) {
    struct String_vector names = { 0, NULL };
    int64_t lowest = INT64_MAX;
    raw_catch_up(stage->scene.raw);
    ASSERT_NUMBER(zoo_get_children(stage->scene.raw, stage->scene.path, 0, &names), ZOK);
    for (int i = 0; i < names.count; i++) {
        char node[ZKL_NODE_PATH_SIZE];
        struct Stat stat = { 0 };
        snprintf(node, sizeof node, "%s/%s", stage->scene.path, names.data[i]);
        if (raw_stat(stage->scene.raw, node, &stat) && stat.czxid < lowest) {
            lowest = stat.czxid;
        }
    }
    deallocate_String_vector(&names);
    return lowest;
}

/* The servers count each birth and death of a child. */
static int32_t births_and_deaths(struct stage *stage) {
    struct Stat stat = { 0 };
    raw_catch_up(stage->scene.raw);
    CU_ASSERT_TRUE(raw_stat(stage->scene.raw, stage->scene.path, &stat));
    return stat.cversion;
}

static void replies_of_two_creates_lost_leave_the_first_of_three_nodes(void) {
    static const struct proxy_plan plan = { { { PROXY_REPLY_LOST, 1 }, { PROXY_REPLY_LOST, 1 } },
                                            2,
                                            true };
    struct stage stage;
    struct waiter waiter;
    stage_begin(&stage, 0);
    round_begin(&stage, 1);
    acquire_and_release(stage.rival);
    int32_t before = births_and_deaths(&stage);
    proxy_set_plan(stage.proxy, &plan);
    waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, ENOUGH_MS);
    WAIT_UNTIL(proxy_cuts_made(stage.proxy) == 2);
    ASSERT_NUMBER(scene_queue(&stage.scene), 2);
    int64_t first = first_in_queue(&stage);
    CU_ASSERT_FALSE(waiter_is_done(&waiter));
    proxy_admit(stage.proxy);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&stage.scene), 1);
    ASSERT_NUMBER(births_and_deaths(&stage) - before, 3 + 2);
    ASSERT_NUMBER(waiter.grant.token, first);
    assert_token_is_of_the_node(&stage, &waiter.grant);
    assert_nobody_else_gets_it(&stage, ZKL_EXCLUSIVE);
    ASSERT_STATUS(zkl_lock_release(stage.lock, ENOUGH_MS), ZKL_OK);
    ASSERT_NUMBER(round_end(&stage), 2);
    stage_end(&stage);
}

/* ---- A release ------------------------------------------------------------ */

static void assert_release(enum proxy_fault fault, bool stay_away, int64_t timeout_ms, int wanted) {
    const struct proxy_plan plan = { { { fault, 1 } }, 1, stay_away };
    struct stage stage;
    stage_begin(&stage, servers_follower());
    round_begin(&stage, 1);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, ENOUGH_MS, NULL), ZKL_OK);
    proxy_set_plan(stage.proxy, &plan);
    ASSERT_STATUS(zkl_lock_release(stage.lock, timeout_ms), wanted);
    ASSERT_STATUS(zkl_lock_check(stage.lock, NULL), ZKL_NOT_HELD);
    WAIT_UNTIL(is_cut(&stage));
    if (stay_away) {
        ASSERT_NUMBER(scene_queue(&stage.scene), fault == PROXY_REPLY_LOST ? 0 : 1);
    }
    proxy_admit(stage.proxy);
    ASSERT_NUMBER(round_end(&stage), 1);
    stage_end(&stage);
}

static void release_whose_reply_is_lost_is_ok_after_the_reconnect(void) {
    assert_release(PROXY_REPLY_LOST, false, ENOUGH_MS, ZKL_OK);
}

static void release_whose_request_is_lost_is_ok_after_the_reconnect(void) {
    assert_release(PROXY_REQUEST_LOST, false, ENOUGH_MS, ZKL_OK);
}

static void release_whose_reply_is_lost_is_pending_at_its_deadline(void) {
    assert_release(PROXY_REPLY_LOST, true, SHORT_WAIT_MS, ZKL_PENDING);
}

static void release_whose_request_is_lost_is_pending_and_deleted_after_the_reconnect(void) {
    assert_release(PROXY_REQUEST_LOST, true, SHORT_WAIT_MS, ZKL_PENDING);
}

/* Its first node is still there, and is not waited for for ever. */
static void handle_whose_release_is_pending_acquires_again(void) {
    static const struct proxy_plan plan = { { { PROXY_REQUEST_LOST, 1 } }, 1, true };
    struct stage stage;
    struct waiter waiter;
    zkl_grant first = ZKL_GRANT_INIT;
    stage_begin(&stage, servers_follower());
    round_begin(&stage, 1);
    ASSERT_STATUS(zkl_lock_acquire(stage.lock, ZKL_EXCLUSIVE, ENOUGH_MS, &first), ZKL_OK);
    proxy_set_plan(stage.proxy, &plan);
    ASSERT_STATUS(zkl_lock_release(stage.lock, SHORT_WAIT_MS), ZKL_PENDING);
    waiter_start(&waiter, stage.lock, ZKL_EXCLUSIVE, ENOUGH_MS);
    WAIT_UNTIL(is_cut(&stage));
    ASSERT_NUMBER(scene_queue(&stage.scene), 1);
    proxy_admit(stage.proxy);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    CU_ASSERT_TRUE(waiter.grant.token > first.token);
    WAIT_UNTIL(scene_queue(&stage.scene) == 1);
    assert_token_is_of_the_node(&stage, &waiter.grant);
    ASSERT_STATUS(zkl_lock_release(stage.lock, ENOUGH_MS), ZKL_OK);
    ASSERT_NUMBER(round_end(&stage), 1);
    stage_end(&stage);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(request_lost_at_every_step_of_an_acquire_leaves_one_node),
        TEST_CASE(reply_lost_at_every_request_of_an_acquire_leaves_one_node),
        TEST_CASE(request_lost_at_every_step_of_a_wait_keeps_its_place),
        TEST_CASE(reply_lost_at_every_request_of_a_wait_keeps_its_place),
        TEST_CASE(request_lost_at_every_step_of_a_writer_shuts_readers_out),
        TEST_CASE(reply_lost_at_every_request_of_a_writer_shuts_readers_out),
        TEST_CASE(request_lost_at_every_step_of_a_reader_shuts_writers_out),
        TEST_CASE(reply_lost_at_every_request_of_a_reader_shuts_writers_out),
        TEST_CASE(request_lost_at_every_step_of_a_reader_beside_another_is_sent_again),
        TEST_CASE(reply_lost_at_every_request_of_a_reader_beside_another_leaves_one_node),
        TEST_CASE(request_lost_at_every_step_of_a_timeout_leaves_nothing),
        TEST_CASE(reply_lost_at_every_request_of_a_timeout_leaves_nothing),
        TEST_CASE(request_lost_before_a_timeout_while_away_leaves_nothing),
        TEST_CASE(reply_lost_before_a_timeout_while_away_leaves_nothing),
        TEST_CASE(request_lost_at_every_step_of_a_cancel_leaves_nothing),
        TEST_CASE(reply_lost_at_every_request_of_a_cancel_leaves_nothing),
        TEST_CASE(request_lost_before_a_cancel_while_away_leaves_nothing),
        TEST_CASE(reply_lost_before_a_cancel_while_away_leaves_nothing),
        TEST_CASE(request_lost_at_every_step_of_a_try_is_disconnected_and_leaves_nothing),
        TEST_CASE(reply_lost_at_every_request_of_a_try_is_disconnected_and_leaves_nothing),
        TEST_CASE(request_lost_of_a_try_on_a_held_lock_is_disconnected),
        TEST_CASE(reply_lost_of_a_try_on_a_held_lock_is_disconnected),
        TEST_CASE(connection_lost_under_every_request_of_an_acquire_leaves_one_node),
        TEST_CASE(connection_lost_under_every_request_of_a_wait_keeps_its_place),
        TEST_CASE(connection_lost_under_every_request_of_a_cancel_leaves_nothing),
        TEST_CASE(connection_lost_under_every_request_of_a_try_is_disconnected),
        TEST_CASE(replies_lost_twice_from_every_request_of_an_acquire_on_leave_one_node),
        TEST_CASE(replies_lost_twice_from_every_request_of_a_wait_on_keep_its_place),
        TEST_CASE(replies_of_two_creates_lost_leave_the_first_of_three_nodes),
        TEST_CASE(release_whose_reply_is_lost_is_ok_after_the_reconnect),
        TEST_CASE(release_whose_request_is_lost_is_ok_after_the_reconnect),
        TEST_CASE(release_whose_reply_is_lost_is_pending_at_its_deadline),
        TEST_CASE(release_whose_request_is_lost_is_pending_and_deleted_after_the_reconnect),
        TEST_CASE(handle_whose_release_is_pending_acquires_again),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
