#include "zklock_client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The tick of ensemble/ensemble, unless ZKLOCK_TICK_MS says another one: so it does itself. */
enum { TICK_MS = 500, TICKS_OF_A_LEASED_SESSION = 5, CLOSE_MS = 1000, PRODUCT_SIZE = 128 };

static const char *servers;
static zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
static zkl_client *opened;
static zkl_lock *handle;
static char handle_product[PRODUCT_SIZE];

static int32_t read_tick_ms(void) {
    const char *text = getenv("ZKLOCK_TICK_MS");
    int32_t tick_ms = text != NULL ? (int32_t)strtol(text, NULL, 10) : 0;
    return tick_ms > 0 ? tick_ms : TICK_MS;
}

/* A program that ends in order closes its session, so that others need not wait for its end. */
static void close_client(void) {
    if (opened != NULL) {
        (void)zkl_client_close(opened, CLOSE_MS);
    }
}

void client_prepare(const lock_settings *settings, bool lease) {
    servers = settings->servers;
    options.session_timeout_ms = (int32_t)settings->timeout_ms;
    if (lease) {
        options.lease_tick_ms = read_tick_ms();
        int32_t shortest_ms = options.lease_tick_ms * TICKS_OF_A_LEASED_SESSION;
        if (options.session_timeout_ms < shortest_ms) {
            options.session_timeout_ms = shortest_ms;
        }
    }
    (void)atexit(close_client);
}

int client_get(int64_t wait_ms, zkl_client **client) {
    int status = ZKL_OK;
    if (opened == NULL) {
        options.connect_timeout_ms = wait_ms < 1 ? 1 : (int32_t)wait_ms;
        status = zkl_client_open(servers, &options, &opened);
    }
    *client = opened;
    return status;
}

static int open_handle(const char *product, const zkl_lock_options *lock_options, int64_t wait_ms) {
    zkl_client *client = NULL;
    int status = client_get(wait_ms, &client);
    if (status != ZKL_OK) {
        return status;
    }
    zkl_lock_close(handle);
    handle = NULL;
    (void)snprintf(handle_product, sizeof handle_product, "%s", product);
    return zkl_lock_open(client, product, lock_options, &handle);
}

int client_lock(const char *product, const zkl_lock_options *lock_options, int64_t wait_ms,
                zkl_lock **lock) {
    int status = ZKL_OK;
    if (handle == NULL || strcmp(handle_product, product) != 0) {
        status = open_handle(product, lock_options, wait_ms);
    }
    *lock = handle;
    return status;
}

lock_answer client_answer(int status) {
    return status == ZKL_OK ? LOCK_GRANTED : status == ZKL_TIMEOUT ? LOCK_BUSY : LOCK_UNKNOWN;
}
