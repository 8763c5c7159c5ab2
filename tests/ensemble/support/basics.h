/* What the tests and the contenders that they start both need. */
#pragma once

#include <stdint.h>

/** No bound but "it never comes": any wait for a condition ends after this. */
#define PATIENCE_MS 30000

/** Ends the program, with a message, where the test itself cannot go on. */
void give_up(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/** CLOCK_MONOTONIC. */
int64_t now_ms(void);
/** The pause between two looks at a condition. */
void nap(void);
