/* The log of --log: what the command says, and what the library logs, for the journal, for syslog,
 * or for a file. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <zklock/zklock.h>

/** Begins to log. `where`: "journal", "syslog", "none", or the path of a file, to which each record
 *  is appended as a line of JSON; it is opened for each, so it may be moved away at any time.
 *  False: it cannot be written there, and errno says why. */
bool log_begin(const char *where);

/** Tells whether there is a log. */
bool log_is_on(void);

/** Logs what `say` has just said. Nothing without log_begin. */
void log_said(const char *text);

/** Logs that the command has begun to run, or has ended, under a lock. status: -1 as it begins. */
void log_child(const char *event, const char *resource, int64_t token, const char *command,
               int status);

/** Logs a record of the library: a zkl_log_callback. */
void log_record(void *arg, const zkl_log_record *record);
