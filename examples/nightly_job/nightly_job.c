#include "nightly_job.h"

static bool may_go_on(const zkl_lock *lock) {
    int status = zkl_lock_check(lock, NULL);
    /* SUSPECT: disconnected. The store would fence us off, so it is safe to continue. */
    return status == ZKL_OK || status == ZKL_SUSPECT;
}

static job_result run_steps(const zkl_lock *lock, int64_t token, const job_store *store) {
    int step = 0;
    if (!store->claim(store->arg, token, &step)) {
        return JOB_FENCED_OFF;
    }
    if (step == JOB_STEPS) {
        return JOB_NOT_OURS; /* the one before us has done all of it */
    }
    for (; step < JOB_STEPS; step++) {
        if (!may_go_on(lock)) {
            return JOB_LOST;
        }
        if (!store->write(store->arg, token, step)) {
            return JOB_FENCED_OFF;
        }
    }
    return JOB_DONE;
}

static job_result run_locked(zkl_lock *lock, const job_store *store, int64_t wait_ms) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, wait_ms, &grant);
    if (status == ZKL_TIMEOUT || status == ZKL_BUSY) {
        return JOB_NOT_OURS;
    }
    if (status != ZKL_OK) {
        return JOB_FAILED;
    }
    return run_steps(lock, grant.token, store);
}

job_result job_run(zkl_client *client, const job_store *store, int64_t wait_ms) {
    zkl_lock *lock = NULL;
    if (zkl_lock_open(client, "nightly-job", NULL, &lock) != ZKL_OK) {
        return JOB_FAILED;
    }
    job_result result = run_locked(lock, store, wait_ms);
    zkl_lock_close(lock); /* releases */
    return result;
}
