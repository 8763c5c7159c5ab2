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
    zkl_session *session; /* NULL: the watch has ended, or has not begun */
    zkl_leader_callback *seen;
    void *arg;
    char parent_path[ZKL_NODE_PATH_SIZE];
    zkl_list_waiter list;          /* for the list of the queue */
    char path[ZKL_NODE_PATH_SIZE]; /* of the first node in it */
    zkl_watch_waiter waiter;       /* for the watch on that node */
    zkl_sent *asking;  /* the read of that node, or the write before another look, that is
                          under way; NULL: none */
    int64_t last_term; /* the one that was reported last; 0: none was */
    bool caught_up;    /* this look is behind a write that was committed */
    zkl_timer pause;
    struct zkl_leader_watch *prev, *next;
} zkl_leader_watch;

/** Returns what a leader watch may come to need of its session's watches. */
size_t zkl_leader_watch_watched_bytes(const char *parent_path);

/** Begins to look. `seen` is called whenever the leader was looked for, which may be as before. A
 *  server that lags never makes it report a lower term after a higher one. It fills in struct_size
 *  itself. */
void zkl_leader_watch_begin(zkl_leader_watch *watch, zkl_session *session, const char *parent_path,
                            zkl_leader_callback *seen, void *arg);
/** Ends the watch: `seen` is not called any more. A watch that has not begun is allowed. */
void zkl_leader_watch_end(zkl_leader_watch *watch);

/** Looks again where that is needed, because the session has a new connection, and may be a new
 *  one. */
void zkl_leader_watches_connected(zkl_session *session);
/** Ends all watches, because no session will follow. Each `seen` gets that status. */
void zkl_leader_watches_finish(zkl_session *session, int status);
