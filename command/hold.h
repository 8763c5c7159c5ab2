/* What runs under the lock of `zklock hold`, in place of a command. */
#pragma once

#include "channel.h"

/** Prints the grant, and waits until the standard input has ended, or a signal asks to end.
 *  /dev/null never ends. Returns the exit status. */
int hold_until_end(const message *grant);
