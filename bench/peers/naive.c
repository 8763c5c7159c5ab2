/*
 * What a first attempt looks like: each waiter watches the parent, and all list again whenever
 * anything changes there.
 */
#include "../basics.h"
#include "../peer.h"
#include "wire.h"

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
    sem_t changed;
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
        sem_destroy(&contender->changed);
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
    sem_init(&contender->changed, 0, 0);
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

static void on_event(zhandle_t *zh, int type, int state, const char *path, void *arg) {
    (void)zh;
    (void)state;
    (void)path;
    if (type == ZOO_CHILD_EVENT) {
        sem_post(&((struct contender *)arg)->changed);
    }
}

static bool is_lowest(struct contender *self) {
    struct String_vector names;
    int64_t own = wire_sequence(self->node);
    bool lowest = true;
    wire_require(zoo_wget_children(self->session->zh, self->path, on_event, self, &names), "list");
    for (int i = 0; i < names.count; i++) {
        lowest &= wire_sequence(names.data[i]) >= own;
    }
    deallocate_String_vector(&names);
    return lowest;
}

static void acquire(void *arg, enum peer_mode mode) {
    struct contender *self = arg;
    char prefix[PEER_PATH_SIZE + 8];
    (void)mode;
    (void)snprintf(prefix, sizeof prefix, "%s/n-", self->path);
    wire_require(zoo_create(self->session->zh, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE,
                            ZOO_EPHEMERAL_SEQUENTIAL, self->node, sizeof self->node),
                 "create");
    while (!is_lowest(self)) {
        wire_wait(&self->changed);
    }
}

static void release(void *arg) {
    struct contender *self = arg;
    wire_require(zoo_delete(self->session->zh, self->node, -1), "delete");
}

int main(void) {
    static const struct peer peer = { .session_open = session_open,
                                      .session_close = session_close,
                                      .contender_open = contender_open,
                                      .contender_close = contender_close,
                                      .acquire = acquire,
                                      .release = release };
    return peer_main(&peer);
}
