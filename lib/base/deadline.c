#include "base/deadline.h"

#include "base/threads.h"

int64_t zkl_deadline(int64_t ms) {
    int64_t now_ms = zkl_clock_ms();
    return ms < INT64_MAX - now_ms ? now_ms + ms : INT64_MAX;
}

bool zkl_wait_until(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ms) {
    int64_t left_ms = deadline_ms == INT64_MAX ? INT64_MAX : deadline_ms - zkl_clock_ms();
    zkl_condition_wait(condition, mutex, left_ms);
    return left_ms > 0;
}
