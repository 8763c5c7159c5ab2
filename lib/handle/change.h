#ifndef ZKLOCK_CHANGE_H
#define ZKLOCK_CHANGE_H

#include "handle/lock.h"

/** It is released: what waits for another mode leaves the queue at once. With the client's mutex
 *  held, and not inside of a request's step. */
void zkl_lock_withdraw_change(zkl_lock *lock);

#endif
