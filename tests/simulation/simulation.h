/* One run: servers, processes, contenders and faults of a plan, and the oracle over all. */
#pragma once

#include "plan.h"

/** What happened in runs, for the reader to see that they were not idle. */
typedef struct simulation_counts {
    uint64_t runs;
    uint64_t grants;
    uint64_t sets; /* of sets, and of stripes, likewise: granted */
    uint64_t refusals;
    uint64_t losses;
    uint64_t contended; /* holders who were told that somebody waits behind them */
    uint64_t waits;     /* grants that did not come at once */
    uint64_t requests;
    uint64_t sessions;
    uint64_t virtual_seconds;
    uint64_t pauses;       /* of requests, before they try again */
    uint64_t equal_pauses; /* as long as the one before */
} simulation_counts;

void simulation_counts_add(simulation_counts *sum, const simulation_counts *one);
void simulation_counts_print(const simulation_counts *counts, FILE *file);

/** What is wrong with the runs taken together, or NULL. */
const char *simulation_counts_judge(const simulation_counts *counts);

/** Runs it. What went wrong (valid until the next run), or NULL. `counts` are added to; NULL is
 *  fine. */
const char *simulation_run(const run_plan *plan, simulation_counts *counts);
