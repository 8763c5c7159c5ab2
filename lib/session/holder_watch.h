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
    /* on the request's own node; its listener is the caller's. `arg`: the request's sender */
    zkl_watch_waiter own;
    zkl_sent *reading; /* the read of the node's data that is under way; NULL: none */
    bool read_failed;  /* the data could not be read, and are to be read again */
    bool is_revoke_requested;
    bool look_again;   /* the last list failed or did not show the node, and another is needed */
    bool is_contended; /* a waiter was found */
    /* the waiter for lists of the resource; NULL: the owner does not ask who waits behind it */
    zkl_children_waiter *children;
} zkl_holder_watch;

/** Watches the request's own node: the `armed` of `own` will be called, or already is. */
void zkl_holder_watch_add_own(zkl_holder_watch *self, const char *node);
/** Reads the data if they have been set before, once the watch on the own node is armed. */
void zkl_holder_watch_own_armed(zkl_holder_watch *self);
/** Forgets what the data said, because the request has another node: nobody knows yet whether that
 *  asks for the lock. */
void zkl_holder_watch_forget_data(zkl_holder_watch *self);
/** Ends the watch on the own node: nothing is heard of it any more. Does nothing if there is
 *  none. */
void zkl_holder_watch_remove_own(zkl_holder_watch *self);

/** Looks who waits behind the node, if the owner has asked for that: the lock has been granted. */
void zkl_holder_watch_look_behind(zkl_holder_watch *self);
/** Stops looking: the lock is held no more, or soon will not be. May be called again. */
void zkl_holder_watch_look_no_more(zkl_holder_watch *self);

/** Reads, or looks, again if that failed or said nothing. Called on each new connection, and now
 *  and then. */
void zkl_holder_watch_review(zkl_holder_watch *self);
