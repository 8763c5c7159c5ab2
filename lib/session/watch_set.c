#include "session/watch_set.h"

#include <stdlib.h>

static void forget(zkl_watch_waiter *waiters, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        zkl_watch_table_remove(&waiters[i]);
    }
    free(waiters);
}

void zkl_watch_set_remove_all(zkl_watch_set *set) {
    zkl_watch_waiter *present = set->present;
    unsigned count = set->count;
    set->present = NULL;
    set->count = 0;
    set->waits = false;
    set->awaited = 0;
    forget(present, count);
}

void zkl_watch_set_remove_left(zkl_watch_set *set) {
    if (set->awaited == 0 && !set->waits) {
        zkl_watch_set_remove_all(set);
    }
}

/* ---- What the watches tell ------------------------------------------------------------ */

/* Notes a reply. That nothing is known outweighs that a node is gone: both lead to a list, but the
 * former only after a pause, or on another connection. */
static void note_reply(zkl_watch_set *set, zkl_outcome outcome, int status) {
    bool failed = outcome != ZKL_OUTCOME_OK && outcome != ZKL_OUTCOME_NO_NODE;
    if (failed || set->outcome == ZKL_OUTCOME_OK) {
        set->outcome = outcome;
        set->status = status;
    }
}

static void on_armed(void *arg, zkl_outcome outcome, int status) {
    zkl_watch_set *set = arg;
    note_reply(set, outcome, status);
    if (--set->awaited == 0) {
        set->waits = set->outcome == ZKL_OUTCOME_OK;
        set->listener->armed(set->sender, set->outcome, set->status);
    }
}

static void on_one_fired(void *arg, zkl_watch_event event) {
    zkl_watch_set *set = arg;
    if (set->awaited > 0) {
        note_reply(set, ZKL_OUTCOME_NO_NODE, ZKL_OK);
    } else if (set->waits) {
        set->waits = false;
        set->listener->fired(set->sender, event);
    }
}

static const zkl_watch_listener listener = { .armed = on_armed, .fired = on_one_fired };

/* ---- Watching ---------------------------------------------------------------------------- */

/* Removes the old ones last, so that the watches of those that stay are shared, and stay. */
void zkl_watch_set_watch(zkl_watch_set *set, const zkl_neighbour *children, size_t count) {
    zkl_watch_waiter *old = set->present;
    unsigned old_count = set->count;
    zkl_watch_waiter *waiters = calloc(count, sizeof(*waiters));
    if (waiters == NULL) {
        zkl_watch_set_remove_all(set);
        set->listener->armed(set->sender, ZKL_OUTCOME_NOT_NOW, ZKL_OK);
        return;
    }
    set->present = waiters;
    set->count = (unsigned)count;
    set->waits = false;
    set->awaited = (unsigned)count;
    set->outcome = ZKL_OUTCOME_OK;
    set->status = ZKL_OK;
    for (size_t i = 0; i < count; i++) {
        char path[ZKL_NODE_PATH_SIZE];
        zkl_request_node_path(set->sender, children[i].text, path);
        waiters[i] = (zkl_watch_waiter){ .arg = set, .listener = &listener };
        zkl_watch_table_add(&set->sender->session->watches, path, &waiters[i]);
    }
    forget(old, old_count);
}
