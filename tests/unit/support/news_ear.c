#include "support/news_ear.h"

#include <stdio.h>
#include <string.h>

#include "base/callback_queue.h"

/* ---- The ear ---------------------------------------------------------------------- */

static const char *reason_name(int reason) {
    switch (reason) {
#define REASON(name, value, text)                                                                  \
    case name:                                                                                     \
        return #name;
        ZKL_STATUS_LIST(REASON)
#undef REASON
    default:
        return "?";
    }
}

static void note(news_ear *ear, const zkl_lock_event *event) {
    size_t length = strlen(ear->heard);
    snprintf(ear->heard + length, sizeof(ear->heard) - length, "%s%s %lld%s%s",
             length > 0 ? "; " : "", zkl_lock_state_name((int)event->state),
             (long long)event->token, event->reason != ZKL_OK ? " " : "",
             event->reason != ZKL_OK ? reason_name(event->reason) : "");
    ear->knows_size = event->struct_size == sizeof(*event);
    ear->lock = event->lock;
    ear->thread = pthread_self();
}

static void on_news(void *arg, const zkl_lock_event *event) {
    news_ear *ear = arg;
    pthread_mutex_lock(&ear->mutex);
    note(ear, event);
    ear->entered++;
    pthread_cond_broadcast(&ear->changed);
    while (ear->gate_shut) {
        pthread_cond_wait(&ear->changed, &ear->mutex);
    }
    pthread_mutex_unlock(&ear->mutex);
    if (ear->reaction != NULL) {
        ear->reaction(ear, event);
    }
    pthread_mutex_lock(&ear->mutex);
    ear->returned++;
    pthread_mutex_unlock(&ear->mutex);
}

void ear_begin(news_ear *ear) {
    memset(ear, 0, sizeof(*ear));
    pthread_mutex_init(&ear->mutex, NULL);
    pthread_cond_init(&ear->changed, NULL);
}

void ear_end(news_ear *ear) {
    pthread_cond_destroy(&ear->changed);
    pthread_mutex_destroy(&ear->mutex);
}

void ear_set_gate(news_ear *ear, bool shut) {
    pthread_mutex_lock(&ear->mutex);
    ear->gate_shut = shut;
    pthread_cond_broadcast(&ear->changed);
    pthread_mutex_unlock(&ear->mutex);
}

void ear_wait_until_entered(news_ear *ear, size_t times) {
    pthread_mutex_lock(&ear->mutex);
    while (ear->entered < times) {
        pthread_cond_wait(&ear->changed, &ear->mutex);
    }
    pthread_mutex_unlock(&ear->mutex);
}

bool ear_has_returned(news_ear *ear, size_t times) {
    pthread_mutex_lock(&ear->mutex);
    bool has = ear->returned == times;
    pthread_mutex_unlock(&ear->mutex);
    return has;
}

/* ---- A desk with an ear --------------------------------------------------------------- */

zkl_lock_options ear_options(news_ear *ear) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.state_callback = on_news;
    options.state_arg = ear;
    return options;
}

lock_desk *ear_open_desk(news_ear *ear, int32_t lease_tick_ms, int64_t max_hold_ms) {
    ear_begin(ear);
    zkl_lock_options options = ear_options(ear);
    options.max_hold_ms = max_hold_ms;
    lock_desk *desk = desk_open_with(&(desk_options){ &options, .lease_tick_ms = lease_tick_ms });
    ear->desk = desk;
    return desk;
}

lock_desk *ear_hold(news_ear *ear) {
    lock_desk *desk = ear_open_desk(ear, 0, 0);
    desk_hold(desk);
    return desk;
}

void ear_close_desk(lock_desk *desk, news_ear *ear) {
    desk_close(desk);
    ear_end(ear);
}

typedef struct marker {
    zkl_callback callback; /* first, because the queue passes a pointer to it */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool passed;
} marker;

static void pass_marker(zkl_callback *callback) {
    marker *self = (marker *)callback;
    pthread_mutex_lock(&self->mutex);
    self->passed = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

/* Waits until all callbacks that were posted so far have run. */
static void let_all_be_told(lock_desk *desk) {
    marker mark = { .callback = { .run = pass_marker } };
    pthread_mutex_init(&mark.mutex, NULL);
    pthread_cond_init(&mark.changed, NULL);
    (void)zkl_callback_queue_post(desk->client->callbacks, &mark.callback, SIZE_MAX);
    pthread_mutex_lock(&mark.mutex);
    while (!mark.passed) {
        pthread_cond_wait(&mark.changed, &mark.mutex);
    }
    pthread_mutex_unlock(&mark.mutex);
    pthread_cond_destroy(&mark.changed);
    pthread_mutex_destroy(&mark.mutex);
}

void ear_expect_heard(lock_desk *desk, news_ear *ear, const char *expected, const char *file,
                      int line) {
    let_all_be_told(desk);
    pthread_mutex_lock(&ear->mutex);
    unit_expect_text(ear->heard, expected, "what was told", file, line);
    ear->heard[0] = '\0';
    pthread_mutex_unlock(&ear->mutex);
}
