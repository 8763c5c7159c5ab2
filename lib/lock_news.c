#include "lock_news.h"

#include <pthread.h>
#include <stdlib.h>

#include "threads.h"

struct zkl_lock_teller {
    pthread_mutex_t mutex;
    pthread_cond_t returned; /* the callback has */
    size_t references;       /* the handle's and the messages' */
    bool closed;
    bool running;
    uint64_t runs_on; /* the number of a thread */
    zkl_callback_queue *queue;
    zkl_lock *lock;
    zkl_lock_state_callback *callback;
    void *arg;
};

struct zkl_lock_message {
    zkl_callback callback; /* first: the thread gets a pointer to it */
    zkl_lock_teller *teller;
    zkl_lock_news news;
};

zkl_lock_teller *zkl_lock_teller_open(zkl_callback_queue *queue, zkl_lock *lock,
                                      zkl_lock_state_callback *callback, void *arg) {
    zkl_lock_teller *teller = calloc(1, sizeof(*teller));
    if (teller != NULL) {
        pthread_mutex_init(&teller->mutex, NULL);
        zkl_condition_begin(&teller->returned);
        teller->references = 1;
        teller->queue = queue;
        teller->lock = lock;
        teller->callback = callback;
        teller->arg = arg;
    }
    return teller;
}

/* With the mutex held, which is let go. */
static void drop(zkl_lock_teller *teller) {
    bool last = --teller->references == 0;
    pthread_mutex_unlock(&teller->mutex);
    if (last) {
        zkl_condition_end(&teller->returned);
        pthread_mutex_destroy(&teller->mutex);
        free(teller);
    }
}

static bool runs_elsewhere(const zkl_lock_teller *teller) {
    return teller->running && teller->runs_on != zkl_thread_number();
}

void zkl_lock_teller_close(zkl_lock_teller *teller) {
    if (teller == NULL) {
        return;
    }
    pthread_mutex_lock(&teller->mutex);
    teller->closed = true;
    while (runs_elsewhere(teller)) {
        zkl_condition_wait(&teller->returned, &teller->mutex, INT64_MAX);
    }
    drop(teller);
}

zkl_lock_message *zkl_lock_message_make(void) {
    return calloc(1, sizeof(zkl_lock_message));
}

static void call_back(zkl_lock_teller *teller, const zkl_lock_news *news) {
    teller->running = true;
    teller->runs_on = zkl_thread_number();
    pthread_mutex_unlock(&teller->mutex);
    teller->callback(teller->arg, news);
    pthread_mutex_lock(&teller->mutex);
    teller->running = false;
    zkl_condition_broadcast(&teller->returned);
}

static void deliver(zkl_callback *callback) {
    zkl_lock_message *message = (zkl_lock_message *)callback;
    zkl_lock_teller *teller = message->teller;
    pthread_mutex_lock(&teller->mutex);
    if (!teller->closed) {
        call_back(teller, &message->news);
    }
    drop(teller);
    free(message);
}

void zkl_lock_teller_tell(zkl_lock_teller *teller, zkl_lock_message *message, zkl_lock_state state,
                          int reason, int64_t token) {
    if (message == NULL) {
        message = zkl_lock_message_make();
    }
    if (message == NULL) {
        return;
    }
    message->callback.run = deliver;
    message->teller = teller;
    message->news = (zkl_lock_news){ sizeof(zkl_lock_news), teller->lock, state, reason, token };
    pthread_mutex_lock(&teller->mutex);
    teller->references++;
    pthread_mutex_unlock(&teller->mutex);
    zkl_callback_queue_post(teller->queue, &message->callback);
}
