/* A client of an application with one lock handle, in the simulation of zklock/testing.h; it
 * writes down what its state callback is told: "suspect held lost(the reason) ". */
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
    int status;         /* of its latest acquire */
    int64_t timeout_ms; /* of the task of participant_start */
    char news[PARTICIPANT_NEWS_SIZE];
} participant;

/** With the resource "stock": a lock for `limit_ms` at most (0: no limit), of a client that keeps a
 *  lease (tick 2000 ms) where asked for. */
void participant_open(participant *self, int64_t limit_ms, bool lease);
/** Likewise, without a limit or a lease, in a session with that timeout, which begins as soon as it
 *  is connected: the servers are shown no credential. */
void participant_open_with(participant *self, int32_t session_timeout_ms);
/** Both handles; waits for the servers. */
void participant_close(participant *self);

/** Exclusively; keeps the grant and the status, which it returns. */
int participant_acquire(participant *self, int64_t timeout_ms);
/** Likewise, as a task. */
zkl_testing_task *participant_start(participant *self, int64_t timeout_ms);

#define PARTICIPANT_RESOURCE "/locks/stock"
