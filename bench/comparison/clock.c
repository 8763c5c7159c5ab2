#include "clock.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

static volatile sig_atomic_t ended;

static void (*call_at_end)(void);

static void end(int number) {
    (void)number;
    ended = 1;
    call_at_end();
}

static int64_t read_clock_us(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64_t clock_us(void) {
    return read_clock_us(CLOCK_MONOTONIC);
}

int64_t clock_ms(void) {
    return clock_us() / 1000;
}

int64_t clock_wall_ms(void) {
    return read_clock_us(CLOCK_REALTIME) / 1000;
}

void clock_pause_ms(int64_t ms) {
    struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };
    while (!ended && nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

int clock_is_over(void) {
    return ended;
}

void clock_open(void (*on_end)(void)) {
    struct sigaction action;
    call_at_end = on_end;
    memset(&action, 0, sizeof action);
    action.sa_handler = end;
    sigaction(SIGTERM, &action, NULL);
}
