/* A client of an application with one candidate, in the simulation of zklock/testing.h; it notes
 * each of its callbacks: "elected ", "lost(the reason) ", "campaign(the status) ", "resigned(the
 * status) ". */
#pragma once

#include "support/unit.h"
#include "zklock/election.h"
#include "zklock/testing.h"

enum {
    CANDIDATE_TIMEOUT_MS = 10000, /* of its session */
    CANDIDATE_TICK_MS = 2000,     /* of the servers */
    CANDIDATE_SOON_MS = 200,
    CANDIDATE_HEARD_SIZE = 512
};

#define CANDIDATE_RESOURCE "/locks/service"

typedef struct candidate candidate;

struct candidate {
    zkl_client *client;
    zkl_election *election; /* NULL: closed */
    int64_t term;           /* that of the latest campaign or elected callback */
    int64_t lost_term;      /* that of the latest lost callback */
    int status;             /* that of its latest campaign */
    void (*react)(
        candidate *self);   /* called in each callback, once it is noted; NULL: nothing is */
    const candidate *other; /* for `react` to use */
    int said;               /* of a call that `react` has made */
    int64_t timeout_ms;     /* that of the task of candidate_start */
    char heard[CANDIDATE_HEARD_SIZE];
};

/** Opens a client and an election, in a simulation that has begun. text: the candidate's. */
void candidate_open(candidate *self, const char *text, zkl_dispatch dispatch, bool lease);
/** Closes both handles. */
void candidate_close(candidate *self);
/** Closes only the election. */
void candidate_leave(candidate *self);

int candidate_campaign(candidate *self, int64_t timeout_ms);
/** Campaigns in a task. */
zkl_testing_task *candidate_start(candidate *self, int64_t timeout_ms);
/** Campaigns asynchronously; the call must be accepted. */
void candidate_begin(candidate *self, int64_t timeout_ms);
/** Resigns asynchronously; the call must be accepted. Its callback notes "resigned(the status) ".
 */
void candidate_resign(candidate *self, int64_t timeout_ms);

int candidate_check(const candidate *self);
size_t candidate_dispatch(candidate *self);

/** Compares what was noted since the last time. */
#define CANDIDATE_HEARD(self, expected)                                                            \
    do {                                                                                           \
        EXPECT_TEXT((self)->heard, (expected));                                                    \
        (self)->heard[0] = '\0';                                                                   \
    } while (0)
