/*
 * A resource whose sequence is used up: what was made in it is not trusted, and it begins anew
 * with the sequence 0 when it was empty once, and its node deleted.
 */
#ifndef ZKLOCK_RECIPE_DRAIN_H
#define ZKLOCK_RECIPE_DRAIN_H

#include "recipe/request_core.h"

/** What the drain calls for next. */
void zkl_request_advance_drain(zkl_request *request, const zkl_step *step);

void zkl_request_on_parent_inspected(zkl_request *request, const zkl_step *step);
void zkl_request_on_parent_removed(zkl_request *request, const zkl_step *step);

#endif
