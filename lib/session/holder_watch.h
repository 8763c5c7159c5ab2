/*
 * What others want of a request's node, and of what it holds.
 *
 * The watch on its own node tells the request that the node has gone, or that somebody asks for the
 * lock. The latter stands in the node's data, which are set for nothing else: they are read if they
 * have been set when the watch is armed. If they are set later the watch fires, and is armed again.
 *
 * A holder that has asked for it also learns whether a request waits behind it: by a list of the
 * resource's children with a watch on them, and another list when that has fired, until there is a
 * waiter, or the lock is held no more. Holders of one session share the watch and its lists
 * (watch_table.h).
 *
 * It decides nothing: the lock is held as before. Everything here runs with the client's mutex
 * held.
 */
#pragma once

#include "session/request_sender.h"

/** Embed it. The caller fills the first field, and `children`. */
typedef struct zkl_holder_watch {
    zkl_watch_waiter own; /* on its node; the caller is told. `arg`: the sender of the request */
    zkl_sent *reading;    /* the data of the node are being read */
    bool read_failed;     /* and are to be read again */
    bool is_revoke_requested;
    bool look_again;               /* the last list said nothing, or there was none */
    bool is_contended;             /* a waiter was found */
    zkl_children_waiter *children; /* on those of the resource; NULL: the owner does not ask */
} zkl_holder_watch;

/** Watches its own node: the `armed` of `own` will be called, or already is. */
void zkl_holder_watch_add_own(zkl_holder_watch *self, const char *node);
/** It is armed: reads the data if they have been set before. */
void zkl_holder_watch_own_armed(zkl_holder_watch *self);
/** The request has another node, of which nobody knows yet whether its data ask for the lock. */
void zkl_holder_watch_forget_data(zkl_holder_watch *self);
/** The node is not watched any more, and nothing is told. Fine where none is watched. */
void zkl_holder_watch_remove_own(zkl_holder_watch *self);

/** The lock has been granted: looks who waits behind it, if the owner has asked for that. */
void zkl_holder_watch_look_behind(zkl_holder_watch *self);
/** The lock is held no more, or soon will not be. May be called again. */
void zkl_holder_watch_look_no_more(zkl_holder_watch *self);

/** Reads, or looks, again if that failed or told nothing: on each new connection, and now and then.
 */
void zkl_holder_watch_review(zkl_holder_watch *self);
