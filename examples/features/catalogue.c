/*
 * Writes a catalogue, and then reads it, without letting another writer in: catalogue HOSTS
 *
 * It downgrades its write lock to a read lock: other readers get in, and no writer does. Then it
 * upgrades again, if nobody else reads by then.
 */
#include "../example.h"

enum { PATIENCE_MS = 30000 };

static int write_and_read(zkl_lock *lock) {
    int status = zkl_lock_acquire(lock, ZKL_WRITE, PATIENCE_MS, NULL);
    if (status != ZKL_OK) {
        return status;
    }
    printf("writing, alone\n");
    status = zkl_lock_downgrade(lock, PATIENCE_MS);
    if (status == ZKL_PENDING) {
        /* No answer in time: the downgrade continues, and cannot be taken back. */
        printf("only reading from here on; others come in when the servers have answered\n");
        return ZKL_OK;
    }
    if (status != ZKL_OK) {
        return status;
    }
    printf("reading what was written, with other readers\n");
    status = zkl_lock_try_upgrade(lock, NULL);
    if (status == ZKL_BUSY) {
        printf("others read, or wait to write: still reading\n");
        return ZKL_OK;
    }
    if (status == ZKL_OK) {
        printf("writing again, alone\n");
    }
    return status;
}

static int catalogue_run(zkl_client *client, int argc, char **argv) {
    (void)argc;
    (void)argv;
    ZKL_CLOSE_AT_SCOPE_END zkl_lock *lock = NULL;
    int status = zkl_lock_open(client, "catalogue", NULL, &lock);
    return status == ZKL_OK ? write_and_read(lock) : status;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, catalogue_run);
}
