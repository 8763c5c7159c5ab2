/* Many contenders on one client. */
#include "support/scene.h"
#include "support/servers.h"

#include <sched.h>

#define THREADS 200
#define RESOURCES 5
#define ROUNDS 3

/* What one lock guards. Reading and writing it are two steps, and threads that
 * overlap lose a count. */
struct guarded {
    atomic_int count;
    atomic_int inside;
    atomic_int overlaps;
};

struct contender {
    zkl_lock *lock;
    struct guarded *guarded;
    int failures;
    pthread_t thread;
};

static void critical_section(struct guarded *guarded) {
    if (atomic_fetch_add_explicit(&guarded->inside, 1, memory_order_relaxed) != 0) {
        atomic_fetch_add_explicit(&guarded->overlaps, 1, memory_order_relaxed);
    }
    int count = atomic_load_explicit(&guarded->count, memory_order_relaxed);
    sched_yield();
    atomic_store_explicit(&guarded->count, count + 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&guarded->inside, 1, memory_order_relaxed);
}

static void *contend(void *arg) {
    struct contender *contender = arg;
    for (int i = 0; i < ROUNDS; i++) {
        if (zkl_lock_acquire(contender->lock, ZKL_EXCLUSIVE, 3 * PATIENCE_MS, NULL) != ZKL_OK) {
            contender->failures++;
            continue;
        }
        critical_section(contender->guarded);
        /* Every other one goes on while its deletion is under way. */
        int64_t timeout_ms = i % 2 == 0 ? PATIENCE_MS : 0;
        contender->failures += zkl_lock_release(contender->lock, timeout_ms) != ZKL_OK ? 1 : 0;
    }
    return NULL;
}

static void two_hundred_threads_on_one_client_exclude_one_another(void) {
    static struct contender contenders[THREADS];
    struct scene scenes[RESOURCES];
    struct guarded guarded[RESOURCES];
    zkl_client *client = client_open(servers_hosts(), LONG_SESSION_MS);
    for (int i = 0; i < RESOURCES; i++) {
        scene_begin(&scenes[i], "threads");
        atomic_init(&guarded[i].count, 0);
        atomic_init(&guarded[i].inside, 0);
        atomic_init(&guarded[i].overlaps, 0);
    }
    for (int i = 0; i < THREADS; i++) {
        contenders[i].lock = lock_open(client, scenes[i % RESOURCES].resource);
        contenders[i].guarded = &guarded[i % RESOURCES];
        thread_start(&contenders[i].thread, contend, &contenders[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(contenders[i].thread, NULL);
        ASSERT_NUMBER(contenders[i].failures, 0);
        zkl_lock_close(contenders[i].lock);
    }
    for (int i = 0; i < RESOURCES; i++) {
        ASSERT_NUMBER(atomic_load(&guarded[i].overlaps), 0);
        ASSERT_NUMBER(atomic_load(&guarded[i].count), THREADS / RESOURCES * ROUNDS);
        scene_end(&scenes[i]);
    }
    client_close(client);
}

int main(int argc, char **argv) {
    static const struct test_case tests[] = {
        TEST_CASE(two_hundred_threads_on_one_client_exclude_one_another),
    };
    return run_tests(argc, argv, tests, sizeof tests / sizeof tests[0]);
}
