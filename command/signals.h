/* The signals of the process that runs a command: what they were when it was started, and how it
 * hears of them. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/** How the signals of this process were set when it was started. */
typedef struct signals_found {
    sigset_t blocked;
    bool children_ignored; /* SIGCHLD was ignored */
} signals_found;

/** Takes all signals that matter from a descriptor, which it returns; -1: the system has none.
 *  Signals that were ignored when we were started stay ignored (nohup), except SIGCHLD: if it is
 *  ignored the system keeps no exit status of a child. SIGPIPE is blocked, as a pipe that nobody
 *  reads is no reason to end. */
int signals_take(signals_found *found);

/** Sets the signals as this process found them, in a process that is about to execute. */
void signals_restore(const signals_found *found);

/** Ends by SIGINT: so a script that runs us ends with Ctrl-C as if its own child had died of it. */
void signals_end_as_interrupted(void);
