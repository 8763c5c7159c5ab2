/*
 * One run of a scenario: makes the store, forks the servers, watches over them
 * and counts the result. Nothing of it is left when it returns: no process,
 * no file, no node in the lock's queue.
 */
#pragma once

#include <stdbool.h>

#include "../scenario.h"
#include "result.h"

struct run_options {
    const char *hosts;
    int timeout_s; /* after which a run is ended */
};

/** Blocks the signals that runs take from the queue. To be called once, before the first run. */
void run_block_signals(void);

/** Finds out, in a process of its own, whether the ensemble can be reached. 0: it can; else the
 *  program's exit status, and the reason has been printed. */
int run_check_hosts(const char *hosts);

/** Runs, and fills the result in any case. False: the user has interrupted it. */
bool run_scenario(const struct scenario *scenario, enum guard guard,
                  const struct run_options *options, struct result *result);
