/*
 * What the parts of a request have in common (request.c, place.c, parents.c, drain.c, downgrade.c):
 * asking for operations, verdicts, failures, and the own node.
 */
#ifndef ZKLOCK_RECIPE_REQUEST_CORE_H
#define ZKLOCK_RECIPE_REQUEST_CORE_H

#include "recipe/request_types.h"

/** One event, and where to put what it leads to. */
typedef struct zkl_step {
    const zkl_event *event;
    zkl_actions *actions;
} zkl_step;

/** Adds one, never past the last: then it says so in `overflowed`. */
void zkl_actions_add(zkl_actions *actions, const zkl_action *action);

/** Tells the user something. */
void zkl_request_tell(const zkl_step *step, zkl_action_kind kind, const char *node, int status);
/** Asks for an operation of ZKL_OPERATION_LIST, and awaits its answer. */
void zkl_request_ask(zkl_request *request, const zkl_step *step, zkl_action_kind operation,
                     const char *node);
/** The same, of the node so many levels above the resource's. */
void zkl_request_ask_at(zkl_request *request, const zkl_step *step, zkl_action_kind operation,
                        unsigned level);
/** Whether the answer to an operation is awaited. */
bool zkl_request_awaits(const zkl_request *request, zkl_action_kind operation);
/** Takes the answer to an operation for given. */
void zkl_request_await_no_more(zkl_request *request, zkl_action_kind operation);

/** The verdict, if none was given: GRANT or FAIL. */
void zkl_request_decide(zkl_request *request, const zkl_step *step, zkl_action_kind kind,
                        int status);
/** It leaves, and this is the verdict, if none was given. */
void zkl_request_fail(zkl_request *request, const zkl_step *step, int status);
/** The verdict that was to wait until our node is gone, if there is one. */
void zkl_request_give_late_verdict(zkl_request *request, const zkl_step *step);
/** Nobody is in its way: it holds, or waits for the lease that it needs. */
void zkl_request_come_first(zkl_request *request, const zkl_step *step);
/** It leaves, and this is the verdict once its node is gone: so the next try of the same caller
 *  does not meet it. */
void zkl_request_fail_once_gone(zkl_request *request, int status);
/** What every failed answer means, whatever was asked. */
void zkl_request_note_failure(zkl_request *request, const zkl_step *step);

void zkl_request_take_node(zkl_request *request, const char *name, int64_t zxid);
void zkl_request_forget_node(zkl_request *request);
/** Watches our own node, where that is possible now. */
void zkl_request_watch_own(zkl_request *request, const zkl_step *step);
/** The same for a lock that is held. */
void zkl_request_watch_held(zkl_request *request, const zkl_step *step);
void zkl_request_stop_watching_own(zkl_request *request, const zkl_step *step);
/** Watches no longer what is in its way. */
void zkl_request_stop_watching(zkl_request *request, const zkl_step *step);

#endif
