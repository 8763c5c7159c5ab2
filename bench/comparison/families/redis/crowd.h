/*
 * Connections to several Redis servers that are asked at once. It is not part of any lock: it sends
 * a command to all, and counts the replies.
 */
#pragma once

#include <stdint.h>

/** To HOST:PORT,HOST:PORT,…, which need not answer yet. Returns how many there are. A command waits
 * for its replies, and for connections, so long. */
int crowd_open(const char *addresses, int64_t patience_ms);

/** Sends the same to all, in the format of hiredis. Returns how many have replied without an error;
 * how many with OK goes to `ok` (NULL is fine). */
int crowd_ask(int *ok, const char *format, ...);
