#include "base/callback_queue.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utlist.h>

#include "base/error_message.h"
#include "base/threads.h"

/* ---- The descriptor -------------------------------------------------------------------------- */

/* Raises the descriptor: the queue has its first callback, or a dispatch has left some. */
static void raise_descriptor(const zkl_callback_queue *queue) {
    if (queue->descriptor >= 0) {
        (void)eventfd_write(queue->descriptor, 1);
    }
}

/* Lowers the descriptor: the queue has lost its last callback. */
static void lower_descriptor(const zkl_callback_queue *queue) {
    eventfd_t value = 0;
    if (queue->descriptor >= 0) {
        (void)eventfd_read(queue->descriptor, &value);
    }
}

int zkl_callback_queue_descriptor(zkl_callback_queue *queue) {
    ZKL_WITH_MUTEX(&queue->mutex);
    if (queue->descriptor < 0) {
        queue->descriptor = eventfd(queue->first != NULL ? 1 : 0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    return queue->descriptor;
}

/* ---- In and out ------------------------------------------------------------------------------ */

bool zkl_callback_queue_post(zkl_callback_queue *queue, zkl_callback *callback, size_t most) {
    ZKL_WITH_MUTEX(&queue->mutex);
    if (queue->waiting >= most) {
        return false;
    }
    if (queue->first == NULL) {
        raise_descriptor(queue);
    }
    DL_APPEND(queue->first, callback);
    queue->waiting++;
    zkl_condition_broadcast(&queue->changed);
    return true;
}

static zkl_callback *take_first(zkl_callback_queue *queue) {
    zkl_callback *callback = queue->first;
    DL_DELETE(queue->first, callback);
    queue->waiting--;
    if (queue->first == NULL) {
        lower_descriptor(queue);
    }
    return callback;
}

/* Runs at most `most` callbacks. The caller holds the mutex, which is released while each runs. */
static size_t run_waiting(zkl_callback_queue *queue, size_t most) {
    size_t count = 0;
    while (count < most && queue->first != NULL) {
        zkl_callback *callback = take_first(queue);
        pthread_mutex_unlock(&queue->mutex);
        zkl_error_clear(); /* the message that one callback got is not for the next */
        callback->run(callback);
        count++;
        pthread_mutex_lock(&queue->mutex);
    }
    return count;
}

/* Runs callbacks on the application's thread. A callback that was posted meanwhile, when others
 * still waited, has not raised the descriptor: an edge-triggered loop would miss it. */
static size_t lend_thread(zkl_callback_queue *queue, size_t most) {
    queue->dispatching = true;
    zkl_thread_runs_callbacks(true);
    size_t count = run_waiting(queue, most);
    zkl_thread_runs_callbacks(false);
    queue->dispatching = false;
    if (queue->first != NULL) { /* no post raises it again before the queue was empty */
        raise_descriptor(queue);
    }
    zkl_condition_broadcast(&queue->changed);
    return count;
}

size_t zkl_callback_queue_dispatch(zkl_callback_queue *queue) {
    ZKL_WITH_MUTEX(&queue->mutex);
    return queue->dispatching ? 0 : lend_thread(queue, queue->waiting);
}

static void *run_thread(void *arg) {
    zkl_callback_queue *queue = arg;
    zkl_thread_runs_callbacks(true);
    ZKL_WITH_MUTEX(&queue->mutex);
    while (queue->first != NULL || !queue->closing) {
        if (run_waiting(queue, SIZE_MAX) == 0) {
            (void)zkl_condition_wait(&queue->changed, &queue->mutex, INT64_MAX);
        }
    }
    return NULL;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void free_queue(zkl_callback_queue *queue) {
    if (queue->descriptor >= 0) {
        (void)close(queue->descriptor);
    }
    zkl_condition_end(&queue->changed);
    pthread_mutex_destroy(&queue->mutex);
    free(queue);
}

zkl_callback_queue *zkl_callback_queue_open(bool has_thread) {
    zkl_callback_queue *queue = calloc(1, sizeof(*queue));
    if (queue == NULL) {
        return NULL;
    }
    pthread_mutex_init(&queue->mutex, NULL);
    zkl_condition_begin(&queue->changed);
    queue->descriptor = -1;
    queue->has_thread = has_thread;
    if (has_thread && !zkl_thread_start(&queue->thread, run_thread, queue)) {
        free_queue(queue);
        return NULL;
    }
    return queue;
}

/* Waits until no other thread dispatches, then runs all callbacks that wait. The caller holds the
 * mutex. */
static void run_the_rest(zkl_callback_queue *queue) {
    while (queue->dispatching) {
        (void)zkl_condition_wait(&queue->changed, &queue->mutex, INT64_MAX);
    }
    (void)lend_thread(queue, SIZE_MAX);
}

void zkl_callback_queue_close(zkl_callback_queue *queue) {
    if (queue == NULL) {
        return;
    }
    pthread_mutex_lock(&queue->mutex);
    queue->closing = true;
    zkl_condition_broadcast(&queue->changed);
    if (!queue->has_thread) {
        run_the_rest(queue);
    }
    pthread_mutex_unlock(&queue->mutex);
    if (queue->has_thread) {
        zkl_thread_join(queue->thread);
    }
    free_queue(queue);
}
