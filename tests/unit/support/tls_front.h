/* A server with TLS, in front of a scripted one; and the keys and certificates for both sides. */
#pragma once

#include "support/scripted_server.h"

enum { TLS_PATH_SIZE = 96 };

typedef struct tls_front {
    char hosts[32];               /* for its client */
    atomic_int connections;       /* whose handshake it has ended well */
    atomic_long serial_of_client; /* of the last one's certificate */
    scripted_server behind;
    void *context;
    int listener;
    atomic_int client; /* -1: none is connected */
    pthread_t thread;
} tls_front;

/** Makes a directory with an authority of its own (ca.pem), and the certificate and the key of a
 *  client (client.pem, client.key). Static. */
const char *tls_keys_begin(void);
void tls_keys_end(void);
/** The client's anew. */
void tls_keys_renew(long serial);
/** Static, eight at a time. */
const char *tls_file(const char *name);

/** common_name, alternative_names: of its certificate, the latter as OpenSSL writes them
 *  ("DNS:localhost,IP:127.0.0.1"); NULL: none. */
void tls_front_begin(tls_front *self, const char *common_name, const char *alternative_names);
/** Ends the connection that there is. */
void tls_front_hang_up(tls_front *self);
/** To be called when its client is closed. */
void tls_front_end(tls_front *self);
