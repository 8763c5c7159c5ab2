/*
 * Handles of one client that share a place in the queue: lender HOSTS RESOURCE HANDLES ROUNDS
 * LEDGER
 *
 * Each handle acquires the lock so often, writes to the ledger (support/ledger.h), and releases it.
 * The place is kept for RETAIN_MS when none of them wants it. Prints the status with which the
 * first ended that failed, 0 if none did.
 *
 * It is built with the libraries of earlier commits too (build-earlier): so it uses no more of
 * zklock than those have.
 */
#include "support/basics.h"
#include "support/contender.h"
#include "support/ledger.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <zklock/zklock.h>
#include <zookeeper/zookeeper.h>

enum { HANDLES_MAX = 16, HAND_OFFS = 4, RETAIN_MS = 200, LEASE_TICK_MS = 500, SESSION_MS = 8000 };

static zkl_client *client;
static const char *resource;
static const char *ledger;
static int rounds;
static atomic_int failure;

static int use(zkl_lock *lock) {
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 2 * PATIENCE_MS, NULL);
    if (status != ZKL_OK) {
        return status;
    }
    bool alone = ledger_add_one(ledger);
    status = zkl_lock_release(lock, PATIENCE_MS);
    return alone ? status : CONTENDER_OVERLAPPED;
}

static void *run(void *unused) {
    (void)unused;
    zkl_lending lending = ZKL_LENDING_INIT;
    lending.hand_offs = HAND_OFFS;
    lending.retain_ms = RETAIN_MS;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.lending = &lending;
    zkl_lock *lock = NULL;
    int status = zkl_lock_open(client, resource, &options, &lock);
    for (int i = 0; i < rounds && status == ZKL_OK; i++) {
        status = use(lock);
    }
    zkl_lock_close(lock);
    int none = 0;
    (void)atomic_compare_exchange_strong(&failure, &none, status);
    return NULL;
}

int main(int argc, char **argv) {
    if (argc != 6) {
        give_up("lender: not meant to be started by hand; see lending_contender.c");
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    zoo_set_debug_level((ZooLogLevel)0);
    resource = argv[2];
    int handles = atoi(argv[3]);
    rounds = atoi(argv[4]);
    ledger = argv[5];
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    options.lease_tick_ms = LEASE_TICK_MS;
    if (handles > HANDLES_MAX || zkl_client_open(argv[1], &options, &client) != ZKL_OK) {
        give_up("lender: too many handles, or no servers");
    }
    pthread_t threads[HANDLES_MAX];
    for (int i = 0; i < handles; i++) {
        pthread_create(&threads[i], NULL, run, NULL);
    }
    for (int i = 0; i < handles; i++) {
        pthread_join(threads[i], NULL);
    }
    printf("%d\n", failure);
    return zkl_client_close(client, PATIENCE_MS) == ZKL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
