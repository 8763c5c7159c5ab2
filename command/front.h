/* Runs a command under a lock: see channel.h. */
#pragma once

#include "job.h"

/** Runs the command of a job. Returns the exit status. */
int front_run(const job *what);
