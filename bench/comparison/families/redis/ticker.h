/*
 * A thread that does something again and again. It is not part of any lock: it knows the rhythm,
 * and not what it is for. A stopped process stops it too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Starts the thread. It calls `tick` every `period_ms` from ticker_begin to ticker_end, and no
 * more after `tick` has returned false. */
void ticker_open(int64_t period_ms, bool (*tick)(void));

void ticker_begin(void);

/** Returns when no call runs any more. */
void ticker_end(void);
