/*
 * The watches of one waiter on several nodes of a resource: a permit of a semaphore
 * of n waits for any of the n nearest earlier ones, and a lock for one.
 *
 * When one of them fires the others stay, as most of them are watched again after the
 * next list; what fires before that is in the list, too: on one session an event
 * arrives before the answer to what was asked after it happened.
 */
#pragma once

#include "session/request_sender.h"

/** Embed it. The caller fills the first two fields. */
typedef struct zkl_watch_set {
    zkl_request_sender *sender; /* of the request; it is the `arg` of what follows */
    /* Armed: all replies are in: OK, all are armed; NO_NODE, one is gone already; else a failure.
     * Fired: the first of them since they were armed. */
    const zkl_watch_listener *listener;
    zkl_watch_waiter *present; /* NULL: none */
    unsigned count;            /* of these */
    unsigned awaited;          /* replies */
    int status;
    zkl_outcome outcome : 8;
    bool waits; /* all are armed, and none has fired */
} zkl_watch_set;

/** Watches these nodes of the resource, and no others any more. `armed` will be called, or already
 *  is: without memory NOT_NOW. */
void zkl_watch_set_watch(zkl_watch_set *set, const zkl_neighbour *children, size_t count);
void zkl_watch_set_remove_all(zkl_watch_set *set);
/** Those that stayed when one fired; none where a reply is still awaited. */
void zkl_watch_set_remove_left(zkl_watch_set *set);
