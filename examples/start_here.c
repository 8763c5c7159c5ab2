/* The ten functions that most programs need: start_here HOSTS. docs/start-here.md explains them. */
#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <zklock/zklock.h>

enum { STEPS = 3, WAIT_MS = 5000, PAUSE_NS = 10000000, TRIES = 500 };

/* Says what went wrong. It comes before this thread's next call, which has a message of its own. */
static int report(const char *what, int status) {
    fprintf(stderr, "%s: %s. %s\n", what, zkl_strerror(status), zkl_error_message());
    return status;
}

/* Does the job in steps, for as long as the lock is held. */
static int work(zkl_lock *lock, int64_t token) {
    for (int step = 1; step <= STEPS; step++) {
        int status = zkl_lock_check(lock, NULL);
        if (status != ZKL_OK) {
            return report("check", status); /* stop: another may hold the lock by now */
        }
        printf("step %d, with token %" PRId64 "\n", step, token); /* the store wants the token */
    }
    return ZKL_OK;
}

static int run_job(zkl_lock *lock) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, WAIT_MS, &grant);
    if (status != ZKL_OK) {
        return report("acquire", status);
    }
    status = work(lock, grant.token);
    int released = zkl_lock_release(lock, WAIT_MS);
    return status != ZKL_OK ? status : released;
}

/* Ends the acquire that waits in another thread, when the program shall stop. */
static void *cancel(void *waiting) {
    const struct timespec pause = { .tv_nsec = PAUSE_NS };
    for (int i = 0; i < TRIES && zkl_lock_cancel(waiting) == ZKL_NOT_WAITING; i++) {
        (void)nanosleep(&pause, NULL); /* it does not wait yet */
    }
    return NULL;
}

/* Waits with the second handle, while the first holds the lock, until that is cancelled. */
static int wait_in_vain(zkl_lock *first, zkl_lock *second) {
    pthread_t thread;
    int status = zkl_lock_acquire(first, ZKL_EXCLUSIVE, WAIT_MS, NULL);
    if (status != ZKL_OK || pthread_create(&thread, NULL, cancel, second) != 0) {
        return status != ZKL_OK ? report("acquire", status) : ZKL_SYSTEM;
    }
    status = zkl_lock_acquire(second, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL);
    printf("the other one: %s\n", zkl_strerror(status));
    (void)pthread_join(thread, NULL);
    return status == ZKL_CANCELLED ? ZKL_OK : status;
}

int main(int argc, char **argv) {
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    zkl_lock *other = NULL;
    int status = zkl_client_open(argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, &client);
    if (status != ZKL_OK) {
        (void)report("open", status);
        return 1;
    }
    status = zkl_lock_open(client, "nightly-job", NULL, &lock);
    if (status == ZKL_OK) {
        status = zkl_lock_open(client, "nightly-job", NULL, &other);
    }
    if (status == ZKL_OK) {
        status = run_job(lock);
    }
    if (status == ZKL_OK) {
        status = wait_in_vain(lock, other);
    }
    zkl_lock_close(other);
    zkl_lock_close(lock); /* releases, if it is held */
    int closed = zkl_client_close(client, WAIT_MS);
    return status == ZKL_OK && closed == ZKL_OK ? 0 : 1;
}
