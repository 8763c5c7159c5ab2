/*
 * Why servers cannot be connected to: libzookeeper says so in lines of its log, and
 * nowhere else. It gives them no context, so they are kept for the whole process, by
 * the address that they name.
 */
#pragma once

#include <stddef.h>

/** Takes a line of libzookeeper's log; most are about something else. Any thread. */
void zkl_failures_take_line(const char *line);

/** The latest failure of one of "address:port,...", as "127.0.0.1:2181: Connection refused"; empty
 *  where none is known. */
void zkl_failures_find(const char *addresses, char *text, size_t size);

/** Forgets those of "address:port,..." that there were before. */
void zkl_failures_forget(const char *addresses);
