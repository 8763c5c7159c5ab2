/*
 * TLS for the handles of one connection: libzookeeper has it, and this adds what that lacks. The
 * server's certificate must come from the named authorities alone, and be for one of the names; a
 * handshake that does not end is ended; files that were renewed are shown. A picture, and the
 * reasons: docs/internals/tls.md.
 */
#pragma once

#include "connection/transport_call.h"

typedef struct zkl_tls zkl_tls;

/** Reads the files of the options. ZKL_OK, ZKL_NO_MEMORY, ZKL_SYSTEM, ZKL_INVALID_ARGUMENT with a
 *  message, or ZKL_UNSUPPORTED: libzookeeper has no TLS. */
int zkl_tls_make(const zkl_security *options, pthread_mutex_t *mutex, zkl_tls **made);
void zkl_tls_free(zkl_tls *self);

/** Opens a handle of libzookeeper. NULL: errno tells why, or exit() was called. */
zhandle_t *zkl_tls_open(zkl_tls *self, const zkl_transport_call *call);
/** Gives the handle other servers, as zkl_transport_set_servers does. */
bool zkl_tls_set_servers(zkl_tls *self, const char *addresses);
/** Looks for what libzookeeper does not tell. AUTH_FAILED: the certificate of the server that it is
 * connected to was not checked. EXPIRED: the handle can never connect again. CONNECTING: all is
 * well. */
zkl_session_state zkl_tls_look(zkl_tls *self);
/** Closes the handle, as zookeeper_close does, and no handshake holds that up. Once exit() was
 * called it does nothing: the handle's threads are kept from OpenSSL. */
void zkl_tls_close(zkl_tls *self);
