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

static _Thread_local bool is_callback_thread;

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
    is_callback_thread = true;
    pthread_mutex_lock(&thread->mutex);
    while (thread->first != NULL || !thread->stopping) {
        if (thread->first == NULL) {
            pthread_cond_wait(&thread->posted, &thread->mutex);
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
    pthread_cond_init(&thread->posted, NULL);
    if (zkl_thread_start(&thread->thread, run, thread)) {
        return thread;
    }
    pthread_cond_destroy(&thread->posted);
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
    pthread_cond_signal(&thread->posted);
    pthread_mutex_unlock(&thread->mutex);
    pthread_join(thread->thread, NULL);
    pthread_cond_destroy(&thread->posted);
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
    pthread_cond_signal(&thread->posted);
    pthread_mutex_unlock(&thread->mutex);
}

bool zkl_callback_thread_is_current(void) {
    return is_callback_thread;
}
