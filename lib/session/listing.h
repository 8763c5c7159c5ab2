/*
 * The lists of children that a session asks for. Of each resource at most one is under way, and it
 * is read once for all of its waiters: a thousand requests of one client for one resource cost the
 * servers a few lists of a thousand names, and not a thousand.
 *
 * A list serves a waiter only if it was sent after what the waiter must see in it. A waiter that
 * comes too late for the list under way is served by the next one, which is sent when that one is
 * answered. After a reconnect a list may be asked for while an older one is still to be answered as
 * lost: then both are lost, as the next one must not go out before the write that settles a lost
 * create.
 *
 * Everything here runs with the client's mutex held.
 */
#pragma once

#include "session/liveness.h"

typedef struct zkl_listing zkl_listing;

/** The answer to a list. Its strings live during the callback. */
typedef struct zkl_list_answer {
    zkl_outcome outcome;
    int status; /* REFUSED: why */
    zkl_listed children;
} zkl_list_answer;

/** What waiters of one kind do. */
typedef struct zkl_list_listener {
    /* Takes the answer. The waiter may ask again at once. */
    void (*listed)(void *arg, const zkl_list_answer *answer);
    /* Tells whether the next list is to go behind a committed write (zkl_liveness_settle). Asked
     * when the list is sent; a waiter that joins a list under way judges the answer itself. NULL:
     * no. */
    bool (*must_settle)(const void *arg);
    /* Returns the id of the watch on the children that the list is to leave. NULL: none. */
    uint64_t (*watch_id)(const void *arg);
} zkl_list_listener;

/** A waiter; embed it. It lives until it is answered or withdrawn. */
typedef struct zkl_list_waiter {
    void *arg;
    const zkl_list_listener *listener;
    uint64_t after; /* a zkl_listings_mark: only lists that were sent after it serve the waiter */
    struct zkl_list_waiter **queue; /* the queue in which it waits; NULL: it does not wait */
    struct zkl_list_waiter *prev, *next;
} zkl_list_waiter;

/** The lists of one session. The caller fills the first two fields. */
typedef struct zkl_listings {
    zkl_sender *sender;
    zkl_liveness *liveness;
    zkl_listing *by_path;
    uint64_t sent;
} zkl_listings;

/** Returns a mark of this moment: lists that are sent later show what was sent before it. */
uint64_t zkl_listings_mark(const zkl_listings *listings);

/** Asks for a list. OK: `listed` will be called exactly once, later. Else the waiter is not kept,
 *  and this is the outcome. */
zkl_outcome zkl_listings_ask(zkl_listings *listings, const char *path, zkl_list_waiter *waiter);
/** Takes a waiter off: its `listed` is not called any more. Does nothing for one that does not
 *  wait. */
void zkl_listings_withdraw(zkl_list_waiter *waiter);
