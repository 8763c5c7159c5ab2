/*
 * A connection to the servers. It provides the operations table, and calls the listener. There are
 * two implementations: connection_libzookeeper.c in the library, and
 * testing/connection_simulated.c in the library for tests of applications.
 */
#pragma once

#include <pthread.h>

#include "connection/addresses.h"
#include "connection/operations.h"

typedef struct zkl_connection zkl_connection;

/** Whether a connection with the options' TLS or SASL can be had: ZKL_OK; ZKL_UNSUPPORTED or
 *  ZKL_INVALID_ARGUMENT with a message, ZKL_NO_MEMORY or ZKL_SYSTEM. */
int zkl_connection_check(const zkl_security *options);

/** `mutex` is the client's: it is taken for everything that is delivered. NULL: out of memory. */
zkl_connection *zkl_connection_make(pthread_mutex_t *mutex, const zkl_listener *listener);
zkl_operations *zkl_connection_operations(zkl_connection *self);

/** Begins to connect a new session to "address:port,...". It is CONNECTED when the servers have
 *  accepted all credentials; each later connection of the session shows them again at once. Call it
 *  without the mutex. ZKL_OK, or as zkl_connection_check. */
int zkl_connection_open(zkl_connection *self, const char *addresses, int32_t timeout_ms);

/** Goes on with the same session on a new handle, which shows the credentials anew; those of the
 * old one go with it. That one has lost its connection: requests under way are answered as lost,
 * and watches are forgotten. The next server may lag behind the last one. On the thread that
 *  connects and disconnects, without the mutex. ZKL_OK, or as zkl_connection_check: then call it
 *  again after a while. */
int zkl_connection_renew(zkl_connection *self, const char *addresses);

/** Whether one of these calls has left the old handle, and could open no other: nobody hears of the
 *  session then, its end neither. On the thread that connects and disconnects. */
bool zkl_connection_lacks_handle(const zkl_connection *self);

/** Gives the servers the next credential; when there is none left the session is CONNECTED. Call it
 *  whenever the listener is told that one is awaited, on the thread that connects and disconnects,
 *  without the mutex. False: there was no memory, call it again after a while. */
bool zkl_connection_introduce(zkl_connection *self);

/** Gives the session up: nothing is delivered of it or sent on it any more. It is
 *  ended by zkl_connection_close. With the mutex held. */
void zkl_connection_abandon(zkl_connection *self);

/** Replaces the addresses. A connection to one that is not among them, made or only tried, is
 *  closed, and another one tried at once: true. Before all credentials have been accepted it goes
 *  on as zkl_connection_renew does, and false may also say that this has failed. While connected it
 * may also be closed by chance, where there are more of them than before. On the thread that
 * connects and disconnects, without the mutex. */
bool zkl_connection_set_servers(zkl_connection *self, const char *addresses);

/** Leaves the server, and goes on with the same session and the same handle on the next connection,
 *  to any of these addresses. If requests were under way that one is lost too: libzookeeper waits
 *  there for their answers. On the thread that connects and disconnects, without the mutex. */
void zkl_connection_leave(zkl_connection *self, const char *addresses);

/** Tells the listener what libzookeeper tells nobody: that a login was refused. To be called again
 *  and again while not connected, without the mutex. */
void zkl_connection_look(zkl_connection *self);

/** Writes the address of the server that it is connected to, or waits for. False: it waits for
 *  none, as after a refusal. On the thread that connects and disconnects. */
bool zkl_connection_server(const zkl_connection *self, char address[ZKL_ADDRESS_SIZE]);

/** Whether every request has been answered. With the mutex held. */
bool zkl_connection_is_idle(const zkl_connection *self);

/** Ends the session, if there is one, and answers every request that is still
 *  open. Call it without the mutex, and never from a callback: it joins
 *  libzookeeper's threads, and waits for the server for up to 4.5 s. While it is not
 *  idle that may be lost on the way: the machine resets a connection that is closed
 *  with replies unread, or before they come (lz-reset). */
void zkl_connection_close(zkl_connection *self);

/** Frees it, disconnected. */
void zkl_connection_free(zkl_connection *self);
