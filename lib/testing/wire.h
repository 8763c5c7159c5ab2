/*
 * A connection between a client and a server of the simulated ensemble: what is
 * said on it, and how it breaks. Each side learns of that in its own time.
 */
#pragma once

#include "testing/messages.h"

typedef struct zkl_watch_entry zkl_watch_entry;

/** Both ends' view of it; for the files of the ensemble. */
struct zkl_wire {
    zkl_ensemble *ensemble;
    uint32_t server;
    zkl_channel up;      /* calls */
    zkl_channel down;    /* answers */
    unsigned references; /* one for each end, and those of calls */
    bool client_open;
    bool server_open;
    bool breaking; /* the client will be told */
    bool mute;
    bool kept;        /* the server leaves it open when its session ends, or moves */
    char *identities; /* "scheme:id" of each that was added, each with a line feed; NULL: none */
    void (*answered)(void *arg, zkl_answer *answer); /* frees it with zkl_testing_free */
    void *arg;
    zkl_attachment *attachment; /* NULL: no session yet, or no longer */
    zkl_watch_entry *watches;
    size_t watch_count;
    zkl_wire *prev, *next;
};

/** Begins to connect. `answered` is called as the process, with all that is said,
 *  until ZKL_ANSWER_BROKEN or zkl_wire_hang_up; then the wire is no longer the caller's.
 *  NULL instead of an answer: the ensemble has ended, and the wire with it. */
zkl_wire *zkl_wire_connect(zkl_ensemble *ensemble, uint32_t server, zkl_call *connect,
                           void (*answered)(void *arg, zkl_answer *answer), void *arg,
                           zkl_process *process);
void zkl_wire_send(zkl_wire *wire, zkl_call *call);
/** Gives a reference back: to a call that was not sent, or that has arrived. */
void zkl_call_release(zkl_call *call);
/** Gives back a reference to each of a list. */
void zkl_calls_free(zkl_message *list);
/** The client closes it: what it has sent arrives. */
void zkl_wire_hang_up(zkl_wire *wire);

/* ---- The server's end ------------------------------------------------------------------------ */

void zkl_wire_answer(zkl_wire *wire, zkl_answer *answer);
/** The server closes it: what it has said arrives. */
void zkl_wire_close(zkl_wire *wire);

/* ---- The network ----------------------------------------------------------------------------- */

void zkl_wire_cut(zkl_wire *wire, zkl_cut cut);
/** At the ensemble's end: clients that are there are told. */
void zkl_wires_end(zkl_ensemble *ensemble);
