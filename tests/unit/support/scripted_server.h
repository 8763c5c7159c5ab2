/* A server that speaks just enough of ZooKeeper's protocol to greet a client, with the session
 * timeout that it asks for, and to answer each of its requests with an error or not at all. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

enum { SCRIPTED_SESSION_MS = 4000, SCRIPTED_MUTE = 1 };

typedef struct scripted_server {
    char hosts[32];              /* the host list for its client */
    atomic_int error_of_creates; /* the answer to creates and transactions; MUTE: none */
    atomic_int error;            /* the answer to all others but pings and the close; MUTE: none */
    atomic_bool hangs_up;        /* it closes the connection after each of these answers */
    atomic_bool gives_no_password; /* its sessions have none, as those of ClickHouse Keeper */
    atomic_bool
        gives_new_sessions; /* on each connection, whichever session is asked for: likewise */
    atomic_int requests;    /* how many have come, without pings and the close */
    atomic_int connections; /* how many have come */
    int listener;
    pthread_t thread;
} scripted_server;

/** Begins to listen, on a thread of its own. */
void scripted_server_begin(scripted_server *self);
/** Ends the server. Its client must be closed. */
void scripted_server_end(scripted_server *self);
