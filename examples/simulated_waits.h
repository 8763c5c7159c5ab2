/*
 * What examples wait in, on simulated servers: threads are tasks there, and time passes in zklock
 * only. The linker (--wrap) puts these in place of pthread_create, pthread_join, nanosleep, poll
 * and sigtimedwait.
 */
#pragma once

#include <stdint.h>

/* From this moment on sigtimedwait returns SIGINT. */
extern int64_t simulated_signal_at_ms;

/* Is called in the next nanosleep, while the example works; NULL: nothing is. */
extern void (*simulated_accident)(void);
