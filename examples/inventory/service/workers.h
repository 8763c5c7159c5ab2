/* Threads that do jobs, one after the other, each with its own connection to the database. */
#pragma once

#include "database.h"

/** Embed it. */
typedef struct job {
    /* Runs in a thread of the pool. */
    void (*run)(struct job *self, database *connection);
    struct job *next;
} job;

typedef struct workers workers;

/** Starts the threads. Each tries until it reaches the database and its tables, and logs why it
 *  does not. NULL: no memory, or no thread. */
workers *workers_start(const char *database_at, int count);
/** Tells whether one of them has reached the database. No jobs may be added before. */
bool workers_are_ready(const workers *self);
/** Adds a job, from any thread. Jobs are done in the order in which they come, urgent ones before
 *  all others: a holder of a lock keeps others waiting. False: the workers have been stopped, and
 *  the job stays the caller's. */
bool workers_add(workers *self, job *one, bool is_urgent);
/** Stops the threads, and returns when all jobs are done. For those that have not begun, each call
 *  of the database fails (database_give_up). */
void workers_stop(workers *self);
/** Frees workers that have been stopped. */
void workers_free(workers *self);
