/* Tells on stderr how a run goes: one line that changes on a terminal, else a line now and then. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "result.h"

struct progress {
    const struct run_plan *plan;
    bool on_terminal;
    int64_t begun_ns;
    int64_t shown_ns;
};

void progress_begin(struct progress *progress, const struct run_plan *plan);

/** Shows how far the run is, if it is time to. */
void progress_show(struct progress *progress);

/** Prints one event of the run, on a line of its own. */
void progress_note(struct progress *progress, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** Prints the result. */
void progress_end(struct progress *progress, const struct result *result);
