#include "workers.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>
#include <utlist.h>

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
    job *first; /* singly linked, with the last for appending */
    job *last;
    bool stopping;
    int count;
    worker list[];
};

static job *take(workers *self) {
    pthread_mutex_lock(&self->mutex);
    while (self->first == NULL && !self->stopping) {
        pthread_cond_wait(&self->changed, &self->mutex);
    }
    job *one = self->first;
    if (one != NULL) {
        self->first = one->next;
    }
    pthread_mutex_unlock(&self->mutex);
    return one;
}

static void *work(void *arg) {
    worker *self = arg;
    for (job *one = take(self->all); one != NULL; one = take(self->all)) {
        one->run(one, self->connection);
    }
    return NULL;
}

static bool connect(worker *self, const char *at, const volatile int *stop) {
    while (*stop == 0) {
        if (database_open(at, &self->connection) == DATABASE_OK &&
            store_make_tables(self->connection) == STORE_OK) {
            return true;
        }
        journal("database_not_reached", "why", database_error(self->connection), NULL);
        database_close(self->connection);
        self->connection = NULL;
        (void)usleep(RETRY_US);
    }
    return false;
}

workers *workers_start(const char *database_at, int count, const volatile int *stop) {
    workers *self = calloc(1, sizeof(*self) + (size_t)count * sizeof(self->list[0]));
    if (self == NULL) {
        return NULL;
    }
    pthread_mutex_init(&self->mutex, NULL);
    pthread_cond_init(&self->changed, NULL);
    for (; self->count < count; self->count++) {
        worker *one = &self->list[self->count];
        one->all = self;
        if (!connect(one, database_at, stop) ||
            pthread_create(&one->thread, NULL, work, one) != 0) {
            database_close(one->connection);
            workers_stop(self);
            return NULL;
        }
    }
    return self;
}

void workers_add(workers *self, job *one) {
    one->next = NULL;
    pthread_mutex_lock(&self->mutex);
    if (self->first == NULL) {
        self->first = one;
    } else {
        self->last->next = one;
    }
    self->last = one;
    pthread_cond_signal(&self->changed);
    pthread_mutex_unlock(&self->mutex);
}

void workers_stop(workers *self) {
    if (self == NULL) {
        return;
    }
    pthread_mutex_lock(&self->mutex);
    self->stopping = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->mutex);
    for (int i = 0; i < self->count; i++) {
        pthread_join(self->list[i].thread, NULL);
        database_close(self->list[i].connection);
    }
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->mutex);
    free(self);
}
