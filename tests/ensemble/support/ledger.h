/*
 * A file that only exclusion keeps right: one number, kept twice. A writer adds
 * one to both, at two times; whoever overlaps with a writer finds two numbers
 * that differ, or change under his eyes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** Makes a new one and writes its file name. */
void ledger_make(char path[64]);
void ledger_remove(const char *path);

/** For those who may be inside together: how many are, with this one. A ledger is used in this way,
 * or in the one below. */
int64_t ledger_enter(const char *path);
void ledger_leave(const char *path);
/** The most that were inside together. */
int64_t ledger_most_inside(const char *path);

/** Each is false where a writer was there as well. */
bool ledger_add_one(const char *path);
bool ledger_look(const char *path, int64_t *number);
