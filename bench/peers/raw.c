/*
 * The floor: what a lock on ZooKeeper cannot do without, by bare calls of libzookeeper. A create
 * and a list, pipelined; a watch on the next lower node, whose deletion grants; a delete. It
 * survives no lost reply, no reconnect and no node that is deleted by hand: it is not a lock to
 * use.
 */
#include "../basics.h"
#include "../peer.h"
#include "wire.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct session {
    zhandle_t *zh;
    _Atomic(struct contender *) closed; /* a watch may still know them */
};

struct contender {
    struct session *session;
    struct contender *next;
    char path[PEER_PATH_SIZE];
    char node[PEER_PATH_SIZE + 32];
    char before[PEER_PATH_SIZE + 32]; /* "": nobody */
    sem_t arrived;
    int rc;
};

static void *session_open(const char *hosts) {
    struct session *session = allocate(1, sizeof *session);
    session->zh = wire_open(hosts);
    return session;
}

static void session_close(void *arg) {
    struct session *session = arg;
    wire_close(session->zh);
    for (struct contender *contender = session->closed; contender != NULL;) {
        struct contender *next = contender->next;
        sem_destroy(&contender->arrived);
        free(contender);
        contender = next;
    }
    free(session);
}

static void *contender_open(void *session, const char *resource, int permits) {
    (void)permits;
    struct contender *contender = allocate(1, sizeof *contender);
    contender->session = session;
    (void)snprintf(contender->path, sizeof contender->path, PEER_ROOT "/%s", resource);
    sem_init(&contender->arrived, 0, 0);
    return contender;
}

static void contender_close(void *arg) {
    struct contender *contender = arg;
    _Atomic(struct contender *) *closed = &contender->session->closed;
    contender->next = atomic_load(closed);
    while (!atomic_compare_exchange_weak(closed, &contender->next, contender)) {
        /* Another thread has closed one. */
    }
}

static void on_created(int rc, const char *node, const void *arg) {
    struct contender *self = (struct contender *)(uintptr_t)arg;
    wire_require(rc, "create");
    (void)snprintf(self->node, sizeof self->node, "%s", node);
}

static void on_listed(int rc, const struct String_vector *names, const void *arg) {
    struct contender *self = (struct contender *)(uintptr_t)arg;
    int64_t own = wire_sequence(self->node);
    int64_t nearest = -1;
    wire_require(rc, "list");
    self->before[0] = '\0';
    for (int i = 0; i < names->count; i++) {
        int64_t number = wire_sequence(names->data[i]);
        if (number < own && number > nearest) {
            nearest = number;
            (void)snprintf(self->before, sizeof self->before, "%s/%s", self->path, names->data[i]);
        }
    }
    sem_post(&self->arrived);
}

static void on_watched(int rc, const struct Stat *stat, const void *arg) {
    struct contender *self = (struct contender *)(uintptr_t)arg;
    (void)stat;
    if (rc == ZNONODE) {
        sem_post(&self->arrived); /* gone already */
    } else {
        wire_require(rc, "exists");
    }
}

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *arg) {
    (void)zh;
    (void)state;
    (void)path;
    if (type == ZOO_DELETED_EVENT) {
        sem_post(&((struct contender *)arg)->arrived);
    }
}

static void acquire(void *arg, enum peer_mode mode) {
    struct contender *self = arg;
    zhandle_t *zh = self->session->zh;
    char prefix[PEER_PATH_SIZE + 8];
    (void)mode;
    (void)snprintf(prefix, sizeof prefix, "%s/n-", self->path);
    wire_require(zoo_acreate(zh, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                             on_created, self),
                 "create");
    wire_require(zoo_aget_children(zh, self->path, 0, on_listed, self), "list");
    wire_wait(&self->arrived);
    if (self->before[0] != '\0') {
        wire_require(zoo_awexists(zh, self->before, on_event, self, on_watched, self), "exists");
        wire_wait(&self->arrived);
    }
}

static void on_deleted(int rc, const void *arg) {
    struct contender *self = (struct contender *)(uintptr_t)arg;
    self->rc = rc;
    sem_post(&self->arrived);
}

static void release(void *arg) {
    struct contender *self = arg;
    wire_require(zoo_adelete(self->session->zh, self->node, -1, on_deleted, self), "delete");
    wire_wait(&self->arrived);
    wire_require(self->rc, "delete");
}

/* ---- Many at once ------------------------------------------------------------------------------
 */

struct many {
    zhandle_t *zh;
    int count;
    int made;
    char (*nodes)[PEER_PATH_SIZE];
    sem_t arrived;
};

static void on_one(int rc, const char *node, const void *arg) {
    struct many *many = (struct many *)(uintptr_t)arg;
    wire_require(rc, "create");
    (void)snprintf(many->nodes[many->made++], PEER_PATH_SIZE, "%s", node);
    sem_post(&many->arrived);
}

static void on_gone(int rc, const void *arg) {
    wire_require(rc, "delete");
    sem_post(&((struct many *)(uintptr_t)arg)->arrived);
}

static void await_all(struct many *many) {
    for (int i = 0; i < many->count; i++) {
        wire_wait(&many->arrived);
    }
}

/* A `%d` in the format is the number of the node. */
static struct many *make_many(struct session *session, const char *resource, int count,
                              bool each_apart) {
    char prefix[PEER_PATH_SIZE];
    struct many *many = allocate(1, sizeof *many);
    many->zh = session->zh;
    many->count = count;
    many->nodes = allocate((uint64_t)count, sizeof *many->nodes);
    sem_init(&many->arrived, 0, 0);
    for (int i = 0; i < count; i++) {
        if (each_apart) {
            (void)snprintf(prefix, sizeof prefix, PEER_ROOT "/%s-%d/n-", resource, i);
        } else {
            (void)snprintf(prefix, sizeof prefix, PEER_ROOT "/%s/n-", resource);
        }
        wire_require(zoo_acreate(many->zh, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                                 ZOO_EPHEMERAL_SEQUENTIAL, on_one, many),
                     "create");
    }
    await_all(many);
    return many;
}

static void *hold_many(void *session, const char *resource, int count) {
    return make_many(session, resource, count, true);
}

static void *queue_many(void *session, const char *resource, int count) {
    return make_many(session, resource, count, false);
}

static void drop_many(void *arg) {
    struct many *many = arg;
    for (int i = 0; i < many->count; i++) {
        wire_require(zoo_adelete(many->zh, many->nodes[i], -1, on_gone, many), "delete");
    }
    await_all(many);
    sem_destroy(&many->arrived);
    free(many->nodes);
    free(many);
}

static void on_made(int rc, const char *node, const void *arg) {
    (void)node;
    wire_require(rc == ZNODEEXISTS ? ZOK : rc, "create");
    sem_post(&((struct many *)(uintptr_t)arg)->arrived);
}

static void make(void *session, const char *resource, int resources) {
    char path[PEER_PATH_SIZE];
    struct many many = { .zh = ((struct session *)session)->zh, .count = resources };
    sem_init(&many.arrived, 0, 0);
    wire_make(many.zh, PEER_ROOT);
    for (int i = 0; i < resources; i++) {
        if (resources > 1) {
            (void)snprintf(path, sizeof path, PEER_ROOT "/%s-%d", resource, i);
        } else {
            (void)snprintf(path, sizeof path, PEER_ROOT "/%s", resource);
        }
        wire_require(
            zoo_acreate(many.zh, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, on_made, &many),
            "create");
    }
    await_all(&many);
    sem_destroy(&many.arrived);
}

int main(void) {
    static const struct peer peer = { .session_open = session_open,
                                      .session_close = session_close,
                                      .contender_open = contender_open,
                                      .contender_close = contender_close,
                                      .acquire = acquire,
                                      .release = release,
                                      .hold_many = hold_many,
                                      .drop_many = drop_many,
                                      .queue_many = queue_many,
                                      .queue_leave = drop_many,
                                      .make = make };
    return peer_main(&peer);
}
