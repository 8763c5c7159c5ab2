#include "callback_thread.h"

#include <pthread.h>
#include <stdlib.h>

#include "threads.h"

struct zkl_callback_thread {
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t posted;
    zkl_callback *first, *last;
    bool stopping;
};

static zkl_callback *take_first(zkl_callback_thread *thread) {
    zkl_callback *callback = thread->first;
    thread->first = callback->next;
    if (thread->first == NULL) {
        thread->last = NULL;
    }
    return callback;
}

static void *run(void *arg) {
    zkl_callback_thread *thread = arg;
    zkl_thread_runs_callbacks();
    pthread_mutex_lock(&thread->mutex);
    while (thread->first != NULL || !thread->stopping) {
        if (thread->first == NULL) {
            zkl_condition_wait(&thread->posted, &thread->mutex, INT64_MAX);
            continue;
        }
        zkl_callback *callback = take_first(thread);
        pthread_mutex_unlock(&thread->mutex);
        callback->run(callback);
        pthread_mutex_lock(&thread->mutex);
    }
    pthread_mutex_unlock(&thread->mutex);
    return NULL;
}

zkl_callback_thread *zkl_callback_thread_start(void) {
    zkl_callback_thread *thread = calloc(1, sizeof(*thread));
    if (thread == NULL) {
        return NULL;
    }
    pthread_mutex_init(&thread->mutex, NULL);
    zkl_condition_begin(&thread->posted);
    if (zkl_thread_start(&thread->thread, run, thread)) {
        return thread;
    }
    zkl_condition_end(&thread->posted);
    pthread_mutex_destroy(&thread->mutex);
    free(thread);
    return NULL;
}

void zkl_callback_thread_stop(zkl_callback_thread *thread) {
    if (thread == NULL) {
        return;
    }
    pthread_mutex_lock(&thread->mutex);
    thread->stopping = true;
    zkl_condition_signal(&thread->posted);
    pthread_mutex_unlock(&thread->mutex);
    zkl_thread_join(thread->thread);
    zkl_condition_end(&thread->posted);
    pthread_mutex_destroy(&thread->mutex);
    free(thread);
}

void zkl_callback_thread_post(zkl_callback_thread *thread, zkl_callback *callback) {
    callback->next = NULL;
    pthread_mutex_lock(&thread->mutex);
    if (thread->last == NULL) {
        thread->first = callback;
    } else {
        thread->last->next = callback;
    }
    thread->last = callback;
    zkl_condition_signal(&thread->posted);
    pthread_mutex_unlock(&thread->mutex);
}

bool zkl_callback_thread_is_current(void) {
    return zkl_thread_is_for_callbacks();
}
