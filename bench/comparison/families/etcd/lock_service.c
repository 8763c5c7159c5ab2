/*
 * etcd's own lock service: the server queues the caller, and answers when it is its turn. The lock
 * belongs to a lease, which the process keeps alive (etcd 3.4, "API reference: concurrency"; its
 * gateway's /v3/lock/lock and /v3/lock/unlock). Its answer names a key, which "exists so long as
 * the lock is held": the holder looks at it before it writes, and the token is the revision at
 * which it was made.
 *
 * In 3.4 a waiter is not told that its lease has ended: it is granted the lock though its key is
 * gone (etcd issue 9921). It finds that out when it looks. Two locks of the same lease are
 * one: who takes it twice gives it back with the first release.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "etcd.h"
#include "lease.h"

#include <stdlib.h>

static etcd *server;
static json_t *key; /* that of the grant */
static bool fenced;

static void end_lease(void) {
    lease_end(server);
}

static void open_lock(const lock_settings *settings) {
    server = etcd_open(settings->servers);
    fenced = settings->fence != 0;
    lease_open(settings->servers, settings->timeout_ms);
    (void)atexit(end_lease);
}

/* False if there is no grant. */
static bool take_grant(const json_t *reply) {
    json_t *granted = json_object_get(reply, "key");
    if (granted == NULL) {
        return false;
    }
    json_decref(key);
    key = json_incref(granted);
    return true;
}

/* The revision at which it was made; 0: it is gone, or no server says. */
static int64_t look_at_key(void) {
    json_t *reply = etcd_call(server, "kv/range", json_pack("{s:O}", "key", key));
    const json_t *found = json_array_get(json_object_get(reply, "kvs"), 0);
    int64_t made = found != NULL ? etcd_number(found, "create_revision") : 0;
    json_decref(reply);
    return made;
}

static bool still_held(const char *product) {
    (void)product;
    return look_at_key() > 0;
}

static void release(const char *product) {
    (void)product;
    json_decref(etcd_call(server, "lock/unlock", json_pack("{s:O}", "key", key)));
}

/* Who has no key has no token, and is not granted. */
static lock_answer take_token(int64_t *token) {
    int64_t made = look_at_key();
    if (made == 0) {
        release(NULL);
        return LOCK_UNKNOWN;
    }
    *token = made;
    return LOCK_GRANTED;
}

/* Whoever has given up waiting leaves its key behind until its lease ends. */
static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    int64_t until_ms = clock_ms() + wait_ms;
    int64_t lease = lease_keep(server);
    if (lease == 0) {
        return LOCK_UNKNOWN;
    }
    json_t *reply = etcd_wait(
        server, "lock/lock",
        json_pack("{s:o, s:I}", "name", etcd_lock_name(product), "lease", (json_int_t)lease),
        wait_ms);
    bool granted = take_grant(reply);
    json_decref(reply);
    if (granted) {
        return fenced ? take_token(token) : LOCK_GRANTED;
    }
    lease_end(server);
    return clock_is_over() || clock_ms() >= until_ms ? LOCK_BUSY : LOCK_UNKNOWN;
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .still_held = still_held
};
