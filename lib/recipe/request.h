/*
 * One acquisition of a lock, from START to END: the protocol as a pure state
 * machine. Events go in, actions come out; it does no I/O, knows no clock, no
 * threads, and allocates nothing.
 *
 *     zkl_request_step(request, event, actions)
 *
 * Two things make up its state: what the request *wants* (its stage: to join the queue
 * and hold, or to leave it), and what it *knows of its node* (there is none; its
 * create was sent and the reply lost, so there may be one; it is ours). An
 * event changes these; when no operation is outstanding, advance() names the
 * next operations that the two call for. So a request that is cancelled, or
 * times out, or is released, or lost a reply, takes the same few paths out.
 *
 * The verdict (GRANT or FAIL) is given exactly once. END comes exactly once,
 * last, when the node is known to be gone; after it the object is dead.
 */
#pragma once

#include "recipe/request_types.h"

/** Prepares a request, whose first event must be START. session: has connected, lease_runs and
 *  guid. */
void zkl_request_begin(zkl_request *request, const zkl_request_options *options,
                       const zkl_request_session *session);

/** Returns the status of a wait that ends now by its deadline. */
int zkl_request_verdict_at_deadline(const zkl_request *request);

/** Writes the name that the request creates its node by. */
void zkl_request_name_node(const zkl_request *request, char prefix[ZKL_NODE_NAME_SIZE]);

/** Takes one event, and writes into `actions` what is to be done now, in order. */
void zkl_request_step(zkl_request *request, const zkl_event *event, zkl_actions *actions);
