/*
 * How bytes reach the servers: in clear, over TLS, or with a SASL login. It opens, moves and closes
 * libzookeeper's handle. One for each connection; without the client's mutex, unless stated
 * otherwise.
 */
#pragma once

#include "connection/addresses.h"
#include "connection/sasl.h"
#include "connection/tls.h"

typedef struct zkl_transport {
    const zkl_security *options; /* NULL: in clear */
    pthread_mutex_t *mutex;      /* the client's, which guards the options */
    zkl_tls *tls;                /* from the first handle on, where they want it */
    zkl_sasl *sasl;              /* likewise */
    char *given;                 /* the addresses that the handle has; NULL: no handle yet */
} zkl_transport;

/** Whether the options can be had, with their files as they are: ZKL_OK, ZKL_UNSUPPORTED or
 *  ZKL_INVALID_ARGUMENT, with a message, ZKL_NO_MEMORY or ZKL_SYSTEM. */
int zkl_transport_check(const zkl_security *options);

/** To be called before a handle is opened, on its thread. As zkl_transport_check. */
int zkl_transport_prepare(zkl_transport *self);

/** ZKL_OK, ZKL_NO_MEMORY or ZKL_SYSTEM. With the mutex held. */
int zkl_transport_open(zkl_transport *self, const zkl_transport_call *wanted, zhandle_t **handle);

/** Gives the handle other servers. A connection to one that is not among them is closed: true. */
bool zkl_transport_set_servers(zkl_transport *self, zhandle_t *handle, const char *addresses);

/** As zkl_connection_server. */
bool zkl_transport_server(zhandle_t *handle, char address[ZKL_ADDRESS_SIZE]);

/** Whether it waits for a server that is none of these, or is connected to it. A hint likewise. */
bool zkl_transport_is_elsewhere(zhandle_t *handle, const char *addresses);

/** Whether a line of libzookeeper's log is about ZKL_ADDRESS_OF_NOBODY. */
bool zkl_transport_line_is_ours(const char *line);

/** What libzookeeper tells by no event: AUTH_FAILED, with the reason; EXPIRED: the handle can never
 *  connect again; CONNECTING: there is nothing to tell. Ask it while not connected, and when
 *  connected. */
zkl_session_state zkl_transport_look(const zkl_transport *self, zhandle_t *handle,
                                     const char **why);

/** Programs that the application executes do not inherit the socket of a handle that is connected.
 */
void zkl_transport_close_on_exec(zhandle_t *handle);

/** As zookeeper_close; without it once exit() was called (zkl_tls_close). */
void zkl_transport_close(zkl_transport *self, zhandle_t *handle);

void zkl_transport_free(zkl_transport *self);
