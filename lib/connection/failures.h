/*
 * Why connections to servers fail. libzookeeper tells that in its log only, and its log lines do
 * not name a handle (lz-reasons). So failures are kept for the whole process, by the address in the
 * line.
 */
#pragma once

#include <stddef.h>

/** Takes any line of libzookeeper's log, on any thread; most tell of no failure. */
void zkl_failures_take_line(const char *line);

/** A reason that is better than what the log says of it, before or after. */
void zkl_failures_note(const char *address, const char *why);

/** The latest failure of one of "address:port,...", as "127.0.0.1:2181: Connection refused"; empty
 *  where none is known. */
void zkl_failures_find(const char *addresses, char *text, size_t size);

/** Forgets the failures of "address:port,...". */
void zkl_failures_forget(const char *addresses);
