/*
 * Real traces are held to the recipe: where ZKLOCK_RECORDS names a directory,
 * each client of a test program, and of the contenders that it starts, writes
 * its complete record there, and at the end of the program all of them are
 * played back.
 */
#pragma once

#include <stdbool.h>

/** In a test program, before any client is opened: takes a directory of its own
 *  below, for itself and its contenders. */
void records_begin(const char *program);

/** In a contender: writes to the directory of the program that started it. */
void records_join(void);

/** Plays all of them back, and says on stdout how many there were. False: one
 *  differs; it is named. They are kept then, and where a test has failed: to see
 *  what led to that. */
bool records_check(bool tests_passed);
