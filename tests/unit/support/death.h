/* Functions that end the program by abort, and what they say before. */
#pragma once

#include "support/unit.h"

/** Calls a function in a child process, which must end by abort, with these words on stderr. */
#define EXPECT_DEATH(function, words) death_expect((function), (words), __FILE__, __LINE__)
void death_expect(void (*function)(void), const char *words, const char *file, int line);
