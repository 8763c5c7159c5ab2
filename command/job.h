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
    int32_t permits; /* 0: no semaphore */
    zkl_naming naming;
    const char *candidate; /* NULL: not an election */
    int64_t wait_ms;       /* ZKL_FOREVER; 0 tries */
    int conflict_status;   /* the exit status if the lock was not acquired */
    int64_t max_hold_ms;   /* 0: no limit */
    int64_t min_hold_ms;   /* 0: the lock is released when the command has ended */
    int64_t grace_ms;      /* -1: as long as the lease allows, 5 s at most */
    on_lost on_lost;
    const char *on_lost_command;
    bool restart;
    int32_t restart_limit;    /* how often in a row; 0: no limit */
    int64_t restart_pause_ms; /* before the first restart */
    bool revocable;           /* the lock is given up if somebody asks for it */
    bool once;         /* it runs only if the mark says that it is due, and a success is marked */
    int64_t period_ms; /* of once; 0: a day, unless `until_changed` is set */
    const char *until_changed; /* of once; NULL: it is due once in each period */
    char owner[ZKL_OWNER_MAX +
               1]; /* the owner of this run, and of the runs that its command starts */
    bool quiet;
    bool verbose;
    bool holds_only; /* nothing is run: the lock is held until the standard input ends */
    char **command;  /* ends with NULL; the first is the name of what runs under the lock */
} job;
