/*
 * Assertions about the library itself. They are always on: a lock library whose
 * own state has gone wrong must stop, before it grants what it should not.
 */
#pragma once

#include "telemetry/recorder.h"

/** With the client's mutex held, whose recorder it is; NULL: there is none. */
#define zkl_assert(recorder, condition)                                                            \
    ((condition) ? (void)0 : zkl_assertion_broken((recorder), #condition, __FILE__, __LINE__))

/** Writes the client's record to a file, says so on stderr in one line, and
 *  aborts; if it cannot write, SIGALRM ends the process, 5 s later. Allocates and locks
 *  nothing. */
_Noreturn void zkl_assertion_broken(const zkl_recorder *recorder, const char *condition,
                                    const char *file, int line);
