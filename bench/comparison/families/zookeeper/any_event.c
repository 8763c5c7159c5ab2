/*
 * The cousin of deaf_latch.c, which is copied as often: "DistributedLock implements Lock, Watcher",
 * whose process() has a single step, countDown() (one copy: package
 * com.fisher.distributedLock.zk.normal).
 *
 * Any event opens the latch: a lost connection, one that has come back, or the end of a predecessor
 * that had only waited. Nobody looks again who is the first. The end of the wait, a session
 * timeout, counts as granted. An event between exists() and the new latch is lost.
 */
#include "../../clock.h"
#include "zookeeper.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIRECTORY "/locks-any-event"

static int64_t session_timeout_ms;
static char own_path[NODE_PATH_SIZE];

static void open_lock(const lock_settings *settings) {
    session_timeout_ms = settings->timeout_ms;
    session_prepare(settings);
}

static void process(zhandle_t *session, int type, int state, const char *path, void *context) {
    (void)session, (void)type, (void)state, (void)path, (void)context;
    latch_open();
}

static int compare_texts(const void *one, const void *other) {
    return strcmp(*(char *const *)one, *(char *const *)other);
}

/* Takes those of the product to the front, in the order of their texts; returns how many. */
static size_t sort_those_of(const char *product, struct String_vector *names) {
    char beginning[NODE_PATH_SIZE];
    int length = snprintf(beginning, sizeof beginning, "%s_lock_", product);
    size_t count = 0;
    for (int i = 0; i < names->count; i++) {
        if (strncmp(names->data[i], beginning, (size_t)length) == 0) {
            char *name = names->data[i];
            names->data[i] = names->data[count];
            names->data[count++] = name;
        }
    }
    qsort(names->data, count, sizeof *names->data, compare_texts);
    return count;
}

/* The path of the one before the own one: "" if it is the first. */
static bool find_lower(zhandle_t *session, const char *product, char *lower) {
    struct String_vector names;
    lower[0] = '\0';
    if (zoo_get_children(session, DIRECTORY, 0, &names) != ZOK) {
        return false;
    }
    size_t count = sort_those_of(product, &names);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(names.data[i], own_path + sizeof DIRECTORY) == 0) {
            (void)snprintf(lower, NODE_PATH_SIZE, DIRECTORY "/%s", names.data[i - 1]);
        }
    }
    deallocate_String_vector(&names);
    return true;
}

static bool create_own(zhandle_t *session, const char *product, int64_t *token) {
    char prefix[NODE_PATH_SIZE];
    struct Stat stat;
    (void)snprintf(prefix, sizeof prefix, DIRECTORY "/%s_lock_", product);
    if (!session_make(session, DIRECTORY) ||
        zoo_create2(session, prefix, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_EPHEMERAL_SEQUENTIAL,
                    own_path, sizeof own_path, &stat) != ZOK) {
        return false;
    }
    *token = stat.czxid;
    return true;
}

static bool wait_for_lock(zhandle_t *session, const char *lower, int64_t wait_ms) {
    int there = zoo_exists(session, lower, 1, NULL);
    if (there == ZOK) {
        latch_close();
        (void)latch_await(clock_ms() + wait_ms);
    }
    return there == ZOK || there == ZNONODE;
}

static lock_answer lock(const char *product, int64_t wait_ms, int64_t *token) {
    char lower[NODE_PATH_SIZE];
    zhandle_t *session = session_get(process, clock_ms() + wait_ms);
    if (session == NULL || !create_own(session, product, token) ||
        !find_lower(session, product, lower)) {
        return LOCK_UNKNOWN;
    }
    /* lock() waits for as long as a session lasts. */
    if (lower[0] != '\0' &&
        !wait_for_lock(session, lower,
                       wait_ms < session_timeout_ms ? wait_ms : session_timeout_ms)) {
        return LOCK_UNKNOWN;
    }
    return clock_is_over() ? LOCK_BUSY : LOCK_GRANTED;
}

static void unlock(const char *product) {
    (void)product;
    if (session_now() != NULL) {
        (void)zoo_delete(session_now(), own_path, -1);
    }
    session_end(); /* each lock has a session of its own */
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    lock_answer answer = lock(product, wait_ms, token);
    if (answer != LOCK_GRANTED) {
        *token = LOCK_NO_TOKEN;
        unlock(product); /* its user unlocks in `finally` */
    }
    return answer;
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = unlock };
