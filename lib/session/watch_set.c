#include "session/watch_set.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void on_armed(void *arg, zkl_outcome outcome, int status);
static void on_fired(void *arg, bool deleted);

bool zkl_watch_set_begin(zkl_watch_set *set, zkl_watch_table *table, const char *parent_path,
                         size_t size) {
    set->members = calloc(size, sizeof(*set->members));
    if (set->members == NULL) {
        return false;
    }
    set->table = table;
    set->parent_path = parent_path;
    set->size = size;
    for (size_t i = 0; i < size; i++) {
        zkl_watch_set_member *member = &set->members[i];
        member->set = set;
        member->waiter = (zkl_watch_waiter){ .arg = member, .armed = on_armed, .fired = on_fired };
    }
    return true;
}

void zkl_watch_set_remove_all(zkl_watch_set *set) {
    set->waits = false;
    set->awaited = 0;
    for (size_t i = 0; i < set->size; i++) {
        zkl_watch_table_remove(&set->members[i].waiter);
    }
}

void zkl_watch_set_remove_left(zkl_watch_set *set) {
    if (set->awaited == 0 && !set->waits) {
        zkl_watch_set_remove_all(set);
    }
}

void zkl_watch_set_end(zkl_watch_set *set) {
    zkl_watch_set_remove_all(set);
    free(set->members);
    set->members = NULL;
    set->size = 0;
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
    zkl_watch_set *set = ((zkl_watch_set_member *)arg)->set;
    note(set, outcome, status);
    if (--set->awaited == 0) {
        set->waits = set->outcome == ZKL_OUTCOME_OK;
        set->armed(set->arg, set->outcome, set->status);
    }
}

static void on_fired(void *arg, bool deleted) {
    zkl_watch_set *set = ((zkl_watch_set_member *)arg)->set;
    if (set->awaited > 0) {
        note(set, ZKL_OUTCOME_NO_NODE, ZKL_OK);
    } else if (set->waits) {
        set->waits = false;
        set->fired(set->arg, deleted);
    }
}

/* ---- Watching ---------------------------------------------------------------------------- */

static bool watches(const zkl_watch_set_member *member, const char *child) {
    const char *path = zkl_watch_table_path(&member->waiter);
    return path != NULL && strcmp(strrchr(path, '/') + 1, child) == 0;
}

static bool is_watched(const zkl_watch_set *set, const char *child) {
    for (size_t i = 0; i < set->size; i++) {
        if (watches(&set->members[i], child)) {
            return true;
        }
    }
    return false;
}

static bool is_asked_for(const zkl_watch_set_member *member, const zkl_neighbour *children,
                         size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (watches(member, children[i].text)) {
            return true;
        }
    }
    return false;
}

static zkl_watch_waiter *find_free(zkl_watch_set *set) {
    size_t i = 0;
    while (set->members[i].waiter.watch != NULL) {
        i++;
    }
    return &set->members[i].waiter;
}

static void add(zkl_watch_set *set, const char *child) {
    char path[ZKL_NODE_PATH_SIZE];
    snprintf(path, sizeof(path), "%s/%s", set->parent_path, child);
    switch (zkl_watch_table_add(set->table, path, find_free(set))) {
    case ZKL_WATCH_ARMED:
        break;
    case ZKL_WATCH_ARMING:
        set->awaited++;
        break;
    case ZKL_WATCH_NOT_SENT:
        note(set, ZKL_OUTCOME_NOT_NOW, ZKL_OK);
        break;
    }
}

bool zkl_watch_set_watch(zkl_watch_set *set, const zkl_neighbour *children, size_t count,
                         zkl_outcome *outcome) {
    set->outcome = ZKL_OUTCOME_OK;
    set->status = ZKL_OK;
    for (size_t i = 0; i < set->size; i++) {
        if (!is_asked_for(&set->members[i], children, count)) {
            zkl_watch_table_remove(&set->members[i].waiter);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!is_watched(set, children[i].text)) {
            add(set, children[i].text);
        }
    }
    *outcome = set->outcome;
    set->waits = set->awaited == 0 && set->outcome == ZKL_OUTCOME_OK;
    return set->awaited > 0;
}
