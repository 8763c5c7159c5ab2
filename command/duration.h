/* Durations as people write and read them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** The longest duration that can be given: a hundred days. */
#define DURATION_MAX_MS 8640000000

enum { DURATION_TEXT_SIZE = 32 };

/**
 * Reads a duration: a number with an optional fraction and an optional unit, ms, s, m, h, d or w.
 * Without a unit it is in seconds. Fractions of milliseconds are rounded up, so a positive duration
 * never becomes 0. False: it is none, or longer than DURATION_MAX_MS.
 */
bool duration_read(const char *text, int64_t *ms);

/** Writes a duration as people say it: "850 ms", "2.6 s", "12 min", "3.5 h", "4 days". */
void duration_write(char text[DURATION_TEXT_SIZE], int64_t ms);
