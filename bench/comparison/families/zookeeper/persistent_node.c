/*
 * One persistent node, which its holder deletes: what one gets from Curator's create() where no
 * mode is named, and from kazoo 2.8 by Lock.acquire(ephemeral=False), whose documentation warns
 * that the end of the session does not release it.
 *
 * A holder that dies keeps the lock for ever, and so does a create whose reply is lost.
 */
#include "../../clock.h"
#include "zookeeper.h"

#include <stdio.h>

static void on_change(zhandle_t *session, int type, int state, const char *path, void *context) {
    (void)session, (void)type, (void)state, (void)path, (void)context;
    latch_open();
}

static void name_node(char *path, const char *product) {
    (void)snprintf(path, NODE_PATH_SIZE, "/persistent/%s", product);
}

static lock_answer create_node(zhandle_t *session, const char *path, int64_t *token) {
    struct Stat stat;
    int made =
        zoo_create2(session, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0, &stat);
    if (made == ZOK) {
        *token = stat.czxid;
        return LOCK_GRANTED;
    }
    return made == ZNODEEXISTS ? LOCK_BUSY : LOCK_UNKNOWN;
}

/* Whether the node has gone in time. */
static lock_answer await_deletion(zhandle_t *session, const char *path, int64_t until_ms) {
    latch_close();
    int there = zoo_wexists(session, path, on_change, NULL, NULL);
    if (there == ZNONODE) {
        return LOCK_GRANTED;
    }
    if (there != ZOK) {
        return LOCK_UNKNOWN;
    }
    return latch_await(until_ms) ? LOCK_GRANTED : LOCK_BUSY;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    char path[NODE_PATH_SIZE];
    int64_t until_ms = clock_ms() + wait_ms;
    zhandle_t *session = session_get(NULL, until_ms);
    if (session == NULL || !session_make(session, "/persistent")) {
        return LOCK_UNKNOWN;
    }
    name_node(path, product);
    for (;;) {
        lock_answer made = create_node(session, path, token);
        if (made != LOCK_BUSY) {
            return made;
        }
        lock_answer gone = await_deletion(session, path, until_ms);
        if (gone != LOCK_GRANTED) {
            return gone;
        }
    }
}

static void release(const char *product) {
    char path[NODE_PATH_SIZE];
    name_node(path, product);
    (void)zoo_delete(session_now(), path, -1);
}

const mechanism the_mechanism = { .open = session_prepare, .acquire = acquire, .release = release };
