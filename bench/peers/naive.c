/*
 * What a first attempt looks like: each waiter watches the parent, and all list again whenever
 * anything changes there.
 */
#include "../basics.h"
#include "../peer.h"
#include "wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct contender {
    zhandle_t *zh;
    char path[PEER_PATH_SIZE];
    char node[PEER_PATH_SIZE + 32];
    sem_t changed;
};

static void *session_open(const char *hosts) {
    return wire_open(hosts);
}

static void session_close(void *session) {
    wire_close(session);
}

static void *contender_open(void *session, const char *resource, int permits) {
    (void)permits;
    struct contender *contender = allocate(1, sizeof *contender);
    contender->zh = session;
    (void)snprintf(contender->path, sizeof contender->path, PEER_ROOT "/%s", resource);
    sem_init(&contender->changed, 0, 0);
    return contender;
}

/* A watch may still know it: it stays until the program ends. */
static void contender_close(void *contender) {
    (void)contender;
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
    wire_require(zoo_wget_children(self->zh, self->path, on_event, self, &names), "list");
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
    wire_require(zoo_create(self->zh, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                            self->node, sizeof self->node),
                 "create");
    while (!is_lowest(self)) {
        wire_wait(&self->changed);
    }
}

static void release(void *arg) {
    struct contender *self = arg;
    wire_require(zoo_delete(self->zh, self->node, -1), "delete");
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
