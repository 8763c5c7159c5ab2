/* A server that speaks just enough of ZooKeeper's protocol to greet a client and to answer each of
 * its requests with an error, or not at all. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

enum { SCRIPTED_SESSION_MS = 4000, SCRIPTED_MUTE = 1 };

typedef struct scripted_server {
    char hosts[32];                /* for its client */
    atomic_int error_of_creates;   /* and of transactions; MUTE: they get no answer */
    atomic_int error;              /* of all other requests but pings and the close, likewise */
    atomic_bool hangs_up;          /* behind each of these answers */
    atomic_bool gives_no_password; /* to a session, as ClickHouse Keeper */
    atomic_int requests;           /* that have come, but for pings and the close */
    atomic_int connections;        /* likewise */
    int listener;
    pthread_t thread;
} scripted_server;

void scripted_server_begin(scripted_server *self);
/** To be called when its client is closed. */
void scripted_server_end(scripted_server *self);
