/* What the benchmark's programs in C share. */
#pragma once

#include <stdint.h>

/** Ends the program with a message. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/** Never NULL; zeroed. */
void *allocate(uint64_t count, uint64_t size);
/** Of the monotonic clock. */
int64_t now_ns(void);
/** A millisecond. */
void nap(void);
