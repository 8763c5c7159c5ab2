/*
 * Timers: a pairing heap of deadlines, linked through the timers themselves, so that setting one
 * never fails. Its driver asks for the earliest, waits, and fires what is due; the clock is
 * the caller's.
 */
#pragma once

#include <stdint.h>

typedef struct zkl_timers zkl_timers;

/** Embed it. The first two fields are the caller's to fill, the others begin zeroed. */
typedef struct zkl_timer {
    void (*fire)(void *arg);
    void *arg;
    zkl_timers *timers; /* those in which it is set; NULL: it is not set */
    int64_t deadline_ms;
    uint64_t number;              /* equal deadlines fire in the order in which they were set */
    struct zkl_timer *first;      /* the first of those below it, none of which fires before it */
    struct zkl_timer *next;       /* the next one below the same timer */
    struct zkl_timer **linked_by; /* the pointer that leads to it */
} zkl_timer;

struct zkl_timers {
    /* tells the driver that a timer is now due before all others; NULL: no driver waits */
    void (*wake)(void *arg);
    void *arg;
    zkl_timer *earliest;
    uint64_t set_count;
};

/** Sets or moves a timer. One that is set for that time already stays as it is. */
void zkl_timers_set(zkl_timers *timers, zkl_timer *timer, int64_t deadline_ms);
/** Stops a timer. Does nothing if it is not set. */
void zkl_timer_stop(zkl_timer *timer);
/** Returns the earliest deadline, or INT64_MAX. */
int64_t zkl_timers_next(const zkl_timers *timers);
/** Fires, in order, what is due. A timer is stopped before it fires. */
void zkl_timers_fire_due(zkl_timers *timers, int64_t now_ms);
