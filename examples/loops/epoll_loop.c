/*
 * Several locks in one epoll loop, without a thread for any: epoll_loop HOSTS
 *
 * Each job acquires its lock, works for a while (here a timer runs; it could wait for a
 * socket), asks the servers whether it was alone for all that time, and releases the lock. All of
 * it happens on the one thread that runs the loop.
 */
#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */

#include <stdio.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <zklock/zklock.h>

enum { JOBS = 3, DEADLINE_MS = 10000, WORK_NS = 20 * 1000 * 1000, EVENTS = 8 };

typedef struct job {
    char resource[16];
    zkl_lock *lock;
    int timer;
    int status; /* how it ended */
} job;

static int unfinished = JOBS;

static void job_finish(job *self, int status) {
    self->status = status;
    printf("%s: %s%s%s\n", self->resource, zkl_strerror(status), status != ZKL_OK ? ". " : "",
           status != ZKL_OK ? zkl_error_message() : "");
    unfinished--;
}

static void job_on_released(void *arg, int status) {
    job_finish(arg, status);
}

static void job_on_acquired(void *arg, int status, const zkl_grant *grant) {
    job *self = arg;
    if (status != ZKL_OK) {
        job_finish(self, status);
        return;
    }
    printf("%s: works under token %lld\n", self->resource, (long long)grant->token);
    struct itimerspec work = { .it_value = { .tv_nsec = WORK_NS } };
    if (timerfd_settime(self->timer, 0, &work, NULL) != 0) {
        job_finish(self, ZKL_SYSTEM);
    }
}

/* Takes the servers' answer: what was done so far was done under the lock, or not. */
static void on_verified(void *arg, int status) {
    job *self = arg;
    printf("%s: its work was done under the lock: %s\n", self->resource, zkl_strerror(status));
    status = zkl_lock_release_async(self->lock, DEADLINE_MS, NULL, job_on_released, self);
    if (status != ZKL_OK) {
        job_finish(self, status);
    }
}

static void on_work_done(job *self) {
    uint64_t times = 0;
    if (read(self->timer, &times, sizeof(times)) != (ssize_t)sizeof(times)) {
        return; /* it was not the timer */
    }
    /* A real job would ask zkl_lock_check before it writes, and hand over its token. */
    int status = zkl_lock_verify_async(self->lock, DEADLINE_MS, on_verified, self);
    if (status != ZKL_OK) {
        job_finish(self, status);
    }
}

static int loop_watch(int loop, int descriptor, job *whose) {
    struct epoll_event event = { .events = EPOLLIN, .data = { .ptr = whose } };
    return epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event) == 0 ? ZKL_OK : ZKL_SYSTEM;
}

static int job_start(job *self, int number, zkl_client *client, int loop) {
    snprintf(self->resource, sizeof(self->resource), "job-%d", number);
    self->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int status = self->timer >= 0 ? loop_watch(loop, self->timer, self) : ZKL_SYSTEM;
    if (status == ZKL_OK) {
        status = zkl_lock_open(client, self->resource, NULL, &self->lock);
    }
    if (status == ZKL_OK) {
        status = zkl_lock_acquire_async(self->lock, ZKL_EXCLUSIVE, DEADLINE_MS, NULL,
                                        job_on_acquired, self);
    }
    return status;
}

/* Runs the loop, in which all work is done. */
static void loop_run(int loop, zkl_client *client) {
    struct epoll_event events[EVENTS];
    while (unfinished > 0) {
        int count = epoll_wait(loop, events, EVENTS, -1);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr == NULL) {
                (void)zkl_client_dispatch(client, NULL);
            } else {
                on_work_done(events[i].data.ptr);
            }
        }
    }
}

static int run_jobs(zkl_client *client, int loop, job *jobs) {
    int descriptor = -1;
    int status = zkl_client_event_descriptor(client, &descriptor);
    if (status == ZKL_OK) {
        status = loop_watch(loop, descriptor, NULL);
    }
    if (status != ZKL_OK) {
        return status;
    }
    for (int i = 0; i < JOBS; i++) {
        status = job_start(&jobs[i], i, client, loop);
        if (status != ZKL_OK) {
            job_finish(&jobs[i], status);
        }
    }
    loop_run(loop, client);
    for (int i = 0; i < JOBS; i++) {
        status = jobs[i].status != ZKL_OK ? jobs[i].status : status;
    }
    return status;
}

int main(int argc, char **argv) {
    static job jobs[JOBS];
    zkl_client *client = NULL;
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.dispatch = ZKL_DISPATCH_CALLER;
    int loop = epoll_create1(EPOLL_CLOEXEC);
    /* This blocks until there is a connection. Nothing below blocks. */
    int status = zkl_client_open(argc > 1 ? argv[1] : "127.0.0.1:2181", &options, &client);
    if (status == ZKL_OK) {
        status = run_jobs(client, loop, jobs);
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
    }
    (void)close(loop); /* before zkl_client_close, which closes the descriptor */
    for (int i = 0; i < JOBS; i++) {
        zkl_lock_close(jobs[i].lock);
        if (jobs[i].timer > 0) {
            (void)close(jobs[i].timer);
        }
    }
    (void)zkl_client_close(client, 1000);
    return status == ZKL_OK ? 0 : 1;
}
