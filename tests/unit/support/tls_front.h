/* A server with TLS, in front of a scripted one; and the keys and certificates for both sides. */
#pragma once

#include <stdatomic.h>

#include "support/scripted_server.h"
#include "zklock/zklock.h"

enum { TLS_PATH_SIZE = 96, TLS_ENOUGH_MS = 20000 };

typedef struct tls_front {
    char hosts[32];               /* the host list for its client */
    atomic_int connections;       /* how many handshakes have succeeded */
    atomic_int refusals;          /* how many have failed */
    atomic_long serial_of_client; /* the serial number of the last client's certificate */
    scripted_server behind;
    _Atomic(void *) context;
    void *former; /* NULL, or the context before */
    int listener;
    atomic_int client; /* the socket of the client; -1: none is connected */
    pthread_t thread;
} tls_front;

/** Makes a directory with an authority (ca.pem), and the certificate and the key of a client
 *  (client.pem, client.key). Returns its path, which stays valid. */
const char *tls_keys_begin(void);
/** Removes the directory. */
void tls_keys_end(void);
/** Makes a new certificate and key of the client. The first key is elliptic, all later ones are
 *  RSA. */
void tls_keys_renew(long serial);
/** Returns the path of a file of the directory, valid until the eighth call after this one. */
const char *tls_file(const char *name);

/** Begins to listen, on a thread of its own. common_name, alternative_names: those of its
 *  certificate, the latter as OpenSSL writes them ("DNS:localhost,IP:127.0.0.1"); NULL: none. */
void tls_front_begin(tls_front *self, const char *common_name, const char *alternative_names);
/** Gives it another certificate, for connections from now on. */
void tls_front_change(tls_front *self, const char *common_name, const char *alternative_names);
/** Ends the present connection. */
void tls_front_hang_up(tls_front *self);
/** Ends the server. Its client must be closed. */
void tls_front_end(tls_front *self);

/** The TLS options of the client options that were made last. */
extern zkl_security tls_security;
/** Makes options of a client that uses the files of the directory. */
zkl_client_options tls_options(void);
/** Opens a client of the server, and closes it again. Returns the status of the first. */
int tls_open(const tls_front *self, const zkl_client_options *options);
