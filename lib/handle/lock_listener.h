/* For the trace of simulations: hears what the applications of all handles are told. */
#ifndef ZKLOCK_LOCK_LISTENER_H
#define ZKLOCK_LOCK_LISTENER_H

#include "zklock/zklock.h"

/** With the client's mutex held. */
typedef struct zkl_lock_listener {
    /* A grant is SUSPECT, HELD again, or LOST for a reason. Also without a state callback. */
    void (*told)(const zkl_lock *lock, zkl_lock_state state, int reason);
    /* The status that a function of call.h returned, or, if asynchronous, that its callback is
     * told. ZKL_OK of an acquire is a grant. */
    void (*returned)(const zkl_lock *lock, const char *function, int status);
} zkl_lock_listener;

/** NULL: nobody listens, as at the start. Call it only while no handle is open. */
void zkl_lock_listen(const zkl_lock_listener *whose);

void zkl_listener_told(const zkl_lock *lock, zkl_lock_state state, int reason);
void zkl_listener_returned(const zkl_lock *lock, const char *function, int status);

#endif
