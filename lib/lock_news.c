#include "lock_news.h"

#include <pthread.h>
#include <stdlib.h>

#include "callback_queue.h"
#include "client.h"
#include "threads.h"

struct zkl_lock_teller {
    pthread_mutex_t mutex;
    pthread_cond_t returned; /* the callback has */
    size_t references;       /* the handle's and the messages' */
    bool closed;
    bool running;
    uint64_t runs_on; /* the number of a thread */
    zkl_callback_queue *queue;
    zkl_lock_audience audience;
};

struct zkl_lock_message {
    zkl_callback callback; /* first: the thread gets a pointer to it */
    zkl_lock_teller *teller;
    zkl_lock_tidings tidings;
};

int zkl_lock_teller_open(zkl_client *client, const zkl_lock_audience *audience,
                         zkl_lock_teller **result) {
    zkl_callback_queue *queue = zkl_client_callbacks(client);
    if (queue == NULL) {
        return ZKL_SYSTEM;
    }
    zkl_lock_teller *teller = calloc(1, sizeof(*teller));
    if (teller == NULL) {
        return ZKL_NO_MEMORY;
    }
    pthread_mutex_init(&teller->mutex, NULL);
    zkl_condition_begin(&teller->returned);
    teller->references = 1;
    teller->queue = queue;
    teller->audience = *audience;
    *result = teller;
    return ZKL_OK;
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

int zkl_lock_message_prepare(zkl_lock_message **message) {
    if (*message == NULL) {
        *message = calloc(1, sizeof(zkl_lock_message));
    }
    return *message != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

static void tell_audience(const zkl_lock_audience *to, const zkl_lock_tidings *tidings) {
    if (to->multi_lock != NULL) {
        zkl_multi_lock_news news = { sizeof(news),    to->multi_lock, tidings->state,
                                     tidings->reason, tidings->token, tidings->resource };
        to->multi_lock_callback(to->arg, &news);
    } else {
        zkl_lock_news news = { sizeof(news), to->lock, tidings->state, tidings->reason,
                               tidings->token };
        to->lock_callback(to->arg, &news);
    }
}

static void call_back(zkl_lock_teller *teller, const zkl_lock_tidings *tidings) {
    teller->running = true;
    teller->runs_on = zkl_thread_number();
    pthread_mutex_unlock(&teller->mutex);
    tell_audience(&teller->audience, tidings);
    pthread_mutex_lock(&teller->mutex);
    teller->running = false;
    zkl_condition_broadcast(&teller->returned);
}

static void deliver(zkl_callback *callback) {
    zkl_lock_message *message = (zkl_lock_message *)callback;
    zkl_lock_teller *teller = message->teller;
    pthread_mutex_lock(&teller->mutex);
    if (!teller->closed) {
        call_back(teller, &message->tidings);
    }
    drop(teller);
    free(message);
}

void zkl_lock_teller_tell(zkl_lock_teller *teller, zkl_lock_message *message,
                          const zkl_lock_tidings *tidings) {
    if (zkl_lock_message_prepare(&message) != ZKL_OK) {
        return;
    }
    message->callback.run = deliver;
    message->teller = teller;
    message->tidings = *tidings;
    pthread_mutex_lock(&teller->mutex);
    teller->references++;
    pthread_mutex_unlock(&teller->mutex);
    zkl_callback_queue_post(teller->queue, &message->callback);
}
