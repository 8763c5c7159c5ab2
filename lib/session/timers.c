#include "session/timers.h"

#include <stdbool.h>
#include <stddef.h>

static bool fires_before(const zkl_timer *one, const zkl_timer *other) {
    return one->deadline_ms < other->deadline_ms ||
           (one->deadline_ms == other->deadline_ms && one->number < other->number);
}

static void link_at(zkl_timer **place, zkl_timer *timer) {
    *place = timer;
    if (timer != NULL) {
        timer->linked_by = place;
    }
}

/* Makes one heap of two: the later top goes below the earlier one. */
static zkl_timer *merge(zkl_timer *one, zkl_timer *other) {
    if (one == NULL || other == NULL) {
        return one != NULL ? one : other;
    }
    zkl_timer *top = fires_before(one, other) ? one : other;
    zkl_timer *below = top == one ? other : one;
    link_at(&below->next, top->first);
    link_at(&top->first, below);
    return top;
}

/* Merges a list in pairs, and the pairs from the last to the first: so the heap stays flat. */
static zkl_timer *merge_all(zkl_timer *list) {
    zkl_timer *pairs = NULL;
    while (list != NULL) {
        zkl_timer *one = list;
        zkl_timer *other = one->next;
        list = other != NULL ? other->next : NULL;
        zkl_timer *pair = merge(one, other);
        pair->next = pairs;
        pairs = pair;
    }
    zkl_timer *all = NULL;
    while (pairs != NULL) {
        zkl_timer *next = pairs->next;
        all = merge(all, pairs);
        pairs = next;
    }
    return all;
}

static void add_heap(zkl_timers *timers, zkl_timer *heap) {
    link_at(&timers->earliest, merge(timers->earliest, heap));
    if (heap != NULL) {
        timers->earliest->next = NULL;
    }
}

void zkl_timers_set(zkl_timers *timers, zkl_timer *timer, int64_t deadline_ms) {
    if (timer->timers != NULL && timer->deadline_ms == deadline_ms) {
        return;
    }
    zkl_timer_stop(timer);
    timer->timers = timers;
    timer->deadline_ms = deadline_ms;
    timer->number = timers->set_count++;
    timer->first = NULL;
    add_heap(timers, timer);
    if (timers->wake != NULL && timers->earliest->deadline_ms == deadline_ms) {
        timers->wake(timers->arg);
    }
}

void zkl_timer_stop(zkl_timer *timer) {
    zkl_timers *timers = timer->timers;
    if (timers != NULL) {
        timer->timers = NULL;
        link_at(timer->linked_by, timer->next);
        add_heap(timers, merge_all(timer->first));
    }
}

int64_t zkl_timers_next(const zkl_timers *timers) {
    return timers->earliest == NULL ? INT64_MAX : timers->earliest->deadline_ms;
}

void zkl_timers_fire_due(zkl_timers *timers, int64_t now_ms) {
    while (zkl_timers_next(timers) <= now_ms) {
        zkl_timer *timer = timers->earliest;
        zkl_timer_stop(timer);
        timer->fire(timer->arg);
    }
}
