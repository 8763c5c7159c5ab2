/*
 * How long requests pause before they try again. One run says little about
 * chance: what is seen is counted over all runs, and judged at their end.
 */
#pragma once

#include "simulation.h"
#include "testing/world.h"
#include "zklock/zklock.h"

void retries_begin(void);
/** To be called before each thing that is given to a client: looks for pauses that have begun
 *  since the last call, with what was given then. */
void retries_look(unsigned number, const zkl_client *client, const zkl_process *process);
void retries_count(simulation_counts *counts);

/** What is wrong with the retries of many runs, or NULL. */
const char *retries_judge(const simulation_counts *counts);
