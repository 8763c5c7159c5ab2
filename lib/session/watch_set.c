#include "session/watch_set.h"

static void remove_from(zkl_watch_set *set, size_t first) {
    for (size_t i = 0; i < set->size; i++) {
        zkl_watch_table_remove(&set->waiters[first + i]);
    }
}

void zkl_watch_set_remove_all(zkl_watch_set *set) {
    set->waits = false;
    set->awaited = 0;
    remove_from(set, set->first);
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
        set->armed(set->arg, set->outcome, set->status);
    }
}

static void on_fired(void *arg, bool deleted) {
    zkl_watch_set *set = arg;
    if (set->awaited > 0) {
        note(set, ZKL_OUTCOME_NO_NODE, ZKL_OK);
    } else if (set->waits) {
        set->waits = false;
        set->fired(set->arg, deleted);
    }
}

/* ---- The beginning --------------------------------------------------------------------- */

void zkl_watch_set_begin(zkl_watch_set *set, zkl_pool *memory, size_t size) {
    set->waiters = zkl_pool_take(memory, 2 * size * sizeof(*set->waiters));
    set->size = set->waiters != NULL ? size : 0;
    for (size_t i = 0; i < 2 * set->size; i++) {
        set->waiters[i] = (zkl_watch_waiter){ .arg = set, .armed = on_armed, .fired = on_fired };
    }
}

/* ---- Watching ---------------------------------------------------------------------------- */

/* The old ones go last, so that the watches of those that stay are shared, and stay. */
void zkl_watch_set_watch(zkl_watch_set *set, const zkl_neighbour *children, size_t count) {
    size_t old = set->first;
    set->first = set->size - old;
    set->waits = false;
    set->awaited = count;
    set->outcome = ZKL_OUTCOME_OK;
    set->status = ZKL_OK;
    for (size_t i = 0; i < count; i++) {
        char path[ZKL_NODE_PATH_SIZE];
        zkl_request_node_path(set->sender, children[i].text, path);
        zkl_watch_table_add(&set->sender->session->watches, path, &set->waiters[set->first + i]);
    }
    remove_from(set, old);
}
