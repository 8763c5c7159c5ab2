/*
 * An acquire of a layer that asks several handles, one after the other, with one deadline and one
 * cancel: what a layer needs of handles beside their public functions.
 */
#ifndef ZKLOCK_LOCK_SEARCH_H
#define ZKLOCK_LOCK_SEARCH_H

#include <stdbool.h>
#include <stdint.h>

#include "zklock/zklock.h"

/** Shared by all handles of a search. */
typedef struct zkl_lock_search {
    bool called_off; /* no handle begins an acquire while it is true */
    int64_t
        try_within_ms; /* how long the next try may take; 0, ZKL_FOREVER: until it is answered */
} zkl_lock_search;

/** Before the handle's first acquire. The search must live as long as the handle. From then on
 *  zkl_lock_cancel ends the search, which asks this handle or is about to: it returns
 *  ZKL_NOT_WAITING only where the handle was granted, though its callback may still wait. */
void zkl_lock_join_search(zkl_lock *lock, zkl_lock_search *search);

/** A number from 0 to below `count`, drawn at random. */
uint32_t zkl_client_draw(zkl_client *client, uint32_t count);

#endif
