/*
 * What the parts of a request (request.c, place.c, parents.c, drain.c, downgrade.c) have in common,
 * and what each of them is for.
 */
#pragma once

#include "recipe/request_types.h"

/** One event, and where to put what it leads to. */
typedef struct zkl_step {
    const zkl_event *event;
    zkl_actions *actions;
} zkl_step;

/* ---- request_core.c: asking, verdicts, failures, the own node ------------------------------- */

/** Adds one, never past the last: then it says so in `overflowed`. */
void zkl_actions_add(zkl_actions *actions, const zkl_action *action);

/** Tells the user something. */
void zkl_request_tell(const zkl_step *step, zkl_action_kind kind, const char *node, int status);
/** Asks for an operation of ZKL_OPERATION_LIST, and awaits its answer. */
void zkl_request_ask(zkl_request *request, const zkl_step *step, zkl_action_kind operation,
                     const char *node);
/** The same, of the parent that is to be made next. */
void zkl_request_ask_of_parent(zkl_request *request, const zkl_step *step,
                               zkl_action_kind operation);
/** Whether the answer to an operation is awaited. */
bool zkl_request_awaits(const zkl_request *request, zkl_action_kind operation);
/** Takes the answer to an operation for given. */
void zkl_request_await_no_more(zkl_request *request, zkl_action_kind operation);

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
/** A node that a lost create of ours may have left. */
void zkl_request_find_lost(zkl_request *request, const char *name);
/** Watches our own node, where that is possible now. */
void zkl_request_watch_own(zkl_request *request, const zkl_step *step);
/** The same for a lock that is held. */
void zkl_request_watch_held(zkl_request *request, const zkl_step *step);
/** Orders the end of a watch, UNWATCH or UNWATCH_OWN, if it is armed. */
void zkl_request_unwatch(bool *watched, const zkl_step *step, zkl_action_kind order);

/* ---- place.c -------------------------------------------------------------------------------- */

/*
 * A request's place in the queue: what a list says to it, for whom it waits, and when the deletion
 * of that node is a hand-off.
 */

/** From where it looks at a list: from its node, or from the tail. */
zkl_contenders_place zkl_request_place(const zkl_request *request);
/** Whether a list must show that it may join, before it does. */
bool zkl_request_must_look_first(const zkl_request *request);
/** Whether those who wait for its node may be told that its holder has released it: it held its
 * lock with this very node, and alone, so nobody is left before them. */
bool zkl_request_may_hand_over(const zkl_request *request);
/** Its node was deleted while it waited: it joins again. */
void zkl_request_lose_place(zkl_request *request, const zkl_step *step);
void zkl_request_on_listed(zkl_request *request, const zkl_step *step);
void zkl_request_on_watched(zkl_request *request, const zkl_step *step);
void zkl_request_on_watch_fired(zkl_request *request, const zkl_step *step);

/* ---- parents.c ------------------------------------------------------------------------------ */

/*
 * The resource's node, and what is missing above it, are made from the bottom up and down again: so
 * a client that may only write below some node needs no rights above it.
 */

void zkl_request_on_parent_made(zkl_request *request, const zkl_step *step);
/** PARENT_INSPECTED, without a drain: of one that may not be made. */
void zkl_request_on_parent_seen(zkl_request *request, const zkl_step *step);

/* ---- drain.c -------------------------------------------------------------------------------- */

/*
 * A resource whose sequence is used up: what was made in it is not trusted, and it begins again
 * with the sequence 0 when it was empty once, and its node deleted.
 */

/** What the drain calls for next. */
void zkl_request_advance_drain(zkl_request *request, const zkl_step *step);
void zkl_request_on_parent_inspected(zkl_request *request, const zkl_step *step);
void zkl_request_on_parent_removed(zkl_request *request, const zkl_step *step);

/* ---- downgrade.c ---------------------------------------------------------------------------- */

/*
 * What is held for writing is held for reading from now on: one transaction puts a reader's node
 * in the place of the writer's. If its reply is lost, a committed write and a look at the reader's
 * node tell whether it was applied.
 */

/** Watches our node, if it is not watched; then sends the transaction. */
void zkl_request_begin_downgrade(zkl_request *request, const zkl_step *step);
/** OWN_WATCHED, with neither a watch nor the news that the node is gone. */
void zkl_request_on_not_watched_for_downgrade(zkl_request *request, const zkl_step *step);
/** What finds out whether one whose reply was lost was applied. */
void zkl_request_resolve_downgrade(zkl_request *request, const zkl_step *step);
/** Its verdict, if one is owed. */
void zkl_request_end_downgrade(zkl_request *request, const zkl_step *step, int status);
void zkl_request_on_downgraded(zkl_request *request, const zkl_step *step);
/** INSPECTED, of the reader's node. */
void zkl_request_on_downgrade_inspected(zkl_request *request, const zkl_step *step);
