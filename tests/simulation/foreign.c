#include "foreign.h"

#include <stdio.h>
#include <string.h>

#include "oracle.h"
#include "testing/ensemble.h"
#include "testing/world.h"

enum {
    US_PER_MS = 1000,
    PATH_SIZE = 256,
    LOOK_EVERY_US = 10 * US_PER_MS,
    SEQUENCE_DIGITS = 10,
    COPIES_MAX = 4,
    COPIERS = 3, /* of so many kinds of strangers, beside those of one node each */
    DOWNGRADES = 2,
    HOLD_MAX_MS = 300,
    PATIENCE_MAX_MS = 3000
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
    zkl_naming
        naming; /* of one that holds the resource by its library's rules; these are its own */
    bool looks_at_readers;
    bool holds;
    int64_t session_id;
    char node[PATH_SIZE];
    int64_t holds_us;
    int64_t gives_up_us;
    bool dies; /* ends its session, rather than delete its node */
    zkl_world_event next;
} stranger;

static struct {
    const run_plan *plan;
    int64_t session_id;
    stranger strangers[PLAN_FAULTS_MAX];
    size_t count;
} all;

static void create_in(int64_t session_id, const char *path, bool sequential, char *made) {
    if (made != NULL) {
        made[0] = '\0';
    }
    (void)zkl_ensemble_create(zkl_ensemble_current(), session_id, path, NULL, true, sequential,
                              made, PATH_SIZE);
}

static void create(const char *path, bool sequential, char *made) {
    create_in(all.session_id, path, sequential, made);
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
    int64_t owner = zkl_node_get_stat(node).ephemeral_owner;
    bool foreign = owner == all.session_id;
    for (size_t i = 0; i < all.count; i++) {
        foreign = foreign || (owner != 0 && owner == all.strangers[i].session_id);
    }
    return foreign;
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
    if (length > SEQUENCE_DIGITS &&
        (strstr(path, "/_c_") != NULL || strstr(path, "lock__") != NULL)) {
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

/* ---- A contender of kazoo's, or a LeaderLatch ---------------------------------------------- */

/* The sequence of a name with this marker, as text, which is what these libraries sort by; NULL:
 * they do not see it. */
static const char *sequence_behind(const char *name, const char *marker) {
    const char *at = strstr(name, marker);
    const char *sequence = at != NULL ? at + strlen(marker) : NULL;
    return sequence != NULL && strspn(sequence, "-0123456789") == strlen(sequence) ? sequence
                                                                                   : NULL;
}

/* kazoo's Lock and ReadLock look at locks only, its WriteLock at readers too. */
static const char *kazoo_key(const stranger *self, const char *name) {
    const char *sequence = sequence_behind(name, "__lock__");
    return sequence == NULL && self->looks_at_readers ? sequence_behind(name, "__rlock__")
                                                      : sequence;
}

/* A LeaderLatch looks at all children, and sorts those without its marker by their whole names. */
static const char *latch_key(const char *name) {
    const char *sequence = sequence_behind(name, "latch-");
    return sequence != NULL ? sequence : name;
}

static const char *key_of(const stranger *self, const char *name) {
    return self->naming == ZKL_NAMING_KAZOO ? kazoo_key(self, name) : latch_key(name);
}

/* kazoo's ReadLock does not find itself among those that it looks at, and so waits for the last of
 * them, even if that came later. */
static bool finds_predecessor(const stranger *self) {
    const char *own = key_of(self, strrchr(self->node, '/') + 1);
    for (const zkl_node *child = first_child(self->resource); child != NULL;
         child = next_child(child)) {
        const char *key = key_of(self, zkl_node_last_name(child));
        if (key != NULL && strcmp(zkl_node_path(child), self->node) != 0 &&
            (own == NULL || strcmp(key, own) < 0)) {
            return true;
        }
    }
    return false;
}

static void leave(const stranger *self) {
    if (self->dies) {
        (void)zkl_ensemble_expire(zkl_ensemble_current(), self->session_id);
    } else {
        (void)zkl_ensemble_delete(zkl_ensemble_current(), self->node);
    }
}

static void contend(void *arg) {
    stranger *self = arg;
    if (!is_there(self->node)) {
        return; /* by hand, or with its resource */
    }
    bool is_late = zkl_world_now_us() >= self->gives_up_us;
    if (self->holds || is_late) {
        leave(self);
        look_again(self, LOOK_EVERY_US);
    } else if (finds_predecessor(self)) {
        look_again(self, LOOK_EVERY_US);
    } else {
        self->holds = true;
        oracle_judge_peer(self->resource, self->naming, self->looks_at_readers);
        look_again(self, self->holds_us);
    }
}

static void begin_contending(stranger *self, zkl_naming naming, uint32_t choice) {
    static const char *const kinds[] = { "__lock__", "__lock__", "__rlock__" };
    unsigned kind = choice % 3;
    char path[PATH_SIZE];
    self->naming = naming;
    self->looks_at_readers = kind == 1;
    self->session_id = zkl_ensemble_make_session(zkl_ensemble_current());
    self->dies = choice / 3 % 4 == 0;
    self->holds_us = (int64_t)(choice / 16 % HOLD_MAX_MS) * US_PER_MS;
    self->gives_up_us = zkl_world_now_us() + (int64_t)(choice / 64 % PATIENCE_MAX_MS) * US_PER_MS;
    if (naming == ZKL_NAMING_KAZOO) {
        snprintf(path, sizeof(path), "%.100s/%032x%s", self->resource, (unsigned)choice,
                 kinds[kind]);
    } else {
        snprintf(path, sizeof(path), "%.100s/" CURATOR "latch-", self->resource);
    }
    create_in(self->session_id, path, true, self->node);
    self->next.run = contend;
    contend(self);
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
    zkl_naming naming = plan_naming_of(all.plan, resource_path);
    if (naming != ZKL_NAMING_CURATOR && choice % 8 != 0) {
        begin_contending(new_stranger(resource_path), naming, choice / 8);
        return;
    }
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
