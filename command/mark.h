/*
 * The mark of `zklock once`: that a job has succeeded, and for when or what. It is a node beside
 * the contenders of the job's lock, <lock root>/<name>/done, of lines:
 *
 *     asked_ms=1795348800123        when the job that succeeded began to wait, by the servers'
 * clock token=4294967302              of its grant text=v1.2.3                   of --until-changed
 *
 * It is read under the lock, and written in a transaction that is guarded by it. A new one takes
 * the place of the old one by a delete and a create: contenders have the permissions for both.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <zklock/zklock.h>

#include "job.h"

/** Longest text of --until-changed, in bytes. */
#define MARK_TEXT_MAX 4096

typedef struct mark {
    char path[ZKL_TRANSACTION_PATH_MAX + 1];
    bool exists;
    int64_t asked_ms; /* of this run */
    int64_t last_ms;  /* of the last success; 0: there is none */
    int64_t token;
} mark;

/** Looks whether the job is due, under its lock. Returns ZKL_OK, or the status of what failed. */
int mark_look(mark *self, zkl_client *client, const job *what, const zkl_grant *grant,
              bool *is_due);

/** Writes that it has succeeded. ZKL_LOST: the lock was lost before, and nothing is marked. */
int mark_write(mark *self, zkl_client *client, const job *what, zkl_lock *lock);
