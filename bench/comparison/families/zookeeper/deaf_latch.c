/*
 * A class that has been copied from blog to blog: "DistributedLock implements Lock, Watcher", with
 * a session for each lock, "_lock_" in the names of its nodes, and one directory /locks for all
 * products (one copy: com.work.zookeeperlock, ZooKeeperUtil.java; others name
 * blog.csdn.net/peace1213, article 52571445).
 *
 * Its process() returns early when the event's state is SyncConnected, which is the state of a
 * deletion too. So a release wakes nobody; a lost connection opens the latch; and lock() passes
 * over what await() returns: after a session timeout everybody who waits goes in. Nobody looks
 * again who is the first. An event between exists() and the new latch is lost as well.
 */
#include "../../clock.h"
#include "zookeeper.h"

#include <stdio.h>
#include <string.h>

static const char root[] = "/locks";
static const char separator[] = "_lock_";

static int64_t session_timeout_ms;
static char own_path[NODE_PATH_SIZE];

static void open_lock(const lock_settings *settings) {
    session_timeout_ms = settings->timeout_ms;
    session_prepare(settings);
}

static void process(zhandle_t *session, int type, int state, const char *path, void *context) {
    (void)session, (void)type, (void)path, (void)context;
    if (state == ZOO_CONNECTED_STATE) {
        return; /* only the constructor waits for it */
    }
    latch_open();
}

static bool is_of(const char *name, const char *product) {
    const char *behind = strstr(name, separator);
    return behind != NULL && (size_t)(behind - name) == strlen(product) &&
           strncmp(name, product, strlen(product)) == 0;
}

/* The node before the own one, by the order of their texts; "" if there is none. */
static bool find_predecessor(zhandle_t *session, const char *product, char *predecessor) {
    struct String_vector names;
    const char *own = own_path + sizeof root;
    if (zoo_get_children(session, root, 0, &names) != ZOK) {
        return false;
    }
    predecessor[0] = '\0';
    for (int i = 0; i < names.count; i++) {
        const char *name = names.data[i];
        if (is_of(name, product) && strcmp(name, own) < 0 && strcmp(name, predecessor) > 0) {
            (void)snprintf(predecessor, NODE_PATH_SIZE, "%s", name);
        }
    }
    deallocate_String_vector(&names);
    return true;
}

static bool join_queue(zhandle_t *session, const char *product, struct Stat *stat) {
    char prefix[NODE_PATH_SIZE];
    (void)snprintf(prefix, sizeof prefix, "%s/%s%s", root, product, separator);
    return session_make(session, root) &&
           zoo_create2(session, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                       own_path, sizeof own_path, stat) == ZOK;
}

/* The end of the wait counts as granted, as printed. */
static lock_answer wait_for(zhandle_t *session, const char *predecessor, int64_t until_ms) {
    char path[NODE_PATH_SIZE + sizeof root];
    (void)snprintf(path, sizeof path, "%s/%s", root, predecessor);
    int there = zoo_exists(session, path, 1, NULL);
    if (there == ZOK) {
        latch_close();
        (void)latch_await(until_ms);
    }
    return there != ZOK && there != ZNONODE ? LOCK_UNKNOWN
           : clock_is_over()                ? LOCK_BUSY
                                            : LOCK_GRANTED;
}

static lock_answer lock(const char *product, int64_t wait_ms, int64_t *token) {
    char predecessor[NODE_PATH_SIZE] = "";
    struct Stat stat;
    zhandle_t *session = session_get(process, clock_ms() + wait_ms);
    if (session == NULL || !join_queue(session, product, &stat) ||
        !find_predecessor(session, product, predecessor)) {
        return LOCK_UNKNOWN;
    }
    *token = stat.czxid;
    if (predecessor[0] == '\0') {
        return LOCK_GRANTED;
    }
    /* lock() waits for as long as a session lasts. */
    int64_t patience_ms = wait_ms < session_timeout_ms ? wait_ms : session_timeout_ms;
    return wait_for(session, predecessor, clock_ms() + patience_ms);
}

static void release(const char *product) {
    (void)product;
    if (session_now() != NULL) {
        (void)zoo_delete(session_now(), own_path, -1);
    }
    session_end();
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    lock_answer answer = lock(product, wait_ms, token);
    if (answer != LOCK_GRANTED) {
        *token = LOCK_NO_TOKEN;
        release(product); /* its user unlocks in `finally` */
    }
    return answer;
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
