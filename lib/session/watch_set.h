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

/** Embed it. The caller fills the fields up to `fired`. */
typedef struct zkl_watch_set {
    zkl_request_sender *sender; /* of the request; has the `arg` of the two */
    /* All replies are in: OK, all are armed; NO_NODE, one is gone already; else a failure. */
    void (*armed)(void *arg, zkl_outcome outcome, int status);
    /* The first of them since they were armed. */
    void (*fired)(void *arg, zkl_watch_event event);
    struct watched_nodes *present; /* NULL: none */
    unsigned awaited;              /* replies */
    bool waits;                    /* all are armed, and none has fired */
    zkl_outcome outcome;
    int status;
} zkl_watch_set;

/** Watches these nodes of the resource, and no others any more. `armed` will be called, or already
 *  is: without memory NOT_NOW. */
void zkl_watch_set_watch(zkl_watch_set *set, const zkl_neighbour *children, size_t count);
void zkl_watch_set_remove_all(zkl_watch_set *set);
/** Those that stayed when one fired; none where a reply is still awaited. */
void zkl_watch_set_remove_left(zkl_watch_set *set);
