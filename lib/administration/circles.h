/*
 * Who waits for whom, as a directed graph, and its circles. It knows only numbers.
 *
 * A way is followed only to owners from which its start can still be reached, so each way leads to
 * a circle: between two circles it takes no more than the square of the graph's size. No function
 * calls itself, so no stack limits the length of a circle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Owner `from` waits for owner `to`: numbers below that of the owners. */
typedef struct zkl_wait {
    size_t from;
    size_t to;
    size_t waiter; /* the caller's, like the next */
    size_t earlier;
    struct zkl_wait *next;      /* in the caller's list */
    struct zkl_wait *next_on;   /* set by zkl_circles_visit: the next wait of `from` */
    struct zkl_wait *next_into; /* and the next wait for `to` */
} zkl_wait;

/** One circle: each wait's `to` is the `from` of the next, and the last one's that of the
 *  first; no owner is in it twice. False: stop. */
typedef bool zkl_circle_callback(void *arg, const zkl_wait *const *waits, size_t length);

/**
 * Calls back for each elementary circle of the graph, once. Of several waits between the same two
 * owners the one with the lowest waiter counts, and of its waits the one with the greatest
 * `earlier`. `waits`: a list; its order changes. False: out of memory.
 */
bool zkl_circles_visit(size_t owners, zkl_wait *waits, zkl_circle_callback *visit, void *arg);
