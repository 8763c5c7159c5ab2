/* Somebody with a client of its own who looks at queues and removes idle parents, again and again,
 * while others contend and things go wrong. */
#ifndef ZKLOCK_TESTS_SIMULATION_ADMINISTRATOR_H
#define ZKLOCK_TESTS_SIMULATION_ADMINISTRATOR_H

#include "plan.h"

/** In one of four runs, but for those in which each request is counted. */
void administrator_begin(const run_plan *plan);
/** Comes to its end. */
void administrator_stop(void);
bool administrator_is_done(void);

#endif
