/* Asynchronous calls, one after the other in a loop, which the manual's pages show: callbacks HOSTS
 */
#include <poll.h>
#include <stdbool.h>

#include "../example.h"

enum { PATIENCE_MS = 5000 };

/* What the callbacks of a program with a loop tell it. They run on the loop's thread, in
 * zkl_client_dispatch, so nothing guards this. On the client's own thread a mutex must. */
typedef struct job {
    zkl_lock *lock;
    int status;
    bool is_done;
} job;

static void on_released(void *arg, int status) {
    job *self = arg;
    self->status = status;
    self->is_done = true;
}

/* Releases: the lock is not held any more from the moment of the call. */
static int release(job *self) {
    return zkl_lock_release_async(self->lock, PATIENCE_MS, NULL, on_released, self);
}

static void on_committed(void *arg, int status, zkl_transaction *transaction,
                         const zkl_transaction_result *result) {
    job *self = arg;
    if (status == ZKL_OK) {
        printf("made %s\n", zkl_transaction_created_path(transaction, 0));
    } else {
        fprintf(stderr, "operation %d: %s\n", result->failed_operation, zkl_error_message());
    }
    zkl_transaction_free(transaction);
    self->status = status;
    self->is_done = true;
}

static int commit(job *self) {
    zkl_transaction *transaction = NULL;
    int status = zkl_transaction_begin(self->lock, &transaction);
    if (status == ZKL_OK) {
        status = zkl_transaction_create(transaction, "/job-", NULL, 0, ZKL_CREATE_SEQUENTIAL);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_commit_async(transaction, PATIENCE_MS, on_committed, self);
    }
    if (status != ZKL_OK) { /* not begun: no callback comes, and the transaction is ours */
        zkl_transaction_free(transaction);
    }
    return status;
}

static void on_verified(void *arg, int status) {
    job *self = arg;
    printf("held a moment ago: %s\n", zkl_strerror(status));
    self->status = status;
    self->is_done = true;
}

static int verify(job *self) {
    return zkl_lock_verify_async(self->lock, PATIENCE_MS, on_verified, self);
}

static void on_upgraded(void *arg, int status, const zkl_grant *grant) {
    job *self = arg;
    if (status == ZKL_OK) {
        printf("writing again, with token %lld\n", (long long)grant->token);
    } else if (status == ZKL_BUSY) {
        printf("others read, or wait: still reading\n");
        status = ZKL_OK;
    }
    self->status = status;
    self->is_done = true;
}

static int upgrade(job *self) {
    return zkl_lock_try_upgrade_async(self->lock, NULL, on_upgraded, self);
}

static void on_downgraded(void *arg, int status) {
    job *self = arg;
    printf("other readers come in: %s\n", zkl_strerror(status));
    self->status = status;
    self->is_done = true;
}

static int downgrade(job *self) {
    return zkl_lock_downgrade_async(self->lock, PATIENCE_MS, NULL, on_downgraded, self);
}

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    job *self = arg;
    if (status == ZKL_OK) { /* held from here on */
        printf("writing, with token %lld\n", (long long)grant->token);
    }
    self->status = status;
    self->is_done = true;
}

/* Acquires: on ZKL_OK the callback comes exactly once; on anything else it never does. */
static int acquire(job *self) {
    return zkl_lock_acquire_async(self->lock, ZKL_WRITE, PATIENCE_MS, NULL, on_acquired, self);
}

/* Runs the loop of a program that has one already: one more descriptor to poll. */
static int run_loop(zkl_client *client, const bool *is_done) {
    struct pollfd ours = { .fd = -1, .events = POLLIN };
    int status = zkl_client_event_descriptor(client, &ours.fd);
    while (status == ZKL_OK && !*is_done) {
        if (poll(&ours, 1, -1) > 0) {
            status = zkl_client_dispatch(client, NULL);
        }
    }
    return status;
}

static int open_for_a_loop(const char *hosts, zkl_client **client) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.dispatch = ZKL_DISPATCH_CALLER; /* callbacks run in zkl_client_dispatch */
    return zkl_client_open(hosts, &options, client);
}

static int callbacks_run(zkl_client *client) {
    static int (*const calls[])(job *
                                self) = { acquire, downgrade, upgrade, verify, commit, release };
    job only = { .lock = NULL };
    int status = zkl_lock_open(client, "catalogue", NULL, &only.lock);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]) && status == ZKL_OK; i++) {
        only.is_done = false;
        status = calls[i](&only);
        if (status == ZKL_OK) {
            status = run_loop(client, &only.is_done);
        }
        status = status == ZKL_OK ? only.status : status;
    }
    zkl_lock_close(only.lock);
    return status;
}

int main(int argc, char **argv) {
    zkl_client *client = NULL;
    int status = open_for_a_loop(argc > 1 ? argv[1] : "127.0.0.1:2181", &client);
    if (status == ZKL_OK) {
        status = callbacks_run(client);
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
    }
    (void)zkl_client_close(client, PATIENCE_MS);
    return status == ZKL_OK ? 0 : 1;
}
