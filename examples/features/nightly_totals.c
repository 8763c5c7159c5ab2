/*
 * A batch that runs once for each night, though many machines start it: nightly_totals HOSTS DATE
 *
 * It tries the lock. If somebody else has it, it waits, prints how many are before it, and gives up
 * on SIGINT or SIGTERM: another thread cancels the wait.
 *
 * The lock alone makes the machines run one after the other, not only one of them. So the first one
 * leaves a mark when it is done, the node /totals/DATE, and each looks for it under the lock before
 * it begins. Both are transactions that the servers carry out only while the lock is held. A
 * machine that dies before its mark leaves the work to the next: adding up again must give the same
 * result.
 */
#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "../example.h"

enum { CLOSE_MS = 5000, TELL_S = 1, PATH_SIZE = 256 };

typedef struct totals {
    zkl_lock *lock;
    char mark[PATH_SIZE];
    int status; /* how it ended; valid once done is set */
    atomic_bool done;
} totals;

static sigset_t signals; /* SIGINT and SIGTERM, which end the wait */

/* ---- The mark --------------------------------------------------------------------------- */

/* Commits one operation under the lock. The expected failure counts as success, and is reported. */
static int totals_commit(zkl_transaction *transaction, int added, int expected_failure,
                         bool *failed) {
    zkl_transaction_result result = ZKL_TRANSACTION_RESULT_INIT;
    int status = added == ZKL_OK ? zkl_transaction_commit(transaction, CLOSE_MS, &result) : added;
    *failed = status == ZKL_OPERATION_FAILED && result.failed_status == expected_failure;
    zkl_transaction_free(transaction);
    return *failed ? ZKL_OK : status;
}

static int look_for(zkl_lock *lock, const char *mark, bool *found) {
    zkl_transaction *transaction = NULL;
    bool missing = false;
    int status = zkl_transaction_begin(lock, &transaction);
    if (status == ZKL_OK) {
        int added = zkl_transaction_check(transaction, mark, ZKL_ANY_VERSION);
        status = totals_commit(transaction, added, ZKL_NO_NODE, &missing);
    }
    *found = status == ZKL_OK && !missing;
    return status;
}

static int totals_make(zkl_lock *lock, const char *path) {
    zkl_transaction *transaction = NULL;
    bool exists = false;
    int status = zkl_transaction_begin(lock, &transaction);
    if (status == ZKL_OK) {
        int added = zkl_transaction_create(transaction, path, NULL, 0, ZKL_CREATE_PERSISTENT);
        status = totals_commit(transaction, added, ZKL_NODE_EXISTS, &exists);
    }
    return status;
}

/* ---- The work --------------------------------------------------------------------------- */

/* Takes the lock itself, because it is also called without the lock. The handle is reentrant: the
 * thread that holds it acquires it again at once, and releases it as often. */
static int archive(zkl_lock *lock) {
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL);
    if (status == ZKL_OK) {
        printf("archiving\n");
        status = zkl_lock_release(lock, CLOSE_MS);
    }
    return status;
}

static int add_up(zkl_lock *lock, const char *mark) {
    printf("adding up\n");
    int status = archive(lock);
    if (status == ZKL_OK) {
        status = totals_make(lock, "/totals");
    }
    if (status == ZKL_OK) {
        status = totals_make(lock, mark);
    }
    return status;
}

static int add_up_unless_done(zkl_lock *lock, const char *mark) {
    bool done = false;
    int status = look_for(lock, mark, &done);
    if (done) {
        printf("done already, by another machine\n");
    } else if (status == ZKL_OK) {
        status = add_up(lock, mark);
    }
    return status;
}

static int totals_run(zkl_lock *lock, const char *mark) {
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, 0, NULL); /* a try: does not wait */
    if (status == ZKL_BUSY) {
        printf("another machine is at it: waiting\n");
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, ZKL_FOREVER, NULL);
    }
    if (status == ZKL_OK) {
        status = add_up_unless_done(lock, mark);
        int released = zkl_lock_release(lock, CLOSE_MS); /* also if the work has failed */
        status = status == ZKL_OK ? released : status;
    }
    return status;
}

static void *run_in_thread(void *arg) {
    totals *self = arg;
    self->status = totals_run(self->lock, self->mark);
    if (self->status != ZKL_OK) {
        fprintf(stderr, "%s\n", zkl_error_message()); /* of this thread's last call */
    }
    self->done = true;
    return NULL;
}

/* Prints the place in the queue, and takes the signals, on the other thread. ZKL_NOT_WAITING: the
 * batch does not wait yet, so this tries again; or it was granted, and runs to its end. */
static void look_on(totals *self) {
    static const struct timespec pause = { .tv_sec = TELL_S };
    bool asked_to_stop = false;
    while (!self->done) {
        zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
        asked_to_stop = sigtimedwait(&signals, NULL, &pause) > 0 || asked_to_stop;
        if (asked_to_stop && zkl_lock_cancel(self->lock) == ZKL_OK) {
            printf("asked to stop: the wait is cancelled\n");
        } else if (zkl_lock_info(self->lock, &information) == ZKL_OK && information.position > 0) {
            printf("%lld before us\n", (long long)information.position);
        }
    }
}

static int run_totals(zkl_client *client, int argc, char **argv) {
    const char *date = argc > 2 ? argv[2] : "2026-11-21";
    totals self = { .status = ZKL_OK };
    pthread_t thread;
    char resource[ZKL_RESOURCE_MAX + 1];
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.reentrant = 1;
    options.owner = "nightly totals"; /* shown by queue_report */
    (void)snprintf(resource, sizeof(resource), "totals-%s", date);
    (void)snprintf(self.mark, sizeof(self.mark), "/totals/%s", date);
    int status = zkl_lock_open(client, resource, &options, &self.lock);
    if (status == ZKL_OK && pthread_create(&thread, NULL, run_in_thread, &self) != 0) {
        status = ZKL_SYSTEM;
    } else if (status == ZKL_OK) {
        look_on(&self);
        (void)pthread_join(thread, NULL);
        status = self.status;
    }
    zkl_lock_close(self.lock);
    return status;
}

int main(int argc, char **argv) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.container_parents = 1; /* this date comes once: let the servers remove its node */
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, NULL); /* before any thread starts: all inherit it */
    return run_example(argc, argv, &options, run_totals);
}
