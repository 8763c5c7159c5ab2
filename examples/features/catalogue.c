/*
 * Writes a catalogue, and goes on reading what it has written: catalogue HOSTS
 *
 * From the write lock it goes down to a read lock, so that other readers come in, and no
 * writer comes between; and up again, if nobody else reads by then.
 */
#include <stdio.h>
#include <zklock/zklock.h>

enum { PATIENCE_MS = 30000 };

static int write_and_read(zkl_lock *lock) {
    int status = zkl_lock_acquire(lock, ZKL_WRITE, PATIENCE_MS, NULL);
    if (status != ZKL_OK) {
        return status;
    }
    printf("writing, alone\n");
    status = zkl_lock_downgrade(lock, PATIENCE_MS);
    if (status == ZKL_PENDING) {
        /* No answer in time: it goes on by itself, and there is no way back. */
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

int main(int argc, char **argv) {
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    int status = zkl_client_open(argc > 1 ? argv[1] : "127.0.0.1:2181", NULL, &client);
    if (status == ZKL_OK) {
        status = zkl_lock_open(client, "catalogue", NULL, &lock);
    }
    if (status == ZKL_OK) {
        status = write_and_read(lock);
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
    }
    zkl_lock_close(lock);
    (void)zkl_client_close(client, 1000);
    return status == ZKL_OK ? 0 : 1;
}
