#include "session/watch_set.h"

#include <stdlib.h>

struct watched_nodes {
    size_t count;
    zkl_watch_waiter waiters[];
};

static void forget(struct watched_nodes *nodes) {
    for (size_t i = 0; nodes != NULL && i < nodes->count; i++) {
        zkl_watch_table_remove(&nodes->waiters[i]);
    }
    free(nodes);
}

void zkl_watch_set_remove_all(zkl_watch_set *set) {
    struct watched_nodes *present = set->present;
    set->present = NULL;
    set->waits = false;
    set->awaited = 0;
    forget(present);
}

void zkl_watch_set_remove_left(zkl_watch_set *set) {
    if (set->awaited == 0 && !set->waits) {
        zkl_watch_set_remove_all(set);
    }
}

/* ---- What the watches tell ------------------------------------------------------------ */

/* That a node is gone is worth less than that nothing is known: both lead to a list, but
 * only after a pause, or on another connection. */
static void note(zkl_watch_set *set, zkl_outcome outcome, int status) {
    bool failed = outcome != ZKL_OUTCOME_OK && outcome != ZKL_OUTCOME_NO_NODE;
    if (failed || set->outcome == ZKL_OUTCOME_OK) {
        set->outcome = outcome;
        set->status = status;
    }
}

static void on_armed(void *arg, zkl_outcome outcome, int status) {
    zkl_watch_set *set = arg;
    note(set, outcome, status);
    if (--set->awaited == 0) {
        set->waits = set->outcome == ZKL_OUTCOME_OK;
        set->armed(set->sender->arg, set->outcome, set->status);
    }
}

static void on_fired(void *arg, zkl_watch_event event) {
    zkl_watch_set *set = arg;
    if (set->awaited > 0) {
        note(set, ZKL_OUTCOME_NO_NODE, ZKL_OK);
    } else if (set->waits) {
        set->waits = false;
        set->fired(set->sender->arg, event);
    }
}

/* ---- Watching ---------------------------------------------------------------------------- */

/* The old ones go last, so that the watches of those that stay are shared, and stay. */
void zkl_watch_set_watch(zkl_watch_set *set, const zkl_neighbour *children, size_t count) {
    struct watched_nodes *old = set->present;
    struct watched_nodes *nodes = calloc(1, sizeof(*nodes) + count * sizeof(nodes->waiters[0]));
    if (nodes == NULL) {
        zkl_watch_set_remove_all(set);
        set->armed(set->sender->arg, ZKL_OUTCOME_NOT_NOW, ZKL_OK);
        return;
    }
    nodes->count = count;
    set->present = nodes;
    set->waits = false;
    set->awaited = (unsigned)count;
    set->outcome = ZKL_OUTCOME_OK;
    set->status = ZKL_OK;
    for (size_t i = 0; i < count; i++) {
        char path[ZKL_NODE_PATH_SIZE];
        zkl_request_node_path(set->sender, children[i].text, path);
        nodes->waiters[i] = (zkl_watch_waiter){ .arg = set, .armed = on_armed, .fired = on_fired };
        zkl_watch_table_add(&set->sender->session->watches, path, &nodes->waiters[i]);
    }
    forget(old);
}
