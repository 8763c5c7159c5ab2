/*
 * The events of a handle: each change of state is a callback, in order. A connection that comes and
 * goes while callbacks wait leaves at most two.
 *
 * All with the client's mutex held.
 */
#ifndef ZKLOCK_LOCK_EVENTS_H
#define ZKLOCK_LOCK_EVENTS_H

#include "handle/lock_callback.h"

typedef struct zkl_lock_message zkl_lock_message;

/** The state callback of a handle, and what it is yet to be told. */
typedef struct zkl_lock_events {
    zkl_lock_state_callback *callback; /* NULL: nobody */
    void *arg;
    zkl_lock_callbacks owed;
    zkl_lock_message *for_grant, *for_loss; /* allocated in advance */
} zkl_lock_events;

/** ZKL_OK, or ZKL_SYSTEM: no thread for the callback. */
int zkl_lock_events_open(zkl_lock_events *events, const zkl_lock_options *options);
/** Without the mutex. They are closed (zkl_lock_callbacks_close), or were never opened. */
void zkl_lock_events_destroy(zkl_lock_events *events);

/** Allocates what it takes to tell the next loss, and with tell_granted the next grant. ZKL_OK or
 *  ZKL_NO_MEMORY. */
int zkl_lock_events_prepare(zkl_lock_events *events, bool tell_granted);

/** Queues the event. Without memory it is left out, unless it was prepared. `event->resource` lives
 *  as long as the handle. */
void zkl_lock_events_tell(zkl_lock_events *events, const zkl_lock_event *event);
/** Queues the HELD of a new grant, as opposed to that of a connection that came back. */
void zkl_lock_events_tell_grant(zkl_lock_events *events, const zkl_lock_event *event);

#endif
