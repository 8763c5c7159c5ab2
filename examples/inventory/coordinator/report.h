/* The table at the end. */
#pragma once

#include <stdio.h>

#include "result.h"

/** Prints a row for each result, and below it whatever is wrong. */
void report_print(FILE *out, const struct result *results, int count);
