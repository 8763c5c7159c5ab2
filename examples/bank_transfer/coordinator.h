/* Starts the processes, kills some while they hold locks, and starts those again. */
#pragma once

#include <stdint.h>

#include "board.h"

struct course {
    int kills;
    int64_t took_ms;
    bool all_ended; /* all processes have ended by themselves within the bound */
};

/** Runs all processes to the end. No client may be open: a handle does not survive fork(). */
void coordinator_run(const struct bank *bank, struct board *board, struct course *course);
