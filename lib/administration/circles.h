/*
 * Finds the circles in a directed graph of owners that wait for each other. It knows only numbers.
 *
 * A path is followed only to owners from which its start can still be reached, so each path leads
 * to a circle: between two circles the search takes no more than the square of the graph's size. No
 * function calls itself, so no stack limits the length of a circle.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/** Owner `from` waits for owner `to`. Owners are numbered from 0. */
typedef struct zkl_wait {
    size_t from;
    size_t to;
    size_t waiter;              /* the caller's number of what waits */
    size_t earlier;             /* the caller's number of what it waits for */
    struct zkl_wait *next;      /* the next in the caller's list */
    struct zkl_wait *next_on;   /* set by zkl_circles_visit: the next wait of `from` */
    struct zkl_wait *next_into; /* set by zkl_circles_visit: the next wait for `to` */
} zkl_wait;

/** Takes one circle: each wait's `to` is the `from` of the next, and the last wait's `to` that of
 *  the first. No owner is in it twice. Returns false to stop the search. */
typedef bool zkl_circle_callback(void *arg, const zkl_wait *const *waits, size_t length);

/**
 * Calls back for each elementary circle of the graph, once. Of several waits between the same two
 * owners, only the one with the lowest `waiter` counts, and among those the one with the greatest
 * `earlier`. `waits` is a list, whose order changes. False: out of memory.
 */
bool zkl_circles_visit(size_t owners, zkl_wait *waits, zkl_circle_callback *visit, void *arg);
