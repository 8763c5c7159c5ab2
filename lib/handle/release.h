#ifndef ZKLOCK_RELEASE_H
#define ZKLOCK_RELEASE_H

#include "handle/lock.h"

/** The handle is being closed: releases what it holds, and waits for nothing. With the client's
 *  mutex held. */
void zkl_lock_release_at_close(zkl_lock *lock);

#endif
