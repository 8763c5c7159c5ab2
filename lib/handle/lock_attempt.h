/* The requests of a handle: those of an acquire, and of what it has obtained. With the client's
 * mutex held. */
#pragma once

#include "handle/lock.h"

/** ZKL_OK: its verdict will come, or has come already. */
int zkl_lock_begin_attempt(zkl_lock *lock, int64_t timeout_ms);
/** Starts a request of a member. The caller fills in of the options what is not the same for all
 *  requests of the handle. As zkl_request_runner_start. */
int zkl_lock_start_request(const lock_member *member, zkl_session *session,
                           zkl_run_options *options, zkl_request_runner **runner);
/** The acquire that was granted returns: the lock is held from now on. */
void zkl_lock_begin_hold(zkl_lock *lock);
/** Cancels the acquire that waits, if there is one. */
void zkl_lock_call_off(zkl_lock *lock);
/** Releases the members that were granted, and cancels the others. */
void zkl_lock_leave_queues(zkl_lock *lock);
/** The same for one request, which continues on its own: *runner is NULL then. It may be NULL. */
void zkl_lock_dismiss(zkl_request_runner **runner);
/** The requests continue on their own until their nodes are gone. */
void zkl_lock_let_go(zkl_lock *lock);
/** The lock is no longer held: a change of its mode that waits ends, and commits and verifications
 *  that were not sent, with ZKL_CLOSED if the client is closed, else with this status. */
void zkl_lock_end_calls(zkl_lock *lock, int status);
/** The writer's request was granted, and takes the place of the reader's, which is released. */
void zkl_lock_take_writer(zkl_lock *lock);

/** The client is being closed: an acquire that waits ends at once. `arg`: the lock. */
void zkl_lock_client_closes(void *arg);
