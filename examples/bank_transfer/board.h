/*
 * The memory that all processes share: what has become of each transfer, and who holds locks. It
 * holds no lock of its own, which a killed process could keep.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

enum {
    PROCESSES_MAX = 16,
    THREADS_MAX = 16,
    TRANSFERS_PER_THREAD_MAX = 200,
    TRANSFERS_MAX = PROCESSES_MAX * THREADS_MAX * TRANSFERS_PER_THREAD_MAX,
    ACCOUNTS = 4,
    FIRST_BALANCE = 1000000
};

/** The task; the same for all processes. */
struct bank {
    const char *hosts;
    const char *database;
    char resources[ACCOUNTS][64]; /* to be locked, one for each account */
    int processes;
    int threads;
    int transfers; /* of each thread */
    int kills;
    int timeout_s;
    bool one_after_the_other; /* two locks in the caller's order, rather than a set */
};

enum outcome {
    OUTCOME_NONE,     /* not begun */
    OUTCOME_UNDERWAY, /* by a process that lives, or was killed meanwhile */
    OUTCOME_FINISHED,
    OUTCOME_TIMED_OUT, /* nothing was written */
    OUTCOME_KILLED     /* its process was killed; written, or not */
};

struct board {
    atomic_int outcomes[TRANSFERS_MAX];
    atomic_int decided;                /* how many transfers have come to an end */
    atomic_int holders[PROCESSES_MAX]; /* threads of this process that hold both accounts */
    atomic_int patient_timed_out;      /* transfers that had plenty of time */
    atomic_int fenced_off;             /* writes that the store refused; they are done again */
    atomic_int failures;               /* of calls that must not fail; each is printed to stderr */
};

static inline int bank_transfers(const struct bank *bank) {
    return bank->processes * bank->threads * bank->transfers;
}

/** In memory that all children share. NULL: there is no memory. */
struct board *board_make(void);

/** Prints a failure to stderr, and counts it. */
__attribute__((format(printf, 2, 3))) void board_fail(struct board *board, const char *format, ...);
