#include "support/news.h"

#include <time.h>

int64_t boot_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void news_begin(struct news *news) {
    *news = (struct news){ .count = 0 };
    pthread_mutex_init(&news->mutex, NULL);
}

void news_end(struct news *news) {
    pthread_mutex_destroy(&news->mutex);
}

void news_callback(void *arg, const zkl_lock_event *told) {
    struct news *news = arg;
    pthread_mutex_lock(&news->mutex);
    if (news->count < NEWS_MAX) {
        news->list[news->count++] =
            (struct told){ told->state, told->reason, told->token, boot_ms() };
    }
    pthread_mutex_unlock(&news->mutex);
}

int news_total(struct news *news) {
    pthread_mutex_lock(&news->mutex);
    int total = news->count;
    pthread_mutex_unlock(&news->mutex);
    return total;
}

int news_count(struct news *news, zkl_lock_state state) {
    int count = 0;
    pthread_mutex_lock(&news->mutex);
    for (int i = 0; i < news->count; i++) {
        count += news->list[i].state == state;
    }
    pthread_mutex_unlock(&news->mutex);
    return count;
}

struct told news_first(struct news *news, zkl_lock_state state) {
    struct told found = { .token = 0 };
    pthread_mutex_lock(&news->mutex);
    for (int i = news->count; i-- > 0;) {
        if (news->list[i].state == state) {
            found = news->list[i];
        }
    }
    pthread_mutex_unlock(&news->mutex);
    return found;
}

struct told news_last(struct news *news) {
    struct told last = { .token = 0 };
    pthread_mutex_lock(&news->mutex);
    if (news->count > 0) {
        last = news->list[news->count - 1];
    }
    pthread_mutex_unlock(&news->mutex);
    return last;
}
