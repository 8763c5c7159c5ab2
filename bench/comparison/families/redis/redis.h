/*
 * A connection to one Redis server. It is not part of any lock: it sends a command, and is opened
 * anew by the next one after it has failed.
 */
#pragma once

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct redis redis;

/** To HOST:PORT, a server that need not answer yet. A command waits for its reply so long. */
redis *redis_open(const char *address, int64_t patience_ms);

/** NULL: no answer. The caller frees it (freeReplyObject). The format is that of hiredis. */
redisReply *redis_command(redis *self, const char *format, ...);

/** The integer of the reply; of nil, 0; REDIS_NO_ANSWER if there is none, or an error. */
int64_t redis_number(redis *self, const char *format, ...);

/** Whether the reply is OK; of nil false. `answered` (NULL is fine): whether there was a reply. */
bool redis_is_ok(redis *self, bool *answered, const char *format, ...);

/** Copies the reply's text, "" of nil; false: no answer, or an error. */
bool redis_text(redis *self, char *text, int size, const char *format, ...);

enum { REDIS_NO_ANSWER = -1000 };

/** Waits up to `wait_ms` for what the server sends by itself (to a subscriber). NULL: nothing has
 * come. */
redisReply *redis_next(redis *self, int64_t wait_ms);

/** Opens each of HOST:PORT,HOST:PORT,… and returns how many there are, `most` at most. */
int redis_open_all(redis **all, int most, const char *addresses, int64_t patience_ms);

enum { REDIS_RANDOM_SIZE = 33 };

/** Draws a text that nobody else draws. */
void redis_random(char text[REDIS_RANDOM_SIZE]);
