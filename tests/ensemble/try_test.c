/* A try (timeout 0) takes what is free, and costs nothing where it is not. */
#include "support/scene.h"
#include "support/servers.h"

static void try_on_a_free_lock_succeeds(void) {
    struct scene scene;
    zkl_grant grant = ZKL_GRANT_INIT;
    scene_begin(&scene, "try-free");
    zkl_client *client = client_open_on(1);
    zkl_lock *lock = lock_open(client, scene.resource);
    /* Once without the resource's node, and once with it. */
    for (int i = 0; i < 2; i++) {
        ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, &grant), ZKL_OK);
        ASSERT_NUMBER(scene_queue(&scene), 1);
        ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
    }
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

/* ---- On a held lock ----------------------------------------------------- */

/* A try on the other handle, and whether the ensemble committed anything
 * meanwhile. */
static bool try_commits_nothing(zkl_lock *lock, zkl_mode mode) {
    int64_t before = servers_last_zxid();
    ASSERT_STATUS(zkl_lock_acquire(lock, mode, 0, NULL), ZKL_BUSY);
    return before != 0 && servers_last_zxid() == before;
}

/* The end of somebody else's session may be committed during one look, hardly
 * during each of ten; a write of the try's own would be in all of them. */
static bool some_try_commits_nothing(zkl_lock *lock, zkl_mode mode) {
    for (int i = 0; i < 10; i++) {
        if (try_commits_nothing(lock, mode)) {
            return true;
        }
    }
    return false;
}

static void assert_try_writes_nothing(const char *stem, zkl_mode held, zkl_mode tried) {
    struct scene scene;
    struct Stat before;
    struct Stat after;
    scene_begin(&scene, stem);
    zkl_client *clients[2] = { client_open_on(1), client_open_on(2) };
    zkl_lock *holder = lock_open(clients[0], scene.resource);
    zkl_lock *lock = lock_open(clients[1], scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(holder, held, PATIENCE_MS, NULL), ZKL_OK);
    raw_catch_up(scene.raw);
    CU_ASSERT_TRUE(raw_stat(scene.raw, scene.path, &before));
    CU_ASSERT_TRUE(some_try_commits_nothing(lock, tried));
    raw_catch_up(scene.raw);
    CU_ASSERT_TRUE(raw_stat(scene.raw, scene.path, &after));
    ASSERT_NUMBER(after.cversion, before.cversion);
    ASSERT_NUMBER(after.pzxid, before.pzxid);
    ASSERT_STATUS(zkl_lock_check(lock, NULL), ZKL_NOT_HELD);
    zkl_lock_close(holder);
    zkl_lock_close(lock);
    client_close(clients[0]);
    client_close(clients[1]);
    scene_end(&scene);
}

static void try_on_a_held_lock_is_busy_and_writes_nothing(void) {
    assert_try_writes_nothing("try-held", ZKL_EXCLUSIVE, ZKL_EXCLUSIVE);
    assert_try_writes_nothing("try-write-held", ZKL_READ, ZKL_WRITE);
    assert_try_writes_nothing("try-read-held", ZKL_WRITE, ZKL_READ);
}

static void try_to_read_beside_a_reader_succeeds(void) {
    struct scene scene;
    scene_begin(&scene, "try-read");
    zkl_client *client = client_open_on(1);
    zkl_lock *holder = lock_open(client, scene.resource);
    zkl_lock *lock = lock_open(client, scene.resource);
    ASSERT_STATUS(zkl_lock_acquire(holder, ZKL_READ, PATIENCE_MS, NULL), ZKL_OK);
    ASSERT_STATUS(zkl_lock_acquire(lock, ZKL_READ, 0, NULL), ZKL_OK);
    zkl_lock_close(holder);
    zkl_lock_close(lock);
    client_close(client);
    scene_end(&scene);
}

/* ---- At the same time --------------------------------------------------- */

#define TRIERS 6
#define ROUNDS 10

struct trier {
    zkl_lock *lock;
    pthread_barrier_t *start;
    int status;
    pthread_t thread;
};

static void *try_at_the_start(void *arg) {
    struct trier *trier = arg;
    pthread_barrier_wait(trier->start);
    trier->status = zkl_lock_acquire(trier->lock, ZKL_EXCLUSIVE, 0, NULL);
    return NULL;
}

/* Returns the winner, or NULL. */
static struct trier *try_together(struct trier triers[TRIERS]) {
    struct trier *winner = NULL;
    for (int i = 0; i < TRIERS; i++) {
        thread_start(&triers[i].thread, try_at_the_start, &triers[i]);
    }
    for (int i = 0; i < TRIERS; i++) {
        pthread_join(triers[i].thread, NULL);
        if (triers[i].status == ZKL_OK) {
            CU_ASSERT_PTR_NULL(winner);
            winner = &triers[i];
        } else {
            ASSERT_STATUS(triers[i].status, ZKL_BUSY);
        }
    }
    return winner;
}

static void concurrent_tries_have_one_winner_and_the_losers_leave_no_node(void) {
    struct scene scene;
    zkl_client *clients[SERVERS];
    pthread_barrier_t start;
    struct trier triers[TRIERS];
    scene_begin(&scene, "tries");
    pthread_barrier_init(&start, NULL, TRIERS);
    for (int i = 0; i < SERVERS; i++) {
        clients[i] = client_open_on(i + 1);
    }
    for (int i = 0; i < TRIERS; i++) {
        triers[i] = (struct trier){ lock_open(clients[i % SERVERS], scene.resource), &start, 0, 0 };
    }
    for (int i = 0; i < ROUNDS; i++) {
        struct trier *winner = try_together(triers);
        CU_ASSERT_PTR_NOT_NULL(winner);
        /* A loser's node is gone when its try returns. */
        ASSERT_NUMBER(scene_queue(&scene), winner != NULL ? 1 : 0);
        if (winner != NULL) {
            ASSERT_STATUS(zkl_lock_release(winner->lock, PATIENCE_MS), ZKL_OK);
        }
        WAIT_UNTIL(scene_queue(&scene) == 0);
        /* On every server, so that the next round finds the lock free. */
        for (int server = 0; server < SERVERS; server++) {
            zkl_lock *lock = triers[server].lock;
            WAIT_UNTIL(zkl_lock_acquire(lock, ZKL_READ, 0, NULL) == ZKL_OK);
            ASSERT_STATUS(zkl_lock_release(lock, PATIENCE_MS), ZKL_OK);
        }
    }
    for (int i = 0; i < TRIERS; i++) {
        zkl_lock_close(triers[i].lock);
    }
    for (int i = 0; i < SERVERS; i++) {
        client_close(clients[i]);
    }
    pthread_barrier_destroy(&start);
    scene_end(&scene);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(try_on_a_free_lock_succeeds),
        TEST_CASE(try_on_a_held_lock_is_busy_and_writes_nothing),
        TEST_CASE(try_to_read_beside_a_reader_succeeds),
        TEST_CASE(concurrent_tries_have_one_winner_and_the_losers_leave_no_node),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
