/*
 * The watch on a request's own node: by it the request hears of the node's end, and that somebody
 * asks for the lock. That is said in the node's data, which nobody else sets: they are read when
 * they have been set as the watch is armed. Whoever sets them later fires it, and it is armed
 * again.
 */
#ifndef ZKLOCK_ZOOKEEPER_OWN_WATCH_H
#define ZKLOCK_ZOOKEEPER_OWN_WATCH_H

#include "session/watch_table.h"

/** Embed it. The first six fields are the caller's to fill. */
typedef struct zkl_own_watch {
    zkl_watch_table *table;
    const zkl_request *request;
    const char *parent_path;
    void (*armed)(void *arg, zkl_outcome outcome, int status);
    void (*fired)(void *arg, bool deleted);
    void (*revoke_requested)(void *arg); /* once for each node */
    void *arg;
    zkl_watch_waiter waiter;
    bool is_revoke_requested;
    bool read_failed;  /* the data are to be read again */
    zkl_sent *reading; /* they are being read */
} zkl_own_watch;

/** `armed` will be called, or already is. */
void zkl_own_watch_add(zkl_own_watch *self, const char *node);
/** What could not be read is read now. */
void zkl_own_watch_review(zkl_own_watch *self);
/** The request has another node, of which nobody knows yet whether its data ask for the lock. */
void zkl_own_watch_forget_data(zkl_own_watch *self);
/** The node is not watched any more, and nobody is told of anything. One that is not is fine. */
void zkl_own_watch_remove(zkl_own_watch *self);

#endif
