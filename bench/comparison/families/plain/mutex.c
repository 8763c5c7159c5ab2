/*
 * A mutex of the process (POSIX, pthread_mutex_lock), in a service that runs as several processes.
 * The defect: each process has a mutex of its own, so it excludes nobody but its own threads.
 */
#include "../../mechanism.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void open_lock(const lock_settings *settings) {
    (void)settings;
}

/* A buyer has one thread: the mutex is always free. */
static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)product;
    (void)wait_ms;
    (void)token;
    return pthread_mutex_lock(&mutex) == 0 ? LOCK_GRANTED : LOCK_UNKNOWN;
}

static void release(const char *product) {
    (void)product;
    (void)pthread_mutex_unlock(&mutex);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
