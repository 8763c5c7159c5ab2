/*
 * The threads of the simulated application: each uses one handle, turn after
 * turn, through the public API only, and tells the oracle what it was told.
 */
#pragma once

#include "plan.h"
#include "testing/world.h"

typedef struct contender {
    const plan_contender *plan;
    const run_plan *run;
    unsigned number;
    zkl_client *client;
    zkl_process *process;
    zkl_lock *lock;
    const bool *client_closes; /* or is closed: from then on it opens no handle */
    bool done;
    int64_t acquire_began_ms; /* on its own clock; -1: it is not in one */
    const plan_turn *turn;    /* the one that it is in */
    bool called_closed;       /* its client was, when it made its latest call */
    bool lends_a_hand;        /* it dispatches callbacks, though there is a task for it */
    bool is_asked_to_leave;
    bool closer_runs;
    bool was_closed; /* by that task */
} contender;

/** The task of one contender; `arg` is it. Its client is open, and stays so until it is done. */
void *contender_run(void *arg);
