/*
 * Ten thousand times each, and the servers keep nothing of it while the clients
 * live on: no node, and no watch.
 */
#include "support/proxy.h"
#include "support/scene.h"
#include "support/servers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 8
#define ROUNDS 1250 /* of each thread: 10,000 in all */

/* Half of the threads share the first client, the others have others. */
#define CLIENTS 4
static const int client_of_thread[THREADS] = { 0, 0, 0, 0, 1, 2, 3, 3 };

/* Below the scene's node. A queue's holder keeps one watched node for each: what
 * the last to leave forgets there stays to be seen. */
#define QUEUES 8

/* ---- The crowd ---------------------------------------------------------- */

struct crowd;

struct worker {
    struct crowd *crowd;
    zkl_lock *locks[QUEUES];
    unsigned seed;
    int granted;
    int timed_out;
    int cancelled;
    int wrong; /* what must not be: other statuses, overlaps, tokens out of order */
    atomic_bool done;
    pthread_t thread;
};

struct crowd {
    struct scene scene;
    char queues[QUEUES][300];
    zkl_client *clients[CLIENTS];
    struct worker workers[THREADS];
    atomic_int inside;
    int64_t last_token; /* the holder's */
};

static void open_all(struct crowd *crowd, zkl_client *client, zkl_lock *locks[QUEUES]) {
    for (int i = 0; i < QUEUES; i++) {
        locks[i] = lock_open(client, crowd->queues[i]);
    }
}

static void close_all(zkl_lock *locks[QUEUES]) {
    for (int i = 0; i < QUEUES; i++) {
        zkl_lock_close(locks[i]);
    }
}

static void crowd_begin(struct crowd *crowd, const char *stem) {
    scene_begin(&crowd->scene, stem);
    atomic_init(&crowd->inside, 0);
    crowd->last_token = 0;
    for (int i = 0; i < CLIENTS; i++) {
        crowd->clients[i] = client_open_on(i % SERVERS + 1);
    }
    raw_make(crowd->scene.raw, "/locks");
    raw_make(crowd->scene.raw, crowd->scene.path);
    for (int i = 0; i < QUEUES; i++) {
        snprintf(crowd->queues[i], sizeof crowd->queues[i], "%s/%d", crowd->scene.path, i);
        raw_make(crowd->scene.raw, crowd->queues[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        struct worker *worker = &crowd->workers[i];
        *worker = (struct worker){ .crowd = crowd, .seed = (unsigned)i + 1 };
        open_all(crowd, crowd->clients[client_of_thread[i]], worker->locks);
    }
}

static void crowd_run(struct crowd *crowd, void *(*work)(void *)) {
    for (int i = 0; i < THREADS; i++) {
        thread_start(&crowd->workers[i].thread, work, &crowd->workers[i]);
    }
}

/* The sums of all workers. */
static struct worker crowd_join(struct crowd *crowd) {
    struct worker sum = { .granted = 0 };
    for (int i = 0; i < THREADS; i++) {
        const struct worker *worker = &crowd->workers[i];
        pthread_join(worker->thread, NULL);
        sum.granted += worker->granted;
        sum.timed_out += worker->timed_out;
        sum.cancelled += worker->cancelled;
        sum.wrong += worker->wrong;
    }
    return sum;
}

/* With the end of the sessions all would be gone anyhow. */
static void assert_left_in_each_queue(struct crowd *crowd, int nodes) {
    for (int i = 0; i < QUEUES; i++) {
        raw_catch_up(crowd->scene.raw);
        WAIT_UNTIL(raw_children(crowd->scene.raw, crowd->queues[i]) == nodes);
    }
    WAIT_UNTIL(scene_watches(&crowd->scene) == 0);
}

static void crowd_end(struct crowd *crowd) {
    assert_left_in_each_queue(crowd, 0);
    WAIT_UNTIL(servers_watches(crowd->scene.path) == 0);
    for (int i = 0; i < THREADS; i++) {
        close_all(crowd->workers[i].locks);
    }
    for (int i = 0; i < CLIENTS; i++) {
        ASSERT_NUMBER(client_information(crowd->clients[i]).sessions_expired, 0);
        client_close(crowd->clients[i]);
    }
    for (int i = 0; i < QUEUES; i++) {
        raw_delete(crowd->scene.raw, crowd->queues[i]);
    }
    scene_end(&crowd->scene);
}

/* ---- All are granted ---------------------------------------------------- */

static void hold(struct worker *worker, const zkl_grant *grant) {
    struct crowd *crowd = worker->crowd;
    worker->wrong += atomic_fetch_add(&crowd->inside, 1) != 0;
    worker->wrong += grant->token <= crowd->last_token;
    crowd->last_token = grant->token;
    worker->wrong += atomic_fetch_sub(&crowd->inside, 1) != 1;
}

/* All in one queue. Every other time it does not wait for the answer to its
 * release, and is back in the queue before it. */
static void *acquire_and_release(void *arg) {
    struct worker *worker = arg;
    zkl_lock *lock = worker->locks[0];
    for (int i = 0; i < ROUNDS; i++) {
        zkl_grant grant = ZKL_GRANT_INIT;
        if (zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant) == ZKL_OK) {
            worker->granted++;
            hold(worker, &grant);
        }
        worker->wrong += zkl_lock_release(lock, i % 2 == 0 ? PATIENCE_MS : 0) != ZKL_OK;
    }
    return NULL;
}

static void ten_thousand_contended_cycles_leave_no_node_and_no_watch(void) {
    struct crowd crowd;
    crowd_begin(&crowd, "endurance");
    crowd_run(&crowd, acquire_and_release);
    struct worker sum = crowd_join(&crowd);
    ASSERT_NUMBER(sum.granted, THREADS * ROUNDS);
    ASSERT_NUMBER(sum.wrong, 0);
    crowd_end(&crowd);
}

/* ---- None is granted ---------------------------------------------------- */

#define LONGEST_WAIT_MS 20

/* Every second wait has no deadline: only a cancel ends it. */
static void *wait_in_vain(void *arg) {
    static const zkl_mode modes[] = { ZKL_EXCLUSIVE, ZKL_READ, ZKL_WRITE };
    struct worker *worker = arg;
    for (int i = 0; i < ROUNDS; i++) {
        zkl_mode mode = modes[rand_r(&worker->seed) % 3];
        int64_t timeout_ms = i % 2 == 0 ? 1 + rand_r(&worker->seed) % LONGEST_WAIT_MS : ZKL_FOREVER;
        zkl_lock *lock = worker->locks[rand_r(&worker->seed) % QUEUES];
        int status = zkl_lock_acquire(lock, mode, timeout_ms, NULL);
        worker->timed_out += status == ZKL_TIMEOUT || status == ZKL_DISCONNECTED;
        worker->cancelled += status == ZKL_CANCELLED;
    }
    atomic_store(&worker->done, true);
    return NULL;
}

/* In an order that has nothing to do with how far each is. */
static void cancel_until_all_are_done(struct crowd *crowd) {
    unsigned seed = THREADS + 1;
    for (int done = 0; done < THREADS;) {
        struct worker *worker = &crowd->workers[(unsigned)rand_r(&seed) % THREADS];
        for (int i = 0; i < QUEUES; i++) {
            (void)zkl_lock_cancel(worker->locks[i]); /* waits in one of them, or none */
        }
        (void)poll(NULL, 0, 1);
        done = 0;
        for (int i = 0; i < THREADS; i++) {
            done += atomic_load(&crowd->workers[i].done) ? 1 : 0;
        }
    }
}

static void ten_thousand_waiters_that_leave_leave_no_node_and_no_watch(void) {
    struct crowd crowd;
    zkl_lock *holders[QUEUES];
    crowd_begin(&crowd, "endurance-leave");
    zkl_client *holders_client = client_open(servers_hosts(), LONG_SESSION_MS);
    open_all(&crowd, holders_client, holders);
    for (int i = 0; i < QUEUES; i++) {
        ASSERT_STATUS(zkl_lock_acquire(holders[i], ZKL_EXCLUSIVE, PATIENCE_MS, NULL), ZKL_OK);
    }
    crowd_run(&crowd, wait_in_vain);
    cancel_until_all_are_done(&crowd);
    struct worker sum = crowd_join(&crowd);
    ASSERT_NUMBER(sum.timed_out + sum.cancelled, THREADS * ROUNDS);
    CU_ASSERT_TRUE(sum.timed_out > 0);
    CU_ASSERT_TRUE(sum.cancelled > 0);
    assert_left_in_each_queue(&crowd, 1);
    for (int i = 0; i < QUEUES; i++) {
        ASSERT_STATUS(zkl_lock_check(holders[i], NULL), ZKL_OK);
        ASSERT_STATUS(zkl_lock_release(holders[i], PATIENCE_MS), ZKL_OK);
    }
    crowd_end(&crowd);
    close_all(holders);
    client_close(holders_client);
}

/* The one moment that ten thousand rarely end on: the last of its client leaves
 * while its watch is under way. */
struct gate {
    const char *node;
    atomic_bool has_come;
    atomic_bool may_go;
};

static void hold_back(void *arg, const char *node) {
    struct gate *gate = arg;
    if (strcmp(node, gate->node) == 0) {
        atomic_store(&gate->has_come, true);
        while (!atomic_load(&gate->may_go)) {
            nap();
        }
    }
}

static void waiter_that_leaves_while_its_watch_is_under_way_leaves_no_watch(void) {
    struct scene scene;
    struct waiter waiter;
    zkl_grant grant = ZKL_GRANT_INIT;
    struct gate gate = { .node = grant.node };
    scene_begin(&scene, "leave-arming");
    struct proxy *proxy = proxy_start(0);
    zkl_client *client = client_open(proxy_hosts(proxy), LONG_SESSION_MS);
    zkl_client *holders_client = client_open(servers_hosts(), LONG_SESSION_MS);
    zkl_lock *lock = lock_open(client, scene.resource);
    zkl_lock *holder = lock_open(holders_client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(holder, ZKL_EXCLUSIVE, PATIENCE_MS, &grant), ZKL_OK);
    proxy_before_watch(proxy, hold_back, &gate);
    waiter_start(&waiter, lock, ZKL_EXCLUSIVE, ZKL_FOREVER);
    WAIT_UNTIL(atomic_load(&gate.has_come));
    ASSERT_STATUS(zkl_lock_cancel(lock), ZKL_OK);
    ASSERT_STATUS(waiter_join(&waiter), ZKL_CANCELLED);
    atomic_store(&gate.may_go, true);
    WAIT_UNTIL(scene_queue(&scene) == 1);
    WAIT_UNTIL(scene_watches(&scene) == 0);
    zkl_lock_close(lock);
    zkl_lock_close(holder);
    client_close(client);
    client_close(holders_client);
    proxy_stop(proxy);
    scene_end(&scene);
}

/* ---- Predecessors that vanish ------------------------------------------- */

/* Each mill is a client on a resource of its own: 4 x 10 x 250 predecessors. */
#define MILLS 4
#define WAVES 10
#define PREDECESSORS 250
/* Of one client: they wait for the same predecessor, and share its watch. */
#define READERS 2

struct mill {
    char path[300];
    char writer[320]; /* path and name of the predecessors */
    zhandle_t *raw;   /* on the same server as the client */
    struct proxy *proxy;
    zkl_client *client;
    zkl_lock *locks[READERS];
    atomic_int vanished;
    int wrong; /* acquires that were not granted, releases that failed */
    pthread_t thread;
};

/* The client has listed it, and is about to watch it. On the server where the
 * client is, it is gone when the answer to its deletion comes. A watch on a node
 * of the client's own is none of our business. */
static void vanish(void *arg, const char *node) {
    struct mill *mill = arg;
    struct Stat stat = { 0 };
    if (raw_stat(mill->raw, node, &stat) &&
        stat.ephemeralOwner == zoo_client_id(mill->raw)->client_id) {
        raw_delete(mill->raw, node);
        atomic_fetch_add(&mill->vanished, 1);
    }
}

static void mill_begin(struct mill *mill, const struct scene *scene, int number) {
    int server = number % SERVERS + 1;
    snprintf(mill->path, sizeof mill->path, "%s/%d", scene->path, number);
    snprintf(mill->writer, sizeof mill->writer, "%s/%d/gone-__WRIT__", scene->path, number);
    mill->raw = raw_open(server_host(server));
    raw_make(mill->raw, mill->path);
    mill->proxy = proxy_start(server);
    mill->client = client_open(proxy_hosts(mill->proxy), LONG_SESSION_MS);
    for (int i = 0; i < READERS; i++) {
        mill->locks[i] = lock_open(mill->client, mill->path);
    }
    atomic_init(&mill->vanished, 0);
    mill->wrong = 0;
    proxy_before_watch(mill->proxy, vanish, mill);
}

static void mill_end(struct mill *mill) {
    for (int i = 0; i < READERS; i++) {
        zkl_lock_close(mill->locks[i]);
    }
    client_close(mill->client);
    proxy_stop(mill->proxy);
    raw_delete(mill->raw, mill->path);
    raw_close(mill->raw);
}

/* The readers are granted when the last of the writers before them is gone. */
static void run_wave(struct mill *mill) {
    struct waiter readers[READERS];
    raw_make_many(mill->raw, mill->writer, PREDECESSORS);
    for (int i = 0; i < READERS; i++) {
        waiter_start(&readers[i], mill->locks[i], ZKL_READ, 2 * PATIENCE_MS);
    }
    for (int i = 0; i < READERS; i++) {
        mill->wrong += waiter_join(&readers[i]) != ZKL_OK;
        mill->wrong += zkl_lock_release(mill->locks[i], PATIENCE_MS) != ZKL_OK;
    }
}

static void *run_waves(void *arg) {
    for (int i = 0; i < WAVES; i++) {
        run_wave(arg);
    }
    return NULL;
}

static void ten_thousand_predecessors_gone_before_the_watch_leave_no_watch(void) {
    struct scene scene;
    struct mill mills[MILLS];
    scene_begin(&scene, "endurance-gone");
    raw_make(scene.raw, "/locks");
    raw_make(scene.raw, scene.path);
    for (int i = 0; i < MILLS; i++) {
        mill_begin(&mills[i], &scene, i);
        thread_start(&mills[i].thread, run_waves, &mills[i]);
    }
    for (int i = 0; i < MILLS; i++) {
        pthread_join(mills[i].thread, NULL);
        ASSERT_NUMBER(mills[i].wrong, 0);
        ASSERT_NUMBER(mills[i].vanished, WAVES * PREDECESSORS);
        ASSERT_NUMBER(raw_children(mills[i].raw, mills[i].path), 0);
    }
    WAIT_UNTIL(servers_watches(scene.path) == 0);
    for (int i = 0; i < MILLS; i++) {
        mill_end(&mills[i]);
    }
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(ten_thousand_contended_cycles_leave_no_node_and_no_watch),
        TEST_CASE(ten_thousand_waiters_that_leave_leave_no_node_and_no_watch),
        TEST_CASE(waiter_that_leaves_while_its_watch_is_under_way_leaves_no_watch),
        TEST_CASE(ten_thousand_predecessors_gone_before_the_watch_leave_no_watch),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
