/*
 * The watch on a request's own node. It tells the request that the node has gone, or that somebody
 * asks for the lock. The latter stands in the node's data, which are set for nothing else: they are
 * read if they have been set when the watch is armed. If they are set later the watch fires, and is
 * armed again.
 */
#pragma once

#include "session/request_sender.h"

/** Embed it. The caller fills the fields up to `waiter`. */
typedef struct zkl_own_watch {
    zkl_request_sender *sender; /* of the request */
    zkl_watch_waiter waiter;
    bool is_revoke_requested;
    bool read_failed;  /* the data are to be read again */
    zkl_sent *reading; /* they are being read */
} zkl_own_watch;

/** The waiter's `armed` will be called, or already is. */
void zkl_own_watch_add(zkl_own_watch *self, const char *node);
/** It is armed: reads the data if they have been set before. */
void zkl_own_watch_armed(zkl_own_watch *self);
/** Reads the data again if they could not be read. */
void zkl_own_watch_review(zkl_own_watch *self);
/** The request has another node, of which nobody knows yet whether its data ask for the lock. */
void zkl_own_watch_forget_data(zkl_own_watch *self);
/** The node is not watched any more, and nothing is told. Fine where none is watched. */
void zkl_own_watch_remove(zkl_own_watch *self);
