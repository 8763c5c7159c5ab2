/*
 * One ephemeral node without a sequence number: who creates it holds the lock, all others watch it
 * and try again when it goes (Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for
 * Internet-scale systems", 2010, "Simple Locks").
 *
 * There is no order, and a release wakes everybody. A create whose reply is lost locks its own
 * author out for as long as the session lasts. A holder does not hear that its session has ended.
 */
#include "../../clock.h"
#include "zookeeper.h"

#include <stdio.h>

static void on_change(zhandle_t *session, int type, int state, const char *path, void *context) {
    (void)session, (void)type, (void)state, (void)path, (void)context;
    latch_open();
}

static void name_node(char *path, const char *product) {
    (void)snprintf(path, NODE_PATH_SIZE, "/one-node/%s", product);
}

static lock_answer try_create(zhandle_t *session, const char *path, int64_t *token) {
    struct Stat stat;
    int made =
        zoo_create2(session, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL, NULL, 0, &stat);
    *token = made == ZOK ? stat.czxid : *token;
    return made == ZOK ? LOCK_GRANTED : made == ZNODEEXISTS ? LOCK_BUSY : LOCK_UNKNOWN;
}

/* False: an error. The node may go between the create and this: then it need not be waited for. */
static bool watch(zhandle_t *session, const char *path) {
    latch_close();
    int there = zoo_wexists(session, path, on_change, NULL, NULL);
    if (there == ZNONODE) {
        latch_open();
    }
    return there == ZOK || there == ZNONODE;
}

static lock_answer create_in_time(zhandle_t *session, const char *path, int64_t until_ms,
                                  int64_t *token) {
    lock_answer answer = try_create(session, path, token);
    while (answer == LOCK_BUSY) {
        if (!watch(session, path)) {
            return LOCK_UNKNOWN;
        }
        if (!latch_await(until_ms)) {
            return LOCK_BUSY;
        }
        answer = try_create(session, path, token);
    }
    return answer;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    char path[NODE_PATH_SIZE];
    int64_t until_ms = clock_ms() + wait_ms;
    zhandle_t *session = session_get(NULL, until_ms);
    if (session == NULL || !session_make(session, "/one-node")) {
        return LOCK_UNKNOWN;
    }
    name_node(path, product);
    return create_in_time(session, path, until_ms, token);
}

static void release(const char *product) {
    char path[NODE_PATH_SIZE];
    name_node(path, product);
    (void)zoo_delete(session_now(), path, -1);
}

const mechanism the_mechanism = { .open = session_prepare, .acquire = acquire, .release = release };
