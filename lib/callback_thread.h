/*
 * The thread that runs the application's callbacks, one at a time and in
 * order, so that a slow one delays no news from ZooKeeper.
 */
#ifndef ZKLOCK_CALLBACK_THREAD_H
#define ZKLOCK_CALLBACK_THREAD_H

#include <stdbool.h>
#include <stddef.h>

/** One callback to be made; embed it. `run` is called once and frees it. */
typedef struct zkl_callback {
    void (*run)(struct zkl_callback *callback);
    struct zkl_callback *next;
} zkl_callback;

typedef struct zkl_callback_thread zkl_callback_thread;

/** NULL: out of memory, or no thread to be had. */
zkl_callback_thread *zkl_callback_thread_start(void);
/** Runs what is still queued, then ends the thread. NULL is fine. */
void zkl_callback_thread_stop(zkl_callback_thread *thread);
void zkl_callback_thread_post(zkl_callback_thread *thread, zkl_callback *callback);
/** Whether the calling thread is running a callback of any client. */
bool zkl_callback_thread_is_current(void);

#endif
