#include "foreign.h"

#include <stdio.h>
#include <string.h>

#include "testing/ensemble.h"
#include "testing/world.h"

enum {
    US_PER_MS = 1000,
    PATH_SIZE = 256,
    LOOK_EVERY_US = 10 * US_PER_MS,
    SEQUENCE_DIGITS = 10,
    COPIES_MAX = 4,
    COPIERS = 3, /* of so many kinds of strangers, beside those of one node each */
    DOWNGRADES = 2
};

#define CURATOR "_c_00000000-0000-4000-8000-000000000000-"

/* Somebody who stays for more than one step. */
typedef struct stranger {
    char resource[PATH_SIZE];
    char writer[PATH_SIZE]; /* of a downgrade */
    bool has_reader;
    int64_t downgrade_us; /* how long both of its nodes are there */
    int64_t copied_zxid;  /* nodes up to this one have been looked at */
    unsigned copies;
    zkl_world_event next;
} stranger;

static struct {
    const run_plan *plan;
    int64_t session_id;
    stranger strangers[PLAN_FAULTS_MAX];
    size_t count;
} all;

static void create(const char *path, bool sequential, char *made) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    if (made != NULL) {
        made[0] = '\0';
    }
    (void)zkl_ensemble_create(ensemble, all.session_id, path, NULL, true, sequential, made,
                              PATH_SIZE);
}

static const zkl_node *first_child(const char *path) {
    const zkl_node *parent =
        zkl_tree_find(zkl_ensemble_tree(zkl_ensemble_current()), path, ZKL_LATEST_ZXID);
    return parent != NULL ? zkl_node_first_child(parent, ZKL_LATEST_ZXID) : NULL;
}

static const zkl_node *next_child(const zkl_node *child) {
    return zkl_node_next_child(child, ZKL_LATEST_ZXID);
}

static bool is_foreign(const zkl_node *node) {
    return zkl_node_get_stat(node).ephemeral_owner == all.session_id;
}

static bool is_there(const char *path) {
    return zkl_tree_find(zkl_ensemble_tree(zkl_ensemble_current()), path, ZKL_LATEST_ZXID) != NULL;
}

static void look_again(stranger *self, int64_t after_us) {
    zkl_world_schedule(&self->next, zkl_world_now_us() + after_us);
}

/* ---- A writer of Curator's that becomes a reader ------------------------------------------ */

static bool comes_first(const stranger *self) {
    const zkl_node *child = first_child(self->resource);
    while (child != NULL && strcmp(zkl_node_last_name(child), "no-sequence") == 0) {
        child = next_child(child);
    }
    return child != NULL && strcmp(zkl_node_path(child), self->writer) == 0;
}

/* Who holds the write lock may take the read lock as well: a node with the writer's own sequence.
 * Then it gives the write lock back. */
static void downgrade(void *arg) {
    stranger *self = arg;
    if (!is_there(self->writer)) {
        return;
    }
    if (self->has_reader) {
        (void)zkl_ensemble_delete(zkl_ensemble_current(), self->writer);
        return;
    }
    if (!comes_first(self)) {
        look_again(self, LOOK_EVERY_US);
        return;
    }
    const char *sequence = self->writer + strlen(self->writer) - SEQUENCE_DIGITS;
    char path[2 * PATH_SIZE];
    snprintf(path, sizeof(path), "%.100s/" CURATOR "__READ__%s", self->resource, sequence);
    create(path, false, NULL);
    self->has_reader = true;
    look_again(self, self->downgrade_us);
}

static void begin_downgrade(stranger *self, uint32_t choice) {
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%.100s/" CURATOR "__WRIT__", self->resource);
    create(path, true, self->writer);
    self->downgrade_us = choice % 200 * US_PER_MS;
    self->next.run = downgrade;
    if (self->writer[0] != '\0') {
        look_again(self, LOOK_EVERY_US);
    }
}

/* ---- Somebody who copies names ------------------------------------------------------------- */

static void copy_name(stranger *self, const zkl_node *node) {
    char path[PATH_SIZE];
    snprintf(path, sizeof(path), "%s", zkl_node_path(node));
    size_t length = strlen(path);
    if (length > SEQUENCE_DIGITS && strstr(path, "/_c_") != NULL) {
        path[length - SEQUENCE_DIGITS] = '\0';
        create(path, true, NULL);
        self->copies++;
    }
}

static const zkl_node *find_node_to_copy(const stranger *self) {
    const zkl_node *child = first_child(self->resource);
    while (child != NULL &&
           (is_foreign(child) || zkl_node_get_stat(child).czxid <= self->copied_zxid)) {
        child = next_child(child);
    }
    return child;
}

static void copy_names(void *arg) {
    stranger *self = arg;
    const zkl_node *node;
    while (self->copies < COPIES_MAX && (node = find_node_to_copy(self)) != NULL) {
        self->copied_zxid = zkl_node_get_stat(node).czxid;
        copy_name(self, node);
    }
    if (self->copies < COPIES_MAX) {
        look_again(self, LOOK_EVERY_US);
    }
}

/* ---- Those who come, and go ------------------------------------------------------------------ */

static const char *const names[] = {
    CURATOR "lock-",
    CURATOR "__READ__",
    CURATOR "__WRIT__",
    "00000000000000000000000000000000__lock__",
    "00000000000000000000000000000000__rlock__",
    "stranger-",
    "no-sequence",
};

static stranger *new_stranger(const char *resource_path) {
    stranger *self = &all.strangers[all.count++];
    snprintf(self->resource, sizeof(self->resource), "%s", resource_path);
    self->next.arg = self;
    return self;
}

static void connect_once(void) {
    if (all.session_id == 0) {
        all.session_id = zkl_ensemble_make_session(zkl_ensemble_current());
    }
}

/* Before anybody can have heard that it was gone. */
void foreign_replaces(const char *path) {
    connect_once();
    if (zkl_ensemble_delete(zkl_ensemble_current(), path) == ZKL_SERVER_ERROR_NONE) {
        create(path, false, NULL);
    }
}

void foreign_comes(const char *resource_path, uint32_t choice) {
    connect_once();
    size_t count = sizeof(names) / sizeof(names[0]);
    size_t variant = choice % (count + COPIERS + DOWNGRADES);
    if (variant < count) {
        char path[PATH_SIZE];
        snprintf(path, sizeof(path), "%.100s/%s", resource_path, names[variant]);
        create(path, strcmp(names[variant], "no-sequence") != 0, NULL);
    } else if (variant < count + COPIERS) {
        stranger *self = new_stranger(resource_path);
        self->next.run = copy_names;
        copy_names(self);
    } else {
        begin_downgrade(new_stranger(resource_path), choice / 16);
    }
}

static const zkl_node *find_foreign_node(void) {
    for (size_t i = 0; all.session_id != 0 && i < plan_queue_count(all.plan); i++) {
        char path[PLAN_QUEUE_PATH_SIZE];
        plan_queue_path(all.plan, i, path);
        const zkl_node *child = first_child(path);
        while (child != NULL && !is_foreign(child)) {
            child = next_child(child);
        }
        if (child != NULL) {
            return child;
        }
    }
    return NULL;
}

bool foreign_all_leave(void) {
    for (size_t i = 0; i < all.count; i++) {
        zkl_world_unschedule(&all.strangers[i].next);
    }
    const zkl_node *node;
    zkl_server_error error = ZKL_SERVER_ERROR_NONE;
    while (error == ZKL_SERVER_ERROR_NONE && (node = find_foreign_node()) != NULL) {
        char path[PATH_SIZE];
        snprintf(path, sizeof(path), "%s", zkl_node_path(node));
        error = zkl_ensemble_delete(zkl_ensemble_current(), path);
    }
    return find_foreign_node() == NULL;
}

void foreign_begin(const run_plan *plan) {
    memset(&all, 0, sizeof(all));
    all.plan = plan;
}

void foreign_end(void) {
    for (size_t i = 0; i < all.count; i++) {
        zkl_world_unschedule(&all.strangers[i].next);
    }
    memset(&all, 0, sizeof(all));
}
