/*
 * Finds out, for a holder that has asked for it, whether a request waits behind it: by a list of
 * the resource's children with a watch on them, and another list when that has fired, until there
 * is one, or the lock is held no more. Holders of one session share the watch and its lists
 * (watch_table.h). It decides nothing: the lock is held as before.
 *
 * Everything here runs with the client's mutex held.
 */
#pragma once

#include "session/request_sender.h"

/** Embed it. The caller fills the fields up to `arg`. */
typedef struct zkl_contention {
    zkl_request_sender *sender; /* of the request */
    bool wanted;                /* by the owner */
    /* The GUID of the node by which the holder itself tries to upgrade; "": there is none. */
    const char *(*find_upgrade)(const void *arg);
    const void *arg;
    bool found;      /* a waiter */
    bool look_again; /* the last list said nothing, or there was none */
    zkl_watch_waiter waiter;
} zkl_contention;

/** The lock has been granted. */
void zkl_contention_begin(zkl_contention *self);
/** The lock is held no more, or soon will not be. May be called again. */
void zkl_contention_end(zkl_contention *self);
/** Looks again if the last look told nothing: on each new connection, and now and then. */
void zkl_contention_review(zkl_contention *self);
