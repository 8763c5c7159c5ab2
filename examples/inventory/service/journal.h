/* The log: one JSON object in each line of the standard output, written at once, or counted as lost
 * if nobody reads. Follow an order by "order", and its places in queues by "node". */
#pragma once

#include <stdint.h>

/** Sets the instance that each line names. The text must stay valid. */
void journal_begin(const char *instance);

/** Logs an event, with names and texts: journal("granted", "order", key, "node", node). */
#define journal(...) journal_write(__VA_ARGS__, (const char *)NULL)
void journal_write(const char *event, ...) __attribute__((sentinel));

/** Returns a number as a text, which is valid until this thread's fourth call after this one. */
const char *journal_number(int64_t number);
