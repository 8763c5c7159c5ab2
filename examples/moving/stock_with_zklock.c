/*
 * A service that has moved to zklock: stock_with_zklock HOSTS RESOURCE FILE HELD_MS [kazoo]
 *
 * With `kazoo` its nodes have the names that kazoo's own Lock waits for.
 *
 * StockWithCurator.java, stock_with_kazoo.py, stock_with_zkr_lock.c and stock_with_old_lock.c are
 * the same service before.
 */
#include "stock.h"

#include <string.h>
#include <zklock/zklock.h>

enum { WAIT_MS = 1000 };

static int serve(zkl_lock *lock, const char *file, int held_ms) {
    stock_report_open();
    int orders = 0;
    int overlaps = 0;
    while (!stock_is_closing) {
        zkl_grant grant = ZKL_GRANT_INIT;
        int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, WAIT_MS, &grant);
        if (status == ZKL_TIMEOUT) {
            continue; /* look whether the service is to end */
        }
        if (status != ZKL_OK) {
            return status;
        }
        overlaps += !stock_take_order(file, held_ms); /* a real store wants grant.token */
        orders++;
        (void)zkl_lock_release(lock, WAIT_MS);
    }
    stock_report(orders, overlaps);
    return ZKL_OK;
}

int main(int argc, char **argv) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    if (argc == 6 && strcmp(argv[5], "kazoo") == 0) {
        options.naming = ZKL_NAMING_KAZOO;
    } else if (argc != 5) {
        fprintf(stderr, "usage: stock_with_zklock HOSTS RESOURCE FILE HELD_MS [kazoo]\n");
        return 2;
    }
    stock_close_on_sigterm();
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    int status = zkl_client_open(argv[1], NULL, &client);
    if (status == ZKL_OK) {
        status = zkl_lock_open(client, argv[2], &options, &lock);
    }
    if (status == ZKL_OK) {
        status = serve(lock, argv[3], stock_number(argv[4]));
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
    }
    zkl_lock_close(lock);
    (void)zkl_client_close(client, WAIT_MS);
    return status == ZKL_OK ? 0 : 1;
}
