/* The store that tokens fence: ../fleet/store.py says what it understands. */
#pragma once

#include "handle.h"

/** Writes a value to the row of the handle's resource, which the handle holds. Claims the row
 *  first, once for each grant. Returns false if the store has refused: somebody else has the lock.
 */
bool store_write(struct handle *handle);
/** Closes the handle's connection to it, if there is one. */
void store_leave(struct handle *handle);
