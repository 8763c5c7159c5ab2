/* Runs a command under a lock: see channel.h. */
#pragma once

#include "job.h"

/** Returns what the command is to end with. */
int front_run(const job *what);
