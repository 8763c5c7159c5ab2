/*
 * A session with ZooKeeper, and a latch that its events open: for the mechanisms that are written
 * on libzookeeper. Neither is part of any lock.
 */
#pragma once

#include "../../mechanism.h"

#include <zookeeper/zookeeper.h>

enum { NODE_PATH_SIZE = 256 };

/** Remembers where the servers are. They need not answer yet. */
void session_prepare(const lock_settings *settings);

/** The process's session, connected; another one if the last one is over. NULL: no server answers
 * until `until_ms` of the monotonic clock. `on_event` (NULL is fine) is the session's watcher. */
zhandle_t *session_get(watcher_fn on_event, int64_t until_ms);

/** What session_get has returned last; NULL if it has ended. */
zhandle_t *session_now(void);

/** Ends the session if there is one: the servers delete its ephemeral nodes. Runs at exit too. */
void session_end(void);

/** Makes a persistent node. One that is there is fine. */
bool session_make(zhandle_t *session, const char *path);

/** Closes the latch. */
void latch_close(void);

/** Opens it, from any thread. */
void latch_open(void);

/** Waits until it is open, until `until_ms`, or until the buyer shall end. Whether it is open. */
bool latch_await(int64_t until_ms);
