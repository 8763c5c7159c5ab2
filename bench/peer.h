/*
 * A lock as the benchmark sees it. driver.c speaks the benchmark's line protocol (README.md) for
 * each lock that has these functions. A failure ends the program.
 */
#pragma once

#include <stdbool.h>

enum peer_mode { PEER_EXCLUSIVE, PEER_READ, PEER_WRITE };

struct peer {
    /** A connection of its own to these servers, and connected when it returns. */
    void *(*session_open)(const char *hosts);
    void (*session_close)(void *session);

    /** One contender for a resource, used by one thread at a time. permits 0: a lock. */
    void *(*contender_open)(void *session, const char *resource, int permits);
    void (*contender_close)(void *contender);
    void (*acquire)(void *contender, enum peer_mode mode);
    void (*release)(void *contender);

    /** NULL where the lock has no such thing. Whether the lock was free; false leaves nothing. */
    bool (*try_acquire)(void *contender);

    /** NULL likewise. All at once, and returns when all are granted: a lock of each of `count`
     *  resources, whose names begin with `resource`. */
    void *(*hold_many)(void *session, const char *resource, int count);
    void (*drop_many)(void *held);

    /** NULL likewise. Puts `count` contenders of one session into the queue of one resource, all at
     *  once, and returns when all are in it and the first holds it. */
    void *(*queue_many)(void *session, const char *resource, int count);
    /** The holder's release, up to the next one's grant. NULL: this is no queue that moves. */
    void (*queue_move)(void *queue);
    void (*queue_leave)(void *queue);

    /** NULL but for one that makes the persistent nodes of all: that of the resource, or, of more
     * than one, RESOURCE-0 and so on. */
    void (*make)(void *session, const char *resource, int resources);
};

/** Contenders of one session may hand a lock on among themselves, and keep it: `open` has said so.
 */
extern bool peer_lends;

/** The whole of main. */
int peer_main(const struct peer *measured);

enum {
    PEER_SESSION_TIMEOUT_MS = 30000,
    PEER_TICK_MS = 500,
    PEER_RETAIN_MS = 10000,
    PEER_PATH_SIZE = 256
};
/** Above all resources, of all peers. */
#define PEER_ROOT "/locks"
