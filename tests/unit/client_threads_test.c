/* The threads of a client, libzookeeper's among them: which signals they may be interrupted by. */
#include <dirent.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/unit.h"
#include "zklock/zklock.h"

enum {
    CONNECT_TIMEOUT_MS = 3000,
    STARTED_US = 300000,
    THREADS = 4, /* for timers, for the session, and two of libzookeeper's */
    PATH_SIZE = 320,
    LINE_SIZE = 256
};

typedef struct opener {
    pthread_t thread;
    _Atomic pid_t id;
    _Atomic bool may_open;
    _Atomic bool done;
    int status;
} opener;

/* No server is there, so all its threads are as long as it waits. */
static void *open_client(void *arg) {
    opener *self = arg;
    zkl_client *client = NULL;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.connect_timeout_ms = CONNECT_TIMEOUT_MS;
    self->id = gettid();
    while (!self->may_open) {
        (void)sched_yield();
    }
    self->status = zkl_client_open("127.0.0.1:1", &options, &client);
    self->done = true;
    return NULL;
}

/* A bit for each signal, from 1 on. */
static uint64_t blocked_signals(long thread) {
    char path[PATH_SIZE];
    char line[LINE_SIZE];
    uint64_t blocked = 0;
    snprintf(path, sizeof(path), "/proc/self/task/%ld/status", thread);
    FILE *file = fopen(path, "re");
    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        (void)sscanf(line, "SigBlk: %" SCNx64, &blocked);
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return blocked;
}

static uint64_t bit(int number) {
    return UINT64_C(1) << (unsigned)(number - 1);
}

/* Two cannot be blocked, two are the C library's own, and four are of a fault of the thread. */
static bool blocks_all(long thread) {
    const uint64_t faults = bit(SIGSEGV) | bit(SIGBUS) | bit(SIGFPE) | bit(SIGILL);
    const uint64_t others = bit(SIGKILL) | bit(SIGSTOP) | bit(32) | bit(33) | faults;
    return (blocked_signals(thread) | others) == UINT64_MAX;
}

/* The threads that are not the test's, and how many of them may be interrupted. */
static size_t count_threads(const opener *self, size_t *interruptible) {
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    *interruptible = 0;
    for (const struct dirent *one; tasks != NULL && (one = readdir(tasks)) != NULL;) {
        long thread = strtol(one->d_name, NULL, 10);
        if (thread > 0 && thread != getpid() && thread != self->id) {
            count++;
            *interruptible += blocks_all(thread) ? 0 : 1;
        }
    }
    if (tasks != NULL) {
        (void)closedir(tasks);
    }
    return count;
}

TEST(threads_of_a_client_leave_all_signals_to_the_application) {
    opener self = { .status = ZKL_OK };
    size_t interruptible = 0;
    size_t interruptible_before = 0; /* of a sanitizer, which starts its own with our first */
    EXPECT_INT(pthread_create(&self.thread, NULL, open_client, &self), 0);
    while (self.id == 0) {
        (void)sched_yield();
    }
    size_t before = count_threads(&self, &interruptible_before);
    size_t count = before;
    self.may_open = true;
    while (count < before + THREADS && !self.done) {
        (void)sched_yield();
        count = count_threads(&self, &interruptible);
    }
    (void)usleep(STARTED_US); /* the C library begins each thread with all signals blocked */
    count = count_threads(&self, &interruptible);
    EXPECT_INT(count, before + THREADS);
    EXPECT(interruptible == interruptible_before || !MASKS_ARE_SEEN);
    (void)pthread_join(self.thread, NULL);
    EXPECT_INT(self.status, ZKL_DISCONNECTED);
}

TEST(callers_signals_are_as_they_were) {
    sigset_t before;
    sigset_t after;
    zkl_client *client = NULL;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.connect_timeout_ms = 1;
    (void)pthread_sigmask(SIG_SETMASK, NULL, &before);
    EXPECT_INT(zkl_client_open("127.0.0.1:1", &options, &client), ZKL_DISCONNECTED);
    (void)pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int number = 1; number < NSIG; number++) {
        EXPECT_INT(sigismember(&after, number), sigismember(&before, number));
    }
}
