/*
 * A lease, kept alive by a thread, and a transaction that puts the key only if it is not there: its
 * create revision is 0. Whoever is too late revokes his lease and may try again, which is done here
 * every 100 ms; to unlock, the lease is revoked (overnote/over-golang, etcd part 5, "transaction
 * lock"; the transaction is that of etcd's API reference, Compare.create_revision).
 *
 * The holder is not told that its lease has ended: one that was stopped writes all the same.
 */
#include "../../clock.h"
#include "../../mechanism.h"
#include "etcd.h"
#include "lease.h"

enum { POLL_MS = 100 };

static etcd *server;

static void open_lock(const lock_settings *settings) {
    server = etcd_open(settings->servers);
    lease_open(settings->servers, settings->timeout_ms);
}

static json_t *put_if_absent(const char *product, int64_t lease) {
    return json_pack("{s:[{s:s, s:s, s:o, s:s}], s:[{s:{s:o, s:I}}]}", "compare", "target",
                     "CREATE", "result", "EQUAL", "key", etcd_lock_name(product), "create_revision",
                     "0", "success", "requestPut", "key", etcd_lock_name(product), "lease",
                     (json_int_t)lease);
}

/* Tries once. The revision of the transaction is the create revision of its key. */
static lock_answer try_once(const char *product, int64_t *token) {
    int64_t lease = lease_begin(server);
    json_t *reply = lease != 0 ? etcd_call(server, "kv/txn", put_if_absent(product, lease)) : NULL;
    lock_answer answer = reply == NULL                                       ? LOCK_UNKNOWN
                         : json_is_true(json_object_get(reply, "succeeded")) ? LOCK_GRANTED
                                                                             : LOCK_BUSY;
    if (answer == LOCK_GRANTED) {
        *token = etcd_revision(reply);
    } else {
        lease_end(server);
    }
    json_decref(reply);
    return answer;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    int64_t until_ms = clock_ms() + wait_ms;
    lock_answer answer = try_once(product, token);
    while (answer == LOCK_BUSY && !clock_is_over() && clock_ms() < until_ms) {
        clock_pause_ms(POLL_MS);
        answer = try_once(product, token);
    }
    return answer;
}

static void release(const char *product) {
    (void)product;
    lease_end(server);
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
