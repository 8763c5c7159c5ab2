/* Time, for the buyer and its mechanism. */
#pragma once

#include <stdint.h>

/** The monotonic clock, which nobody sets. */
int64_t clock_us(void);
int64_t clock_ms(void);

/** The clock on the wall, which a fault may step: for mechanisms whose articles use it. */
int64_t clock_wall_ms(void);

/** Also returns when a signal asks the buyer to end. */
void clock_pause_ms(int64_t ms);

/** True from the SIGTERM that asks the buyer to end: what waits gives up then. */
int clock_is_over(void);

/** Prepares both. SIGTERM also calls `on_end`, in its handler. */
void clock_open(void (*on_end)(void));
