#include "base/process_mutex.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) {
    pthread_mutex_lock(&mutex);
}

static void unlock(void) {
    pthread_mutex_unlock(&mutex);
}

static void prepare_for_forks(void) {
    (void)pthread_atfork(lock, unlock, unlock);
}

pthread_mutex_t *zkl_process_mutex(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, prepare_for_forks);
    return &mutex;
}
