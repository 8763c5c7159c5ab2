/*
 * What examples wait in, on simulated servers: threads are tasks there, and time passes in zklock
 * only. The linker (--wrap) puts these in place of pthread_create, pthread_join, nanosleep, poll
 * and sigtimedwait.
 */
#ifndef SIMULATED_WAITS_H
#define SIMULATED_WAITS_H

#include <stdint.h>

/* From this moment on sigtimedwait has SIGINT for whoever asks. */
extern int64_t simulated_signal_at_ms;

/* What shall happen in the next nanosleep, while the example works; NULL: nothing. */
extern void (*simulated_accident)(void);

#endif
