/*
 * The events of a handle: each change of state is a callback, in order. A connection that comes and
 * goes while callbacks wait leaves at most two.
 *
 * All with the client's mutex held.
 */
#pragma once

#include "handle/lock_callback.h"

/** For simulations: hears what the applications of all handles are told. */
typedef struct zkl_lock_listener {
    /* A grant is SUSPECT, HELD again, or LOST for a reason. Also without a state callback. */
    void (*told)(const zkl_lock *lock, zkl_lock_state state, int reason);
    /* The status that a function of call.h returned, or, if asynchronous, that its callback is
     * told. ZKL_OK of an acquire is a grant. */
    void (*returned)(const zkl_lock *lock, const char *function, int status);
} zkl_lock_listener;

/** NULL: nobody listens, as at the start. Call it only while no handle is open. */
void zkl_lock_listen(const zkl_lock_listener *whose);
/** A call of the handle ended so. */
void zkl_lock_note_returned(const zkl_lock *lock, const char *function, int status);

typedef struct zkl_lock_message zkl_lock_message;

/** The state callback of a handle, and what it is yet to be told. */
typedef struct zkl_lock_events {
    const zkl_lock_options *options; /* with the callback; NULL there: nobody is told */
    zkl_lock_callbacks owed;
    zkl_lock_message *for_grant, *for_loss; /* allocated in advance */
} zkl_lock_events;

/** Allocates what it takes to tell the next loss, and with tell_granted the next grant. ZKL_OK or
 *  ZKL_NO_MEMORY. */
int zkl_lock_events_prepare(zkl_lock_events *events);

/** Queues the event. Without memory it is left out, unless it was prepared. `event->resource` lives
 *  as long as the handle. */
void zkl_lock_events_tell(zkl_lock_events *events, const zkl_lock_event *event);
/** Queues the HELD of a new grant, as opposed to that of a connection that came back. */
void zkl_lock_events_tell_grant(zkl_lock_events *events, const zkl_lock_event *event);
