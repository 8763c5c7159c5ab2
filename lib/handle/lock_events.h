/*
 * The events of a handle: each change of state is a callback, in order. A connection that comes and
 * goes while callbacks wait leaves at most two.
 *
 * All with the client's mutex held.
 */
#pragma once

#include "handle/lock.h"

/** For simulations: hears what the applications of all handles hear. */
typedef struct zkl_lock_listener {
    /* An event, also of a handle without a state callback: see zkl_lock_events_post. */
    void (*on_event)(const zkl_lock *lock, zkl_lock_state state, int reason);
    /* The status that a function of call.h returned, or that the callback of an asynchronous one
     * gets. ZKL_OK of an acquire is a grant. */
    void (*on_returned)(const zkl_lock *lock, const char *function, int status);
} zkl_lock_listener;

/** Sets the listener. NULL: nobody listens, as at the start. Call it only while no handle is
 *  open. */
void zkl_lock_listen(const zkl_lock_listener *whose);
/** Tells the listener that a call of the handle ended so. */
void zkl_lock_note_returned(const zkl_lock *lock, const char *function, int status);

/** Allocates what the event of the next loss needs, and with tell_granted that of the next grant.
 *  ZKL_OK or ZKL_NO_MEMORY. */
int zkl_lock_events_prepare(zkl_lock *lock);

/** Queues the event, if the handle has a state callback. `prepared`: &for_grant, with which the
 *  event is the HELD of a new grant, or &for_loss; else NULL, and without memory the event is left
 *  out. `event->resource` lives as long as the handle. */
void zkl_lock_events_post(const zkl_lock_event *event, struct zkl_lock_message **prepared);
