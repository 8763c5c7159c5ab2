/* What goes wrong in a run, at the moments that its plan names. */
#pragma once

#include "plan.h"
#include "testing/world.h"

/** The processes are the clients' own, by number. */
void faults_begin(const run_plan *plan, zkl_process *const *processes);
/** From here on nothing goes wrong, and all that had stopped goes on. */
void faults_heal(void);
/** Whether a client's process is dead: until it is revived, so that what it owns can be freed. */
bool faults_has_died(size_t client);
/** False: none was dead. */
bool faults_revive_the_dead(void);
void faults_end(void);
