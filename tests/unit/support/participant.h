/* A client of an application with one lock handle, in the simulation of zklock/testing.h; it notes
 * each of its state callbacks: "suspect held lost(the reason) ". */
#pragma once

#include "support/unit.h"
#include "zklock/testing.h"

enum {
    PARTICIPANT_TIMEOUT_MS = 10000, /* of its session */
    PARTICIPANT_NEWS_SIZE = 512
};

typedef struct participant {
    zkl_client *client;
    zkl_lock *lock;
    zkl_grant grant;
    int status;         /* that of its latest acquire */
    int64_t timeout_ms; /* that of the task of participant_start */
    char news[PARTICIPANT_NEWS_SIZE];
} participant;

/** Opens a client, which keeps a lease (tick 2000 ms) if `lease` says so, and a lock of "stock"
 *  that is held for at most `limit_ms` (0: no limit). */
void participant_open(participant *self, int64_t limit_ms, bool lease);
/** Opens both without a limit or a lease. The session has that timeout, and begins as soon as it is
 *  connected, because the client shows no credential. */
void participant_open_with(participant *self, int32_t session_timeout_ms);
/** Closes both handles, and waits for the servers. */
void participant_close(participant *self);

/** Acquires exclusively; keeps the grant and the status, which it returns. */
int participant_acquire(participant *self, int64_t timeout_ms);
/** Acquires in a task. */
zkl_testing_task *participant_start(participant *self, int64_t timeout_ms);

#define PARTICIPANT_RESOURCE "/locks/stock"
