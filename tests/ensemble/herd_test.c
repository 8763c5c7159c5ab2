/*
 * No herd: the servers themselves count how many watches a release or a deletion fires. A waiter
 * that were woken for nothing would show here, however fast it went back to sleep. Whoever has
 * waited for a mutex or a writer watches its own node as well, and hears of its own release.
 */
#include "support/scene.h"
#include "support/servers.h"

/* A third of it passes before a holder watches its own node as well, which would count. */
#define LONGEST_SESSION_MS 60000
#define CLIENTS 6
#define WAITERS 48

struct herd {
    struct scene scene;
    zhandle_t *raws[SERVERS];
    zkl_client *clients[CLIENTS];
    zkl_lock *locks[WAITERS + 1];
    struct waiter waiters[WAITERS + 1];
};

static void herd_begin(struct herd *herd, const char *stem) {
    scene_begin(&herd->scene, stem);
    for (int i = 0; i < SERVERS; i++) {
        herd->raws[i] = raw_open(server_host(i + 1));
    }
    for (int i = 0; i < CLIENTS; i++) {
        herd->clients[i] = client_open(server_host(i % SERVERS + 1), LONGEST_SESSION_MS);
    }
    for (int i = 0; i <= WAITERS; i++) {
        herd->locks[i] = lock_open(herd->clients[i % CLIENTS], herd->scene.resource);
    }
}

static void herd_end(struct herd *herd) {
    for (int i = 0; i <= WAITERS; i++) {
        zkl_lock_close(herd->locks[i]);
    }
    for (int i = 0; i < CLIENTS; i++) {
        client_close(herd->clients[i]);
    }
    for (int i = 0; i < SERVERS; i++) {
        raw_close(herd->raws[i]);
    }
    scene_end(&herd->scene);
}

/* One more contender in the queue. */
static void join_queue(struct herd *herd, int i, zkl_mode mode) {
    waiter_start(&herd->waiters[i], herd->locks[i], mode, 2 * PATIENCE_MS);
    WAIT_UNTIL(scene_queue(&herd->scene) == i + 1);
}

/* A holder and its waiters, each with its watch in place. */
static void fill_queue(struct herd *herd) {
    for (int i = 0; i <= WAITERS; i++) {
        join_queue(herd, i, ZKL_EXCLUSIVE);
    }
    WAIT_UNTIL(scene_watches(&herd->scene) == WAITERS);
}

/* Watches fired by deletions, and by releases that say so, on all servers, once each has caught
 * up. */
static int64_t fired(struct herd *herd) {
    for (int i = 0; i < SERVERS; i++) {
        raw_catch_up(herd->raws[i]);
    }
    return servers_sum("zk_sum_node_deleted_watch_count") +
           servers_sum("zk_sum_node_changed_watch_count");
}

static void release(struct herd *herd, int i) {
    ASSERT_STATUS(zkl_lock_release(herd->locks[i], PATIENCE_MS), ZKL_OK);
}

static void release_fires_one_watch_whatever_the_queue(void) {
    struct herd herd;
    herd_begin(&herd, "herd");
    fill_queue(&herd);
    for (int i = 0; i <= WAITERS; i++) {
        ASSERT_STATUS(waiter_join(&herd.waiters[i]), ZKL_OK);
        int64_t before = fired(&herd);
        release(&herd, i);
        ASSERT_NUMBER(fired(&herd) - before, (i < WAITERS ? 1 : 0) + (i > 0 ? 1 : 0));
    }
    herd_end(&herd);
}

static void waiter_that_leaves_the_middle_fires_one_watch(void) {
    const int gone = WAITERS / 2;
    struct herd herd;
    herd_begin(&herd, "herd-middle");
    fill_queue(&herd);
    int64_t before = fired(&herd);
    ASSERT_STATUS(zkl_lock_cancel(herd.locks[gone]), ZKL_OK);
    ASSERT_STATUS(waiter_join(&herd.waiters[gone]), ZKL_CANCELLED);
    /* Its successor waits for its predecessor from now on. */
    WAIT_UNTIL(scene_queue(&herd.scene) == WAITERS);
    WAIT_UNTIL(scene_watches(&herd.scene) == WAITERS - 1);
    ASSERT_NUMBER(fired(&herd) - before, 1 + 1);
    for (int i = 0; i <= WAITERS; i++) {
        if (i != gone) {
            ASSERT_STATUS(waiter_join(&herd.waiters[i]), ZKL_OK);
            release(&herd, i);
        }
    }
    herd_end(&herd);
}

/* Readers of one client share its watch on the writer: one a client fires. The
 * writer's client is one of its own. */
static void release_of_a_writer_fires_one_watch_for_each_client_that_it_blocked(void) {
    struct herd herd;
    herd_begin(&herd, "herd-readers");
    zkl_client *writers_client = client_open(server_host(1), LONGEST_SESSION_MS);
    zkl_lock *writer = lock_open(writers_client, herd.scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(writer, ZKL_WRITE, PATIENCE_MS, NULL), ZKL_OK);
    for (int i = 1; i <= 2 * CLIENTS; i++) {
        join_queue(&herd, i, ZKL_READ);
    }
    WAIT_UNTIL(scene_watches(&herd.scene) == CLIENTS);
    int64_t before = fired(&herd);
    ASSERT_STATUS(zkl_lock_release(writer, PATIENCE_MS), ZKL_OK);
    for (int i = 1; i <= 2 * CLIENTS; i++) {
        ASSERT_STATUS(waiter_join(&herd.waiters[i]), ZKL_OK);
    }
    ASSERT_NUMBER(fired(&herd) - before, CLIENTS);
    before = fired(&herd);
    for (int i = 1; i <= 2 * CLIENTS; i++) {
        release(&herd, i);
    }
    ASSERT_NUMBER(fired(&herd) - before, 2 * CLIENTS); /* their own */
    zkl_lock_close(writer);
    client_close(writers_client);
    herd_end(&herd);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(release_fires_one_watch_whatever_the_queue),
        TEST_CASE(waiter_that_leaves_the_middle_fires_one_watch),
        TEST_CASE(release_of_a_writer_fires_one_watch_for_each_client_that_it_blocked),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
