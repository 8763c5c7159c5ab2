/*
 * An acquire of a layer that asks several handles, one after the other, with one deadline and one
 * cancel. Striped locks need it beside the public functions, for two things that these cannot do.
 * zkl_lock_cancel ends an acquire that waits; a search must also end when it is cancelled just
 * before it asks the next handle, or that acquire would wait on. And an acquire with a timeout of 0
 * ends when the servers have answered, however late; in a search it must end by the deadline
 * without joining the queue. Both would be options that every user of locks reads, for one layer.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "zklock/zklock.h"

/** Shared by all handles of a search. */
typedef struct zkl_lock_search {
    bool called_off; /* no handle begins an acquire while it is true */
    /* how long the next try may take; 0, ZKL_FOREVER: until it is answered */
    int64_t try_within_ms;
} zkl_lock_search;

/** Joins the handle to the search, before its first acquire. The search must live as long as the
 *  handle. From then on zkl_lock_cancel ends the search, which asks this handle or is about to:
 *  it returns ZKL_NOT_WAITING only where the handle was granted, though its callback may still
 *  wait. */
void zkl_lock_join_search(zkl_lock *lock, zkl_lock_search *search);
