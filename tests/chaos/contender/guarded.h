/* Writes to ZooKeeper behind a check of the lock's node. */
#pragma once

#include "handle.h"

/** Commits a transaction that sets the mark beside the handle's resource. Returns false if the lock
 *  is lost. */
bool guarded_commit(struct handle *handle);
/** Commits several, one after the other, and then works as lock_hold does. */
void guarded_hold(struct handle *handle);
