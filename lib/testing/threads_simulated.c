/* lib/base/threads.h in a simulated world: threads are tasks, and time is the world's. */
#include "base/threads.h"

#include "testing/world.h"

enum { US_PER_MS = 1000 };

/* A thread that the machine has no time for at once wakes up late; a wait may end early. */
enum { LATE_MAX_US = 500, LONGEST_WAIT_MS = 3600 * 1000 };

_Static_assert(sizeof(pthread_t) >= sizeof(zkl_task *), "a pthread_t has room for a task");

int64_t zkl_clock_ms(void) {
    return zkl_process_now_us(zkl_process_current()) / US_PER_MS;
}

int64_t zkl_wall_clock_ms(void) {
    const int64_t begun_ms = 1735689600000; /* every world begins with the year 2025 */
    return begun_ms + zkl_process_wall_us(zkl_process_current()) / US_PER_MS;
}

uint32_t zkl_random_below(uint32_t count) {
    return (uint32_t)zkl_world_random(count);
}

bool zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
    *thread = (pthread_t)zkl_task_start(run, arg);
    return true;
}

/* Nobody cancels a task. All tasks run on one thread, so its state is not that of a single task. */
int zkl_thread_forbid_cancelling(void) {
    return 0;
}

void zkl_thread_let_be_cancelled(const int *before) {
    (void)before;
}

void zkl_thread_join(pthread_t thread) {
    const zkl_task *task = (const zkl_task *)thread;
    while (!zkl_task_has_ended(task)) {
        zkl_world_wait_on(task, INT64_MAX);
    }
}

uint64_t zkl_thread_number(void) {
    return zkl_task_number() + 1;
}

void zkl_thread_runs_callbacks(bool runs) {
    zkl_task_mark(runs);
}

bool zkl_callback_is_running(void) {
    return zkl_task_is_marked();
}

void zkl_process_must_end_within(unsigned seconds) {
    (void)seconds;
}

void zkl_condition_begin(pthread_cond_t *condition) {
    (void)condition; /* its address says it all */
}

void zkl_condition_end(pthread_cond_t *condition) {
    (void)condition;
}

void zkl_condition_broadcast(pthread_cond_t *condition) {
    zkl_world_wake_all(condition);
}

static int64_t moment_after(int64_t ms) {
    if (ms == INT64_MAX) {
        return INT64_MAX;
    }
    ms = ms < LONGEST_WAIT_MS ? ms : LONGEST_WAIT_MS;
    int64_t late_us = zkl_world_random_between(0, LATE_MAX_US);
    return zkl_world_now_us() + ms * US_PER_MS + late_us;
}

bool zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ms) {
    int64_t left_ms = deadline_ms == INT64_MAX ? INT64_MAX : deadline_ms - zkl_clock_ms();
    if (left_ms > 0) {
        pthread_mutex_unlock(mutex);
        zkl_world_wait_on(condition, moment_after(left_ms));
        pthread_mutex_lock(mutex);
    }
    return left_ms > 0;
}
