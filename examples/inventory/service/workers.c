#include "workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "journal.h"
#include "store.h"

enum { RETRY_US = 500000 };

typedef struct worker {
    struct workers *all;
    database *connection;
    pthread_t thread;
} worker;

struct workers {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    const char *database_at;
    job *urgent; /* singly linked */
    job *others;
    job **end_of_urgent; /* where the next one is linked */
    job **end_of_others;
    atomic_bool stopping;
    atomic_int ready;
    int count;
    worker list[];
};

static job *take_first(job **list, job ***end) {
    job *one = *list;
    if (one != NULL) {
        *list = one->next;
        *end = one->next == NULL ? list : *end;
    }
    return one;
}

static job *workers_take(workers *self) {
    pthread_mutex_lock(&self->mutex);
    while (self->urgent == NULL && self->others == NULL && !self->stopping) {
        pthread_cond_wait(&self->changed, &self->mutex);
    }
    job *one = take_first(&self->urgent, &self->end_of_urgent);
    one = one != NULL ? one : take_first(&self->others, &self->end_of_others);
    pthread_mutex_unlock(&self->mutex);
    return one;
}

static bool connect(worker *self) {
    while (!self->all->stopping) {
        if (database_open(self->all->database_at, &self->connection) == DATABASE_OK &&
            store_make_tables(self->connection) == STORE_OK) {
            self->all->ready++;
            return true;
        }
        journal("database_not_reached", "why", database_error(self->connection));
        database_close(self->connection);
        self->connection = NULL;
        (void)usleep(RETRY_US);
    }
    return false;
}

static void *workers_work(void *arg) {
    worker *self = arg;
    if (!connect(self)) {
        return NULL;
    }
    for (job *one = workers_take(self->all); one != NULL; one = workers_take(self->all)) {
        if (self->all->stopping) {
            database_give_up(self->connection);
        }
        one->run(one, self->connection);
    }
    database_close(self->connection);
    return NULL;
}

workers *workers_start(const char *database_at, int count) {
    workers *self = calloc(1, sizeof(*self) + (size_t)count * sizeof(self->list[0]));
    if (self == NULL) {
        return NULL;
    }
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    self->database_at = database_at;
    self->end_of_urgent = &self->urgent;
    self->end_of_others = &self->others;
    for (; self->count < count; self->count++) {
        worker *one = &self->list[self->count];
        one->all = self;
        if (pthread_create(&one->thread, NULL, workers_work, one) != 0) {
            workers_stop(self);
            workers_free(self);
            return NULL;
        }
    }
    return self;
}

bool workers_are_ready(const workers *self) {
    return self->ready > 0;
}

static void append(job ***end, job *one) {
    one->next = NULL;
    **end = one;
    *end = &one->next;
}

bool workers_add(workers *self, job *one, bool is_urgent) {
    pthread_mutex_lock(&self->mutex);
    bool is_taken = !self->stopping;
    if (is_taken) {
        append(is_urgent ? &self->end_of_urgent : &self->end_of_others, one);
        pthread_cond_signal(&self->changed);
    }
    pthread_mutex_unlock(&self->mutex);
    return is_taken;
}

void workers_stop(workers *self) {
    pthread_mutex_lock(&self->mutex);
    self->stopping = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    for (int i = 0; i < self->count; i++) {
        pthread_join(self->list[i].thread, NULL);
    }
}

void workers_free(workers *self) {
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}
