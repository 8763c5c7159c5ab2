#include "gate.h"

#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"

static void wake_all(struct gate *gate) {
    (void)syscall(SYS_futex, &gate->count, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void gate_raise(struct gate *gate) {
    atomic_fetch_add(&gate->count, 1);
    wake_all(gate);
}

void gate_raise_to(struct gate *gate, uint32_t count) {
    uint32_t seen = atomic_load(&gate->count);
    while (seen < count && !atomic_compare_exchange_weak(&gate->count, &seen, count)) {
        /* seen has been refreshed: compare again */
    }
    wake_all(gate);
}

bool gate_await(struct gate *gate, uint32_t count, int64_t timeout_ms) {
    int64_t deadline_ns = clock_now_ns() + timeout_ms * NS_PER_MS;
    for (;;) {
        uint32_t seen = atomic_load(&gate->count);
        if (seen >= count) {
            return true;
        }
        int64_t left_ns = deadline_ns - clock_now_ns();
        if (left_ns <= 0) {
            return false;
        }
        struct timespec left = { .tv_sec = left_ns / (1000 * NS_PER_MS),
                                 .tv_nsec = left_ns % (1000 * NS_PER_MS) };
        /* Returns at once when the count is no longer `seen`, so that no raise is missed; its
         * result does not matter, because the loop looks for itself. */
        (void)syscall(SYS_futex, &gate->count, FUTEX_WAIT, seen, &left, NULL, 0);
    }
}

uint32_t gate_count(struct gate *gate) {
    return atomic_load(&gate->count);
}
