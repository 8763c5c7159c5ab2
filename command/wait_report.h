/* What a user reads while a command waits for its lock, and if it does not get it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "job.h"
#include "queue_text.h"

typedef struct wait_report {
    const job *job;
    zkl_client *client;
    int64_t next_ms;
    char last[QUEUE_TEXT_SIZE]; /* what it has said last */
} wait_report;

/** Tells whether somebody reads what the command says while it waits: on a terminal; elsewhere it
 *  would be mail from cron. If nobody does we need not look at the queue, which is not cheap if it
 *  is long. */
bool wait_report_is_read(const job *what);

/** Begins: the command begins to wait. */
void wait_report_begin(wait_report *self, const job *what, zkl_client *client);

/** Says what the command waits for, if that is due, and has changed. */
void wait_report_say(wait_report *self);

/** Says that the lock was not acquired, and why: what the command waited for if that is
 *  `by_others`, or `status` and the message of its call. */
void wait_report_say_failure(const wait_report *self, bool by_others, int status, const char *why);
