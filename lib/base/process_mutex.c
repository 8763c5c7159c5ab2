#include "base/process_mutex.h"

pthread_mutex_t zkl_process_mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void) {
    pthread_mutex_lock(&zkl_process_mutex);
}

static void unlock(void) {
    pthread_mutex_unlock(&zkl_process_mutex);
}

/* Registers the handlers of fork, when the library is loaded. */
__attribute__((constructor)) static void prepare_for_forks(void) {
    (void)pthread_atfork(lock, unlock, unlock);
}
