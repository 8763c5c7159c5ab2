/* The requests of a handle: those of an acquire, and of what it has obtained. With the client's
 * mutex held. */
#ifndef ZKLOCK_LOCK_ATTEMPT_H
#define ZKLOCK_LOCK_ATTEMPT_H

#include "handle/lock.h"

/** ZKL_OK: the attempt will be decided, or is. */
int zkl_lock_begin_attempt(zkl_lock *lock, int64_t timeout_ms);
/** It was decided in favour, and is told so: it is held from now on. */
void zkl_lock_begin_hold(zkl_lock *lock);
/** Ends the acquire that waits, if one does. */
void zkl_lock_call_off(zkl_lock *lock);
/** The members that hold give up, the others are called off. */
void zkl_lock_leave_queues(zkl_lock *lock);
/** The same, of a request that is ours no more, and NULL then. NULL is fine. */
void zkl_lock_dismiss(zkl_request_runner **runner);
/** The requests go on without us until their nodes are gone. */
void zkl_lock_let_go(zkl_lock *lock);
/** What is held is so no more, and why: whoever waits for another mode of it is told. */
void zkl_lock_end_change(zkl_lock *lock, int status);
/** The writer's request holds, and takes the place of the reader's, which goes. */
void zkl_lock_take_writer(zkl_lock *lock);

/** The client is being closed: who waits is told so at once. */
void zkl_lock_client_closes(zkl_lock *lock);

#endif
