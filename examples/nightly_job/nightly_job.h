/*
 * A nightly job that must run once: many machines start it, the one that gets the lock adds up the
 * day's sales, step by step, and writes into a store that all of them share.
 *
 * It is written against zklock/zklock.h only. Its test, nightly_job_test.c, links
 * zklock::testing in place of zklock::zklock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <zklock/zklock.h>

/** The store; in real life a row of a database. Only the holder that has claimed it last, with
 *  the highest token, may write. */
typedef struct job_store {
    void *arg;
    /** Claims the row. False: a later holder has. Sets how many steps are done already. */
    bool (*claim)(void *arg, int64_t token, int *steps_done);
    /** Writes a step's result, which takes its time. False: a later holder has claimed the row. */
    bool (*write)(void *arg, int64_t token, int step);
} job_store;

typedef enum job_result {
    JOB_DONE,       /* all steps, by us */
    JOB_NOT_OURS,   /* somebody else had the lock for as long as we would wait, or is done */
    JOB_LOST,       /* we noticed that we had lost the lock, and stopped */
    JOB_FENCED_OFF, /* the store noticed before we did */
    JOB_FAILED      /* the lock could not be asked for */
} job_result;

enum { JOB_STEPS = 10 };

/** Runs it, on a client that is open. Waits for the lock for `wait_ms` at most. */
job_result job_run(zkl_client *client, const job_store *store, int64_t wait_ms);
