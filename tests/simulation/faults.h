/* What goes wrong in a run, at the moments that its plan names. */
#ifndef ZKLOCK_TESTS_SIMULATION_FAULTS_H
#define ZKLOCK_TESTS_SIMULATION_FAULTS_H

#include "plan.h"
#include "testing/world.h"

/** The processes are the clients' own, by number. */
void faults_begin(const run_plan *plan, zkl_process *const *processes);
/** From here on nothing goes wrong, and all that had stopped goes on. */
void faults_heal(void);
void faults_end(void);

#endif
