/*
 * The floor of what one process can do without servers: a queue of threads, each with a condition
 * variable of its own, in the order in which they came. Without contention it is a mutex's pair.
 */
#include "../basics.h"
#include "../peer.h"

#include <pthread.h>
#include <stdlib.h>

struct waiter {
    struct waiter *next;
    pthread_cond_t turn;
    bool granted;
};

/* The benchmark has one resource at a time here. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool taken;
static struct waiter *first;
static struct waiter **end = &first;

static void *session_open(const char *hosts) {
    (void)hosts;
    return &mutex;
}

static void session_close(void *session) {
    (void)session;
}

static void *contender_open(void *session, const char *resource, int permits) {
    (void)session;
    (void)resource;
    (void)permits;
    struct waiter *self = allocate(1, sizeof *self);
    pthread_cond_init(&self->turn, NULL);
    return self;
}

static void contender_close(void *arg) {
    struct waiter *self = arg;
    pthread_cond_destroy(&self->turn);
    free(self);
}

static void acquire(void *arg, enum peer_mode mode) {
    struct waiter *self = arg;
    (void)mode;
    pthread_mutex_lock(&mutex);
    self->granted = !taken;
    taken = true;
    if (!self->granted) {
        self->next = NULL;
        *end = self;
        end = &self->next;
    }
    while (!self->granted) {
        pthread_cond_wait(&self->turn, &mutex);
    }
    pthread_mutex_unlock(&mutex);
}

static void release(void *arg) {
    (void)arg;
    pthread_mutex_lock(&mutex);
    struct waiter *next = first;
    taken = next != NULL;
    if (next != NULL) {
        first = next->next;
        end = first == NULL ? &first : end;
        next->granted = true;
        pthread_cond_signal(&next->turn);
    }
    pthread_mutex_unlock(&mutex);
}

int main(void) {
    static const struct peer peer = { .session_open = session_open,
                                      .session_close = session_close,
                                      .contender_open = contender_open,
                                      .contender_close = contender_close,
                                      .acquire = acquire,
                                      .release = release };
    return peer_main(&peer);
}
