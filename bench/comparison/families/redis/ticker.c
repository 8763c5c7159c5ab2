#include "ticker.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed;
static bool ticking;
static int64_t period_ms;
static bool (*tick)(void);

static struct timespec next_time(void) {
    struct timespec next;
    clock_gettime(CLOCK_MONOTONIC, &next);
    int64_t ns = next.tv_nsec + period_ms % 1000 * 1000000;
    next.tv_sec += period_ms / 1000 + ns / 1000000000;
    next.tv_nsec = ns % 1000000000;
    return next;
}

/* Waits for a period with the mutex; false: ticker_end came first. */
static bool period_passes(void) {
    struct timespec next = next_time();
    while (ticking && pthread_cond_timedwait(&changed, &mutex, &next) == 0) {
    }
    return ticking;
}

/* The mutex is held during a call: ticker_end waits for it. */
static void *run(void *nothing) {
    (void)pthread_mutex_lock(&mutex);
    for (;;) {
        while (!ticking) {
            (void)pthread_cond_wait(&changed, &mutex);
        }
        if (period_passes()) {
            ticking = tick();
        }
    }
    return nothing;
}

/* Keeps signals for the buyer's own thread. */
static int start_thread(void) {
    pthread_t thread;
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = pthread_create(&thread, NULL, run, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error != 0 ? error : pthread_detach(thread);
}

void ticker_open(int64_t its_period_ms, bool (*its_tick)(void)) {
    pthread_condattr_t monotonic;
    period_ms = its_period_ms;
    tick = its_tick;
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&changed, &monotonic);
    if (start_thread() != 0) {
        (void)fprintf(stderr, "buyer: no thread for the watchdog\n");
        exit(2);
    }
}

static void set_ticking(bool value) {
    (void)pthread_mutex_lock(&mutex);
    ticking = value;
    (void)pthread_cond_signal(&changed);
    (void)pthread_mutex_unlock(&mutex);
}

void ticker_begin(void) {
    set_ticking(true);
}

void ticker_end(void) {
    set_ticking(false);
}
