/*
 * The callbacks that a handle owes the application: the ends of its asynchronous calls (call.h),
 * its events (lock_events.h), and what an observer is told (leader_observer.c). They run one at a
 * time, from the client's queue, and take what they tell from the handle when their turn comes.
 * Closing the handle waits for a callback that runs, unless it closes the handle itself. Callbacks
 * that have not begun by then run later, without the handle.
 *
 * Everything here runs with the client's mutex held, except `tell`.
 */
#pragma once

#include "base/callback_queue.h"
#include "client/client.h"

typedef struct zkl_lock_callback zkl_lock_callback;

/** The callbacks of one kind that one handle owes. The client is the caller's to fill. */
typedef struct zkl_lock_callbacks {
    zkl_client *client;
    zkl_lock_callback *owed;
    zkl_lock_callback *running;  /* NULL: none runs */
    uint64_t runs_on;            /* the number of its thread */
    struct zkl_lock_wait *waits; /* of threads, on whose stacks they are */
    unsigned inside;             /* threads in a call, and the callback that runs */
    bool closing;                /* the handle is being closed */
} zkl_lock_callbacks;

typedef struct zkl_lock_callback_kind {
    /* Takes from the handle what `tell` needs: its turn has come, or the handle is being closed.
     * May be called for both. */
    void (*collect)(zkl_lock_callback *self);
    /* Calls the application. */
    void (*tell)(zkl_lock_callback *self);
    bool stays; /* it is owed until the handle is closed, and may be posted repeatedly */
} zkl_lock_callback_kind;

/** Embed it as the first field. It is freed with free() when it is no longer owed. */
struct zkl_lock_callback {
    zkl_callback queued; /* first: the queue has a pointer to it */
    const zkl_lock_callback_kind *kind;
    zkl_client *client;
    zkl_lock_callbacks *all; /* those of its handle; NULL: the handle is closed */
    bool posted;             /* it waits in the queue */
    zkl_lock_callback *prev, *next;
};

/** It is owed from now on. */
void zkl_lock_callback_owe(zkl_lock_callbacks *all, zkl_lock_callback *self,
                           const zkl_lock_callback_kind *kind);
/** It is not owed after all. The caller frees it. */
void zkl_lock_callback_forget(zkl_lock_callback *self);
/** Puts it into the queue, unless it is there already. */
void zkl_lock_callback_post(zkl_lock_callback *self);

/** Waits for a call of the handle, or a callback, that is over, or for its close; or for nothing,
 *  as zkl_condition_wait may. */
void zkl_lock_callbacks_wait(zkl_lock_callbacks *all);
/** Wakes all that wait so. */
void zkl_lock_callbacks_wake(const zkl_lock_callbacks *all);

/** A thread leaves a call on the handle, where it was counted as `inside`. */
void zkl_lock_callbacks_leave(zkl_lock_callbacks *all);

/** The handle is being closed: waits until no thread is in a call and no callback runs in another
 *  thread. Then it collects what the callbacks that are still owed tell; they run without the
 * handle. */
void zkl_lock_callbacks_close(zkl_lock_callbacks *all);
