/*
 * TLS for the handles of one connection: libzookeeper has it, and this adds what that lacks. The
 * server's certificate must come from the named authorities alone, and be for one of the names; a
 * handshake that does not end is ended; files are read before libzookeeper reads them.
 * Reason: docs/internals/security.md.
 */
#pragma once

#include "connection/transport_call.h"

typedef struct zkl_tls zkl_tls;

/** Reads the files of the options. ZKL_OK, ZKL_NO_MEMORY, ZKL_SYSTEM, ZKL_INVALID_ARGUMENT with a
 *  message, or ZKL_UNSUPPORTED: libzookeeper has no TLS. */
int zkl_tls_make(const zkl_security *options, pthread_mutex_t *mutex, zkl_tls **made);
void zkl_tls_free(zkl_tls *self);

/** On the thread that opens and closes the handle, which must have no other work: its name is
 *  changed, as libzookeeper's I/O thread inherits it, and is told by it. */
zhandle_t *zkl_tls_open(zkl_tls *self, const zkl_transport_call *call);
bool zkl_tls_set_servers(zkl_tls *self, const char *addresses);
/** AUTH_FAILED: the certificate of the server that it is connected to was not checked. EXPIRED: the
 *  handle can never connect again. CONNECTING: all is well. */
zkl_session_state zkl_tls_look(zkl_tls *self);
/** Before the handle is closed: no handshake holds that up. False: it must not be closed, as the
 *  process ends, and its threads have stopped. */
bool zkl_tls_closes(zkl_tls *self);
