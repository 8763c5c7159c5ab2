/*
 * An ear is the state callback of a lock handle. What it has heard is one text:
 *
 *     "suspect 4711; held 4711; lost 4711 ZKL_SESSION_EXPIRED"
 *
 * A gate can hold its callback up until the test opens it.
 */
#pragma once

#include "support/lock_desk.h"

enum { EAR_TEXT_SIZE = 512 };

typedef struct news_ear news_ear;
/* What the application does in its callback; it puts each status of interest into `said`. */
typedef void news_reaction(news_ear *ear, const zkl_lock_event *event);

struct news_ear {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    char heard[EAR_TEXT_SIZE];
    size_t entered;
    size_t returned;
    bool gate_shut;
    pthread_t thread; /* that of the last callback */
    bool knows_size;
    zkl_lock *lock; /* that of the last news */
    news_reaction *reaction;
    lock_desk *desk;
    int said[8];
};

void ear_begin(news_ear *ear);
void ear_end(news_ear *ear);
/** Returns the options of a handle that this ear listens to. */
zkl_lock_options ear_options(news_ear *ear);

void ear_set_gate(news_ear *ear, bool shut);
/** Waits until so many callbacks have begun. */
void ear_wait_until_entered(news_ear *ear, size_t times);
/** Tells whether exactly so many have returned. */
bool ear_has_returned(news_ear *ear, size_t times);

/** Opens a desk whose handle the ear listens to. */
lock_desk *ear_open_desk(news_ear *ear, int32_t lease_tick_ms, int64_t max_hold_ms);
/** Opens such a desk, which holds the lock. */
lock_desk *ear_hold(news_ear *ear);
void ear_close_desk(lock_desk *desk, news_ear *ear);

/** Waits until all callbacks have run, and asserts what was heard since the last time. */
#define TOLD(desk, ear, expected) ear_expect_heard((desk), (ear), (expected), __FILE__, __LINE__)
void ear_expect_heard(lock_desk *desk, news_ear *ear, const char *expected, const char *file,
                      int line);
