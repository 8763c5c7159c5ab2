/* The log: one JSON object in each line of the standard output, written at once, or counted as lost
 * where nobody reads. Orders are followed by "order", and their places in queues by "node". */
#pragma once

#include <stdint.h>

/** Of all lines. */
void journal_begin(const char *instance);

/** event, then names and texts: journal("granted", "order", key, "node", node). */
#define journal(...) journal_write(__VA_ARGS__, (const char *)NULL)
void journal_write(const char *event, ...) __attribute__((sentinel));

/** A number as the text of a value. Static for each of four calls of a thread. */
const char *journal_number(int64_t number);
