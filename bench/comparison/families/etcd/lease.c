#include "lease.h"

#include "../../clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static etcd *own_connection; /* the thread's */
static int64_t seconds;
static _Atomic int64_t kept;
static _Atomic int64_t pause_ms;

/* An answer without a time is one of a lease that is over. */
static void renew(int64_t lease) {
    json_t *reply =
        etcd_call(own_connection, "lease/keepalive", json_pack("{s:I}", "ID", (json_int_t)lease));
    const json_t *result = json_object_get(reply, "result");
    if (result != NULL && etcd_number(result, "TTL") == 0) {
        (void)atomic_compare_exchange_strong(&kept, &lease, 0);
    }
    json_decref(reply);
}

/* A server that is silent may not cost the lease: the next one is asked in time. */
static void *keep_alive(void *nothing) {
    (void)nothing;
    while (!clock_is_over()) {
        clock_pause_ms(pause_ms);
        int64_t lease = kept;
        if (lease != 0) {
            etcd_limit(own_connection, pause_ms);
            renew(lease);
        }
    }
    return NULL;
}

void lease_open(const char *servers, int64_t timeout_ms) {
    pthread_t thread;
    seconds = (timeout_ms + 999) / 1000;
    pause_ms = seconds * 1000 / 3;
    own_connection = etcd_open(servers);
    if (pthread_create(&thread, NULL, keep_alive, NULL) != 0 || pthread_detach(thread) != 0) {
        (void)fprintf(stderr, "lease: no thread\n");
        exit(2);
    }
}

int64_t lease_begin(etcd *server) {
    json_t *reply =
        etcd_call(server, "lease/grant", json_pack("{s:I}", "TTL", (json_int_t)seconds));
    int64_t granted = etcd_number(reply, "TTL");
    if (granted > 0) {
        pause_ms = granted * 1000 / 3;
    }
    kept = etcd_number(reply, "ID");
    json_decref(reply);
    return kept;
}

int64_t lease_keep(etcd *server) {
    int64_t lease = kept;
    return lease != 0 ? lease : lease_begin(server);
}

void lease_end(etcd *server) {
    int64_t lease = atomic_exchange(&kept, 0);
    if (lease != 0) {
        json_decref(etcd_call(server, "lease/revoke", json_pack("{s:I}", "ID", (json_int_t)lease)));
    }
}
