#include "zookeeper/timers.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

bool zkl_timers_reserve(zkl_timers *timers, size_t count) {
    if (count < timers->capacity) {
        return true;
    }
    size_t capacity = timers->capacity == 0 ? FIRST_CAPACITY : timers->capacity * 2;
    while (capacity <= count) {
        capacity *= 2;
    }
    zkl_timer **heap = realloc(timers->heap, capacity * sizeof(zkl_timer *));
    if (heap == NULL) {
        return false;
    }
    timers->heap = heap;
    timers->capacity = capacity;
    return true;
}

static void put(zkl_timers *timers, size_t place, zkl_timer *timer) {
    timers->heap[place] = timer;
    timer->place = place;
}

static void sift_up(zkl_timers *timers, size_t place, zkl_timer *timer) {
    while (place > 1 && timers->heap[place / 2]->deadline_ms > timer->deadline_ms) {
        put(timers, place, timers->heap[place / 2]);
        place /= 2;
    }
    put(timers, place, timer);
}

static void sift_down(zkl_timers *timers, size_t place, zkl_timer *timer) {
    for (;;) {
        size_t child = place * 2;
        if (child > timers->count) {
            break;
        }
        if (child < timers->count &&
            timers->heap[child + 1]->deadline_ms < timers->heap[child]->deadline_ms) {
            child++;
        }
        if (timers->heap[child]->deadline_ms >= timer->deadline_ms) {
            break;
        }
        put(timers, place, timers->heap[child]);
        place = child;
    }
    put(timers, place, timer);
}

void zkl_timers_set(zkl_timers *timers, zkl_timer *timer, int64_t deadline_ms) {
    zkl_timers_stop(timers, timer);
    timer->deadline_ms = deadline_ms;
    timers->count++;
    sift_up(timers, timers->count, timer);
}

void zkl_timers_stop(zkl_timers *timers, zkl_timer *timer) {
    size_t place = timer->place;
    if (place == 0) {
        return;
    }
    timer->place = 0;
    zkl_timer *last = timers->heap[timers->count--];
    if (last != timer) {
        sift_down(timers, place, last);
        sift_up(timers, last->place, last);
    }
}

int64_t zkl_timers_next(const zkl_timers *timers) {
    return timers->count == 0 ? INT64_MAX : timers->heap[1]->deadline_ms;
}

void zkl_timers_fire_due(zkl_timers *timers, int64_t now_ms) {
    while (zkl_timers_next(timers) <= now_ms) {
        zkl_timer *timer = timers->heap[1];
        zkl_timers_stop(timers, timer);
        timer->fire(timer->arg);
    }
}

void zkl_timers_destroy(zkl_timers *timers) {
    free(timers->heap);
    *timers = (zkl_timers){ NULL, 0, 0 };
}
