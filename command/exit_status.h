/* The command's exit statuses, unless it ends with its child's: those of flock(1), sysexits.h and a
 * shell. */
#pragma once

enum {
    EXIT_DONE = 0,
    EXIT_NOT_ACQUIRED = 1,   /* the default of --conflict-exit-code */
    EXIT_USAGE = 64,         /* EX_USAGE */
    EXIT_NO_CONNECTION = 69, /* EX_UNAVAILABLE */
    EXIT_INTERNAL = 70,      /* EX_SOFTWARE: what the servers, or this machine, refuse */
    EXIT_LOCK_LOST = 75,     /* EX_TEMPFAIL */
    EXIT_NO_PERMISSION = 77, /* EX_NOPERM */
    EXIT_CANNOT_EXECUTE = 126,
    EXIT_NOT_FOUND = 127,
    EXIT_BY_SIGNAL = 128, /* plus the number of the signal */
    EXIT_STATUS_MAX = 255
};

/** Returns the exit status for a zkl_status, except for those about the queue of a lock. */
int exit_status_of(int status);
