/*
 * etcd's own lock service: the server queues the caller, and answers when it is its turn. The lock
 * belongs to a lease, which is kept alive by a thread (etcd 3.4, "API reference: concurrency"; its
 * gateway's /v3/lock/lock and /v3/lock/unlock). The token is the revision in the header of the
 * answer: the service gives no other number.
 *
 * The holder is not told that its lease has ended. In 3.4 a waiter is not told either: it is
 * granted the lock though its key is gone (etcd issue 9921). Two that the same deletion grants can
 * then have the same revision, which no fence tells apart.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "etcd.h"
#include "lease.h"

static etcd *server;
static json_t *key; /* that of the grant */

static void open_lock(const lock_settings *settings) {
    server = etcd_open(settings->servers);
    lease_open(settings->servers, settings->timeout_ms);
}

/* Takes the grant's numbers; false if there is none. */
static bool take_grant(const json_t *reply, int64_t *token) {
    json_t *granted = json_object_get(reply, "key");
    if (granted == NULL) {
        return false;
    }
    json_decref(key);
    key = json_incref(granted);
    *token = etcd_revision(reply);
    return true;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    int64_t until_ms = clock_ms() + wait_ms;
    int64_t lease = lease_begin(server);
    if (lease == 0) {
        return LOCK_UNKNOWN;
    }
    json_t *reply = etcd_wait(
        server, "lock/lock",
        json_pack("{s:o, s:I}", "name", etcd_lock_name(product), "lease", (json_int_t)lease),
        wait_ms);
    bool granted = take_grant(reply, token);
    json_decref(reply);
    if (granted) {
        return LOCK_GRANTED;
    }
    lease_end(server);
    return clock_is_over() || clock_ms() >= until_ms ? LOCK_BUSY : LOCK_UNKNOWN;
}

static void release(const char *product) {
    (void)product;
    json_decref(etcd_call(server, "lock/unlock", json_pack("{s:O}", "key", key)));
    lease_end(server);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
