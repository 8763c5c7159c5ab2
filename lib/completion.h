/*
 * What an asynchronous call of a handle owes the application: one callback. It is
 * posted to the client's queue when the call is over, and asks the handle only when
 * its turn comes how it ended, as a thread that waits does when it wakes. A handle
 * that is closed before leaves the answer with it. All with the client's mutex held.
 */
#ifndef ZKLOCK_COMPLETION_H
#define ZKLOCK_COMPLETION_H

#include "client.h"

typedef struct zkl_completion zkl_completion;

/** What differs between the handles. */
typedef struct zkl_completion_kind {
    /* Asks the handle how the call ended, and keeps the answer; once. */
    void (*settle)(zkl_completion *self);
    /* Calls the application's function; without the mutex. */
    void (*tell)(const zkl_completion *self);
    /* Around a callback: the handle's close waits for it, as for a blocking call. */
    void (*enter)(void *handle);
    void (*leave)(void *handle);
} zkl_completion_kind;

struct zkl_completion {
    zkl_callback callback; /* first: the queue gets a pointer to it */
    const zkl_completion_kind *kind;
    zkl_client *client;
    void *handle;         /* NULL: it is closed */
    zkl_completion **all; /* the handle's, of which this is one */
    int status;           /* that the application is told, */
    char *message;        /* and what there is to say of it; NULL: nothing */
    bool is_settled;
    bool posted;
    uint64_t runs_on; /* the number of a thread; 0: it does not run yet */
    zkl_completion *prev, *next;
};

/** Of a call that has yet to be begun, in `size` bytes that are zeroed, for the structure that
 * begins with it. ZKL_OK, ZKL_CLOSED, ZKL_SYSTEM (no thread for callbacks) or ZKL_NO_MEMORY. */
int zkl_completion_make(zkl_client *client, void *handle, zkl_completion **all,
                        const zkl_completion_kind *kind, size_t size, zkl_completion **result);
/** The call was refused after all: there is nothing to be told. */
void zkl_completion_unmake(zkl_completion *self);

/** The call is over; once more is fine. */
void zkl_completion_post(zkl_completion *self);

/** The handle is about to be closed. When it is closed in the very callback of one of its calls,
 *  there is no waiting for that. */
void zkl_completions_let_close(zkl_completion *all);
/** It is closed: what is owed is told all the same, but it asks the handle no more. */
void zkl_completions_leave(zkl_completion *all);

#endif
