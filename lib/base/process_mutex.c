#include "base/process_mutex.h"

#include <pthread.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) {
    pthread_mutex_lock(&mutex);
}

static void prepare_for_forks(void) {
    (void)pthread_atfork(lock, zkl_process_unlock, zkl_process_unlock);
}

void zkl_process_lock(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, prepare_for_forks);
    lock();
}

void zkl_process_unlock(void) {
    pthread_mutex_unlock(&mutex);
}
