/*
 * A contender of zklock: the lines of protocol.md. Its kinds are in the table below.
 */
#include "lines.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zklock/administration.h>
#include <zklock/zklock.h>
#include <zookeeper/zookeeper.h>

#define PATIENCE_MS 30000

struct kind {
    const char *name;
    zkl_mode mode;
    zkl_naming naming;
    int32_t permits;
    bool unprotected; /* others can ask for the lock */
};

static const struct kind kinds[] = {
    { .name = "exclusive", .mode = ZKL_EXCLUSIVE },
    { .name = "read", .mode = ZKL_READ },
    { .name = "write", .mode = ZKL_WRITE },
    { .name = "kazoo-exclusive", .mode = ZKL_EXCLUSIVE, .naming = ZKL_NAMING_KAZOO },
    { .name = "kazoo-read", .mode = ZKL_READ, .naming = ZKL_NAMING_KAZOO },
    { .name = "kazoo-write", .mode = ZKL_WRITE, .naming = ZKL_NAMING_KAZOO },
    { .name = "latch", .mode = ZKL_EXCLUSIVE, .naming = ZKL_NAMING_LEADER_LATCH },
    { .name = "permit", .mode = ZKL_EXCLUSIVE, .permits = 2 },
    { .name = "revocable", .mode = ZKL_EXCLUSIVE, .unprotected = true },
};

struct lock {
    const struct kind *kind;
    const char *path;
    zkl_client *client;
    zkl_lock *lock;
    atomic_int revoked;
    atomic_int suspended;
    atomic_int lost;
};

/* ---- What a status is called ------------------------------------------------------------ */

static const char *failure(int status, char text[LINES_TEXT_SIZE]) {
    snprintf(text, LINES_TEXT_SIZE, "%s: %s", zkl_strerror(status), zkl_error_message());
    for (char *at = strchr(text, '\n'); at != NULL; at = strchr(at, '\n')) {
        *at = ' ';
    }
    return LINES_FAILED;
}

static const char *told_as(int status, char text[LINES_TEXT_SIZE]) {
    switch (status) {
    case ZKL_OK:
        return LINES_OK;
    case ZKL_BUSY:
    case ZKL_TIMEOUT:
        return LINES_TIMEOUT;
    case ZKL_CANCELLED:
        return LINES_CANCELLED;
    case ZKL_LOST:
    case ZKL_SESSION_EXPIRED:
        return LINES_LOST;
    case ZKL_USED_DIFFERENTLY:
        failure(status, text);
        return LINES_REFUSED;
    default:
        return failure(status, text);
    }
}

/* ---- Commands --------------------------------------------------------------------------- */

static const char *acquire(void *self, int64_t timeout_ms, char text[LINES_TEXT_SIZE]) {
    struct lock *lock = self;
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(lock->lock, lock->kind->mode, timeout_ms, &grant);
    if (status == ZKL_OK) {
        snprintf(text, LINES_TEXT_SIZE, "%s", grant.node);
    }
    return told_as(status, text);
}

static const char *give_back(void *self, char text[LINES_TEXT_SIZE]) {
    struct lock *lock = self;
    return told_as(zkl_lock_release(lock->lock, PATIENCE_MS), text);
}

static const char *cancel(void *self, char text[LINES_TEXT_SIZE]) {
    struct lock *lock = self;
    return told_as(zkl_lock_cancel(lock->lock), text);
}

static const char *held(void *self, char text[LINES_TEXT_SIZE]) {
    struct lock *lock = self;
    int status = zkl_lock_check(lock->lock, NULL);
    return status == ZKL_SUSPECT ? LINES_OK : told_as(status, text);
}

static const char *write_names(const zkl_queue *queue, char text[LINES_TEXT_SIZE]) {
    size_t length = (size_t)snprintf(text, LINES_TEXT_SIZE, "[");
    for (size_t i = 0; i < queue->count && length < LINES_TEXT_SIZE; i++) {
        length += (size_t)snprintf(text + length, LINES_TEXT_SIZE - length, "%s\"%s\"",
                                   i == 0 ? "" : ", ", queue->contenders[i]->node);
    }
    if (length >= LINES_TEXT_SIZE - 1) {
        snprintf(text, LINES_TEXT_SIZE, "too many contenders");
        return LINES_FAILED;
    }
    snprintf(text + length, LINES_TEXT_SIZE - length, "]");
    return LINES_OK;
}

static const char *contenders(void *self, char text[LINES_TEXT_SIZE]) {
    struct lock *lock = self;
    zkl_queue *queue;
    int status = zkl_queue_describe(lock->client, lock->path, PATIENCE_MS, &queue);
    if (queue == NULL) {
        return failure(status, text);
    }
    const char *told = write_names(queue, text);
    zkl_report_free(queue);
    return told;
}

static const char *revoke(void *self, const char *node, char text[LINES_TEXT_SIZE]) {
    struct lock *lock = self;
    const char *slash = strrchr(node, '/');
    return told_as(
        zkl_node_revoke(lock->client, lock->path, slash == NULL ? node : slash + 1, PATIENCE_MS),
        text);
}

static const char *told(void *self, const char *what, char text[LINES_TEXT_SIZE]) {
    struct lock *lock = self;
    atomic_int *count = strcmp(what, "revoked") == 0 ? &lock->revoked
                        : strcmp(what, "lost") == 0  ? &lock->lost
                                                     : &lock->suspended;
    snprintf(text, LINES_TEXT_SIZE, "%d", atomic_load(count));
    return LINES_OK;
}

/* ---- News ------------------------------------------------------------------------------- */

static void on_news(void *self, const zkl_lock_event *event) {
    struct lock *lock = self;
    if (event->state == ZKL_STATE_REVOKE_REQUESTED) {
        atomic_fetch_add(&lock->revoked, 1);
    } else if (event->state == ZKL_STATE_SUSPECT) {
        atomic_fetch_add(&lock->suspended, 1);
    } else if (event->state == ZKL_STATE_LOST) {
        atomic_fetch_add(&lock->lost, 1);
    }
}

/* ---- Start and end ---------------------------------------------------------------------- */

static const struct kind *kind_named(const char *name) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].name, name) == 0) {
            return &kinds[i];
        }
    }
    lines_cannot_start("no such kind");
}

static int open_lock(struct lock *self, char **argv) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = atoi(argv[3]);
    options.connect_timeout_ms = PATIENCE_MS;
    options.label = argv[5];
    zkl_lock_options lock_options = ZKL_LOCK_OPTIONS_INIT;
    lock_options.permits = self->kind->permits;
    lock_options.naming = self->kind->naming;
    lock_options.revocable = self->kind->unprotected;
    lock_options.state_callback = on_news;
    lock_options.state_arg = self;
    int status = zkl_client_open(argv[1], &options, &self->client);
    return status != ZKL_OK ? status
                            : zkl_lock_open(self->client, self->path, &lock_options, &self->lock);
}

int main(int argc, char **argv) {
    static struct lock self;
    char text[LINES_TEXT_SIZE];
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    lines_begin();
    zoo_set_debug_level((ZooLogLevel)0);
    if (argc != 6) {
        lines_cannot_start("not meant to be started by hand; see protocol.md");
    }
    self.kind = kind_named(argv[4]);
    self.path = argv[2];
    int status = open_lock(&self, argv);
    if (status == ZKL_OK) {
        status = zkl_client_info(self.client, &information);
    }
    if (status != ZKL_OK) {
        failure(status, text);
        lines_cannot_start(text);
    }
    lines_start(information.session_id, information.session_timeout_ms);
    lines_serve(&(struct lines_library){ .lock = &self,
                                         .shares = self.kind->mode == ZKL_READ,
                                         .acquire = acquire,
                                         .release = give_back,
                                         .cancel = cancel,
                                         .held = held,
                                         .contenders = contenders,
                                         .revoke = revoke,
                                         .told = told });
    zkl_client_close(self.client, PATIENCE_MS);
    return EXIT_SUCCESS;
}
