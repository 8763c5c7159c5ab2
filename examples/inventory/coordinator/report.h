/* The table at the end. */
#ifndef INVENTORY_REPORT_H
#define INVENTORY_REPORT_H

#include <stdio.h>

#include "result.h"

/** Prints a row for each result, and below it whatever is wrong. */
void report_print(FILE *out, const struct result *results, int count);

#endif
