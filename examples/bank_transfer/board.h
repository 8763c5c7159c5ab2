/*
 * The memory that all processes share: what has become of each transfer, and which processes hold
 * locks. It has no lock of its own, which a killed process could keep.
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

/** The task, which is the same for all processes. */
struct bank {
    const char *hosts;
    const char *database;
    char resources[ACCOUNTS][64]; /* one for each account */
    int processes;
    int threads;
    int transfers; /* how many each thread makes */
    int kills;
    int timeout_s;
    bool one_after_the_other; /* a transfer acquires two locks in the caller's order, rather than a
                                 set */
};

enum outcome {
    OUTCOME_NONE,     /* not begun */
    OUTCOME_UNDERWAY, /* its process works on it, or was killed meanwhile */
    OUTCOME_FINISHED,
    OUTCOME_TIMED_OUT, /* nothing was written */
    OUTCOME_KILLED     /* its process was killed: it may have been written */
};

struct board {
    atomic_int outcomes[TRANSFERS_MAX];
    atomic_int decided;                /* how many transfers have ended */
    atomic_int holders[PROCESSES_MAX]; /* how many threads of this process hold both accounts */
    atomic_int patient_timed_out;      /* timed-out transfers that had plenty of time */
    atomic_int fenced_off;             /* writes that the store refused; they are done again */
    atomic_int failures;               /* of calls that must not fail; each is printed to stderr */
};

static inline int bank_transfers(const struct bank *bank) {
    return bank->processes * bank->threads * bank->transfers;
}

/** Makes a board that all children share. NULL: out of memory. */
struct board *board_make(void);

/** Prints a failure to stderr, and counts it. */
__attribute__((format(printf, 2, 3))) void board_fail(struct board *board, const char *format, ...);
