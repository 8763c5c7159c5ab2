/* zklock: the write lock of a read/write pair (zklock.h, ZKL_WRITE). Nobody reads here. */
#include "zklock_client.h"

#include <stddef.h>

static zkl_lock *lock;

static void open_lock(const lock_settings *settings) {
    client_prepare(settings, false);
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = client_lock(product, NULL, wait_ms, &lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(lock, ZKL_WRITE, wait_ms, &grant);
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
