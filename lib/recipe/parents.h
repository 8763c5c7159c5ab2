/*
 * The resource's node, and what is missing above it, are made from the bottom up and down again: so
 * a client that may only write below some node needs no rights above it.
 */
#ifndef ZKLOCK_RECIPE_PARENTS_H
#define ZKLOCK_RECIPE_PARENTS_H

#include "recipe/request_core.h"

/** Asks for the next of them. */
void zkl_request_make_parent(zkl_request *request, const zkl_step *step);

void zkl_request_on_parent_made(zkl_request *request, const zkl_step *step);
/** PARENT_INSPECTED, of one that may not be made. */
void zkl_request_on_parent_seen(zkl_request *request, const zkl_step *step);

#endif
