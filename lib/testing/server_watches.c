/* The watches that a server keeps: on paths, for connections, each for one event. */
#include <string.h>

#include "base/acl_text.h"
#include "testing/servers.h"
#include "testing/wire.h"

struct zkl_watch_entry {
    zkl_watched_path *watched;
    zkl_watch_kind kind;
    zkl_wire *wire;
    zkl_watch_entry *prev, *next; /* of the same path */
    zkl_watch_entry *of_wire_prev, *of_wire_next;
};

struct zkl_watched_path {
    zkl_server *server;
    zkl_watch_entry *entries;
    UT_hash_handle hh;
    char path[];
};

static zkl_watched_path *find(const zkl_server *server, const char *path) {
    zkl_watched_path *watched = NULL;
    HASH_FIND(hh, server->watched, path, (unsigned)strlen(path), watched);
    return watched;
}

static zkl_watch_entry *find_entry(const zkl_watched_path *watched, const zkl_wire *wire,
                                   zkl_watch_kind kind) {
    for (zkl_watch_entry *entry = watched != NULL ? watched->entries : NULL; entry != NULL;
         entry = entry->next) {
        if (entry->wire == wire && entry->kind == kind) {
            return entry;
        }
    }
    return NULL;
}

static zkl_watched_path *find_or_make(zkl_server *server, const char *path) {
    zkl_watched_path *watched = find(server, path);
    if (watched == NULL) {
        size_t length = strlen(path);
        watched = zkl_testing_allocate(sizeof(*watched) + length + 1);
        memcpy(watched->path, path, length);
        watched->server = server;
        HASH_ADD(hh, server->watched, path, (unsigned)length, watched);
    }
    return watched;
}

void zkl_server_watch(zkl_server *server, zkl_wire *wire, const char *path, zkl_watch_kind kind) {
    zkl_watched_path *watched = find_or_make(server, path);
    if (find_entry(watched, wire, kind) != NULL) {
        return;
    }
    zkl_watch_entry *entry = zkl_testing_allocate(sizeof(*entry));
    entry->watched = watched;
    entry->kind = kind;
    entry->wire = wire;
    DL_APPEND(watched->entries, entry);
    DL_APPEND2(wire->watches, entry, of_wire_prev, of_wire_next);
    wire->watch_count++;
}

static void forget_entry(zkl_watch_entry *entry) {
    zkl_watched_path *watched = entry->watched;
    DL_DELETE(watched->entries, entry);
    DL_DELETE2(entry->wire->watches, entry, of_wire_prev, of_wire_next);
    entry->wire->watch_count--;
    zkl_testing_free(entry);
    if (watched->entries == NULL) {
        HASH_DELETE(hh, watched->server->watched, watched);
        zkl_testing_free(watched);
    }
}

bool zkl_server_unwatch(zkl_server *server, zkl_wire *wire, const char *path, zkl_watch_kind kind) {
    zkl_watch_entry *entry = find_entry(find(server, path), wire, kind);
    if (entry == NULL) {
        return false;
    }
    forget_entry(entry);
    return true;
}

void zkl_server_unwatch_all(zkl_wire *wire) {
    while (wire->watches != NULL) {
        forget_entry(wire->watches);
    }
}

/* A client with two watches that a deletion fires is told of it once: libzookeeper fires both. */
static bool is_told_by_another(const zkl_watch_entry *entry, zkl_watch_event event) {
    return event == ZKL_WATCH_EVENT_DELETED && entry->kind == ZKL_WATCH_CHILDREN &&
           find_entry(entry->watched, entry->wire, ZKL_WATCH_NODE) != NULL;
}

/* From 3.8.4 and 3.9.2 on (NIOServerCnxn.process): who may not read the node is not told. */
static void fire(zkl_watch_entry *entry, const zkl_node *node, zkl_watch_event event) {
    const zkl_ensemble *ensemble = entry->watched->server->ensemble;
    const char *path = zkl_node_path(node);
    bool may_know = zkl_rights_grant(ensemble, node, ZKL_PERMISSION_READ, entry->wire->identities);
    if (may_know && !is_told_by_another(entry, event)) {
        zkl_answer *answer = zkl_answer_make(ZKL_ANSWER_WATCH, path);
        answer->event = event;
        zkl_wire_answer(entry->wire, answer);
    }
    forget_entry(entry); /* the path as well, with the last of them */
}

static void fire_kind(zkl_server *server, const zkl_node *node, zkl_watch_event event,
                      zkl_watch_kind kind) {
    const zkl_watched_path *watched = find(server, zkl_node_path(node));
    zkl_watch_entry *entry = watched != NULL ? watched->entries : NULL;
    while (entry != NULL) {
        zkl_watch_entry *next = entry->next;
        if (entry->kind == kind) {
            fire(entry, node, event);
        }
        entry = next;
    }
}

void zkl_server_fire_watches(zkl_server *server, const zkl_node *node, zkl_watch_event event) {
    bool of_children = event == ZKL_WATCH_EVENT_CHILDREN;
    if (of_children || event == ZKL_WATCH_EVENT_DELETED) {
        fire_kind(server, node, event, ZKL_WATCH_CHILDREN);
    }
    if (!of_children) {
        fire_kind(server, node, event, ZKL_WATCH_NODE);
    }
}
