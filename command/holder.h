/* The process that has the session: acquires, keeps watch over the lock, and releases it. */
#pragma once

#include <sys/types.h>

#include "channel.h"
#include "job.h"

/** Acquires, holds and releases the lock of a job, in a process of its own, a child of `front`.
 *  Returns when everything is released. */
void holder_run(const job *what, const channel *link, pid_t front);
