/*
 * The queues of one or more resources at one moment: their contenders in order, what their nodes
 * say, and who waits for whom.
 */
#pragma once

#include "base/pool.h"
#include "client/inquiry.h"
#include "recipe/contenders.h"
#include "zklock/administration.h"

typedef struct zkl_snapshot_entry {
    zkl_neighbour member;
    size_t resource; /* the index of its resource's list */
    zkl_contender contender;
    size_t owner; /* set by the search for deadlocks: the number of its owner */
} zkl_snapshot_entry;

/** The entries of the first resource, in the order of its queue, then those of the next. */
typedef struct zkl_queue_snapshot {
    size_t count;
    zkl_snapshot_entry *entries;
    int status; /* ZKL_OK, or why some nodes could not be read */
} zkl_queue_snapshot;

/** Reads the nodes of the contenders in these lists of resources, as far as they still exist, and
 *  judges who waits for whom. Leaves out resources with fewer than `least` contenders. The
 *  snapshot's memory is the pool's. Returns what zkl_inquiry_try returns. */
int zkl_queue_snapshot_read(zkl_queue_snapshot *snapshot, zkl_pool *pool, zkl_inquiry *inquiry,
                            const zkl_question *lists, size_t count, size_t least);

/** Finds the nearest entry in the way of `own` among those before another entry; NULL: there is
 *  none. */
const zkl_snapshot_entry *zkl_queue_snapshot_find_nearest(const zkl_queue_snapshot *snapshot,
                                                          const zkl_snapshot_entry *own,
                                                          const zkl_snapshot_entry *before);
