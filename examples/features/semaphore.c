/*
 * At most three of these run at once, on all machines together: semaphore HOSTS
 *
 * And a fourth waits, but when two wait already nobody joins them: the queue has a limit.
 */
#include <stdio.h>
#include <zklock/zklock.h>

enum { PERMITS = 3, WAITING_MAX = 2, PATIENCE_MS = 30000 };

static int convert(zkl_client *client) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.permits = PERMITS;
    options.max_waiting = WAITING_MAX;
    options.max_hold_ms = 600000; /* a conversion that hangs gives its permit back */
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *permit = NULL;
    int status = zkl_lock_open(client, "conversions", &options, &permit);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(permit, ZKL_PERMIT, PATIENCE_MS, NULL);
    }
    if (status == ZKL_QUEUE_FULL) {
        printf("too many wait already: come back later\n");
    } else if (status == ZKL_OK) {
        printf("converting, with no more than %d others\n", PERMITS - 1);
        status = zkl_lock_release(permit, PATIENCE_MS);
    }
    return status;
}

int main(int argc, char **argv) {
    zkl_client *client = NULL;
    int status = zkl_client_open(argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, &client);
    if (status == ZKL_OK) {
        status = convert(client);
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
    }
    (void)zkl_client_close(client, 1000);
    return status == ZKL_OK ? 0 : 1;
}
