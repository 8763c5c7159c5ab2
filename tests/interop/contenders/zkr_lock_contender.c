/*
 * A contender of ZooKeeper's own lock in C, zkr_lock: the lines of protocol.md. Its kinds:
 *
 *     lock    used as its header says: asked for once, then the callback tells
 *     twice   an acquire is one of each of two locks of this session, which must not both be
 * granted
 *
 * An acquire is given up with zkr_lock_unlock: the library has no other means.
 */
#include "lines.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <zoo_lock.h>

#define PATIENCE_MS 30000
#define MS_PER_S 1000
#define NS_PER_MS 1000000

/* A lock of the library, and what its callback has told. */
struct lock {
    zkr_lock_mutex_t library;
    pthread_mutex_t mutex; /* of what follows */
    pthread_cond_t changed;
    bool granted;
    bool waited_for;
    bool cancelled;
};

struct contender {
    zhandle_t *session;
    char *path;
    bool twice;
    struct lock lock;
    struct lock second;
};

static int64_t now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * MS_PER_S + now.tv_nsec / NS_PER_MS;
}

/* ---- One lock ---------------------------------------------------------------------------- */

/* The library calls it under its own mutex. */
static void on_change(int rc, void *self) {
    struct lock *lock = self;
    pthread_mutex_lock(&lock->mutex);
    lock->granted = rc == 0;
    pthread_cond_broadcast(&lock->changed);
    pthread_mutex_unlock(&lock->mutex);
}

static void make_lock(struct lock *lock, const struct contender *contender) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&lock->changed, &attributes);
    pthread_mutex_init(&lock->mutex, NULL);
    zkr_lock_init_cb(&lock->library, contender->session, contender->path, &ZOO_OPEN_ACL_UNSAFE,
                     on_change, lock);
}

/* Waits until the callback has told, or somebody cancels, but not longer than that. */
static void wait_until(struct lock *lock, int64_t end_ms) {
    struct timespec end = { .tv_sec = end_ms / MS_PER_S, .tv_nsec = end_ms % MS_PER_S * NS_PER_MS };
    int rc = 0;
    pthread_mutex_lock(&lock->mutex);
    while (!lock->granted && !lock->cancelled && rc != ETIMEDOUT) {
        rc = pthread_cond_timedwait(&lock->changed, &lock->mutex, &end);
    }
    pthread_mutex_unlock(&lock->mutex);
}

static void begin(struct lock *lock) {
    pthread_mutex_lock(&lock->mutex);
    lock->granted = false;
    lock->cancelled = false;
    lock->waited_for = true;
    pthread_mutex_unlock(&lock->mutex);
}

static const char *end(struct lock *lock) {
    pthread_mutex_lock(&lock->mutex);
    lock->waited_for = false;
    const char *status = lock->granted     ? LINES_OK
                         : lock->cancelled ? LINES_CANCELLED
                                           : LINES_TIMEOUT;
    pthread_mutex_unlock(&lock->mutex);
    return status;
}

static const char *acquire_one(struct lock *lock, int64_t timeout_ms) {
    int64_t deadline_ms = timeout_ms < 0 ? INT64_MAX / NS_PER_MS : now_ms() + timeout_ms;
    begin(lock);
    zkr_lock_lock(&lock->library); /* returns 0, whatever happens */
    wait_until(lock, deadline_ms);
    const char *status = end(lock);
    if (strcmp(status, LINES_TIMEOUT) == 0) {
        zkr_lock_unlock(&lock->library);
    }
    return status;
}

/* ---- Commands ---------------------------------------------------------------------------- */

static const char *acquire(void *self, int64_t timeout_ms, char text[LINES_TEXT_SIZE]) {
    struct contender *contender = self;
    const char *status = acquire_one(&contender->lock, timeout_ms);
    if (contender->twice && strcmp(status, LINES_OK) == 0) {
        status = acquire_one(&contender->second, timeout_ms);
    }
    const char *node = contender->lock.library.id;
    if (strcmp(status, LINES_OK) == 0 && node != NULL) {
        snprintf(text, LINES_TEXT_SIZE, "%s/%s", contender->path, node);
    }
    return status;
}

static const char *release(void *self, char text[LINES_TEXT_SIZE]) {
    struct contender *contender = self;
    int rc = zkr_lock_unlock(&contender->lock.library);
    if (rc != 0) {
        snprintf(text, LINES_TEXT_SIZE, "zkr_lock_unlock returned %d", rc);
    }
    return rc == 0 ? LINES_OK : LINES_FAILED;
}

static const char *cancel(void *self, char text[LINES_TEXT_SIZE]) {
    struct lock *lock = &((struct contender *)self)->lock;
    (void)text;
    pthread_mutex_lock(&lock->mutex);
    bool waited_for = lock->waited_for;
    pthread_mutex_unlock(&lock->mutex);
    if (waited_for) {
        zkr_lock_unlock(&lock->library);
        pthread_mutex_lock(&lock->mutex);
        lock->cancelled = true;
        pthread_cond_broadcast(&lock->changed);
        pthread_mutex_unlock(&lock->mutex);
    }
    return LINES_OK;
}

static const char *held(void *self, char text[LINES_TEXT_SIZE]) {
    struct contender *contender = self;
    (void)text;
    return zkr_lock_isowner(&contender->lock.library) ? LINES_OK : LINES_LOST;
}

/* ---- Start and end ----------------------------------------------------------------------- */

/* The library never says that a session has ended: an application would have to look here. */
static void on_session_event(zhandle_t *session, int type, int state, const char *path,
                             void *context) {
    (void)session;
    (void)type;
    (void)state;
    (void)path;
    (void)context;
}

static void connect_session(struct contender *contender, const char *hosts, int timeout_ms) {
    contender->session = zookeeper_init(hosts, on_session_event, timeout_ms, NULL, NULL, 0);
    int64_t deadline_ms = now_ms() + PATIENCE_MS;
    while (zoo_state(contender->session) != ZOO_CONNECTED_STATE) {
        if (now_ms() > deadline_ms) {
            lines_cannot_start("not connected");
        }
        (void)nanosleep(&(struct timespec){ .tv_nsec = NS_PER_MS }, NULL);
    }
}

/* The library makes the last node of the path only. */
static void make_parents(const struct contender *contender) {
    for (char *slash = strchr(contender->path + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)zoo_create(contender->session, contender->path, NULL, -1, &ZOO_OPEN_ACL_UNSAFE, 0,
                         NULL, 0);
        *slash = '/';
    }
}

int main(int argc, char **argv) {
    static struct contender self;
    lines_begin();
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    if (argc != 6) {
        lines_cannot_start("not meant to be started by hand; see protocol.md");
    }
    self.path = argv[2];
    self.twice = strcmp(argv[4], "twice") == 0;
    connect_session(&self, argv[1], atoi(argv[3]));
    make_parents(&self);
    make_lock(&self.lock, &self);
    make_lock(&self.second, &self);
    lines_start(zoo_client_id(self.session)->client_id, zoo_recv_timeout(self.session));
    lines_serve(&(struct lines_library){
        .lock = &self, .acquire = acquire, .release = release, .cancel = cancel, .held = held });
    zookeeper_close(self.session);
    return EXIT_SUCCESS;
}
