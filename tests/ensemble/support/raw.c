#include "support/raw.h"

#include "support/closed.h"
#include "support/secure.h"
#include "support/test.h"

#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSION_TIMEOUT_MS 60000
/* A server that has two connections of one session to check forgets the first
 * one, which then has to notice it by itself: soon. */
#define BORROWED_SESSION_TIMEOUT_MS 4000

const struct ACL_vector *raw_acl(void) {
    return closed_secret() != NULL ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

/* libzookeeper sends it first, at each connection. The session may be over already. */
void raw_introduce(zhandle_t *raw) {
    const char *secret = closed_secret();
    int rc =
        secret == NULL ? ZOK : zoo_add_auth(raw, "digest", secret, (int)strlen(secret), NULL, NULL);
    if (rc != ZOK && rc != ZINVALIDSTATE) {
        give_up("zoo_add_auth: %s", zerror(rc));
    }
}

static zhandle_t *connect_as(const char *hosts, const clientid_t *session) {
    int timeout_ms = session != NULL ? BORROWED_SESSION_TIMEOUT_MS : SESSION_TIMEOUT_MS;
    zhandle_t *raw = secure_raw(hosts, timeout_ms, session);
    if (raw == NULL) {
        give_up("zookeeper_init(%s) failed", hosts);
    }
    raw_introduce(raw);
    int64_t end = now_ms() + PATIENCE_MS;
    while (zoo_state(raw) != ZOO_CONNECTED_STATE && zoo_state(raw) != ZOO_EXPIRED_SESSION_STATE) {
        if (now_ms() >= end) {
            give_up("no connection to %s in state %d, session %" PRIx64, hosts, zoo_state(raw),
                    session != NULL ? (uint64_t)session->client_id : 0);
        }
        nap();
    }
    return raw;
}

zhandle_t *raw_open(const char *hosts) {
    return connect_as(hosts, NULL);
}

void raw_close(zhandle_t *raw) {
    (void)zookeeper_close(raw);
}

/* The owner of the session may come between with a reconnect: it is over when
 * the servers say so. */
void raw_expire(const char *hosts, const clientid_t *session) {
    bool over = false;
    while (!over) {
        zhandle_t *raw = connect_as(hosts, session);
        over = zoo_state(raw) == ZOO_EXPIRED_SESSION_STATE;
        raw_close(raw);
    }
}

/* A handle that is not connected does not end its session. */
void raw_move(const char *hosts, const clientid_t *session) {
    zhandle_t *raw = connect_as(hosts, session);
    if (zoo_set_servers(raw, "255.255.255.255:1") != ZOK || zoo_state(raw) == ZOO_CONNECTED_STATE) {
        give_up("zoo_set_servers does not leave %s", hosts);
    }
    raw_close(raw);
}

static bool is_transient(int rc) {
    return rc == ZCONNECTIONLOSS || rc == ZOPERATIONTIMEOUT;
}

static void require_ok(int rc, const char *what, const char *path) {
    if (rc != ZOK) {
        give_up("%s %s: %s", what, path, zerror(rc));
    }
}

void raw_catch_up(zhandle_t *raw) {
    int rc;
    do {
        rc = zoo_delete(raw, "/zklock-no-such-node", -1);
    } while (is_transient(rc));
    require_ok(rc == ZNONODE ? ZOK : rc, "delete", "/zklock-no-such-node");
}

struct sync_reply {
    sem_t arrived;
    int rc;
};

static void on_synced(int rc, const char *value, const void *arg) {
    struct sync_reply *reply = (struct sync_reply *)(uintptr_t)arg;
    (void)value;
    reply->rc = rc;
    sem_post(&reply->arrived);
}

void raw_sync(zhandle_t *raw) {
    struct sync_reply reply = { .rc = ZCONNECTIONLOSS };
    sem_init(&reply.arrived, 0, 0);
    while (is_transient(reply.rc)) {
        require_ok(zoo_async(raw, "/", on_synced, &reply), "sync", "/");
        while (sem_wait(&reply.arrived) != 0) {
            /* A signal: the reply is still to come. */
        }
    }
    sem_destroy(&reply.arrived);
    require_ok(reply.rc, "sync", "/");
}

static int create(zhandle_t *raw, const char *path, const char *data, int flags) {
    int rc;
    do {
        rc = zoo_create(raw, path, data, data != NULL ? (int)strlen(data) : -1, raw_acl(), flags,
                        NULL, 0);
    } while (is_transient(rc));
    return rc;
}

/* Parents are made as zklock makes them, without data: others it never deletes. */
int raw_create(zhandle_t *raw, const char *path, int flags) {
    return create(raw, path, flags == ZOO_PERSISTENT ? NULL : "0", flags);
}

void raw_make(zhandle_t *raw, const char *path) {
    raw_make_with(raw, path, NULL);
}

void raw_make_with(zhandle_t *raw, const char *path, const char *data) {
    int rc = create(raw, path, data, ZOO_PERSISTENT);
    require_ok(rc == ZNODEEXISTS ? ZOK : rc, "create", path);
}

static void on_made(int rc, const char *path, const void *arg) {
    require_ok(rc, "create", path != NULL ? path : "one of many");
    sem_post((sem_t *)(uintptr_t)arg);
}

/* All at once: one after the other, each would wait for the servers' disks. */
void raw_make_many(zhandle_t *raw, const char *path_and_name, int count) {
    sem_t made;
    sem_init(&made, 0, 0);
    for (int i = 0; i < count; i++) {
        require_ok(zoo_acreate(raw, path_and_name, "", 0, raw_acl(), ZOO_EPHEMERAL | ZOO_SEQUENCE,
                               on_made, &made),
                   "create", path_and_name);
    }
    for (int i = 0; i < count; i++) {
        while (sem_wait(&made) != 0) {
            /* A signal. */
        }
    }
    sem_destroy(&made);
}

void raw_delete(zhandle_t *raw, const char *path) {
    int rc;
    do {
        rc = zoo_delete(raw, path, -1);
    } while (is_transient(rc));
    require_ok(rc == ZNONODE ? ZOK : rc, "delete", path);
}

void raw_write(zhandle_t *raw, const char *path, int64_t value) {
    char text[32];
    int length = snprintf(text, sizeof text, "%" PRId64, value);
    int rc;
    do {
        rc = zoo_set(raw, path, text, length, -1);
    } while (is_transient(rc));
    require_ok(rc, "set", path);
}

int64_t raw_read(zhandle_t *raw, const char *path) {
    char text[32];
    raw_data(raw, path, text, sizeof text);
    return strtoll(text, NULL, 10);
}

bool raw_stat(zhandle_t *raw, const char *path, struct Stat *stat) {
    int rc;
    do {
        rc = zoo_exists(raw, path, 0, stat);
    } while (is_transient(rc));
    require_ok(rc == ZNONODE ? ZOK : rc, "exists", path);
    return rc == ZOK;
}

void raw_data(zhandle_t *raw, const char *path, char *text, size_t size) {
    int length;
    int rc;
    do {
        length = (int)size - 1;
        rc = zoo_get(raw, path, 0, text, &length, NULL);
    } while (is_transient(rc));
    require_ok(rc, "get", path);
    text[length > 0 ? length : 0] = '\0';
}

bool raw_is_closed(zhandle_t *raw, const char *path) {
    struct ACL_vector acl = { 0, NULL };
    struct Stat stat;
    int rc;
    do {
        rc = zoo_get_acl(raw, path, &acl, &stat);
    } while (is_transient(rc));
    require_ok(rc == ZNONODE ? ZOK : rc, "get the ACL of", path);
    bool closed = rc == ZNONODE || (acl.count == 1 && strcmp(acl.data[0].id.scheme, "digest") == 0);
    deallocate_ACL_vector(&acl);
    return closed;
}

static struct String_vector list(zhandle_t *raw, const char *path) {
    struct String_vector children = { 0, NULL };
    int rc;
    do {
        rc = zoo_get_children(raw, path, 0, &children);
    } while (is_transient(rc));
    require_ok(rc == ZNONODE ? ZOK : rc, "list", path);
    return children;
}

int raw_children(zhandle_t *raw, const char *path) {
    struct String_vector children = list(raw, path);
    int count = children.count;
    deallocate_String_vector(&children);
    return count;
}

/* The sequence is what a name ends with, always in ten digits here. */
static const char *sequence(const char *name) {
    size_t length = strlen(name);
    return length > 10 ? name + length - 10 : name;
}

void raw_delete_last_child(zhandle_t *raw, const char *path) {
    struct String_vector children = list(raw, path);
    const char *last = NULL;
    for (int i = 0; i < children.count; i++) {
        if (last == NULL || strcmp(sequence(children.data[i]), sequence(last)) > 0) {
            last = children.data[i];
        }
    }
    if (last == NULL) {
        give_up("%s has no children", path);
    }
    char node[ZKL_NODE_PATH_SIZE];
    snprintf(node, sizeof node, "%s/%s", path, last);
    raw_delete(raw, node);
    deallocate_String_vector(&children);
}

void raw_make_ephemeral(zhandle_t *raw, const char *path, bool sequential, char *made,
                        size_t size) {
    int mode = sequential ? ZOO_EPHEMERAL_SEQUENTIAL : ZOO_EPHEMERAL;
    int rc = zoo_create(raw, path, "", 0, raw_acl(), mode, made, (int)size);
    require_ok(rc, "create", path); /* a lost reply would leave a second one */
}

int raw_multi(zhandle_t *raw, int count, const zoo_op_t *operations, zoo_op_result_t *results) {
    int rc = zoo_multi(raw, count, operations, results);
    require_ok(is_transient(rc) ? rc : ZOK, "multi", "all or nothing"); /* it may be applied */
    return rc;
}

void raw_visit_children(zhandle_t *raw, const char *path, child_visitor *visit, void *arg) {
    struct String_vector children = list(raw, path);
    for (int i = 0; i < children.count; i++) {
        visit(arg, children.data[i]);
    }
    deallocate_String_vector(&children);
}
