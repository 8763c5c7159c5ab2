/*
 * The functions in which examples wait, for simulated servers: there threads are tasks, and time
 * passes only in zklock. The linker (--wrap) puts these in the place of pthread_create,
 * pthread_join, nanosleep, poll and sigtimedwait.
 */
#pragma once

#include <stdint.h>

/* From this moment on sigtimedwait returns SIGINT. */
extern int64_t simulated_signal_at_ms;

/* Called in the next nanosleep, while the example works. NULL: nothing is called. */
extern void (*simulated_accident)(void);
