#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */

#include "simulated_waits.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <zklock/testing.h>

enum { STEP_MS = 1 };

int64_t simulated_signal_at_ms = INT64_MAX;
void (*simulated_accident)(void);

int __real_poll(struct pollfd *descriptors, nfds_t count, int timeout_ms);
int __wrap_poll(struct pollfd *descriptors, nfds_t count, int timeout_ms);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg);
int __wrap_pthread_join(pthread_t thread, void **result);
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);
int __wrap_sigtimedwait(const sigset_t *signals, siginfo_t *information,
                        const struct timespec *timeout);

int __wrap_poll(struct pollfd *descriptors, nfds_t count, int timeout_ms) {
    ZKL_TESTING_EXPECT(timeout_ms < 0);
    for (;;) {
        int ready = __real_poll(descriptors, count, 0);
        if (ready != 0) {
            return ready;
        }
        zkl_testing_sleep(STEP_MS);
    }
}

typedef struct thread_start {
    void *(*run)(void *);
    void *arg;
} thread_start;

static void run_thread(void *arg) {
    thread_start start = *(thread_start *)arg;
    free(arg);
    (void)start.run(start.arg);
}

int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *arg) {
    (void)attributes;
    thread_start *start = malloc(sizeof(*start));
    ZKL_TESTING_EXPECT(start != NULL);
    *start = (thread_start){ run, arg };
    *thread = (pthread_t)zkl_testing_start(run_thread, start);
    return 0;
}

int __wrap_pthread_join(pthread_t thread, void **result) {
    ZKL_TESTING_EXPECT(result == NULL);
    zkl_testing_join((zkl_testing_task *)thread); /* NOLINT(performance-no-int-to-ptr) */
    return 0;
}

static int64_t milliseconds(const struct timespec *time) {
    return time->tv_sec * INT64_C(1000) + time->tv_nsec / 1000000;
}

int __wrap_nanosleep(const struct timespec *time, struct timespec *left) {
    (void)left;
    void (*accident)(void) = simulated_accident;
    simulated_accident = NULL;
    if (accident != NULL) {
        accident();
    }
    zkl_testing_sleep(milliseconds(time));
    return 0;
}

int __wrap_sigtimedwait(const sigset_t *signals, siginfo_t *information,
                        const struct timespec *timeout) {
    (void)signals;
    (void)information;
    zkl_testing_sleep(milliseconds(timeout));
    return zkl_testing_now_ms() >= simulated_signal_at_ms ? SIGINT : -1;
}
