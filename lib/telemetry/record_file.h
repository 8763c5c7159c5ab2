/*
 * Records as files: the one that the application asks for, and the one that a broken assertion
 * leaves. Assertions are about the library itself, and always on: a lock library whose own state
 * has gone wrong must stop, before it grants what it should not.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "telemetry/recorder.h"

/**
 * Writes a file as a whole: a new one beside it, with the rights of its owner
 * only, is brought to the disk and then renamed. False: nothing is left of it,
 * what was at `path` is untouched, and errno says why. `path`: at most
 * ZKL_FILE_NAME_MAX bytes. Without the client's mutex; blocks for the disk.
 */
bool zkl_record_file_write(const char *path, const zkl_record_snapshot *snapshot);

/**
 * Writes the record of a broken assertion, without allocating anything, to
 * <file prefix><clock>.record, whose name is stored in `path`. False: it could
 * not. With the client's mutex held.
 */
bool zkl_record_file_dump(const zkl_recorder *recorder, char *path, size_t path_size);

/** With the client's mutex held, whose recorder it is; NULL: there is none. */
#define zkl_assert(recorder, condition)                                                            \
    ((condition) ? (void)0 : zkl_assertion_broken((recorder), #condition, __FILE__, __LINE__))

/** Writes the client's record to a file, says so on stderr in one line, and aborts; if it cannot
 *  write, SIGALRM ends the process, 5 s later. Of several threads the first does so, and the others
 *  wait for the end. Allocates and locks nothing, and is content with a small stack. */
_Noreturn void zkl_assertion_broken(const zkl_recorder *recorder, const char *condition,
                                    const char *source, int line);
