/*
 * The watches of one session. Waiters on the same path share one watch: the
 * server keeps one per path and session anyway, so it may be removed only when
 * the last of them has left, and never under a sibling.
 *
 * The server's watch goes when it fires, and otherwise only when we remove it:
 * when nobody waits any more, and after an exists that found no node (which
 * leaves a watch for its creation behind).
 */
#ifndef ZKLOCK_ZOOKEEPER_WATCH_TABLE_H
#define ZKLOCK_ZOOKEEPER_WATCH_TABLE_H

#include "zookeeper/operations.h"

typedef struct zkl_watch zkl_watch;

/** One who waits; embed it, zeroed. */
typedef struct zkl_watch_waiter {
    void *arg;
    void (*armed)(void *arg, zkl_outcome outcome, int status); /* the reply, unless add gave it */
    void (*fired)(void *arg, bool deleted);
    zkl_watch *watch;
    struct zkl_watch_waiter *prev, *next;
} zkl_watch_waiter;

typedef struct zkl_watch_table {
    zkl_operations *operations;
    zkl_watch *by_path;
    zkl_watch *by_id;
    uint64_t last_id;
} zkl_watch_table;

typedef enum zkl_watch_added {
    ZKL_WATCH_ARMED,   /* shared with others, and in place */
    ZKL_WATCH_ARMING,  /* `armed` will be called */
    ZKL_WATCH_NOT_SENT /* out of memory, or the session is over; not now */
} zkl_watch_added;

void zkl_watch_table_begin(zkl_watch_table *table, zkl_operations *operations);

zkl_watch_added zkl_watch_table_add(zkl_watch_table *table, const char *path,
                                    zkl_watch_waiter *waiter);
/** How often the data of the node had been set when the watch was armed; 0: it is not. */
int32_t zkl_watch_table_data_version(const zkl_watch_waiter *waiter);
/** One that waits for nothing is fine. */
void zkl_watch_table_remove(zkl_watch_waiter *waiter);

/** What a waiter waits for; NULL: nothing. */
const char *zkl_watch_table_path(const zkl_watch_waiter *waiter);

void zkl_watch_table_fired(zkl_watch_table *table, uint64_t watch_id, bool deleted);
/** Removals whose reply was lost, or that were turned away, are sent again: on each new
 *  connection, and now and then. */
void zkl_watch_table_remove_again(zkl_watch_table *table);
/** The session is over, and all its watches with it. Who still waits for the
 *  reply of `armed` gets it now; who waits for the watch to fire is not told. */
void zkl_watch_table_clear(zkl_watch_table *table);

size_t zkl_watch_table_count(const zkl_watch_table *table);

#endif
