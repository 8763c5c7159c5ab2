/*
 * The application's callbacks that wait, in order, so that a slow one delays no
 * news from ZooKeeper. They run one at a time: on a thread of the queue's own, or
 * in a call that the application makes.
 */
#ifndef ZKLOCK_CALLBACK_QUEUE_H
#define ZKLOCK_CALLBACK_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/** One callback to be made; embed it. `run` is called once and frees it. */
typedef struct zkl_callback {
    void (*run)(struct zkl_callback *callback);
    struct zkl_callback *next;
} zkl_callback;

typedef struct zkl_callback_queue {
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    zkl_callback *first, *last;
    size_t waiting;
    bool has_thread;
    pthread_t thread;
    bool dispatching; /* the application is, in some thread */
    bool closing;
    int descriptor; /* readable while callbacks wait; -1: nobody has asked for it */
} zkl_callback_queue;

/** One with a thread of its own. NULL: out of memory, or no thread to be had. */
zkl_callback_queue *zkl_callback_queue_start(void);
/** One that the application dispatches. NULL: out of memory. */
zkl_callback_queue *zkl_callback_queue_make(void);
/** Runs what still waits, on its thread or on this one, and ends it. Not from a callback. NULL is
 *  fine. */
void zkl_callback_queue_close(zkl_callback_queue *queue);

/** Any thread; it does not wait for the callback. */
void zkl_callback_queue_post(zkl_callback_queue *queue, zkl_callback *callback);

/** Runs what waits now, of a queue without a thread, and says how many that were; not from a
 *  callback. While another thread is in here, it runs none. */
size_t zkl_callback_queue_dispatch(zkl_callback_queue *queue);

/** A descriptor that is readable while callbacks wait; it ends with the queue. -1: none is to be
 *  had. */
int zkl_callback_queue_descriptor(zkl_callback_queue *queue);

/** Whether the calling thread is running a callback of any client. */
bool zkl_callback_is_running(void);

#endif
