/*
 * The watches of one session: on nodes, and on the children of nodes. Waiters on
 * the same path share one watch of a kind: the server keeps one per path and
 * session anyway, so it may be removed only when the last of them has left, and
 * never under a sibling.
 *
 * The server's watch goes when it fires, and otherwise only when we remove it:
 * when nobody waits any more, and after an exists that found no node (which
 * leaves a watch for its creation behind).
 *
 * A watch on children is armed by a list. Each waiter gets a list that was sent after
 * it came, and no earlier than the one that armed the watch; waiters share lists
 * (listing.h).
 */
#pragma once

#include "session/listing.h"
#include "session/sender.h"

typedef struct zkl_watch zkl_watch;

/** What waiters of one kind do. Either `armed` or `listed` is NULL. */
typedef struct zkl_watch_listener {
    /* Hears whether the watch is armed. OK: it will fire. Else it will not. */
    void (*armed)(void *arg, zkl_outcome outcome, int status);
    /* Of a zkl_children_waiter: gets the list, or hears why there is none and the watch will not
     * fire. */
    void (*listed)(void *arg, const zkl_list_answer *answer);
    void (*fired)(void *arg, zkl_watch_event event);
} zkl_watch_listener;

/** A waiter for news of a node; embed it, zeroed. */
typedef struct zkl_watch_waiter {
    void *arg;
    const zkl_watch_listener *listener;
    zkl_watch *watch; /* the watch that it waits for; NULL: none */
    struct zkl_watch_waiter *next;
    bool heard_armed; /* it has heard that its watch is armed */
} zkl_watch_waiter;

/** A waiter for news of a node's children. */
typedef struct zkl_children_waiter {
    zkl_watch_waiter waiter; /* first */
    zkl_list_waiter list;
} zkl_children_waiter;

/** A power of two. A session has a few thousand watches at most: a client opens another then. */
#define ZKL_WATCH_BUCKETS 512

/** The caller fills the first two fields. */
typedef struct zkl_watch_table {
    zkl_sender *sender;
    zkl_listings *listings;
    /* a watch is in that of its path's hash, which is part of its id */
    zkl_watch *buckets[ZKL_WATCH_BUCKETS];
    size_t count;
    uint64_t last_id;
    bool reporting_event; /* an event is being reported to its waiters */
    uint64_t event_mark;  /* lists that were sent after this mark show that event */
} zkl_watch_table;

/** Adds a waiter. `armed` will be called, or already is: where others share the watch, or it cannot
 *  be sent. OK means that the servers have said so on this connection. A waiter that waits already
 *  learns whether it still does so rightly. (For another path it leaves the one before.) */
void zkl_watch_table_add(zkl_watch_table *table, const char *path, zkl_watch_waiter *waiter);
/** Adds a waiter for the children of the node. `listed` will be called, or already is. */
void zkl_watch_table_add_children(zkl_watch_table *table, const char *path,
                                  zkl_children_waiter *self);
/** What was seen of a node when its watch was armed; all 0: nothing. */
typedef struct zkl_watched_node {
    uint32_t zxid_low;     /* the counter in its czxid: another node of that name has another one */
    bool own_session;      /* our session owns it */
    unsigned data_version; /* how often its data had been set, up to 2^16 - 1 */
} zkl_watched_node;
/** Returns what is known of the node that the waiter watches. */
zkl_watched_node zkl_watch_table_node(const zkl_watch_waiter *waiter);
/** Takes a waiter off. Does nothing for one that waits for nothing. */
void zkl_watch_table_remove(zkl_watch_waiter *waiter);

/** Tells the waiters of a watch that it has fired. */
void zkl_watch_table_fired(zkl_watch_table *table, uint64_t watch_id, zkl_watch_event event);
/** Repairs what is in doubt, on each new connection, and now and then. Removals whose reply was
 *  lost, or that were turned away, are sent again. Watches that were armed on another connection
 *  are asked for again: where the node has changed, or they cannot be armed, those who wait for
 *  them look. */
void zkl_watch_table_review(zkl_watch_table *table, bool is_new_connection);
/** Forgets all watches, as the session is over. A waiter whose watch is not armed yet learns that
 *  now; one that waits for its watch to fire does not. */
void zkl_watch_table_clear(zkl_watch_table *table);

size_t zkl_watch_table_count(const zkl_watch_table *table);

/** Returns what a path of this length takes of the bytes in which a client sends its watches
 *  again. */
size_t zkl_watch_path_bytes(size_t length);
