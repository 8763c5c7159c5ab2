/* Counts what has become of the transfers, from the database and the board, and judges it. */
#pragma once

#include "board.h"
#include "coordinator.h"

/** Prints the report. Returns whether every rule was kept. */
bool report(const struct bank *bank, struct board *board, const struct course *course);
