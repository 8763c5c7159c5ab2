/* A job: what to run, and under which lock. */
#pragma once

#include "settings.h"

typedef enum on_lost {
    ON_LOST_TERM, /* SIGTERM, and SIGKILL after the grace */
    ON_LOST_KILL,
    ON_LOST_IGNORE,
    ON_LOST_COMMAND /* a line for the shell in place of SIGTERM, and SIGKILL after the grace */
} on_lost;

typedef struct job {
    const settings *settings;
    const char *resources[ZKL_LOCK_MEMBERS_MAX]; /* more than one: a set */
    size_t resource_count;
    zkl_mode mode;
    int32_t permits;       /* 0: no semaphore */
    const char *candidate; /* NULL: not an election */
    int64_t wait_ms;       /* ZKL_FOREVER; 0 tries */
    int conflict_status;   /* the exit status if the lock was not acquired */
    int64_t max_hold_ms;   /* 0: no limit */
    int64_t grace_ms;      /* -1: as long as the lease allows, 5 s at most */
    on_lost on_lost;
    const char *on_lost_command;
    bool restart;
    bool revocable;    /* the lock is given up if somebody asks for it */
    bool once;         /* it runs only if the mark says that it is due, and a success is marked */
    int64_t period_ms; /* of once; 0: a day, unless `until_changed` is set */
    const char *until_changed; /* of once; NULL: it is due once in each period */
    char owner[ZKL_OWNER_MAX +
               1]; /* the owner of this run, and of the runs that its command starts */
    bool quiet;
    bool verbose;
    char **command; /* ends with NULL */
} job;
