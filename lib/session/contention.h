/*
 * Finds out, for a holder that has asked for it, whether somebody waits behind it: by a list of
 * the resource's children with a watch on them, and another list when that has fired, until there
 * is somebody, or it holds no more. Holders of one session share the watch and its lists
 * (watch_table.h). It decides nothing: the lock is held as before.
 *
 * Everything here runs with the client's mutex held.
 */
#ifndef ZKLOCK_ZOOKEEPER_CONTENTION_H
#define ZKLOCK_ZOOKEEPER_CONTENTION_H

#include "session/session.h"

typedef struct zkl_request_runner zkl_request_runner;

/** Embed it. */
typedef struct zkl_contention {
    bool wanted;     /* by the owner */
    bool looks;      /* it holds, and has not found anybody */
    bool found;      /* somebody, once for each grant */
    bool look_again; /* the last list said nothing, or there was none */
    zkl_watch_waiter waiter;
} zkl_contention;

void zkl_contention_prepare(zkl_request_runner *runner, bool wanted);

/** The lock has been granted. */
void zkl_contention_begin(zkl_request_runner *runner);
/** It is held no more, or soon will not be. Once too often is fine. */
void zkl_contention_end(zkl_request_runner *runner);
/** What could not be found out is tried again: on each new connection, and now and then. */
void zkl_contention_review(zkl_request_runner *runner);

/** What whoever wants it may come to need of its session's watches, beyond its request. */
size_t zkl_contention_watched_bytes(const char *parent_path);

#endif
