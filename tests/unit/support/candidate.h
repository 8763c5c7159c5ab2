/* A client of an application with one candidate, in the simulation of zklock/testing.h; it writes
 * down what its callbacks are told: "elected ", "lost(the reason) ", "campaign(the status) ",
 * "resigned(the status) ". */
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
    zkl_election *election;         /* NULL: closed */
    int64_t term;                   /* of the latest campaign or elected callback */
    int64_t lost_term;              /* of the latest lost callback */
    int status;                     /* of its latest campaign */
    void (*react)(candidate *self); /* inside of each callback, once it is written down */
    const candidate *other;         /* for it */
    int said;                       /* likewise */
    int64_t timeout_ms;             /* of the task of candidate_start */
    char heard[CANDIDATE_HEARD_SIZE];
};

/** In a simulation that has begun; the candidate's text is `text`. */
void candidate_open(candidate *self, const char *text, zkl_dispatch dispatch, bool lease);
/** Both handles. */
void candidate_close(candidate *self);
/** The election alone. */
void candidate_leave(candidate *self);

int candidate_campaign(candidate *self, int64_t timeout_ms);
/** As a task. */
zkl_testing_task *candidate_start(candidate *self, int64_t timeout_ms);
/** Asynchronously; it is accepted. */
void candidate_begin(candidate *self, int64_t timeout_ms);
/** Likewise; it writes down "resigned(the status) ". */
void candidate_resign(candidate *self, int64_t timeout_ms);

int candidate_check(const candidate *self);
size_t candidate_dispatch(candidate *self);

/** Compares what was written down since the last time. */
#define CANDIDATE_HEARD(self, expected)                                                            \
    do {                                                                                           \
        EXPECT_TEXT((self)->heard, (expected));                                                    \
        (self)->heard[0] = '\0';                                                                   \
    } while (0)
