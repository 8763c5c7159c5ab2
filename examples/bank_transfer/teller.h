/* A process of the bank: one ZooKeeper session, and threads that transfer. */
#pragma once

#include "board.h"

/** Runs process `index`, and returns its exit status. If it was killed before, it continues. */
int teller_run(const struct bank *bank, struct board *board, int index);
