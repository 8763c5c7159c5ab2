/* What a client has watches on, and for whom, as libzookeeper keeps it. */
#pragma once

#include "testing/wire.h"

typedef struct zkl_client_watch zkl_client_watch;

/** Zeroed, it is empty. */
typedef struct zkl_client_watches {
    zkl_client_watch *by_path;
} zkl_client_watches;

/** The list is the caller's to free, with zkl_testing_free. */
typedef struct zkl_watch_ids {
    uint64_t *list;
    size_t count;
} zkl_watch_ids;

/** `existed`: the node was there when the watch was set. One that is there already is fine. */
void zkl_client_watches_add(zkl_client_watches *watches, const char *path, zkl_watch_kind kind,
                            uint64_t id, bool existed);
void zkl_client_watches_remove(zkl_client_watches *watches, const char *path, zkl_watch_kind kind);
/** An event on the path: all its watches that are told of such a one are over. */
zkl_watch_ids zkl_client_watches_take(zkl_client_watches *watches, const char *path,
                                      zkl_watch_event event);
/** A ZKL_CALL_SET_WATCHES of all of them, in any order; NULL: there are none. */
zkl_call *zkl_client_watches_call(const zkl_client_watches *watches);
void zkl_client_watches_clear(zkl_client_watches *watches);
