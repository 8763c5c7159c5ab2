/*
 * What is held for writing is held for reading from now on: one transaction puts a reader's node
 * in the place of the writer's. If its reply is lost, a committed write and a look at the reader's
 * node tell whether it was applied.
 */
#ifndef ZKLOCK_RECIPE_DOWNGRADE_H
#define ZKLOCK_RECIPE_DOWNGRADE_H

#include "recipe/request_core.h"

void zkl_request_begin_downgrade(zkl_request *request, const zkl_step *step);
/** What finds out whether one whose reply was lost was applied. */
void zkl_request_resolve_downgrade(zkl_request *request, const zkl_step *step);
/** Its verdict, if one is owed. */
void zkl_request_end_downgrade(zkl_request *request, const zkl_step *step, int status);

void zkl_request_on_downgraded(zkl_request *request, const zkl_step *step);
/** INSPECTED, of the reader's node. */
void zkl_request_on_downgrade_inspected(zkl_request *request, const zkl_step *step);

#endif
