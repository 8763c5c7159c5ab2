/*
 * The queue of a resource: its children in order, and who waits for whom.
 *
 * Order is that of the sequence numbers, compared as numbers. Equal numbers
 * (downgraded readers inherit their writer's) go write before read, then by name;
 * the two nodes of one owner never wait for each other.
 *
 * One blocking rule: a request waits for as long as n or more earlier ones are in its
 * way, and watches the n nearest of these. Two readers are not in each other's way, all
 * others are; n is 1, and for a permit as many as the semaphore has.
 */
#pragma once

#include "recipe/node_name.h"

/** The names of a resource's children, in any order, as the server sends them. */
typedef struct zkl_children {
    const char *const *names;
    size_t count;
} zkl_children;

/** One request of a queue. */
typedef struct zkl_neighbour {
    zkl_node_name name;
    const char *text; /* that it was read from */
} zkl_neighbour;

/** Children whose names have been read and put in order, once for all requests that look at them:
 *  so each of them finds its place without a look at all others. Those that are no requests come
 *  last. */
typedef struct zkl_listed {
    const zkl_neighbour *all;
    size_t count;
    size_t known; /* so many, from the first on, are of a known kind; there may be more */
} zkl_listed;

/** Reads one name, which stays the caller's. */
zkl_neighbour zkl_neighbour_read(const char *text);
/** Reads the names of children, which come in any order, into `room`, which has room for all of
 *  them. The texts stay the caller's. */
zkl_listed zkl_contenders_read(zkl_children children, zkl_neighbour *room);

typedef struct zkl_contenders_view {
    bool listed;         /* our own node is in the list; else the list says nothing */
    bool accompanied;    /* the companion is in it, or there is none */
    size_t earlier;      /* requests before ours, whether in our way or not */
    const char *blocker; /* the nearest one that we wait for, a name of the list; NULL: nobody */
    const char *unlent;  /* one in our way that its client does not lend; NULL: there is none */
    const char *unknown; /* an earlier child of unknown kind, if there is one */
    const char *unlike;  /* a permit's: an earlier request that is none of as many permits */
} zkl_contenders_view;

/** Whose view of a queue. */
typedef struct zkl_contenders_place {
    zkl_neighbour own;     /* our node; its text is NULL: we would join at the tail now */
    const char *companion; /* another node of the same owner, which is not in its way; "": none */
} zkl_contenders_place;

/** What a list says to the request at this place. */
zkl_contenders_view zkl_contenders_examine(zkl_listed children, const zkl_contenders_place *place);

/** How many of the requests before this place have to wait themselves. */
size_t zkl_contenders_count_waiting(zkl_listed children, const zkl_contenders_place *place);

/** The n of the blocking rule. permits: of a semaphore; 0: a lock. */
size_t zkl_contenders_room(unsigned permits);

/**
 * The nearest requests in the way of this place, the furthest first, at most as many as its
 * zkl_contenders_room, which `nearest` has too. Returns how many.
 */
size_t zkl_contenders_find_nearest(zkl_listed children, const zkl_contenders_place *place,
                                   zkl_neighbour *nearest);

/** Whether it comes before the other in the order of the queue. */
bool zkl_neighbour_is_before(zkl_neighbour one, zkl_neighbour other);
/** Whether a request is before another, and in its way. */
bool zkl_neighbour_blocks(zkl_neighbour earlier, zkl_neighbour own);

/** A queue, as a holder sees it. */
typedef struct zkl_contenders_rear {
    bool listed;        /* our own node is in the list; else the list says nothing */
    const char *waiter; /* a later request that waits for us, a name of the list; NULL: nobody */
} zkl_contenders_rear;

/**
 * Who waits behind the holder whose node this is: a later request that must wait for it; for a
 * permit, one of as many that finds none left. Permits of others than our kind do not wait, they
 * are refused. A node with the GUID `but` is not looked at: what the holder is to have instead
 * ("": all are).
 */
zkl_contenders_rear zkl_contenders_look_behind(zkl_listed children, const char *own,
                                               const char *but);

/** The first request of a list, of any kind; NULL: there is none. */
const char *zkl_contenders_find_first(zkl_listed children);

/**
 * A child with this GUID other than `except` (NULL: any), or NULL. A lost reply
 * can leave a second node of one request behind. Of several, the first in the
 * order of their names that comes after `after` ("": any).
 */
const char *zkl_contenders_find_guid(zkl_listed children, const char *guid, const char *except,
                                     const char *after);
