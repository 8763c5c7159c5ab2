/*
 * The queue of a resource: its children in order, and who waits for whom.
 *
 * Order is that of the sequence numbers, compared as numbers. Equal numbers
 * (Curator's downgraded readers inherit their writer's) go write before read,
 * then by name; the two nodes of one owner never wait for each other.
 *
 * One blocking rule per mode: a reader waits for the nearest earlier request
 * that is no reader; anyone else for the nearest earlier request of any kind.
 */
#ifndef ZKLOCK_RECIPE_QUEUE_H
#define ZKLOCK_RECIPE_QUEUE_H

#include "recipe/node_name.h"

/** A list of children, in any order, as the server sends it. */
typedef struct zkl_children {
    const char *const *names;
    size_t count;
} zkl_children;

typedef struct zkl_queue_view {
    bool listed;         /* our own node is in the list; else the list says nothing */
    size_t earlier;      /* requests before ours, whether in our way or not */
    const char *blocker; /* whom to wait for, a name of the list; NULL: nobody */
    const char *unknown; /* an earlier child of unknown kind, if there is one */
} zkl_queue_view;

/** What a list says to the request whose node is `own`. */
zkl_queue_view zkl_queue_examine(zkl_children children, const char *own);

/** Whether a request that joined at the tail now would have to wait. */
bool zkl_queue_is_blocked_at_tail(zkl_children children, zkl_mode mode);

/**
 * A child with this GUID other than `except` (NULL: any), or NULL. A lost reply
 * can leave a second node of one request behind. Of several, the first in the
 * order of their names that comes after `after` ("": any).
 */
const char *zkl_queue_find_guid(zkl_children children, const char *guid, const char *except,
                                const char *after);

/** One request of a queue. */
typedef struct zkl_queue_member {
    zkl_node_name name;
    const char *text; /* that it was read from */
} zkl_queue_member;

/** Whether it comes before the other in the order of the queue. */
bool zkl_queue_is_before(const zkl_queue_member *one, const zkl_queue_member *other);

/** Whether a request must wait for an earlier one. */
bool zkl_queue_blocks(const zkl_queue_member *earlier, const zkl_queue_member *own);

#endif
