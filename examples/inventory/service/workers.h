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

/** Waits until the database can be reached, and tables are there; logs why not. NULL: no memory, or
 *  no thread. `stop` ends the waiting. */
workers *workers_start(const char *database_at, int count, const volatile int *stop);
/** In the order in which they come. Any thread. */
void workers_add(workers *self, job *one);
/** When all jobs are done. No more may come. */
void workers_stop(workers *self);
