/*
 * A task of the simulated application whose handle another task closes in the middle of its calls,
 * whichever they are: close must return at once, whatever the servers do, and the call end as its
 * header says. What is left is for the oracle of nodes.
 */
#pragma once

#include "plan.h"

/** At the beginning of a run. */
void closer_begin(const run_plan *plan);
/** Starts it, if it is the client's, which is open, and stays so until it is done or the client
 *  closes. */
void closer_start(unsigned client, zkl_client *handle, const bool *client_closes);
/** Whether it is the client's. */
bool closer_is_of(unsigned client);
/** Whether it is done, or another client's. */
bool closer_is_done(unsigned client);
void closer_wait(unsigned client, int64_t until_us);
void closer_name_the_stuck(void);
