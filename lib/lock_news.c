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
    uint64_t runs_on;                      /* the number of a thread */
    zkl_lock_message *last, *last_but_one; /* that wait; NULL: there is none */
    zkl_callback_queue *queue;
    zkl_lock_audience audience;
};

struct zkl_lock_message {
    zkl_callback callback; /* first: the thread gets a pointer to it */
    zkl_lock_teller *teller;
    zkl_lock_tidings tidings;
    bool is_of_connection;
    bool is_undone; /* the next news of the connection came before its turn: it is not told */
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

/* The messages of a handle leave in the order in which they came. */
static void leave_queue(zkl_lock_teller *teller, const zkl_lock_message *message) {
    if (teller->last_but_one == message) {
        teller->last_but_one = NULL;
    } else if (teller->last == message) {
        teller->last = NULL;
    }
}

static void deliver(zkl_callback *callback) {
    zkl_lock_message *message = (zkl_lock_message *)callback;
    zkl_lock_teller *teller = message->teller;
    pthread_mutex_lock(&teller->mutex);
    leave_queue(teller, message);
    if (!teller->closed && !message->is_undone) {
        call_back(teller, &message->tidings);
    }
    drop(teller);
    free(message);
}

/* ---- Into the queue ----------------------------------------------------------------- */

static bool is_of_same_grant(const zkl_lock_message *message, const zkl_lock_tidings *tidings) {
    return message != NULL && message->is_of_connection && message->tidings.token == tidings->token;
}

/* A connection that comes and goes while a callback takes its time leaves two messages of a handle
 * at most: the state that was told last need not be told again, and what is undone need not be told
 * at all. */
static bool is_told_by_what_waits(const zkl_lock_teller *teller, const zkl_lock_tidings *tidings) {
    zkl_lock_message *last = teller->last;
    if (!is_of_same_grant(last, tidings)) {
        return false;
    }
    if (last->tidings.state == tidings->state) {
        last->is_undone = false;
        return true;
    }
    last->is_undone = last->is_undone || is_of_same_grant(teller->last_but_one, tidings);
    return last->is_undone;
}

static void join_queue(zkl_lock_teller *teller, zkl_lock_message *message) {
    teller->last_but_one = teller->last;
    teller->last = message;
    teller->references++;
}

static bool tells_connection(const zkl_lock_tidings *tidings) {
    return tidings->state == ZKL_STATE_SUSPECT || tidings->state == ZKL_STATE_HELD;
}

void zkl_lock_teller_tell(zkl_lock_teller *teller, zkl_lock_message *message,
                          const zkl_lock_tidings *tidings) {
    bool is_of_connection = message == NULL && tells_connection(tidings);
    pthread_mutex_lock(&teller->mutex);
    bool is_new = !is_of_connection || !is_told_by_what_waits(teller, tidings);
    if (is_new && zkl_lock_message_prepare(&message) == ZKL_OK) {
        message->callback.run = deliver;
        message->teller = teller;
        message->tidings = *tidings;
        message->is_of_connection = is_of_connection;
        join_queue(teller, message);
        zkl_callback_queue_post(teller->queue, &message->callback);
    }
    pthread_mutex_unlock(&teller->mutex);
}
