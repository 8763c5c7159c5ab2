/*
 * A queue in which everybody watches the parent: each waiter has an ephemeral node with a sequence
 * number, and lists again whenever any node comes or goes (what ZooKeeper's "Recipes and
 * Solutions", "Locks", step 2, warns of: the herd effect).
 *
 * Its defect is its price: a release wakes everybody. A create or delete whose connection breaks
 * may also leave a node in the queue for as long as the session lasts, and then its own author
 * waits behind it. A holder does not hear that its session has ended.
 */
#include "../../clock.h"
#include "zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEQUENCE_DIGITS = 10 };

static char node[NODE_PATH_SIZE];

static void on_change(zhandle_t *session, int type, int state, const char *path, void *context) {
    (void)session, (void)type, (void)state, (void)path, (void)context;
    latch_open();
}

static int64_t sequence_of(const char *name) {
    size_t length = strlen(name);
    return length < SEQUENCE_DIGITS ? -1 : strtoll(name + length - SEQUENCE_DIGITS, NULL, 10);
}

static bool join_queue(zhandle_t *session, const char *parent, struct Stat *stat) {
    char prefix[NODE_PATH_SIZE];
    (void)snprintf(prefix, sizeof prefix, "%s/n-", parent);
    return session_make(session, "/herd") && session_make(session, parent) &&
           zoo_create2(session, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL, node,
                       sizeof node, stat) == ZOK;
}

static lock_answer look(zhandle_t *session, const char *parent) {
    struct String_vector names;
    lock_answer answer = LOCK_GRANTED;
    latch_close();
    if (zoo_wget_children(session, parent, on_change, NULL, &names) != ZOK) {
        return LOCK_UNKNOWN;
    }
    for (int i = 0; i < names.count; i++) {
        if (sequence_of(names.data[i]) < sequence_of(node)) {
            answer = LOCK_BUSY;
        }
    }
    deallocate_String_vector(&names);
    return answer;
}

static lock_answer await_turn(zhandle_t *session, const char *parent, int64_t until_ms) {
    lock_answer answer = look(session, parent);
    while (answer == LOCK_BUSY && latch_await(until_ms)) {
        answer = look(session, parent);
    }
    return answer;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    char parent[NODE_PATH_SIZE / 2];
    struct Stat stat;
    int64_t until_ms = clock_ms() + wait_ms;
    zhandle_t *session = session_get(NULL, until_ms);
    (void)snprintf(parent, sizeof parent, "/herd/%s", product);
    if (session == NULL || !join_queue(session, parent, &stat)) {
        return LOCK_UNKNOWN;
    }
    lock_answer answer = await_turn(session, parent, until_ms);
    if (answer != LOCK_GRANTED) {
        (void)zoo_delete(session, node, -1);
        return answer;
    }
    *token = stat.czxid;
    return LOCK_GRANTED;
}

static void release(const char *product) {
    (void)product;
    (void)zoo_delete(session_now(), node, -1);
}

const mechanism the_mechanism = { .open = session_prepare, .acquire = acquire, .release = release };
