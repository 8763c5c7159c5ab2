/*
 * The callbacks that a handle owes the application: the ends of its asynchronous calls (call.h),
 * its events (lock_events.h), and the leaders that an observer reports (leader_observer.c). They
 * run one at a time, from the client's queue, and collect what they report from the handle when
 * their turn comes. Closing the handle waits for a callback that runs, unless it closes the handle
 * itself. Callbacks that have not begun by then run later, without the handle.
 *
 * Everything here runs with the client's mutex held, except `call_application`.
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
    uint64_t runs_on;            /* the number of the thread on which that runs */
    struct zkl_lock_wait *waits; /* those of threads, on whose stacks they are */
    unsigned inside;             /* threads in a call, and the callback that runs */
    bool closing;                /* the handle is being closed */
} zkl_lock_callbacks;

typedef struct zkl_lock_callback_kind {
    /* Takes from the handle what `call_application` needs: the callback's turn has come, or the
     * handle is being closed. May run for both. */
    void (*collect)(zkl_lock_callback *self);
    /* Calls the application. */
    void (*call_application)(zkl_lock_callback *self);
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

/** Owes the application this callback from now on. */
void zkl_lock_callback_owe(zkl_lock_callbacks *all, zkl_lock_callback *self,
                           const zkl_lock_callback_kind *kind);
/** Takes back a callback that was owed. The caller frees it. */
void zkl_lock_callback_forget(zkl_lock_callback *self);
/** Puts it into the queue, unless it is there already. */
void zkl_lock_callback_post(zkl_lock_callback *self);

/** Waits until a call of the handle, or a callback, is over, or the handle is closed. May return
 *  early, as zkl_condition_wait may. */
void zkl_lock_callbacks_wait(zkl_lock_callbacks *all);
/** Wakes all threads that wait in zkl_lock_callbacks_wait. */
void zkl_lock_callbacks_wake(const zkl_lock_callbacks *all);

/** Notes that a thread leaves a call on the handle, where it was counted as `inside`. */
void zkl_lock_callbacks_leave(zkl_lock_callbacks *all);

/** Waits until no thread is in a call and no callback runs in another thread, because the handle is
 *  being closed. Then collects what the callbacks that are still owed report; they run without the
 *  handle. */
void zkl_lock_callbacks_close(zkl_lock_callbacks *all);
