/* Locks something ten times, and prints the metrics: metrics HOSTS */
#include <stdlib.h>

#include "../example.h"
#include "page.h"

enum { TIMES = 10, TIMEOUT_MS = 5000 };

static int metrics_work(zkl_client *client) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.resource_class = "stock"; /* one class for all items: a class is never dropped */
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *lock = NULL;
    int status = zkl_lock_open(client, "item-4711", &options, &lock);
    for (int i = 0; i < TIMES && status == ZKL_OK; i++) {
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, TIMEOUT_MS, NULL);
        if (status == ZKL_OK) {
            status = zkl_lock_release(lock, TIMEOUT_MS);
        }
    }
    return status;
}

static int print_page(zkl_client *client) {
    int status = ZKL_OK;
    char *page = metrics_page(client, &status);
    if (page != NULL) {
        fputs(page, stdout);
    }
    free(page);
    return status;
}

static int metrics_run(zkl_client *client, int argc, char **argv) {
    (void)argc;
    (void)argv;
    int status = metrics_work(client);
    return status == ZKL_OK ? print_page(client) : status;
}

int main(int argc, char **argv) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.label = "metrics-example";
    options.metrics = 1;
    return run_example(argc, argv, &options, metrics_run);
}
