/*
 * zklock, striped: all products share a fixed number of locks, and a product has the one of its key
 * (striped_lock.h). Products with the same stripe wait for each other.
 */
#include "zklock_client.h"

#include <string.h>
#include <zklock/striped_lock.h>

enum { STRIPES = 16 };

static zkl_striped_lock *stock;

static void open_lock(const lock_settings *settings) {
    client_prepare(settings, false);
}

static int open_stock(int64_t wait_ms) {
    zkl_client *client = NULL;
    int status = client_get(wait_ms, &client);
    return status != ZKL_OK || stock != NULL
               ? status
               : zkl_striped_lock_open(client, "stock", STRIPES, NULL, &stock);
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = open_stock(wait_ms);
    if (status == ZKL_OK) {
        int32_t stripe = zkl_stripe_of_key(product, strlen(product), STRIPES);
        status = zkl_striped_lock_acquire(stock, stripe, ZKL_EXCLUSIVE, wait_ms, &grant);
    }
    *token = status == ZKL_OK ? grant.token : *token;
    return client_answer(status);
}

static bool still_held(const char *product) {
    (void)product;
    return zkl_lock_check(zkl_striped_lock_held(stock), NULL) == ZKL_OK;
}

static void release(const char *product) {
    (void)product;
    (void)zkl_lock_release(zkl_striped_lock_held(stock), 0);
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .still_held = still_held
};
