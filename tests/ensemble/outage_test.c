/*
 * All servers die and come back with their data; the leader dies; a server
 * stops and goes on. Whoever stays is served, one at a time, and nothing is left.
 */
#include <stdatomic.h>

#include "support/ledger.h"
#include "support/scene.h"
#include "support/servers.h"
#include "zklock/election.h"

/* The servers expire nothing while they are down, and count anew when they are
 * back: such a session ends with none of these faults. */
#define SESSION_MS 60000
/* Of a client that is to notice a stopped server: after two thirds of it. */
#define MOVING_SESSION_MS 6000
/* For what must not happen; a wrong grant would come within a round trip. */
#define QUIET_MS 300
/* For who is granted in the end; else the test fails in its own name. */
#define LONG_WAIT_MS (2 * PATIENCE_MS)

#define CONTENDERS 5

/* Contenders that know all servers, each with a client of its own. */
struct cast {
    struct scene scene;
    zkl_client *clients[CONTENDERS];
    zkl_lock *locks[CONTENDERS];
    struct waiter waiters[CONTENDERS];
};

static void cast_begin(struct cast *cast, const char *stem) {
    scene_begin(&cast->scene, stem);
    for (int i = 0; i < CONTENDERS; i++) {
        cast->clients[i] = client_open(servers_hosts(), SESSION_MS);
        cast->locks[i] = lock_open(cast->clients[i], cast->scene.resource);
    }
}

static void cast_end(struct cast *cast) {
    for (int i = 0; i < CONTENDERS; i++) {
        ASSERT_NUMBER(client_information(cast->clients[i]).sessions_expired, 0);
        zkl_lock_close(cast->locks[i]);
        client_close(cast->clients[i]);
    }
    scene_end(&cast->scene);
}

static void start_waiting(struct cast *cast, int i, zkl_mode mode, int64_t timeout_ms) {
    waiter_start(&cast->waiters[i], cast->locks[i], mode, timeout_ms);
}

/* Each in turn: the first holds, the others wait behind it in their order. */
static void fill_queue(struct cast *cast) {
    for (int i = 0; i < CONTENDERS; i++) {
        start_waiting(cast, i, ZKL_EXCLUSIVE, LONG_WAIT_MS);
        WAIT_UNTIL(scene_queue(&cast->scene) == i + 1);
    }
    WAIT_UNTIL(scene_watches(&cast->scene) == CONTENDERS - 1);
    ASSERT_STATUS(waiter_join(&cast->waiters[0]), ZKL_OK);
}

static int waiters_done(struct cast *cast) {
    int count = 0;
    for (int i = 0; i < CONTENDERS; i++) {
        count += waiter_is_done(&cast->waiters[i]) ? 1 : 0;
    }
    return count;
}

static void release(struct cast *cast, int i) {
    ASSERT_STATUS(zkl_lock_check(cast->locks[i], NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_release(cast->locks[i], PATIENCE_MS), ZKL_OK);
}

/* In their order, from this one on, and one at a time. */
static void assert_each_is_granted_in_turn(struct cast *cast, int first) {
    for (int i = first; i < CONTENDERS; i++) {
        ASSERT_STATUS(waiter_join(&cast->waiters[i]), ZKL_OK);
        ASSERT_NUMBER(waiters_done(cast), i + 1);
        ASSERT_NUMBER(scene_queue(&cast->scene), CONTENDERS - i);
        CU_ASSERT_TRUE(i == 0 || cast->waiters[i].grant.token > cast->waiters[i - 1].grant.token);
        release(cast, i);
    }
}

static bool is_connected(zkl_client *client) {
    return client_information(client).connected;
}

static void kill_all(struct cast *cast) {
    servers_kill();
    for (int i = 0; i < CONTENDERS; i++) {
        WAIT_UNTIL(!is_connected(cast->clients[i]));
    }
}

/* ---- All servers -------------------------------------------------------- */

static void all_servers_killed_while_one_holds_and_others_wait_keeps_every_place(void) {
    struct cast cast;
    cast_begin(&cast, "outage");
    fill_queue(&cast);
    kill_all(&cast);
    ASSERT_STATUS(zkl_lock_check(cast.locks[0], NULL), ZKL_SUSPECT);
    servers_start();
    WAIT_UNTIL(zkl_lock_check(cast.locks[0], NULL) == ZKL_OK);
    STAYS(waiters_done(&cast) == 1, QUIET_MS);
    release(&cast, 0);
    assert_each_is_granted_in_turn(&cast, 1);
    cast_end(&cast);
}

/* Stopped before, the servers have the request in their sockets, at most. */
static void release_under_way_when_all_servers_die_passes_the_lock_on(void) {
    struct cast cast;
    cast_begin(&cast, "outage-release");
    fill_queue(&cast);
    servers_pause();
    ASSERT_STATUS(zkl_lock_release(cast.locks[0], 0), ZKL_OK);
    ASSERT_STATUS(zkl_lock_check(cast.locks[0], NULL), ZKL_NOT_HELD);
    kill_all(&cast);
    CU_ASSERT_EQUAL(waiters_done(&cast), 1);
    servers_start();
    assert_each_is_granted_in_turn(&cast, 1);
    cast_end(&cast);
}

/* The leader may have it in its log: then it is carried out by those who come
 * back, and answered by nobody. */
static void release_that_reached_only_the_leader_before_all_died_passes_the_lock_on(void) {
    struct cast cast;
    cast_begin(&cast, "outage-leader");
    fill_queue(&cast);
    int leader = servers_leader();
    for (int server = 1; server <= SERVERS; server++) {
        if (server != leader) {
            server_pause(server);
        }
    }
    ASSERT_STATUS(zkl_lock_release(cast.locks[0], QUIET_MS), ZKL_PENDING);
    kill_all(&cast);
    servers_start();
    assert_each_is_granted_in_turn(&cast, 1);
    cast_end(&cast);
}

static void creates_under_way_when_all_servers_die_leave_one_node_each(void) {
    struct cast cast;
    cast_begin(&cast, "outage-create");
    servers_pause();
    for (int i = 0; i < CONTENDERS; i++) {
        start_waiting(&cast, i, ZKL_READ, LONG_WAIT_MS);
    }
    kill_all(&cast);
    CU_ASSERT_EQUAL(waiters_done(&cast), 0);
    servers_start();
    for (int i = 0; i < CONTENDERS; i++) {
        ASSERT_STATUS(waiter_join(&cast.waiters[i]), ZKL_OK);
    }
    WAIT_UNTIL(scene_queue(&cast.scene) == CONTENDERS);
    for (int i = 0; i < CONTENDERS; i++) {
        release(&cast, i);
    }
    cast_end(&cast);
}

static void assert_times_out_on_time(zkl_lock *lock, int64_t timeout_ms) {
    int64_t begun = now_ms();
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, timeout_ms, NULL), ZKL_DISCONNECTED);
    int64_t took = now_ms() - begun;
    CU_ASSERT_TRUE(took >= timeout_ms);
    CU_ASSERT_TRUE(took <= timeout_ms + SLACK_MS);
}

static void acquires_in_an_outage_keep_their_deadlines_and_the_patient_are_granted(void) {
    enum { PATIENT = 1, HASTY, TRIES };
    struct cast cast;
    cast_begin(&cast, "outage-acquires");
    ASSERT_STATUS(zkl_lock_acquire(cast.locks[0], ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    kill_all(&cast);
    start_waiting(&cast, PATIENT, ZKL_EXCLUSIVE, LONG_WAIT_MS);
    ASSERT_STATUS(zkl_lock_acquire(cast.locks[TRIES], ZKL_EXCLUSIVE, 0, NULL), ZKL_DISCONNECTED);
    assert_times_out_on_time(cast.locks[HASTY], 700);
    CU_ASSERT_FALSE(waiter_is_done(&cast.waiters[PATIENT]));
    servers_start();
    WAIT_UNTIL(scene_queue(&cast.scene) == 2);
    WAIT_UNTIL(is_connected(cast.clients[0]));
    release(&cast, 0);
    ASSERT_STATUS(waiter_join(&cast.waiters[PATIENT]), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&cast.scene), 1);
    cast_end(&cast);
}

/* Their nodes are there, and nobody can be asked to delete them. */
static void waiters_that_leave_in_an_outage_are_deleted_after_it(void) {
    enum { CANCELLED = 1, TIMED_OUT, STAYS_ON, CLOSED };
    const int64_t timeout_ms = 4000;
    struct cast cast;
    cast_begin(&cast, "outage-leave");
    ASSERT_STATUS(zkl_lock_acquire(cast.locks[0], ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    int64_t begun = now_ms();
    for (int i = 1; i < CONTENDERS; i++) {
        start_waiting(&cast, i, ZKL_EXCLUSIVE, i == TIMED_OUT ? timeout_ms : LONG_WAIT_MS);
    }
    WAIT_UNTIL(scene_queue(&cast.scene) == CONTENDERS);
    kill_all(&cast);
    ASSERT_STATUS(zkl_lock_cancel(cast.locks[CANCELLED]), ZKL_OK);
    ASSERT_STATUS(waiter_join(&cast.waiters[CANCELLED]), ZKL_CANCELLED);
    zkl_lock_close(cast.locks[CLOSED]);
    cast.locks[CLOSED] = NULL;
    ASSERT_STATUS(waiter_join(&cast.waiters[CLOSED]), ZKL_CANCELLED);
    ASSERT_STATUS(waiter_join(&cast.waiters[TIMED_OUT]), ZKL_DISCONNECTED);
    CU_ASSERT_TRUE(cast.waiters[TIMED_OUT].returned_at_ms - begun <= timeout_ms + SLACK_MS);
    servers_start();
    WAIT_UNTIL(scene_queue(&cast.scene) == 2);
    WAIT_UNTIL(is_connected(cast.clients[0]));
    CU_ASSERT_FALSE(waiter_is_done(&cast.waiters[STAYS_ON]));
    release(&cast, 0);
    ASSERT_STATUS(waiter_join(&cast.waiters[STAYS_ON]), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&cast.scene), 1);
    cast_end(&cast);
}

/* ---- Contenders in a loop ----------------------------------------------- */

/* Acquires, adds one and releases, until it is told to stop. */
struct counter {
    zkl_lock *lock;
    const char *ledger;
    atomic_bool *stop;
    int64_t added;
    int64_t last_token;
    int wrong; /* statuses, overlaps and tokens out of order */
    pthread_t thread;
};

static void *count(void *arg) {
    struct counter *counter = arg;
    while (!atomic_load(counter->stop)) {
        zkl_grant grant = ZKL_GRANT_INIT;
        int status = zkl_lock_acquire(counter->lock, ZKL_EXCLUSIVE, LONG_WAIT_MS, &grant);
        counter->wrong += status != ZKL_OK || grant.token <= counter->last_token;
        counter->wrong += !ledger_add_one(counter->ledger);
        counter->added++;
        counter->last_token = grant.token;
        counter->wrong += zkl_lock_release(counter->lock, PATIENCE_MS) != ZKL_OK;
    }
    return NULL;
}

static int64_t ledger_number(const char *ledger) {
    int64_t number;
    (void)ledger_look(ledger, &number);
    return number;
}

static void assert_counting_goes_on(const char *ledger) {
    int64_t before = ledger_number(ledger);
    WAIT_UNTIL(ledger_number(ledger) > before + CONTENDERS);
}

static void kill_and_start_all(void) {
    servers_kill();
    servers_start();
}

static void kill_and_start_the_leader(void) {
    int leader = servers_leader();
    int64_t epoch = servers_epoch();
    server_kill(leader);
    WAIT_UNTIL(servers_epoch() > epoch);
    server_start(leader);
}

static void count_through(const char *stem, void (*hurt_and_heal)(void), int times) {
    struct cast cast;
    struct counter counters[CONTENDERS];
    char ledger[64];
    atomic_bool stop;
    int64_t added = 0;
    atomic_init(&stop, false);
    cast_begin(&cast, stem);
    ledger_make(ledger);
    for (int i = 0; i < CONTENDERS; i++) {
        counters[i] = (struct counter){ .lock = cast.locks[i], .ledger = ledger, .stop = &stop };
        thread_start(&counters[i].thread, count, &counters[i]);
    }
    for (int i = 0; i < times; i++) {
        assert_counting_goes_on(ledger);
        hurt_and_heal();
    }
    assert_counting_goes_on(ledger);
    atomic_store(&stop, true);
    for (int i = 0; i < CONTENDERS; i++) {
        pthread_join(counters[i].thread, NULL);
        ASSERT_NUMBER(counters[i].wrong, 0);
        added += counters[i].added;
    }
    ASSERT_NUMBER(ledger_number(ledger), added);
    ledger_remove(ledger);
    cast_end(&cast);
}

static void all_servers_killed_while_contenders_count_and_no_count_is_lost(void) {
    count_through("outage-loop", kill_and_start_all, 2);
}

static void leaders_killed_while_contenders_count_and_no_count_is_lost(void) {
    count_through("leader-loop", kill_and_start_the_leader, 3);
}

/* ---- The leader --------------------------------------------------------- */

/* Stopped first, so that what is asked of it is under way when it dies. */
static void kill_the_stopped_leader(int leader, int64_t epoch) {
    server_kill(leader);
    WAIT_UNTIL(servers_epoch() > epoch);
    server_start(leader);
}

static void releases_under_way_when_the_leader_dies_pass_the_lock_on(void) {
    const int writer = CONTENDERS - 1;
    struct cast cast;
    cast_begin(&cast, "leader-release");
    for (int i = 0; i < writer; i++) {
        ASSERT_STATUS(zkl_lock_acquire(cast.locks[i], ZKL_READ, PATIENCE_MS, NULL), ZKL_OK);
    }
    start_waiting(&cast, writer, ZKL_WRITE, LONG_WAIT_MS);
    WAIT_UNTIL(scene_watches(&cast.scene) == 1);
    int leader = servers_leader();
    int64_t epoch = servers_epoch();
    server_pause(leader);
    for (int i = 0; i < writer; i++) {
        ASSERT_STATUS(zkl_lock_release(cast.locks[i], 0), ZKL_OK);
    }
    CU_ASSERT_FALSE(waiter_is_done(&cast.waiters[writer]));
    kill_the_stopped_leader(leader, epoch);
    ASSERT_STATUS(waiter_join(&cast.waiters[writer]), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&cast.scene), 1);
    release(&cast, writer);
    cast_end(&cast);
}

static void acquires_under_way_when_the_leader_dies_are_granted_and_leave_one_node_each(void) {
    struct cast cast;
    cast_begin(&cast, "leader-acquire");
    int leader = servers_leader();
    int64_t epoch = servers_epoch();
    server_pause(leader);
    for (int i = 0; i < CONTENDERS; i++) {
        start_waiting(&cast, i, ZKL_READ, LONG_WAIT_MS);
    }
    STAYS(waiters_done(&cast) == 0, QUIET_MS);
    kill_the_stopped_leader(leader, epoch);
    for (int i = 0; i < CONTENDERS; i++) {
        ASSERT_STATUS(waiter_join(&cast.waiters[i]), ZKL_OK);
    }
    WAIT_UNTIL(scene_queue(&cast.scene) == CONTENDERS);
    for (int i = 0; i < CONTENDERS; i++) {
        release(&cast, i);
    }
    cast_end(&cast);
}

/* ---- A server that stops and goes on ------------------------------------ */

/* A client on a follower that is stopped, and another elsewhere. While it is
 * stopped its session may expire: whether it does is the machine's speed. */
struct mover {
    struct scene scene;
    int server;
    zkl_client *client;
    zkl_client *others_client;
    zkl_lock *lock;
    zkl_lock *other;
    int64_t tick_ms;
    int64_t paused_at_ms;
};

/* A client that knows all servers, and has happened to find this one. */
static zkl_client *client_that_found(int server) {
    zkl_client *client = client_open(servers_hosts(), MOVING_SESSION_MS);
    while (servers_of_session(client_information(client).session_id) != server) {
        client_close(client);
        client = client_open(servers_hosts(), MOVING_SESSION_MS);
    }
    return client;
}

static void mover_begin(struct mover *mover, const char *stem) {
    scene_begin(&mover->scene, stem);
    raw_close(mover->scene.raw);
    mover->scene.raw = raw_open(server_host(servers_leader()));
    mover->server = servers_follower();
    mover->tick_ms = servers_tick_ms();
    mover->client = client_that_found(mover->server);
    mover->others_client = client_open(server_host(servers_leader()), SESSION_MS);
    mover->lock = lock_open(mover->client, mover->scene.resource);
    mover->other = lock_open(mover->others_client, mover->scene.resource);
}

static void mover_pause(struct mover *mover) {
    mover->paused_at_ms = now_ms();
    server_pause(mover->server);
}

/* By then it has moved, or knows of the expiry and has its next session. */
static void assert_came_in_time(struct mover *mover, int64_t at_ms) {
    CU_ASSERT_TRUE(at_ms - mover->paused_at_ms <=
                   2 * MOVING_SESSION_MS + 2 * mover->tick_ms + SLACK_MS);
}

static bool session_has_expired(struct mover *mover) {
    return client_information(mover->client).sessions_expired > 0;
}

/* In the same session on another server, or in the next one. */
static bool has_moved(struct mover *mover) {
    int64_t session_id = client_information(mover->client).session_id;
    for (int server = 1; server <= SERVERS; server++) {
        if (server != mover->server && server_has_session(server, session_id)) {
            return is_connected(mover->client);
        }
    }
    return false;
}

static void mover_end(struct mover *mover) {
    zkl_lock_close(mover->lock);
    zkl_lock_close(mover->other);
    client_close(mover->client);
    client_close(mover->others_client);
    scene_end(&mover->scene);
}

static void holder_on_a_stopped_server_moves_in_time_and_knows_what_it_has(void) {
    struct mover mover;
    struct waiter waiter;
    mover_begin(&mover, "stopped-holder");
    ASSERT_STATUS(zkl_lock_acquire(mover.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&waiter, mover.other, ZKL_EXCLUSIVE, LONG_WAIT_MS);
    WAIT_UNTIL(scene_watches(&mover.scene) == 1);
    mover_pause(&mover);
    WAIT_UNTIL(has_moved(&mover));
    assert_came_in_time(&mover, now_ms());
    int wanted = session_has_expired(&mover) ? ZKL_LOST : ZKL_OK;
    ASSERT_STATUS(zkl_lock_check(mover.lock, NULL), wanted);
    CU_ASSERT_TRUE(wanted == ZKL_LOST || !waiter_is_done(&waiter));
    server_resume(mover.server);
    STAYS(zkl_lock_check(mover.lock, NULL) == wanted, QUIET_MS);
    ASSERT_STATUS(zkl_lock_release(mover.lock, PATIENCE_MS), wanted);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    mover_end(&mover);
}

static void waiter_on_a_stopped_server_moves_in_time_and_is_granted(void) {
    struct mover mover;
    struct waiter waiter;
    mover_begin(&mover, "stopped-waiter");
    ASSERT_STATUS(zkl_lock_acquire(mover.other, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&waiter, mover.lock, ZKL_EXCLUSIVE, LONG_WAIT_MS);
    WAIT_UNTIL(scene_watches(&mover.scene) == 1);
    mover_pause(&mover);
    ASSERT_STATUS(zkl_lock_release(mover.other, PATIENCE_MS), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    assert_came_in_time(&mover, waiter.returned_at_ms);
    server_resume(mover.server);
    STAYS(zkl_lock_check(mover.lock, NULL) == ZKL_OK, QUIET_MS);
    ASSERT_NUMBER(scene_queue(&mover.scene), 1);
    mover_end(&mover);
}

static void release_on_a_stopped_server_moves_in_time_and_passes_the_lock_on(void) {
    struct mover mover;
    struct waiter waiter;
    mover_begin(&mover, "stopped-release");
    ASSERT_STATUS(zkl_lock_acquire(mover.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    waiter_start(&waiter, mover.other, ZKL_EXCLUSIVE, LONG_WAIT_MS);
    WAIT_UNTIL(scene_watches(&mover.scene) == 1);
    mover_pause(&mover);
    ASSERT_STATUS(zkl_lock_release(mover.lock, PATIENCE_MS), ZKL_OK);
    assert_came_in_time(&mover, now_ms());
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    server_resume(mover.server);
    WAIT_UNTIL(scene_queue(&mover.scene) == 1);
    STAYS(scene_queue(&mover.scene) == 1, QUIET_MS);
    ASSERT_STATUS(zkl_lock_check(mover.other, NULL), ZKL_OK);
    mover_end(&mover);
}

/* The stopped server still has the first create in its socket when it goes on. */
static void acquire_on_a_stopped_server_moves_in_time_and_leaves_one_node(void) {
    struct mover mover;
    zkl_grant grant = ZKL_GRANT_INIT;
    mover_begin(&mover, "stopped-acquire");
    mover_pause(&mover);
    ASSERT_STATUS(zkl_lock_acquire(mover.lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    assert_came_in_time(&mover, now_ms());
    server_resume(mover.server);
    WAIT_UNTIL(scene_queue(&mover.scene) == 1); /* we may ask the server that has to catch up */
    STAYS(scene_queue(&mover.scene) == 1, QUIET_MS);
    ASSERT_STATUS(zkl_lock_check(mover.lock, NULL), ZKL_OK);
    mover_end(&mover);
}

/* ---- Servers that have lost their data ----------------------------------- */

/* Short, as sessions are sought with another handle only when it is over. */
#define LOST_SESSION_MS 3000
#define TRANSACTIONS 60

/* The servers now know fewer transactions than those who were connected have seen, and turn them
 * away: "has seen zxid ..., our last zxid is ..., client must try another server". */
static void lose_all_data(struct scene *scene) {
    int64_t seen = servers_last_zxid();
    servers_empty();
    raw_close(scene->raw);
    scene->raw = raw_open(servers_hosts());
    CU_ASSERT_TRUE(servers_last_zxid() < seen);
}

/* So many that the servers do not catch up with them meanwhile. */
static void commit_some(zkl_lock *lock) {
    for (int i = 0; i < TRANSACTIONS / 2; i++) {
        zkl_grant grant = ZKL_GRANT_INIT;
        ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
        ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    }
}

static void servers_that_have_lost_their_data_serve_the_clients_that_they_had(void) {
    struct scene scene;
    struct waiter waiter;
    zkl_grant grant = ZKL_GRANT_INIT;
    scene_begin(&scene, "data-lost");
    zkl_client *client = client_open(servers_hosts(), LOST_SESSION_MS);
    zkl_client *waiters_client = client_open(servers_hosts(), LOST_SESSION_MS);
    zkl_lock *lock = lock_open(client, scene.resource);
    commit_some(lock);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    zkl_lock *other = lock_open(waiters_client, scene.resource);
    waiter_start(&waiter, other, ZKL_EXCLUSIVE, LONG_WAIT_MS);
    WAIT_UNTIL(scene_watches(&scene) == 1);
    lose_all_data(&scene);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_OK);
    ASSERT_NUMBER(client_information(waiters_client).sessions_expired, 1);
    WAIT_UNTIL(zkl_lock_check(lock, NULL) == ZKL_LOST);
    ASSERT_STATUS(zkl_lock_release(other, PATIENCE_MS), ZKL_OK);
    (void)zkl_lock_release(lock, PATIENCE_MS);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    ASSERT_NUMBER(scene_queue(&scene), 1);
    zkl_lock_close(lock);
    zkl_lock_close(other);
    client_close(client);
    client_close(waiters_client);
    scene_end(&scene);
}

static void on_leader(void *arg, const zkl_leader *leader) {
    atomic_int_fast64_t *term = arg;
    atomic_store(term, leader->term);
}

/* They begin to count anew, so the next leader has a lower term. */
static void observer_of_servers_that_have_lost_their_data_is_told_of_a_lower_term(void) {
    struct scene scene;
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_observer *observer = NULL;
    atomic_int_fast64_t term = 0;
    scene_begin(&scene, "data-lost-observed");
    zkl_client *client = client_open(servers_hosts(), LOST_SESSION_MS);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_election_observe(client, scene.resource, on_leader, &term, &observer),
                  ZKL_OK);
    commit_some(lock);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    int64_t higher = grant.token;
    WAIT_UNTIL(atomic_load(&term) == higher);
    lose_all_data(&scene);
    WAIT_UNTIL(zkl_lock_check(lock, NULL) == ZKL_LOST);
    (void)zkl_lock_release(lock, PATIENCE_MS);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    CU_ASSERT_TRUE(grant.token < higher);
    WAIT_UNTIL(atomic_load(&term) == grant.token);
    zkl_observer_close(observer);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(all_servers_killed_while_one_holds_and_others_wait_keeps_every_place),
        TEST_CASE(release_under_way_when_all_servers_die_passes_the_lock_on),
        TEST_CASE(release_that_reached_only_the_leader_before_all_died_passes_the_lock_on),
        TEST_CASE(creates_under_way_when_all_servers_die_leave_one_node_each),
        TEST_CASE(acquires_in_an_outage_keep_their_deadlines_and_the_patient_are_granted),
        TEST_CASE(waiters_that_leave_in_an_outage_are_deleted_after_it),
        TEST_CASE(all_servers_killed_while_contenders_count_and_no_count_is_lost),
        TEST_CASE(leaders_killed_while_contenders_count_and_no_count_is_lost),
        TEST_CASE(releases_under_way_when_the_leader_dies_pass_the_lock_on),
        TEST_CASE(acquires_under_way_when_the_leader_dies_are_granted_and_leave_one_node_each),
        TEST_CASE(holder_on_a_stopped_server_moves_in_time_and_knows_what_it_has),
        TEST_CASE(waiter_on_a_stopped_server_moves_in_time_and_is_granted),
        TEST_CASE(release_on_a_stopped_server_moves_in_time_and_passes_the_lock_on),
        TEST_CASE(acquire_on_a_stopped_server_moves_in_time_and_leaves_one_node),
        TEST_CASE(servers_that_have_lost_their_data_serve_the_clients_that_they_had),
        TEST_CASE(observer_of_servers_that_have_lost_their_data_is_told_of_a_lower_term),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
