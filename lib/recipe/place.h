/*
 * A request's place in the queue: what a list says to it, for whom it waits, and when the deletion
 * of that node is a hand-off.
 */
#ifndef ZKLOCK_RECIPE_PLACE_H
#define ZKLOCK_RECIPE_PLACE_H

#include "recipe/request_core.h"

/** From where it looks at a list: from its node, or from the tail. */
zkl_contenders_place zkl_request_place(const zkl_request *request);
/** Whether a list must show that it may join, before it does. */
bool zkl_request_must_look_first(const zkl_request *request);
/** Its node was deleted while it waited: it joins again. */
void zkl_request_lose_place(zkl_request *request, const zkl_step *step);

void zkl_request_on_listed(zkl_request *request, const zkl_step *step);
void zkl_request_on_watched(zkl_request *request, const zkl_step *step);
void zkl_request_on_watch_fired(zkl_request *request, const zkl_step *step);

#endif
