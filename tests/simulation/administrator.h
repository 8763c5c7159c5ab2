/*
 * Somebody with a client of its own who looks at queues, looks for deadlocks and removes idle
 * parents, again and again, while others contend and things go wrong; in some runs also breaks
 * nodes, of holders and of those who wait, and asks for what they hold.
 */
#pragma once

#include "plan.h"

/** Where the plan has one, but for runs in which each request is counted. */
void administrator_begin(const run_plan *plan);
/** Comes to its end. */
void administrator_stop(void);
bool administrator_is_done(void);
