/*
 * The application's callbacks that wait to be run, in order, so that a slow one delays no news from
 * ZooKeeper. They run one at a time: on a thread of the queue's own, or in a call that the
 * application makes.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/** One callback to be made; embed it. `run` is called once and frees it. */
typedef struct zkl_callback {
    void (*run)(struct zkl_callback *callback);
    struct zkl_callback *prev, *next;
} zkl_callback;

typedef struct zkl_callback_queue {
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    zkl_callback *first;
    size_t waiting;
    bool has_thread;
    pthread_t thread;
    bool dispatching; /* a thread of the application is in zkl_callback_queue_dispatch */
    bool closing;
    int descriptor; /* readable while callbacks wait; -1: nobody has asked for it yet */
} zkl_callback_queue;

/** Opens a queue with its own thread, or one that the application dispatches. NULL: out of memory,
 *  or the thread could not be started. */
zkl_callback_queue *zkl_callback_queue_open(bool has_thread);
/** Runs the callbacks that still wait, on the queue's thread or on this one, and frees the queue.
 *  Must not be called from a callback. NULL does nothing. */
void zkl_callback_queue_close(zkl_callback_queue *queue);

/** Appends a callback, from any thread, and does not wait for it. False: `most` callbacks wait
 *  already, and this one stays the caller's. */
bool zkl_callback_queue_post(zkl_callback_queue *queue, zkl_callback *callback, size_t most);

/** Runs the callbacks that wait now, of a queue without a thread, and returns how many it has run:
 *  none while another thread is in this function. Must not be called from a callback. */
size_t zkl_callback_queue_dispatch(zkl_callback_queue *queue);

/** Returns a descriptor that is readable while callbacks wait. It is closed with the queue. -1: it
 *  could not be made. */
int zkl_callback_queue_descriptor(zkl_callback_queue *queue);
