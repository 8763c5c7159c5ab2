/*
 * At most three of these run at once, on all machines together: semaphore HOSTS
 *
 * A fourth waits. At most two may wait; any more fail at once with ZKL_QUEUE_FULL.
 */
#include "../example.h"

enum { PERMITS = 3, WAITING_MAX = 2, PATIENCE_MS = 30000 };

static int convert(zkl_client *client) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.permits = PERMITS; /* all users of the resource set the same */
    options.max_waiting = WAITING_MAX;
    options.max_hold_ms = 600000; /* a conversion that hangs gives its permit back */
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *permit = NULL;
    int status = zkl_lock_open(client, "conversions", &options, &permit);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(permit, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    }
    if (status == ZKL_QUEUE_FULL) {
        printf("too many wait already: come back later\n");
    } else if (status == ZKL_OK) {
        printf("converting, with no more than %d others\n", PERMITS - 1);
        status = zkl_lock_release(permit, PATIENCE_MS);
    }
    return status;
}

static int semaphore_run(zkl_client *client, int argc, char **argv) {
    (void)argc;
    (void)argv;
    return convert(client);
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, semaphore_run);
}
