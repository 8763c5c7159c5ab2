/*
 * The mark of `zklock once`: that a job has succeeded, and for which period or text. It is a node
 * beside the contenders of the job's lock, <lock root>/<name>/done, of lines:
 *
 *     asked_ms=1795348800123    when the job began to wait, by the servers' clock
 *     token=4294967302          the token of its grant
 *     text=v1.2.3               the text of --until-changed
 *     period_ms=86400000        or else the period
 *     host=web-7                where it ran
 *     took_ms=182000            for how long
 *     ended_ms=1795348983456    when it succeeded, if the node is of a later failure
 *     failed_host=web-3         the last failure since then; the node was made when it ended
 *     failed_took_ms=2000
 *     failed_status=2           what it ended with
 *
 * If the job has never succeeded only the lines of its failure are there. The mark is read under
 * the lock, and written in a transaction that is guarded by the lock. A delete and a create in that
 * transaction replace an old mark: contenders have the permissions for both.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <zklock/zklock.h>

#include "job.h"

/** Longest text of --until-changed, in bytes. */
#define MARK_TEXT_MAX 4096

enum { MARK_HOST_SIZE = 256 };

/** One run of the job. */
typedef struct mark_run {
    int64_t ended_ms; /* by the servers' clock; 0: there was no such run */
    int64_t took_ms;  /* -1: not known */
    int status;       /* what it ended with */
    char host[MARK_HOST_SIZE];
} mark_run;

/** What a mark says. */
typedef struct mark_content {
    bool exists;
    int64_t asked_ms; /* when the last success had begun to wait; 0: there is none */
    int64_t token;
    int64_t period_ms; /* 0: not known */
    bool has_text;
    char text[MARK_TEXT_MAX + 1];
    mark_run success;
    mark_run failure; /* since the last success */
} mark_content;

/** The mark of a run that has the job's lock. */
typedef struct mark {
    char path[ZKL_TRANSACTION_PATH_MAX + 1];
    mark_content last;
    int64_t asked_ms; /* when this run began to wait, by the servers' clock */
    int64_t token;
} mark;

/** Writes the path of a job's mark, below the chroot. */
void mark_find_path(char path[ZKL_TRANSACTION_PATH_MAX + 1], zkl_client *client, const char *name);

/** Reads a mark. If there is none it is ZKL_OK, and content->exists is false. Returns ZKL_OK, or
 *  the status of what failed. */
int mark_read(mark_content *content, zkl_client *client, const char *path);

/** Deletes a mark that exists, in a transaction that is guarded by the job's lock. Returns the
 *  transaction's status. */
int mark_delete(const char *path, zkl_lock *lock);

/** Returns when the job is due again, by the servers' clock; 0: it is not known, or not a matter of
 *  time. */
int64_t mark_due_ms(const mark_content *content);

/** Looks whether the job is due. The caller holds its lock. Returns ZKL_OK, or the status of what
 *  failed. */
int mark_look(mark *self, zkl_client *client, const job *what, const zkl_grant *grant,
              bool *is_due);

/** Writes that the job has succeeded. ZKL_LOST: the lock was lost before, and nothing is marked. */
int mark_write(mark *self, zkl_client *client, const job *what, zkl_lock *lock, int64_t took_ms);

/** Writes that the job has failed, beside its last success. It is tried once: nothing depends on
 *  it. */
void mark_write_failure(const mark *self, zkl_lock *lock, int exit_status, int64_t took_ms);
