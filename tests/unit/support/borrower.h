/* Handles of one client that share a node which the client lends, and a rival of another client, in
 * the simulation of zklock/testing.h. */
#pragma once

#include "support/relative.h"

enum { BORROWERS = 6, BORROWER_RETAIN_MS = 60000 };

typedef struct borrower {
    zkl_lock *lock; /* on "stock" */
    zkl_mode mode;
    int64_t timeout_ms;
    zkl_grant grant;
    int status; /* that of its acquire; RELATIVE_WAITS: it has not returned */
    zkl_testing_task *task;
} borrower;

extern zkl_client *lending_client; /* the client of all handles */
extern borrower handles[BORROWERS];
extern size_t handles_open; /* how many, from the first, are closed at the end */
extern relative rival;      /* another client's */

/** Begins a simulation. A client that retains keeps a lease. */
void borrowers_begin(int32_t hand_offs, int64_t hand_off_ms, int64_t retain_ms);
/** Begins one with a client whose callbacks run when the test dispatches them. */
void borrowers_begin_dispatching(int32_t hand_offs);
/** Closes everything, and expects that nothing is left. */
void borrowers_end(void);
/** Closes a handle, and opens it again with these options. */
void borrower_open_again(borrower *self, const zkl_lock_options *options);

/** Counts the nodes of the resource. */
size_t borrowers_nodes(void);
/** Counts the creates, deletes and lists that the client has sent. */
uint64_t borrowers_requests(void);

int borrower_acquire(borrower *self, int64_t timeout_ms);
int borrower_release(borrower *self);
/** Acquires in a task, and lets some time pass: then the call has returned, or waits. */
void borrower_start(borrower *self, int64_t timeout_ms);
/** Waits for the task, and returns its status. */
int borrower_join(borrower *self);
