/* Monotonic time, in the units that the inventory service uses. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_MS INT64_C(1000000)

static inline int64_t clock_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 * NS_PER_MS + now.tv_nsec;
}
