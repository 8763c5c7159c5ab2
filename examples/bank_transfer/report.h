/* What has come of it, counted from the database and the board, and whether that is right. */
#ifndef BANK_REPORT_H
#define BANK_REPORT_H

#include "board.h"
#include "coordinator.h"

/** Prints it. Whether all that must hold has held. */
bool report(const struct bank *bank, struct board *board, const struct course *course);

#endif
