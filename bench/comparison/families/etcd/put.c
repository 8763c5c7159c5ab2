/*
 * A key with a lease, put without a condition: granted when the put succeeds, as in posts that show
 * how a lease frees the lock of a dead holder (e-com-net.com, article 1223716369237905408, puts
 * /cron/lock/job1 so), with etcd's keep-alive; to unlock, the lease is revoked.
 *
 * A put overwrites what is there and always succeeds: everybody is granted at once.
 */
#include "../../mechanism.h"
#include "etcd.h"
#include "lease.h"

static etcd *server;

static void open_lock(const lock_settings *settings) {
    server = etcd_open(settings->servers);
    lease_open(settings->servers, settings->timeout_ms);
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)wait_ms; /* nobody ever waits */
    int64_t lease = lease_begin(server);
    if (lease == 0) {
        return LOCK_UNKNOWN;
    }
    json_t *reply = etcd_call(
        server, "kv/put",
        json_pack("{s:o, s:I}", "key", etcd_lock_name(product), "lease", (json_int_t)lease));
    if (reply == NULL) {
        lease_end(server);
        return LOCK_UNKNOWN;
    }
    *token = etcd_revision(reply);
    json_decref(reply);
    return LOCK_GRANTED;
}

static void release(const char *product) {
    (void)product;
    lease_end(server);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
