/* What people read about a queue. */
#pragma once

#include <stddef.h>
#include <zklock/administration.h>

#include "duration.h"

enum { QUEUE_TEXT_SIZE = 1024 };

/** Writes "behind 3, held by web-7 pid 4211 for 12 min": what is before the contender of our
 *  session, or, if it has none, before one that comes now. Empty if nothing is. session_id: 0 if we
 *  have no session. */
void queue_text_position(char text[QUEUE_TEXT_SIZE], const zkl_queue *queue, int64_t session_id);

/** Writes "web-7 pid 4211 (nightly)", as far as its node's data say. */
void queue_text_who(char text[QUEUE_TEXT_SIZE], const zkl_contender *one);

/** Writes "12 min", or "?" if we may not read its node. */
void queue_text_age(char text[DURATION_TEXT_SIZE], const zkl_contender *one);
