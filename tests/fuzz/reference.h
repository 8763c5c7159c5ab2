/*
 * The rules for names and queues once more, as docs/internals/protocol.md states them and
 * in the plainest way: write the number and compare the text; sort, and walk.
 * Nothing of lib/ is used but its types.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "recipe/contenders.h"

/** What a child's name says; the sequence counts only if the kind is not ZKL_NODE_FOREIGN. */
zkl_node_name reference_name(const char *text);

/** Whether a name begins with this GUID without its dashes, and "__". */
bool reference_bare_owner(const char *name, const char *guid);

/** Whether both names begin with one and the same "_c_<guid>-", or GUID without dashes and "__". */
bool reference_same_owner(const char *one, const char *other);

typedef struct reference_view {
    bool listed;
    size_t earlier;
    const char *blocker;  /* a name of the list, or NULL */
    bool unknown_earlier; /* there is an earlier request of unknown kind */
    bool unlike_earlier;  /* of a permit: there is one that is for no semaphore of as many */
} reference_view;

/** What a list says to the request whose node is `own`. */
reference_view reference_examine(zkl_children children, const char *own);

/** Whether one request has to wait for an earlier other one. */
bool reference_conflict(zkl_node_kind one, zkl_node_kind other);
