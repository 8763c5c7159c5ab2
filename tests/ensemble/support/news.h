/* What a lock's state callback is told, kept for the test to look at. */
#pragma once

#include "support/test.h"

#include <pthread.h>

/** CLOCK_BOOTTIME, by which leases run. */
int64_t boot_ms(void);

/** One call of the callback. */
struct told {
    zkl_lock_state state;
    int reason;
    int64_t token;
    int64_t at_ms; /* CLOCK_BOOTTIME */
};

#define NEWS_MAX 64

struct news {
    pthread_mutex_t mutex;
    int count;
    struct told list[NEWS_MAX];
};

void news_begin(struct news *news);
/** To be called when its lock is closed. */
void news_end(struct news *news);
/** To be put into the lock's options, with the news as its argument. */
void news_callback(void *arg, const zkl_lock_event *told);

/** How often anything was told. */
int news_total(struct news *news);
/** How often a state was told. */
int news_count(struct news *news, zkl_lock_state state);
/** The first time that it was; all zero if it was not. */
struct told news_first(struct news *news, zkl_lock_state state);
/** The latest of all. */
struct told news_last(struct news *news);
