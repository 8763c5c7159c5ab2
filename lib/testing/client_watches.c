#include "testing/client_watches.h"

#include <string.h>

#include "testing/hash.h"

typedef struct watch_holder {
    uint64_t id;
    zkl_watch_kind kind;
    bool existed;
    struct watch_holder *prev, *next;
} watch_holder;

struct zkl_client_watch {
    watch_holder *holders;
    size_t count;
    UT_hash_handle hh;
    char path[];
};

static zkl_client_watch *find(const zkl_client_watches *watches, const char *path) {
    zkl_client_watch *watch = NULL;
    HASH_FIND(hh, watches->by_path, path, (unsigned)strlen(path), watch);
    return watch;
}

static zkl_client_watch *find_or_make(zkl_client_watches *watches, const char *path) {
    zkl_client_watch *watch = find(watches, path);
    if (watch == NULL) {
        size_t length = strlen(path);
        watch = zkl_testing_allocate(sizeof(*watch) + length + 1);
        memcpy(watch->path, path, length);
        HASH_ADD(hh, watches->by_path, path, (unsigned)length, watch);
    }
    return watch;
}

void zkl_client_watches_add(zkl_client_watches *watches, const char *path, zkl_watch_kind kind,
                            uint64_t id, bool existed) {
    zkl_client_watch *watch = find_or_make(watches, path);
    const watch_holder *same = watch->holders;
    while (same != NULL && (same->id != id || same->kind != kind || same->existed != existed)) {
        same = same->next;
    }
    if (same == NULL) {
        watch_holder *holder = zkl_testing_allocate(sizeof(*holder));
        holder->id = id;
        holder->kind = kind;
        holder->existed = existed;
        DL_APPEND(watch->holders, holder);
        watch->count++;
    }
}

static void forget_holder(zkl_client_watch *watch, watch_holder *holder) {
    DL_DELETE(watch->holders, holder);
    watch->count--;
    zkl_testing_free(holder);
}

static void forget(zkl_client_watches *watches, zkl_client_watch *watch) {
    while (watch->holders != NULL) {
        forget_holder(watch, watch->holders);
    }
    HASH_DELETE(hh, watches->by_path, watch);
    zkl_testing_free(watch);
}

static void forget_if_empty(zkl_client_watches *watches, zkl_client_watch *watch) {
    if (watch->holders == NULL) {
        forget(watches, watch);
    }
}

void zkl_client_watches_remove(zkl_client_watches *watches, const char *path, zkl_watch_kind kind) {
    zkl_client_watch *watch = find(watches, path);
    if (watch == NULL) {
        return;
    }
    watch_holder *holder = NULL;
    watch_holder *next = NULL;
    DL_FOREACH_SAFE(watch->holders, holder, next) {
        if (holder->kind == kind) {
            forget_holder(watch, holder);
        }
    }
    forget_if_empty(watches, watch);
}

/* As libzookeeper's collectWatchers. */
static bool is_told(zkl_watch_kind kind, zkl_watch_event event) {
    bool of_children = kind == ZKL_WATCH_CHILDREN;
    return event == ZKL_WATCH_EVENT_DELETED || of_children == (event == ZKL_WATCH_EVENT_CHILDREN);
}

zkl_watch_ids zkl_client_watches_take(zkl_client_watches *watches, const char *path,
                                      zkl_watch_event event) {
    zkl_watch_ids ids = { NULL, 0 };
    zkl_client_watch *watch = find(watches, path);
    if (watch == NULL) {
        return ids;
    }
    ids.list = zkl_testing_allocate(watch->count * sizeof(*ids.list));
    watch_holder *holder = NULL;
    watch_holder *next = NULL;
    DL_FOREACH_SAFE(watch->holders, holder, next) {
        if (is_told(holder->kind, event)) {
            ids.list[ids.count++] = holder->id;
            forget_holder(watch, holder);
        }
    }
    forget_if_empty(watches, watch);
    return ids;
}

static bool has_holder(const zkl_client_watch *watch, zkl_watch_kind kind, bool existed) {
    for (const watch_holder *holder = watch->holders; holder != NULL; holder = holder->next) {
        if (holder->kind == kind && holder->existed == existed) {
            return true;
        }
    }
    return false;
}

/* libzookeeper sends them in the order of its hash table, which is any. */
static void shuffle(zkl_watched *list, size_t count) {
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)zkl_world_random(i);
        zkl_watched watched = list[i - 1];
        list[i - 1] = list[other];
        list[other] = watched;
    }
}

zkl_call *zkl_client_watches_call(const zkl_client_watches *watches) {
    size_t most = 3 * (size_t)HASH_COUNT(watches->by_path);
    if (most == 0) {
        return NULL;
    }
    zkl_watched *list = zkl_testing_allocate(most * sizeof(*list));
    size_t count = 0;
    for (const zkl_client_watch *watch = watches->by_path; watch != NULL; watch = watch->hh.next) {
        for (int existed = 0; existed < 2; existed++) {
            if (has_holder(watch, ZKL_WATCH_NODE, existed != 0)) {
                list[count++] = (zkl_watched){ watch->path, ZKL_WATCH_NODE, existed != 0 };
            }
        }
        if (has_holder(watch, ZKL_WATCH_CHILDREN, true)) {
            list[count++] = (zkl_watched){ watch->path, ZKL_WATCH_CHILDREN, true };
        }
    }
    shuffle(list, count);
    zkl_call *call = zkl_call_make_watches(list, count);
    zkl_testing_free(list);
    return call;
}

void zkl_client_watches_clear(zkl_client_watches *watches) {
    while (watches->by_path != NULL) {
        forget(watches, watches->by_path);
    }
}
