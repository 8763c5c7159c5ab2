/*
 * Keeps a log of its runs in ZooKeeper: guarded_transaction HOSTS
 *
 * The holder of the lock "runs" writes /runs/last, and a line of /runs/log, in one transaction. The
 * servers carry it out only while the lock is held. However long this program is stopped before the
 * commit, it never overwrites what its successor has written.
 */
#include <string.h>

#include "example.h"

enum { TIMEOUT_MS = 10000 };

/* Succeeds also if the node exists already. */
static int make_node(zkl_lock *lock, const char *path) {
    zkl_transaction *transaction = NULL;
    zkl_transaction_result result = ZKL_TRANSACTION_RESULT_INIT;
    int status = zkl_transaction_begin(lock, &transaction);
    if (status == ZKL_OK) {
        status = zkl_transaction_create(transaction, path, NULL, 0, ZKL_CREATE_PERSISTENT);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_commit(transaction, TIMEOUT_MS, &result);
    }
    zkl_transaction_free(transaction);
    return result.failed_status == ZKL_NODE_EXISTS ? ZKL_OK : status;
}

static int make_nodes(zkl_lock *lock) {
    static const char *const paths[] = { "/runs", "/runs/last", "/runs/log" };
    int status = ZKL_OK;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]) && status == ZKL_OK; i++) {
        status = make_node(lock, paths[i]);
    }
    return status;
}

static int write_run(zkl_lock *lock, const char *text) {
    zkl_transaction *transaction = NULL;
    int status = zkl_transaction_begin(lock, &transaction);
    if (status == ZKL_OK) {
        status =
            zkl_transaction_set(transaction, "/runs/last", text, strlen(text), ZKL_ANY_VERSION);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_create(transaction, "/runs/log/run-", text, strlen(text),
                                        ZKL_CREATE_SEQUENTIAL);
    }
    if (status == ZKL_OK) {
        status = zkl_transaction_commit(transaction, TIMEOUT_MS, NULL);
    }
    if (status == ZKL_OK) {
        printf("written as %s\n", zkl_transaction_created_path(transaction, 1));
    }
    zkl_transaction_free(transaction);
    return status;
}

/* Explains what each status says about the write. */
static void explain_write(int status) {
    const char *applied = "nothing was written";
    if (status == ZKL_OK) {
        applied = "all was written";
    } else if (status == ZKL_UNKNOWN) {
        applied = "it may have been written: look under /runs/log, with the lock, before you go on";
    }
    fprintf(stderr, "%s: %s\n", zkl_strerror(status), applied);
}

static int guarded_transaction_run(zkl_client *client, int argc, char **argv) {
    (void)argc;
    (void)argv;
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *lock = NULL;
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_open(client, "runs", NULL, &lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, TIMEOUT_MS, &grant);
    }
    if (status == ZKL_OK) {
        status = make_nodes(lock);
    }
    if (status == ZKL_OK) {
        char text[64];
        snprintf(text, sizeof(text), "token %lld", (long long)grant.token);
        status = write_run(lock, text);
    }
    explain_write(status);
    return status;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, guarded_transaction_run);
}
