/*
 * zklock, a set: one lock of all products that an order needs, of which it gets all or none
 * (zklock/sets.h). So orders that name them in opposite orders cannot wait for each
 * other in a circle.
 */
#include "zklock_client.h"

#include <stdio.h>
#include <string.h>

enum { PRODUCT_SIZE = 128 };

static const char *second;
static char opened_product[PRODUCT_SIZE];
static zkl_lock *lock;

static void open_lock(const lock_settings *settings) {
    second = settings->second;
    client_prepare(settings, false);
}

static int open_set(const char *product, int64_t wait_ms) {
    zkl_client *client = NULL;
    zkl_lock_member members[2] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    int status = client_get(wait_ms, &client);
    if (status != ZKL_OK || (lock != NULL && strcmp(opened_product, product) == 0)) {
        return status;
    }
    zkl_lock_close(lock);
    lock = NULL;
    members[0].resource = product;
    members[1].resource = second;
    (void)snprintf(opened_product, sizeof opened_product, "%s", product);
    return zkl_lock_open_set(client, members, *second != '\0' ? 2 : 1, NULL, &lock);
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = open_set(product, wait_ms);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(lock, ZKL_AS_OPENED, wait_ms, &grant);
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

const mechanism the_mechanism = { .open = open_lock,
                                  .acquire = acquire,
                                  .release = release,
                                  .still_held = still_held,
                                  .takes_both = true };
