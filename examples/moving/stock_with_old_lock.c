/*
 * A service that moves from a lock that zklock cannot share (old_lock.h):
 *
 *     stock_with_old_lock old OLD_SERVER NAME FILE HELD_MS           before
 *     stock_with_old_lock both OLD_SERVER NAME FILE HELD_MS HOSTS    while some have the old lock
 * only
 *
 * stock_with_zklock.c is the service afterwards. docs/moving.md says in which order they are run.
 */
#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */
#include "old_lock.h"
#include "stock.h"

#include <string.h>
#include <zklock/zklock.h>

enum { WAIT_MS = 1000, PAUSE_MS = 10 };

/* Asks again and again, as such locks do. */
static bool take_old(const char *name) {
    while (!stock_is_closing) {
        if (old_lock_try(name)) {
            return true;
        }
        (void)poll(NULL, 0, PAUSE_MS);
    }
    return false;
}

/* Takes zklock first: one waits there in a fair queue, for as long as it takes, and the old lock,
 * which may expire, begins when the work does. Everybody takes them in this order. */
static bool take(zkl_lock *lock, const char *name) {
    if (lock == NULL) {
        return take_old(name);
    }
    if (zkl_lock_acquire(lock, ZKL_EXCLUSIVE, WAIT_MS, NULL) != ZKL_OK) {
        return false;
    }
    if (take_old(name)) {
        return true;
    }
    (void)zkl_lock_release(lock, WAIT_MS);
    return false;
}

/* Releases them the other way round: whoever is let in by zklock finds the old lock free. */
static void release(zkl_lock *lock, const char *name) {
    old_lock_release(name);
    if (lock != NULL) {
        (void)zkl_lock_release(lock, WAIT_MS);
    }
}

static void serve(zkl_lock *lock, const char *name, const char *file, int held_ms) {
    stock_report_open();
    int orders = 0;
    int overlaps = 0;
    while (!stock_is_closing) {
        if (take(lock, name)) {
            overlaps += !stock_take_order(file, held_ms);
            orders++;
            release(lock, name);
        }
    }
    stock_report(orders, overlaps);
}

int main(int argc, char **argv) {
    bool has_both = argc == 7 && strcmp(argv[1], "both") == 0;
    if (!has_both && (argc != 6 || strcmp(argv[1], "old") != 0)) {
        fprintf(stderr,
                "usage: stock_with_old_lock old|both OLD_SERVER NAME FILE HELD_MS [HOSTS]\n");
        return 2;
    }
    stock_close_on_sigterm();
    zkl_client *client = NULL;
    zkl_lock *lock = NULL;
    int status = ZKL_OK;
    if (has_both) {
        status = zkl_client_open(argv[6], NULL, &client);
        status = status == ZKL_OK ? zkl_lock_open(client, argv[3], NULL, &lock) : status;
    }
    bool is_open = status == ZKL_OK && old_lock_open(argv[2]);
    if (is_open) {
        serve(lock, argv[3], argv[4], stock_number(argv[5]));
    } else {
        fprintf(stderr, "a server does not answer. %s\n", zkl_strerror(status));
    }
    zkl_lock_close(lock);
    (void)zkl_client_close(client, WAIT_MS);
    return is_open ? 0 : 1;
}
