/*
 * Acquires and releases on simulated servers, so that the instructions of it can be counted: the
 * same run executes the same ones each time. bench/instructions runs it.
 *
 *     bench_simulated SESSIONS TURNS [lends]
 *
 * Each session is a client and a task of its own; all contend for one resource, and each has its
 * turns. With `lends` a client keeps its node from turn to turn.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <zklock/testing.h>

enum { PATIENCE_MS = 60000, SESSIONS_MAX = 64, TICK_MS = 500 };

static long turns;
static bool lends;

static void contend(void *arg) {
    zkl_lock *lock = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lending lending = ZKL_LENDING_INIT;
    lending.retain_ms = PATIENCE_MS;
    options.lending = lends ? &lending : NULL;
    ZKL_TESTING_EXPECT(zkl_lock_open(arg, "stock", &options, &lock) == ZKL_OK);
    for (long i = 0; i < turns; i++) {
        ZKL_TESTING_EXPECT(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL) == ZKL_OK);
        ZKL_TESTING_EXPECT(zkl_lock_release(lock, PATIENCE_MS) == ZKL_OK);
    }
    zkl_lock_close(lock);
}

int main(int argc, char **argv) {
    zkl_client *clients[SESSIONS_MAX];
    zkl_testing_task *tasks[SESSIONS_MAX];
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    long sessions = argc == 3 || argc == 4 ? strtol(argv[1], NULL, 10) : 0;
    if (sessions < 1 || sessions > SESSIONS_MAX) {
        (void)fprintf(stderr, "usage: bench_simulated SESSIONS TURNS [lends]\n");
        return 2;
    }
    turns = strtol(argv[2], NULL, 10);
    lends = argc == 4;
    options.lease_tick_ms = lends ? TICK_MS : 0;
    zkl_testing_begin(NULL);
    for (long i = 0; i < sessions; i++) {
        ZKL_TESTING_EXPECT(zkl_client_open("any:2181", &options, &clients[i]) == ZKL_OK);
    }
    for (long i = 0; i < sessions; i++) {
        tasks[i] = zkl_testing_start(contend, clients[i]);
    }
    for (long i = 0; i < sessions; i++) {
        zkl_testing_join(tasks[i]);
        ZKL_TESTING_EXPECT(zkl_client_close(clients[i], PATIENCE_MS) == ZKL_OK);
    }
    zkl_testing_end();
    return 0;
}
