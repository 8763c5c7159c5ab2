/* zklock, with its options as they are by default, but for those by which a client lends its nodes.
 */
#include "../basics.h"
#include "../peer.h"

#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <zklock/zklock.h>
#include <zookeeper/zookeeper.h>

enum { PATIENCE_MS = 30000, PEER_HAND_OFFS = 100 };

struct contender {
    zkl_lock *lock;
};

static void require(int status, const char *what) {
    if (status != ZKL_OK) {
        fail("%s: %s: %s", what, zkl_strerror(status), zkl_error_message());
    }
}

static void *session_open(const char *hosts) {
    zkl_client *client;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zoo_set_debug_level((ZooLogLevel)0);
    options.session_timeout_ms = PEER_SESSION_TIMEOUT_MS;
    options.connect_timeout_ms = PATIENCE_MS;
    options.lock_root = PEER_ROOT;
    options.lease_tick_ms = peer_lends ? PEER_TICK_MS : 0;
    require(zkl_client_open(hosts, &options, &client), "open");
    return client;
}

static void session_close(void *session) {
    require(zkl_client_close(session, PATIENCE_MS), "close");
}

static void *contender_open(void *session, const char *resource, int permits) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lending lending = ZKL_LENDING_INIT;
    struct contender *contender = allocate(1, sizeof *contender);
    options.permits = permits;
    lending.hand_offs = PEER_HAND_OFFS;
    lending.retain_ms = PEER_RETAIN_MS;
    options.lending = peer_lends ? &lending : NULL;
    require(zkl_lock_open(session, resource, &options, &contender->lock), "lock");
    return contender;
}

static void contender_close(void *arg) {
    struct contender *contender = arg;
    zkl_lock_close(contender->lock);
    free(contender);
}

static void acquire(void *contender, enum peer_mode mode) {
    static const zkl_mode modes[] = {
        [PEER_EXCLUSIVE] = ZKL_EXCLUSIVE, [PEER_READ] = ZKL_READ, [PEER_WRITE] = ZKL_WRITE
    };
    require(zkl_lock_acquire(((struct contender *)contender)->lock, modes[mode], ZKL_FOREVER, NULL),
            "acquire");
}

static void release(void *contender) {
    require(zkl_lock_release(((struct contender *)contender)->lock, PATIENCE_MS), "release");
}

static bool try_acquire(void *contender) {
    zkl_lock *lock = ((struct contender *)contender)->lock;
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL);
    if (status == ZKL_OK) {
        require(zkl_lock_release(lock, PATIENCE_MS), "release");
    } else if (status != ZKL_BUSY) {
        require(status, "try");
    }
    return status == ZKL_OK;
}

/* ---- Many at once ------------------------------------------------------------------------------
 */

struct many;

struct member {
    struct many *many;
    zkl_lock *lock;
};

struct many {
    zkl_client *client;
    int count;
    struct member *members;
    zkl_lock *holder; /* who was granted last */
    sem_t granted;
};

/* A handle that is closed before its grant is told so, when `many` may be gone. */
static void on_granted(void *arg, int status, const zkl_grant *grant) {
    struct member *member = arg;
    (void)grant;
    if (status != ZKL_CANCELLED) {
        require(status, "acquire");
        member->many->holder = member->lock;
        sem_post(&member->many->granted);
    }
}

static void await_grant(struct many *many) {
    while (sem_wait(&many->granted) != 0) {
        /* A signal. */
    }
}

static struct many *acquire_many(zkl_client *client, const char *resource, int count,
                                 bool each_apart) {
    char name[PEER_PATH_SIZE];
    struct many *many = allocate(1, sizeof *many);
    many->client = client;
    many->count = count;
    many->members = allocate((uint64_t)count, sizeof *many->members);
    sem_init(&many->granted, 0, 0);
    for (int i = 0; i < count; i++) {
        if (each_apart) {
            (void)snprintf(name, sizeof name, "%s-%d", resource, i);
        } else {
            (void)snprintf(name, sizeof name, "%s", resource);
        }
        struct member *member = &many->members[i];
        member->many = many;
        require(zkl_lock_open(client, name, NULL, &member->lock), "lock");
        require(zkl_lock_acquire_async(member->lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL, on_granted,
                                       member),
                "acquire");
    }
    return many;
}

static void *hold_many(void *session, const char *resource, int count) {
    struct many *many = acquire_many(session, resource, count, true);
    for (int i = 0; i < count; i++) {
        await_grant(many);
    }
    return many;
}

static void await_deletions(zkl_client *client) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    do {
        nap();
        require(zkl_client_info(client, &information), "info");
    } while (information.pending_deletions > 0);
}

static void drop_many(void *arg) {
    struct many *many = arg;
    for (int i = 0; i < many->count; i++) {
        zkl_lock_close(many->members[i].lock);
    }
    await_deletions(many->client);
    sem_destroy(&many->granted);
    free(many->members);
    free(many);
}

/* Who waits knows who is before it. */
static bool has_its_place(zkl_lock *lock) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    require(zkl_lock_info(lock, &information), "info");
    return information.state == ZKL_STATE_HELD || information.position >= 0;
}

static void *queue_many(void *session, const char *resource, int count) {
    struct many *many = acquire_many(session, resource, count, false);
    await_grant(many);
    for (int i = 0; i < count; i++) {
        while (!has_its_place(many->members[i].lock)) {
            nap();
        }
    }
    return many;
}

static void queue_move(void *arg) {
    struct many *many = arg;
    require(zkl_lock_release_async(many->holder, 0, NULL, NULL, NULL), "release");
    await_grant(many);
}

int main(void) {
    static const struct peer peer = { .session_open = session_open,
                                      .session_close = session_close,
                                      .contender_open = contender_open,
                                      .contender_close = contender_close,
                                      .acquire = acquire,
                                      .release = release,
                                      .try_acquire = try_acquire,
                                      .hold_many = hold_many,
                                      .drop_many = drop_many,
                                      .queue_many = queue_many,
                                      .queue_move = queue_move,
                                      .queue_leave = drop_many };
    return peer_main(&peer);
}
