/*
 * Prints the page of a client to which a few things have happened, on simulated servers;
 * check_page knows what, and reads it with a parser that is not ours. Its labels have all
 * that has to be escaped, and more classes than are counted apart.
 */
#include "page.h"

#include <stdio.h>
#include <stdlib.h>
#include <zklock/testing.h>

enum { CLASSES = ZKL_RESOURCE_CLASSES_MAX + 3, HELD_MS = 40 };

static zkl_lock *open_lock(zkl_client *client, const char *resource, const char *class) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.resource_class = class;
    zkl_lock *lock = NULL;
    ZKL_TESTING_EXPECT(zkl_lock_open(client, resource, &options, &lock) == ZKL_OK);
    return lock;
}

static void acquire(zkl_lock *lock, int64_t timeout_ms, int expected) {
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, timeout_ms, NULL);
    ZKL_TESTING_EXPECT(status == expected);
}

static void contend(zkl_client *client) {
    zkl_lock *holder = open_lock(client, "stock", "a\"b\\c");
    zkl_lock *other = open_lock(client, "stock", "a\"b\\c");
    acquire(holder, ZKL_FOREVER, ZKL_OK);
    acquire(other, 0, ZKL_BUSY);
    acquire(other, 10, ZKL_TIMEOUT);
    zkl_testing_sleep(HELD_MS);
    ZKL_TESTING_EXPECT(zkl_lock_release(holder, ZKL_FOREVER) == ZKL_OK);
    acquire(other, ZKL_FOREVER, ZKL_OK);
    zkl_lock_close(other);
    zkl_lock_close(holder);
}

static void use_many_classes(zkl_client *client) {
    for (int i = 0; i < CLASSES; i++) {
        char class[16];
        snprintf(class, sizeof(class), "class-%d", i);
        zkl_lock *lock = open_lock(client, class, class);
        acquire(lock, ZKL_FOREVER, ZKL_OK);
        zkl_lock_close(lock);
    }
}

int main(void) {
    zkl_testing_begin(NULL);
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.label = "shop \"7\" \\ n\xc3\xb6rth";
    options.metrics = 1;
    zkl_client *client = NULL;
    ZKL_TESTING_EXPECT(zkl_client_open("any:2181", &options, &client) == ZKL_OK);
    contend(client);
    use_many_classes(client);
    zkl_lock *held = open_lock(client, "held", NULL);
    acquire(held, ZKL_FOREVER, ZKL_OK);
    int status = ZKL_OK;
    char *page = metrics_page(client, &status);
    ZKL_TESTING_EXPECT(page != NULL && fputs(page, stdout) >= 0);
    free(page);
    zkl_lock_close(held);
    ZKL_TESTING_EXPECT(zkl_client_close(client, 1000) == ZKL_OK);
    zkl_testing_end();
    return 0;
}
