#include "zookeeper.h"

#include "../../clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* A signal cannot open the latch: so often a wait looks whether the buyer shall end. */
enum { GLANCE_MS = 50 };

static const char *servers;
static int session_timeout_ms;
static zhandle_t *current;

static pthread_mutex_t latch_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t latch_changed;
static bool latch_is_open;

/* ---- The session ----------------------------------------------------------------------------- */

void session_prepare(const lock_settings *settings) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&latch_changed, &attributes);
    pthread_condattr_destroy(&attributes);
    servers = settings->servers;
    session_timeout_ms = (int)settings->timeout_ms;
    zoo_set_debug_level((ZooLogLevel)0);
    (void)atexit(session_end);
}

void session_end(void) {
    if (current != NULL) {
        (void)zookeeper_close(current);
    }
    current = NULL;
}

static void session_begin(watcher_fn on_event) {
    current = zookeeper_init(servers, on_event, session_timeout_ms, NULL, NULL, 0);
    if (current != NULL) {
        /* Otherwise the names are looked up in every loop of its I/O thread. */
        (void)zoo_set_servers_resolution_delay(current, -1);
    }
}

zhandle_t *session_get(watcher_fn on_event, int64_t until_ms) {
    if (current != NULL && is_unrecoverable(current) != ZOK) {
        session_end();
    }
    if (current == NULL) {
        session_begin(on_event);
    }
    while (current != NULL && zoo_state(current) != ZOO_CONNECTED_STATE) {
        if (clock_is_over() || clock_ms() >= until_ms || is_unrecoverable(current) != ZOK) {
            return NULL;
        }
        clock_pause_ms(1);
    }
    return current;
}

zhandle_t *session_now(void) {
    return current;
}

bool session_make(zhandle_t *session, const char *path) {
    int made = zoo_create(session, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, ZOO_PERSISTENT, NULL, 0);
    return made == ZOK || made == ZNODEEXISTS;
}

/* ---- The latch ------------------------------------------------------------------------------- */

void latch_close(void) {
    pthread_mutex_lock(&latch_mutex);
    latch_is_open = false;
    pthread_mutex_unlock(&latch_mutex);
}

void latch_open(void) {
    pthread_mutex_lock(&latch_mutex);
    latch_is_open = true;
    pthread_cond_broadcast(&latch_changed);
    pthread_mutex_unlock(&latch_mutex);
}

static void wait_a_moment(int64_t ms) {
    int64_t until_us = clock_us() + ms * 1000;
    struct timespec until = { .tv_sec = until_us / 1000000, .tv_nsec = until_us % 1000000 * 1000 };
    (void)pthread_cond_timedwait(&latch_changed, &latch_mutex, &until);
}

bool latch_await(int64_t until_ms) {
    pthread_mutex_lock(&latch_mutex);
    int64_t left_ms = until_ms - clock_ms();
    while (!latch_is_open && left_ms > 0 && !clock_is_over()) {
        wait_a_moment(left_ms < GLANCE_MS ? left_ms : GLANCE_MS);
        left_ms = until_ms - clock_ms();
    }
    bool is_open = latch_is_open;
    pthread_mutex_unlock(&latch_mutex);
    return is_open;
}
