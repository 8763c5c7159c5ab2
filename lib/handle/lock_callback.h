/*
 * The callbacks that a lock handle owes the application: the ends of its asynchronous calls
 * (call.h), and its events (lock_events.h). They run one at a time, from the client's queue, and
 * ask the handle only when their turn comes. The close of the handle waits for one that runs, but
 * not for one that closes it; what has not begun by then goes on without the handle.
 *
 * Everything here runs with the client's mutex held, but for `tell`.
 */
#ifndef ZKLOCK_LOCK_CALLBACK_H
#define ZKLOCK_LOCK_CALLBACK_H

#include "base/callback_queue.h"
#include "client/client.h"

typedef struct zkl_lock_callback zkl_lock_callback;

/** Those of one kind that one handle owes. */
typedef struct zkl_lock_callbacks {
    zkl_client *client;
    zkl_lock_callback *owed;
    size_t inside; /* threads in a call, and callbacks that run */
    bool closing;  /* the handle is being closed */
    pthread_cond_t changed;
} zkl_lock_callbacks;

typedef struct zkl_lock_callback_kind {
    /* Takes from the handle what is to be told: its turn has come, or the handle is being closed.
     * Perhaps twice. */
    void (*settle)(zkl_lock_callback *self);
    /* Calls the application. */
    void (*tell)(zkl_lock_callback *self);
    bool stays; /* owed until the handle is closed: it may be posted again */
} zkl_lock_callback_kind;

/** Embed it, as the first field, in memory that free() gives back when it is owed no more. */
struct zkl_lock_callback {
    zkl_callback queued; /* first: the queue gets a pointer to it */
    const zkl_lock_callback_kind *kind;
    zkl_client *client;
    zkl_lock_callbacks *all; /* of which it is one; NULL: their handle is closed */
    uint64_t runs_on;        /* the number of a thread; 0: it does not run */
    bool posted;             /* it waits in the queue */
    zkl_lock_callback *prev, *next;
};

void zkl_lock_callbacks_begin(zkl_lock_callbacks *all, zkl_client *client);
void zkl_lock_callbacks_destroy(zkl_lock_callbacks *all);

/** It is owed from now on. */
void zkl_lock_callback_owe(zkl_lock_callbacks *all, zkl_lock_callback *self,
                           const zkl_lock_callback_kind *kind);
/** It is not owed after all: nothing is told, and it is the caller's again. */
void zkl_lock_callback_forget(zkl_lock_callback *self);
/** Puts it into the queue, unless it waits there. */
void zkl_lock_callback_post(zkl_lock_callback *self);

/** Around a call in which a thread is. */
void zkl_lock_callbacks_enter(zkl_lock_callbacks *all);
void zkl_lock_callbacks_leave(zkl_lock_callbacks *all);

/** The handle is being closed: waits until no thread is in a call, and no callback runs in another
 *  thread; and settles what is still owed, which goes on without the handle. */
void zkl_lock_callbacks_close(zkl_lock_callbacks *all);

#endif
