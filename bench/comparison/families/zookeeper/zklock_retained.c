/*
 * zklock, retained: after a release the client keeps its place in the queue for some time, and the
 * next acquire asks nothing of the servers unless somebody else has come (zklock/lending.h,
 * retain_ms).
 *
 * Its token is a pair. Its second number tells apart the threads of one client; a buyer has one, so
 * the first number suffices here.
 */
#include "zklock_client.h"

#include <stddef.h>

enum { RETAIN_MS = 5000 };

static zkl_lock *lock;

static void open_lock(const lock_settings *settings) {
    client_prepare(settings, true);
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_lending lending = ZKL_LENDING_INIT;
    lending.retain_ms = RETAIN_MS;
    options.lending = &lending;
    int status = client_lock(product, &options, wait_ms, &lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, wait_ms, &grant);
    }
    *token = status == ZKL_OK ? grant.token : *token;
    return client_answer(status);
}

static bool still_held(const char *product) {
    (void)product;
    return zkl_lock_check(lock, NULL) == ZKL_OK;
}

static void release(const char *product) {
    (void)product;
    (void)zkl_lock_release(lock, 0);
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .still_held = still_held
};
