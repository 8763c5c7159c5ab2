/*
 * Follows which node is first in the queue of a resource, for an observer that has no node there.
 * It lists the queue, watches the first node and reads it; when the watch fires it starts over.
 * While the queue is empty it polls: a watch on the children would wake it for every candidate that
 * comes.
 *
 * Everything here runs with the client's mutex held.
 */
#pragma once

#include "session/session.h"
#include "zklock/election.h"

/** Embed it, zeroed. */
typedef struct zkl_leader_watch {
    zkl_session *session; /* NULL: it is finished */
    zkl_leader_callback *seen;
    void *arg;
    char parent_path[ZKL_NODE_PATH_SIZE];
    zkl_list_waiter list;          /* of who is there, */
    char path[ZKL_NODE_PATH_SIZE]; /* the first node of it, */
    zkl_watch_waiter waiter;       /* the watch on that, */
    zkl_sent *reading;             /* and a look at it */
    int64_t highest_term;
    zkl_timer pause;
    struct zkl_leader_watch *prev, *next;
} zkl_leader_watch;

/** What it may come to need of its session's watches. */
size_t zkl_leader_watch_watched_bytes(const char *parent_path);

/** Begins to look. `seen` is called whenever the leader was looked for, which may be as before, and
 *  never with a lower term after a higher one; it fills in struct_size itself. */
void zkl_leader_watch_begin(zkl_leader_watch *watch, zkl_session *session, const char *parent_path,
                            zkl_leader_callback *seen, void *arg);
/** `seen` is not called any more. A watch that has not begun is allowed. */
void zkl_leader_watch_end(zkl_leader_watch *watch);

/** The session has a new connection, and may be a new one. */
void zkl_leader_watches_connected(zkl_session *session);
/** No session will follow: all are told so, and look no more. */
void zkl_leader_watches_finish(zkl_session *session, int status);
