/*
 * What the parts of a request (request.c, place.c, make_parents.c, drain.c, downgrade.c) have in
 * common, and what each of them is for.
 */
#pragma once

#include "recipe/request_types.h"

/** One event, and where to put the actions that it leads to. */
typedef struct zkl_step {
    const zkl_event *event;
    zkl_actions *actions;
} zkl_step;

/* ---- request_common.c: asking, verdicts, failures, the own node ----------------------------- */

/** Adds an action. If there is no room, sets `overflowed` instead. */
void zkl_actions_add(zkl_actions *actions, const zkl_action *action);

/** Adds an action with its node and status. */
void zkl_request_tell(const zkl_step *step, zkl_action_kind kind, const char *node, int status);
/** Asks for an operation of ZKL_OPERATION_LIST, and awaits its answer. */
void zkl_request_ask(zkl_request *request, const zkl_step *step, zkl_action_kind operation,
                     const char *node);
/** Asks for an operation on the parent that is to be made next, and awaits its answer. */
void zkl_request_ask_of_parent(zkl_request *request, const zkl_step *step,
                               zkl_action_kind operation);
/** Tells whether the answer to an operation is awaited. */
bool zkl_request_awaits(const zkl_request *request, zkl_action_kind operation);
/** Notes that the answer to an operation is not awaited, or no longer. */
void zkl_request_await_no_more(zkl_request *request, zkl_action_kind operation);

/** Lets the request leave. The verdict is FAIL with this status, if none was given yet. */
void zkl_request_fail(zkl_request *request, const zkl_step *step, int status);
/** Gives the verdict that was to wait until our node is gone, if there is one. */
void zkl_request_give_late_verdict(zkl_request *request, const zkl_step *step);
/** Grants the lock, as nobody is in its way, or waits for the lease that it needs. */
void zkl_request_come_first(zkl_request *request, const zkl_step *step);
/** Lets the request leave, and gives this verdict once its node is gone: so the next try of the
 *  same caller does not meet it. */
void zkl_request_fail_once_gone(zkl_request *request, int status);
/** Draws the conclusions of a failed answer that hold whatever was asked. */
void zkl_request_note_failure(zkl_request *request, const zkl_step *step);

/** Notes that the node of this name is ours. */
void zkl_request_take_node(zkl_request *request, const char *name, int64_t zxid);
/** Notes that we have no node. */
void zkl_request_forget_node(zkl_request *request);
/** Notes a node that a lost create of ours may have left, to be inspected. */
void zkl_request_find_lost(zkl_request *request, const char *name);
/** Asks for a committed write, and a list behind it: only such a list proves that a lost create was
 *  not applied and, while this connection lasts, will not be. */
void zkl_request_look_for_lost_node(zkl_request *request, const zkl_step *step);
/** Watches our own node, if that is possible now. */
void zkl_request_watch_own(zkl_request *request, const zkl_step *step);
/** Watches our own node, if the lock is held. */
void zkl_request_watch_held(zkl_request *request, const zkl_step *step);
/** Orders UNWATCH or UNWATCH_OWN, if that watch is armed. */
void zkl_request_unwatch(bool *watched, const zkl_step *step, zkl_action_kind order);

/* ---- place.c -------------------------------------------------------------------------------- */

/*
 * A request's place in the queue: what a list tells it, which request it waits for, and when the
 * end of that one is a hand-off.
 */

/** Returns its place in a list: that of its node, or the tail. */
zkl_contenders_place zkl_request_place(const zkl_request *request);
/** Tells whether it must not join before a list has shown that it may. */
bool zkl_request_must_look_first(const zkl_request *request);
/** Tells whether its waiters may be told that the holder has released the lock: it held with this
 *  very node and exclusively, so nobody is left before them. */
bool zkl_request_may_hand_over(const zkl_request *request);
/** Joins the queue again: its node was deleted while it waited. */
void zkl_request_lose_place(zkl_request *request, const zkl_step *step);
void zkl_request_on_listed(zkl_request *request, const zkl_step *step);
void zkl_request_on_watched(zkl_request *request, const zkl_step *step);
void zkl_request_on_watch_fired(zkl_request *request, const zkl_step *step);
/** Takes the lock, if it is known that nobody is before us and that our own node lives. */
void zkl_request_take_over(zkl_request *request, const zkl_step *step);

/* ---- make_parents.c ------------------------------------------------------------------------- */

/*
 * Makes the resource's node, and those that are missing above it, from the bottom up and down
 * again: so a client that may only write below some node needs no rights above it.
 */

void zkl_request_on_parent_made(zkl_request *request, const zkl_step *step);
/** Reacts to PARENT_INSPECTED without a drain: we may not make that parent. */
void zkl_request_on_parent_seen(zkl_request *request, const zkl_step *step);

/* ---- drain.c -------------------------------------------------------------------------------- */

/*
 * Drains a resource whose sequence is used up: nodes made in it are not trusted. It begins again
 * with the sequence 0 once it was empty and its node was deleted.
 */

/** Asks for what the drain needs next. */
void zkl_request_advance_drain(zkl_request *request, const zkl_step *step);
void zkl_request_on_parent_inspected(zkl_request *request, const zkl_step *step);
void zkl_request_on_parent_removed(zkl_request *request, const zkl_step *step);

/* ---- downgrade.c ---------------------------------------------------------------------------- */

/*
 * Turns a writer into a reader that holds: one transaction replaces the writer's node by a
 * reader's. If its reply is lost, a committed write and a look at the reader's node tell whether it
 * was applied.
 */

/** Asks for a watch on our node, if it is not watched; otherwise for the transaction. */
void zkl_request_begin_downgrade(zkl_request *request, const zkl_step *step);
/** Reacts to OWN_WATCHED, with neither a watch nor the news that the node is gone. */
void zkl_request_on_not_watched_for_downgrade(zkl_request *request, const zkl_step *step);
/** Asks for what shows whether a downgrade whose reply was lost was applied. */
void zkl_request_resolve_downgrade(zkl_request *request, const zkl_step *step);
/** Gives the verdict of a downgrade, if one is owed. */
void zkl_request_end_downgrade(zkl_request *request, const zkl_step *step, int status);
void zkl_request_on_downgrade(zkl_request *request, const zkl_step *step);
void zkl_request_on_downgraded(zkl_request *request, const zkl_step *step);
/** Reacts to INSPECTED of the reader's node. */
void zkl_request_on_downgrade_inspected(zkl_request *request, const zkl_step *step);
