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

/** The store: in real life a row of a database. Only the holder that has claimed it last, with the
 *  highest token, may write. */
typedef struct job_store {
    void *arg;
    /** Claims the row. False: a later holder has claimed it. Sets how many steps are done already.
     */
    bool (*claim)(void *arg, int64_t token, int *steps_done);
    /** Writes a step's result, which takes its time. False: a later holder has claimed the row. */
    bool (*write)(void *arg, int64_t token, int step);
} job_store;

typedef enum job_result {
    JOB_DONE,       /* we have done all steps that were left */
    JOB_NOT_OURS,   /* somebody else had the lock for as long as we waited, or had done all steps */
    JOB_LOST,       /* we noticed that we had lost the lock, and stopped */
    JOB_FENCED_OFF, /* the store noticed it before we did */
    JOB_FAILED      /* we could not ask for the lock */
} job_result;

enum { JOB_STEPS = 10 };

/** Runs the job on an open client. Waits at most `wait_ms` for the lock. */
job_result job_run(zkl_client *client, const job_store *store, int64_t wait_ms);
