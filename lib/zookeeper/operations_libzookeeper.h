/* The operations table on libzookeeper_mt. Uses its asynchronous calls only. */
#ifndef ZKLOCK_ZOOKEEPER_OPERATIONS_LIBZOOKEEPER_H
#define ZKLOCK_ZOOKEEPER_OPERATIONS_LIBZOOKEEPER_H

#include <pthread.h>

#include "zookeeper/operations.h"

typedef struct zkl_libzookeeper zkl_libzookeeper;

/**
 * `mutex` is the client's: it is taken for everything that is delivered.
 * `wake` is called, with the mutex held, for zkl_operations_table.wake.
 * NULL: out of memory.
 */
zkl_libzookeeper *zkl_libzookeeper_make(pthread_mutex_t *mutex, const zkl_listener *listener,
                                        void (*wake)(void *arg), void *wake_arg);
zkl_operations *zkl_libzookeeper_operations(zkl_libzookeeper *self);

/** Begins to connect a new session to "address:port,...". Call it without the
 *  mutex. ZKL_OK, ZKL_NO_MEMORY or ZKL_SYSTEM. */
int zkl_libzookeeper_connect(zkl_libzookeeper *self, const char *addresses, int32_t timeout_ms);

/** Gives the session up: nothing is delivered of it or sent on it any more. It is
 *  ended by zkl_libzookeeper_disconnect. With the mutex held. */
void zkl_libzookeeper_abandon(zkl_libzookeeper *self);

/** Replaces the addresses, for the next time that it connects. On the thread
 *  that connects and disconnects, without the mutex. */
void zkl_libzookeeper_set_servers(zkl_libzookeeper *self, const char *addresses);

/** Ends the session, if there is one, and answers every request that is still
 *  open. Call it without the mutex, and never from a callback: it joins
 *  libzookeeper's threads, and waits for the server for up to 4.5 s. */
void zkl_libzookeeper_disconnect(zkl_libzookeeper *self);

/** Frees it, disconnected. NULL is fine. */
void zkl_libzookeeper_free(zkl_libzookeeper *self);

#endif
