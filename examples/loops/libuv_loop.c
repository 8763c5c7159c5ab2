/*
 * Several locks in one libuv loop, without a thread for any: libuv_loop HOSTS
 *
 * Each job acquires its lock, works for a while (here a timer runs), and releases it.
 * The descriptor works with libev and other loops in the same way.
 */
#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */

#include <stdio.h>
#include <uv.h>
#include <zklock/zklock.h>

enum { JOBS = 3, DEADLINE_MS = 10000, WORK_MS = 20 };

typedef struct job {
    char resource[16];
    zkl_lock *lock;
    uv_timer_t work;
    int status; /* how it ended */
} job;

static uv_loop_t loop;
static uv_poll_t callbacks; /* readable while callbacks of zklock are pending */
static zkl_client *client;
static int unfinished = JOBS;

/* Ends a job. The loop ends when its last handle is closed. */
static void job_finish(job *self, int status) {
    self->status = status;
    printf("%s: %s\n", self->resource, zkl_strerror(status));
    uv_close((uv_handle_t *)&self->work, NULL);
    if (--unfinished == 0) {
        uv_close((uv_handle_t *)&callbacks, NULL);
    }
}

static void job_on_released(void *arg, int status) {
    job_finish(arg, status);
}

static void on_work_done(uv_timer_t *timer) {
    job *self = timer->data;
    int status = zkl_lock_release_async(self->lock, DEADLINE_MS, NULL, job_on_released, self);
    if (status != ZKL_OK) {
        job_finish(self, status);
    }
}

static void job_on_acquired(void *arg, int status, const zkl_grant *grant) {
    job *self = arg;
    if (status != ZKL_OK) {
        job_finish(self, status);
        return;
    }
    printf("%s: works under token %lld\n", self->resource, (long long)grant->token);
    (void)uv_timer_start(&self->work, on_work_done, WORK_MS, 0);
}

static void on_callbacks(uv_poll_t *poll, int error, int events) {
    (void)poll;
    (void)error;
    (void)events;
    (void)zkl_client_dispatch(client, NULL);
}

static void job_start(job *self, int number) {
    snprintf(self->resource, sizeof(self->resource), "job-%d", number);
    (void)uv_timer_init(&loop, &self->work);
    self->work.data = self;
    int status = zkl_lock_open(client, self->resource, NULL, &self->lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire_async(self->lock, ZKL_EXCLUSIVE, DEADLINE_MS, NULL,
                                        job_on_acquired, self);
    }
    if (status != ZKL_OK) {
        job_finish(self, status);
    }
}

static int run_jobs(job *jobs) {
    int descriptor = -1;
    int status = zkl_client_event_descriptor(client, &descriptor);
    if (status != ZKL_OK || uv_poll_init(&loop, &callbacks, descriptor) != 0) {
        return ZKL_SYSTEM;
    }
    (void)uv_poll_start(&callbacks, UV_READABLE, on_callbacks);
    for (int i = 0; i < JOBS; i++) {
        job_start(&jobs[i], i);
    }
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    for (int i = 0; i < JOBS; i++) {
        zkl_lock_close(jobs[i].lock);
        status = jobs[i].status != ZKL_OK ? jobs[i].status : status;
    }
    return status;
}

int main(int argc, char **argv) {
    static job jobs[JOBS];
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.dispatch = ZKL_DISPATCH_CALLER;
    (void)uv_loop_init(&loop);
    /* This blocks until there is a connection. Nothing below blocks. */
    int status = zkl_client_open(argc > 1 ? argv[1] : "127.0.0.1:2181", &options, &client);
    if (status == ZKL_OK) {
        status = run_jobs(jobs);
    }
    if (status != ZKL_OK) {
        fprintf(stderr, "%s. %s\n", zkl_strerror(status), zkl_error_message());
    }
    (void)zkl_client_close(client, 1000);
    (void)uv_loop_close(&loop);
    return status == ZKL_OK ? 0 : 1;
}
