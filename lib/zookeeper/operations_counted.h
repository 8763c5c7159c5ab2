/*
 * A table of operations that counts what is sent, by its kind, and hands everything on
 * to the one that sends it. A client that counts nothing does without it.
 */
#ifndef ZKLOCK_ZOOKEEPER_OPERATIONS_COUNTED_H
#define ZKLOCK_ZOOKEEPER_OPERATIONS_COUNTED_H

#include "metrics.h"
#include "zookeeper/operations.h"

typedef struct zkl_operations_counted {
    zkl_operations operations; /* first: the table's functions get a pointer to it */
    zkl_operations *inner;
    zkl_metrics *metrics;
} zkl_operations_counted;

/** The table to use: `self`'s, or `inner` where `metrics` is NULL. Both outlive it. */
zkl_operations *zkl_operations_counted_begin(zkl_operations_counted *self, zkl_operations *inner,
                                             zkl_metrics *metrics);

#endif
