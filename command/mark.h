/*
 * The mark of `zklock once`: that a job has succeeded, and for which period or text. It is a node
 * beside the contenders of the job's lock, <lock root>/<name>/done, of lines:
 *
 *     asked_ms=1795348800123    when the job began to wait, by the servers' clock
 *     token=4294967302          the token of its grant
 *     text=v1.2.3               the text of --until-changed
 *
 * It is read under the lock, and written in a transaction that is guarded by the lock. A delete and
 * a create in that transaction replace an old mark: contenders have the permissions for both.
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
    int64_t asked_ms; /* when this run began to wait, by the servers' clock */
    int64_t last_ms;  /* when the last success had begun to wait; 0: there is none */
    int64_t token;
} mark;

/** Looks whether the job is due. The caller holds its lock. Returns ZKL_OK, or the status of what
 *  failed. */
int mark_look(mark *self, zkl_client *client, const job *what, const zkl_grant *grant,
              bool *is_due);

/** Writes that the job has succeeded. ZKL_LOST: the lock was lost before, and nothing is marked. */
int mark_write(mark *self, zkl_client *client, const job *what, zkl_lock *lock);
