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
    const char *text; /* the name as the servers sent it */
} zkl_neighbour;

/** The children of a resource, their names read and put in order, once for all requests that look
 *  at them: so each request finds its place by a binary search. Children that are no requests come
 *  last. */
typedef struct zkl_listed {
    const zkl_neighbour *all;
    size_t count;
    size_t known; /* all of the first so many are of a known kind; later ones may be too */
} zkl_listed;

/** Reads one name. The text stays the caller's. */
zkl_neighbour zkl_neighbour_read(const char *text);
/** Reads the names of children, which come in any order, into `room`, which must have room for all
 *  of them. The texts stay the caller's. */
zkl_listed zkl_contenders_read(zkl_children children, zkl_neighbour *room);

typedef struct zkl_contenders_view {
    bool listed;         /* our own node is in the list; if it is not, the list proves nothing */
    bool accompanied;    /* the companion is in the list, or there is no companion */
    size_t earlier;      /* how many requests are before ours, whether in our way or not */
    const char *blocker; /* the nearest request that we wait for, a name of the list; NULL: none */
    const char
        *unlent; /* the nearest request in our way whose client does not lend it; NULL: none */
    const char *unknown; /* the first earlier child of unknown kind; NULL: none */
    const char *unlike;  /* if ours is for a permit, or has not Curator's names: the nearest earlier
                            request that is not for one of as many permits, or has other names; if
                            ours is for a permit, also a child that the semaphore of another library
                            has; NULL: none */
} zkl_contenders_view;

/** Where in a queue a request is, or would be. */
typedef struct zkl_contenders_place {
    zkl_neighbour own;     /* our node; its text is NULL: we would join at the tail now */
    const char *companion; /* another node of the same owner, which does not block it; "": none */
} zkl_contenders_place;

/** Examines a list for the request at this place. */
zkl_contenders_view zkl_contenders_examine(zkl_listed children, const zkl_contenders_place *place);

/** Counts the requests before this place that have to wait themselves. */
size_t zkl_contenders_count_waiting(zkl_listed children, const zkl_contenders_place *place);

/** Returns the n of the blocking rule. permits: those of a semaphore; 0: a lock. */
size_t zkl_contenders_room(unsigned permits);

/**
 * Finds the nearest requests in the way of this place, the furthest first: at most as many as its
 * zkl_contenders_room, and `nearest` must have room for so many. Returns how many.
 */
size_t zkl_contenders_find_nearest(zkl_listed children, const zkl_contenders_place *place,
                                   zkl_neighbour *nearest);

/** Tells whether one comes before the other in the order of the queue. */
bool zkl_neighbour_is_before(zkl_neighbour one, zkl_neighbour other);
/** Tells whether a request is before another, and in its way. */
bool zkl_neighbour_blocks(zkl_neighbour earlier, zkl_neighbour own);

/** What a holder finds behind it in a queue. */
typedef struct zkl_contenders_rear {
    bool listed;        /* our own node is in the list; if it is not, the list proves nothing */
    const char *waiter; /* a later request that waits for us, a name of the list; NULL: none */
} zkl_contenders_rear;

/**
 * Looks who waits behind the holder with this node: a later request that must wait for it. Behind a
 * permit that is a request for one of as many permits that finds none left; requests for one of
 * another number are refused, and do not wait. A node with the GUID `but`, which is to replace the
 * holder's, does not count ("": all nodes count).
 */
zkl_contenders_rear zkl_contenders_look_behind(zkl_listed children, const char *own,
                                               const char *but);

/** Finds the first request of a list, of any kind; NULL: none. */
const char *zkl_contenders_find_first(zkl_listed children);

/**
 * Finds a child with this GUID other than `except` (NULL: any); NULL: none. A lost reply can leave
 * a second node of one request behind. Of several it is the first in the order of their names that
 * comes after `after` ("": any).
 */
const char *zkl_contenders_find_guid(zkl_listed children, const char *guid, const char *except,
                                     const char *after);
