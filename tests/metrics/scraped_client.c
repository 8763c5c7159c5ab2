/*
 * A client for Prometheus to look at: scraped_client HOSTS. For each line that it reads it works
 * under a lock, loses another one, and prints its page behind a line with the page's length. All
 * the while somebody waits for a lock that is held. prometheus_test.py hands the pages on.
 */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TIMEOUT_MS = 10000, HOLD_LIMIT_MS = 100, HANDLES_MAX = ZKL_RESOURCE_CLASSES_MAX + 5 };

static zkl_lock *handles[HANDLES_MAX];
static size_t handle_count;

static void require(int status) {
    if (status != ZKL_OK) {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
        exit(1);
    }
}

/* Opens a lock of this process alone. */
static zkl_lock *open_lock(zkl_client *client, const char *resource, const char *class,
                           int64_t max_hold_ms) {
    char name[64];
    snprintf(name, sizeof(name), "scraped-%ld-%s", (long)getpid(), resource);
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.resource_class = class;
    options.max_hold_ms = max_hold_ms;
    zkl_lock **handle = &handles[handle_count++];
    require(zkl_lock_open(client, name, &options, handle));
    return *handle;
}

static void acquire(zkl_lock *lock) {
    require(zkl_lock_acquire(lock, ZKL_EXCLUSIVE, TIMEOUT_MS, NULL));
}

static void forget(void *arg, int status, const zkl_grant *grant) {
    (void)arg;
    (void)status;
    (void)grant;
}

/* Has one wait behind another one, until they are closed. */
static void let_wait(zkl_client *client) {
    acquire(open_lock(client, "held", "order", 0));
    zkl_lock *waiter = open_lock(client, "held", "order", 0);
    require(zkl_lock_acquire_async(waiter, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL, forget, NULL));
}

/* Names more classes than are counted apart. */
static void name_classes(zkl_client *client) {
    (void)open_lock(client, "leader", "election", 0);
    while (handle_count < HANDLES_MAX) {
        char class[16];
        snprintf(class, sizeof(class), "class-%zu", handle_count);
        (void)open_lock(client, class, class, 0);
    }
}

static void print_page(zkl_client *client) {
    int status = ZKL_OK;
    char *page = metrics_page(client, &status);
    require(status);
    printf("%zu\n%s", strlen(page), page);
    fflush(stdout);
    free(page);
}

static void serve(zkl_client *client) {
    zkl_lock *stock = open_lock(client, "stock", "stock", 0);
    zkl_lock *limited = open_lock(client, "limited", "stock", HOLD_LIMIT_MS);
    let_wait(client);
    name_classes(client);
    while (getchar() != EOF) {
        acquire(stock);
        require(zkl_lock_release(stock, TIMEOUT_MS));
        (void)zkl_lock_release(limited, TIMEOUT_MS); /* lost, but for the first time */
        acquire(limited);
        print_page(client);
    }
}

int main(int argc, char **argv) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.label = "shop";
    options.metrics = 1;
    zkl_client *client = NULL;
    require(zkl_client_open(argc > 1 ? argv[1] : NULL, &options, &client));
    serve(client);
    while (handle_count > 0) {
        zkl_lock_close(handles[--handle_count]);
    }
    require(zkl_client_close(client, TIMEOUT_MS));
    return 0;
}
