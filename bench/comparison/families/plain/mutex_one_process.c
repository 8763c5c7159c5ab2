/*
 * A mutex of the process (POSIX, pthread_mutex_lock), in a service that runs as one process.
 *
 * A buyer is a process, so the buyers of this service share a mutex for each product in shared
 * memory (POSIX, PTHREAD_PROCESS_SHARED), as its threads would in their own. As a thread that ends
 * with a mutex locked, a buyer that is killed leaves it locked for ever: the mutex is not robust,
 * which is what POSIX has by default. A fault that meets the whole service cannot be shown so.
 *
 * The name in shared memory is removed by the last buyer that uses it: each has a shared flock on
 * it, which ends with its process, and no lock of the sale rests on that.
 */
#include "../../clock.h"
#include "../../mechanism.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { MUTEXES = 128, SLICE_MS = 100 };

typedef struct shared_mutex {
    char name[96];
    int file;
    pthread_mutex_t *mutex;
} shared_mutex;

static shared_mutex mutexes[MUTEXES];
static size_t count;

/* ---- The memory that the buyers share ------------------------------------------------------- */

static bool map(shared_mutex *self) {
    self->mutex =
        mmap(NULL, sizeof *self->mutex, PROT_READ | PROT_WRITE, MAP_SHARED, self->file, 0);
    return self->mutex != MAP_FAILED;
}

/* Makes the mutex, if this buyer is the first: it is then alone with the file. */
static bool make(const shared_mutex *self) {
    pthread_mutexattr_t kind;
    (void)pthread_mutexattr_init(&kind);
    bool made = pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED) == 0 &&
                pthread_mutex_init(self->mutex, &kind) == 0;
    (void)pthread_mutexattr_destroy(&kind);
    return made;
}

static bool is_used_elsewhere(const shared_mutex *self) {
    return flock(self->file, LOCK_EX | LOCK_NB) != 0;
}

static bool prepare(shared_mutex *self) {
    struct stat found;
    if (!is_used_elsewhere(self)) {
        if (fstat(self->file, &found) != 0 ||
            ftruncate(self->file, (off_t)sizeof *self->mutex) != 0 || !map(self)) {
            return false;
        }
        /* What a killed buyer has left is as it was, locked or not. */
        if (found.st_size == 0 && !make(self)) {
            return false;
        }
    }
    return flock(self->file, LOCK_SH) == 0 && (self->mutex != NULL || map(self));
}

static void leave(shared_mutex *self) {
    if (self->mutex != NULL && self->mutex != MAP_FAILED) {
        (void)munmap(self->mutex, sizeof *self->mutex);
    }
    self->mutex = NULL;
    (void)close(self->file);
}

/* Whether the name still leads to this file: the last buyer may have removed it meanwhile. */
static bool has_name(const shared_mutex *self) {
    struct stat found;
    return fstat(self->file, &found) == 0 && found.st_nlink > 0;
}

static bool join(shared_mutex *self) {
    while (!clock_is_over()) {
        self->file = shm_open(self->name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        if (self->file < 0) {
            return false;
        }
        bool prepared = prepare(self);
        if (prepared && has_name(self)) {
            return true;
        }
        leave(self);
        if (!prepared) {
            return false;
        }
    }
    return false;
}

static void leave_all(void) {
    for (size_t i = 0; i < count; i++) {
        if (!is_used_elsewhere(&mutexes[i])) {
            (void)shm_unlink(mutexes[i].name);
        }
        leave(&mutexes[i]);
    }
}

/* ---- The lock ------------------------------------------------------------------------------- */

static pthread_mutex_t *mutex_of(const char *product) {
    shared_mutex asked = { .name = "", .file = -1, .mutex = NULL };
    (void)snprintf(asked.name, sizeof asked.name, "/zklock-comparison-%s", product);
    for (size_t i = 0; i < count; i++) {
        if (strcmp(mutexes[i].name, asked.name) == 0) {
            return mutexes[i].mutex;
        }
    }
    if (count == MUTEXES || !join(&asked)) {
        return NULL;
    }
    mutexes[count++] = asked;
    return asked.mutex;
}

static void open_lock(const lock_settings *settings) {
    (void)settings;
    (void)atexit(leave_all);
}

/* Waits in slices, as no signal ends the wait for a mutex. */
static int wait_for(pthread_mutex_t *mutex, int64_t until_ms) {
    int error = ETIMEDOUT;
    int64_t left_ms = until_ms - clock_ms();
    do {
        int64_t until_us = (left_ms < SLICE_MS ? left_ms : SLICE_MS) * 1000 + clock_us();
        struct timespec until = { .tv_sec = until_us / 1000000,
                                  .tv_nsec = until_us % 1000000 * 1000 };
        error = pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &until);
        left_ms = until_ms - clock_ms();
    } while (error == ETIMEDOUT && left_ms > 0 && !clock_is_over());
    return error;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    (void)token;
    pthread_mutex_t *mutex = mutex_of(product);
    int error = mutex != NULL ? wait_for(mutex, clock_ms() + wait_ms) : ENOMEM;
    return error == 0 ? LOCK_GRANTED : error == ETIMEDOUT ? LOCK_BUSY : LOCK_UNKNOWN;
}

static void release(const char *product) {
    (void)pthread_mutex_unlock(mutex_of(product));
}

const mechanism the_mechanism = { .open = open_lock, .acquire = acquire, .release = release };
