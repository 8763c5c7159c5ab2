#include "base/threads.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

enum { MS_PER_SECOND = 1000, NS_PER_MS = 1000000, NS_PER_SECOND = 1000000000 };

/* Longer waits are cut into pieces: the clock of a condition variable stands
 * still while the machine sleeps, and a deadline may have passed meanwhile. */
enum { LONGEST_WAIT_MS = 2 * MS_PER_SECOND };

static int64_t read_clock_ms(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * MS_PER_SECOND + now.tv_nsec / NS_PER_MS;
}

int64_t zkl_clock_ms(void) {
    return read_clock_ms(CLOCK_BOOTTIME);
}

int64_t zkl_wall_clock_ms(void) {
    return read_clock_ms(CLOCK_REALTIME);
}

uint32_t zkl_random_below(uint32_t count) {
    uint32_t random = 0;
    ssize_t got = getrandom(&random, sizeof(random), 0);
    return got == (ssize_t)sizeof(random) ? random % count : 0;
}

uint64_t zkl_thread_number(void) {
    static _Atomic uint64_t last;
    static _Thread_local uint64_t number;
    if (number == 0) {
        number = ++last;
    }
    return number;
}

static _Thread_local bool runs_callbacks;

void zkl_thread_runs_callbacks(bool runs) {
    runs_callbacks = runs;
}

bool zkl_callback_is_running(void) {
    return runs_callbacks;
}

/* Blocks all signals but those of a fault of this very thread, which go to the application's
 * handler. */
static void block_signals(sigset_t *before) {
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, before);
}

bool zkl_thread_start(pthread_t *thread, void *(*run)(void *), void *arg) {
    sigset_t before;
    block_signals(&before);
    int error = pthread_create(thread, NULL, run, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error == 0;
}

int zkl_thread_forbid_cancelling(void) {
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    return before;
}

void zkl_thread_let_be_cancelled(const int *before) {
    int forbidden = 0;
    pthread_setcancelstate(*before, &forbidden);
}

void zkl_thread_join(pthread_t thread) {
    pthread_join(thread, NULL);
}

void zkl_condition_begin(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

void zkl_process_must_end_within(unsigned seconds) {
    static atomic_flag has_begun = ATOMIC_FLAG_INIT;
    struct sigaction ends_us = { .sa_handler = SIG_DFL };
    sigset_t alarms;
    (void)sigemptyset(&ends_us.sa_mask);
    (void)sigemptyset(&alarms);
    (void)sigaddset(&alarms, SIGALRM);
    (void)sigaction(SIGALRM, &ends_us, NULL);
    (void)alarm(seconds);
    block_signals(NULL);
    (void)pthread_sigmask(SIG_UNBLOCK, &alarms, NULL); /* it is enough if one thread takes it */
    while (atomic_flag_test_and_set(&has_begun)) {
        (void)pause();
    }
}

void zkl_condition_end(pthread_cond_t *condition) {
    pthread_cond_destroy(condition);
}

void zkl_condition_broadcast(pthread_cond_t *condition) {
    pthread_cond_broadcast(condition);
}

bool zkl_condition_wait(pthread_cond_t *condition, pthread_mutex_t *mutex, int64_t deadline_ms) {
    if (deadline_ms == INT64_MAX) {
        pthread_cond_wait(condition, mutex);
        return true;
    }
    int64_t left_ms = deadline_ms - zkl_clock_ms();
    if (left_ms <= 0) {
        return false;
    }
    int64_t ms = left_ms < LONGEST_WAIT_MS ? left_ms : LONGEST_WAIT_MS;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    int64_t nanoseconds = until.tv_nsec + ms % MS_PER_SECOND * NS_PER_MS;
    until.tv_sec += (time_t)(ms / MS_PER_SECOND + nanoseconds / NS_PER_SECOND);
    until.tv_nsec = (long)(nanoseconds % NS_PER_SECOND);
    pthread_cond_timedwait(condition, mutex, &until);
    return true;
}
