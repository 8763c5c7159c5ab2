/*
 * Timers: a binary heap of deadlines. Whoever drives it asks for the earliest,
 * waits, and fires what is due; the clock is the caller's.
 */
#ifndef ZKLOCK_ZOOKEEPER_TIMERS_H
#define ZKLOCK_ZOOKEEPER_TIMERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct zkl_timer {
    int64_t deadline_ms;
    size_t place; /* in the heap, from 1; 0: not set */
    void (*fire)(void *arg);
    void *arg;
} zkl_timer;

typedef struct zkl_timers {
    zkl_timer **heap; /* heap[0] is not used */
    size_t count;
    size_t capacity;
} zkl_timers;

/** Makes room for one timer more, so that zkl_timers_set cannot fail. False: out of memory. */
bool zkl_timers_reserve(zkl_timers *timers, size_t count);
/** Sets or moves a timer. Room must have been reserved for it. */
void zkl_timers_set(zkl_timers *timers, zkl_timer *timer, int64_t deadline_ms);
/** Stops a timer; one that is not set is fine. */
void zkl_timers_stop(zkl_timers *timers, zkl_timer *timer);
/** The earliest deadline, or INT64_MAX. */
int64_t zkl_timers_next(const zkl_timers *timers);
/** Fires, in order, what is due. A timer is stopped before it fires. */
void zkl_timers_fire_due(zkl_timers *timers, int64_t now_ms);
void zkl_timers_destroy(zkl_timers *timers);

#endif
