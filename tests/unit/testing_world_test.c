#include "testing/world.h"

#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "support/unit.h"

enum { MS = 1000 };

TEST(clock_of_a_process_runs_at_its_own_rate) {
    zkl_world_begin(1);
    const zkl_process *fast = zkl_process_begin(1000);
    const zkl_process *slow = zkl_process_begin(-1000);
    zkl_world_sleep_us(10 * 1000 * MS);
    EXPECT_INT(zkl_process_now_us(fast), 10010 * MS);
    EXPECT_INT(zkl_process_now_us(slow), 9990 * MS);
    zkl_world_end();
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static int waiting;

static void *wait_for_change(void *arg) {
    pthread_mutex_lock(&mutex);
    waiting++;
    (void)zkl_condition_wait(&changed, &mutex, INT64_MAX);
    waiting--;
    pthread_mutex_unlock(&mutex);
    return arg;
}

TEST(broadcast_wakes_all_threads) {
    zkl_world_begin(3);
    pthread_t threads[3];
    waiting = 0;
    for (int i = 0; i < 3; i++) {
        EXPECT(zkl_thread_start(&threads[i], wait_for_change, NULL));
    }
    zkl_world_sleep_us(10);
    EXPECT_INT(waiting, 3);
    zkl_condition_broadcast(&changed);
    for (int i = 0; i < 3; i++) {
        zkl_thread_join(threads[i]);
    }
    EXPECT_INT(waiting, 0);
    zkl_world_end();
}
