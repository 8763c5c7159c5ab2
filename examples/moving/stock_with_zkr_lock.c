/*
 * A service with ZooKeeper's own lock in C, before it moves:
 * stock_with_zkr_lock HOSTS RESOURCE FILE HELD_MS
 *
 * stock_with_zklock.c is the same service afterwards. No package has zkr_lock: services.py, of the
 * tests, builds it (tools/build-zookeeper-lock).
 */
#include "stock.h"

#include <stdatomic.h>
#include <zoo_lock.h>

enum { SESSION_TIMEOUT_MS = 10000, PAUSE_MS = 1 };

static atomic_bool granted;

/* Hears of the lock, in a thread of libzookeeper: 0 it is granted, 1 it was released. */
static void on_change(int rc, void *unused) {
    (void)unused;
    granted = rc == 0;
}

/* Hears of the session. zkr_lock does not, so it says after its end that it holds. */
static void ignore(zhandle_t *session, int type, int state, const char *path, void *unused) {
    (void)session;
    (void)type;
    (void)state;
    (void)path;
    (void)unused;
}

static bool wait_for_grant(void) {
    while (!granted && !stock_is_closing) {
        (void)poll(NULL, 0, PAUSE_MS);
    }
    return granted;
}

static void serve(zkr_lock_mutex_t *lock, const char *file, int held_ms) {
    stock_report_open();
    int orders = 0;
    int overlaps = 0;
    while (!stock_is_closing) {
        granted = false;
        zkr_lock_lock(lock); /* 0, whether it is granted or not */
        if (!wait_for_grant()) {
            break;
        }
        overlaps += !stock_take_order(file, held_ms);
        orders++;
        zkr_lock_unlock(lock);
    }
    stock_report(orders, overlaps);
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: stock_with_zkr_lock HOSTS RESOURCE FILE HELD_MS\n");
        return 2;
    }
    stock_close_on_sigterm();
    zoo_set_debug_level(ZOO_LOG_LEVEL_ERROR);
    zhandle_t *session = zookeeper_init(argv[1], ignore, SESSION_TIMEOUT_MS, NULL, NULL, 0);
    if (session == NULL) {
        perror("stock_with_zkr_lock");
        return 1;
    }
    while (zoo_state(session) != ZOO_CONNECTED_STATE && !stock_is_closing) {
        (void)poll(NULL, 0, PAUSE_MS);
    }
    zkr_lock_mutex_t lock;
    zkr_lock_init_cb(&lock, session, argv[2], &ZOO_OPEN_ACL_UNSAFE, on_change, NULL);
    serve(&lock, argv[3], stock_number(argv[4]));
    zkr_lock_destroy(&lock);
    (void)zookeeper_close(session); /* and if it still waited: its place */
    return 0;
}
