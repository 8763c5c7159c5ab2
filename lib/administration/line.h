/*
 * The contenders of resources in the order of their queues, what their nodes say, and who waits for
 * whom.
 */
#pragma once

#include "base/pool.h"
#include "client/inquiry.h"
#include "recipe/contenders.h"
#include "zklock/administration.h"

typedef struct zkl_line_entry {
    zkl_neighbour member;
    size_t resource; /* the number of its list */
    zkl_contender contender;
    size_t owner; /* a number, for the search for deadlocks */
} zkl_line_entry;

/** One resource after the other. */
typedef struct zkl_line {
    size_t count;
    zkl_line_entry *entries;
    int status; /* ZKL_OK, or why some of their nodes could not be read */
} zkl_line;

/** Reads the nodes of the contenders in these lists of resources, as far as they are still there,
 *  and judges who waits for whom. Leaves out resources with fewer than `least` contenders. What the
 *  line keeps is taken from the pool. Returns what zkl_inquiry_try returns. */
int zkl_line_read(zkl_line *line, zkl_pool *pool, zkl_inquiry *inquiry, const zkl_question *lists,
                  size_t count, size_t least);

/** The nearest that `own` waits for among those before another; NULL: there is none. */
const zkl_line_entry *zkl_line_find_nearest(const zkl_line *line, const zkl_line_entry *own,
                                            const zkl_line_entry *before);
