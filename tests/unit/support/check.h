/* An assertion. CUnit notes it (unit.c), or a fuzz target ends there. */
#pragma once

#include <stdbool.h>

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

#define EXPECT(condition) unit_check((condition), __FILE__, __LINE__, "%s", #condition)

/** Records an assertion; the message is shown when it fails. */
__attribute__((format(printf, 4, 5))) void unit_check(bool good, const char *file, int line,
                                                      const char *format, ...);
