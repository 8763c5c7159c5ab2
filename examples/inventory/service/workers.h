/* Threads that do one job after the other, each with a connection to the database. */
#pragma once

#include "database.h"

/** Embed it. */
typedef struct job {
    /* In a thread of the pool. */
    void (*run)(struct job *self, database *connection);
    struct job *next;
} job;

typedef struct workers workers;

/** Each thread tries until it reaches the database and its tables; it logs why not. NULL: no
 *  memory, or no thread. */
workers *workers_start(const char *database_at, int count);
/** Whether one of them has reached the database: until then no jobs may come. */
bool workers_are_ready(const workers *self);
/** In the order in which they come; those that are urgent (whoever holds a lock keeps others
 * waiting) before all others. Any thread. False: they have been stopped, and the job stays the
 * caller's. */
bool workers_add(workers *self, job *one, bool is_urgent);
/** Returns when all jobs are done. Those that have not begun do without the database: its calls
 * fail (database_give_up). */
void workers_stop(workers *self);
void workers_free(workers *self);
