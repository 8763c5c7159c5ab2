/* Records as files. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "telemetry/recorder.h"

/**
 * Writes a file as a whole: a new one beside it, with the rights of its owner
 * only, is brought to the disk and then renamed. False: nothing is left of it,
 * what was at `path` is untouched, and errno says why. Without the client's
 * mutex; blocks for the disk.
 */
bool zkl_record_file_write(const char *path, const char *bytes, size_t length);

/**
 * Writes the record of a broken assertion, without allocating anything, to
 * <file prefix><clock>.record, whose name is stored in `path`. False: it could
 * not. With the client's mutex held.
 */
bool zkl_record_file_dump(const zkl_recorder *recorder, char *path, size_t path_size);
