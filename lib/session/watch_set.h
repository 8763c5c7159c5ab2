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
    zkl_request_sender *sender; /* the request's; the `arg` of `listener` */
    /* `armed`: all replies are in: OK, all are armed; NO_NODE, one is gone already; else a failure.
     * `fired`: the first of them has fired since they were armed. */
    const zkl_watch_listener *listener;
    zkl_watch_waiter *present; /* the waiters on the nodes; NULL: none */
    unsigned count;            /* how many these are */
    unsigned awaited;          /* how many replies are still to come */
    int status;
    zkl_outcome outcome : 8;
    bool waits; /* all are armed, and none has fired */
} zkl_watch_set;

/** Watches these nodes of the resource, and no others any more. `armed` will be called, or already
 *  is: without memory with NOT_NOW. */
void zkl_watch_set_watch(zkl_watch_set *set, const zkl_neighbour *children, size_t count);
void zkl_watch_set_remove_all(zkl_watch_set *set);
/** Removes those that stayed when one fired. Does nothing while a reply is awaited. */
void zkl_watch_set_remove_left(zkl_watch_set *set);
