/* What happens in a run, a line each, where it is asked for. */
#pragma once

#include <stdio.h>

/** Where the lines of all following runs go; NULL: nowhere. */
void trace_to(FILE *file);

/** What a contender calls, or is told. */
__attribute__((format(printf, 2, 3))) void trace_call(unsigned contender, const char *format, ...);
/** Anything else: "who" in a few letters. */
__attribute__((format(printf, 2, 3))) void trace_event(const char *who, const char *format, ...);
