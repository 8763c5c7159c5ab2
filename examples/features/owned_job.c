/*
 * A reentrant lock whose owner is a job, not a thread: owned_job HOSTS
 *
 * The job continues in callbacks, which may run on any thread. So each call names the job as the
 * owner. The job may acquire again what it holds; another job with the same handle may neither
 * acquire nor release it.
 */
#include <poll.h>
#include <stdbool.h>

#include "../example.h"

enum { PATIENCE_MS = 30000 };

typedef struct job {
    zkl_lock *lock;
    int status; /* how it ended */
    bool ended;
} job;

static job booking;
static job stranger; /* another job of this process */

static void owned_job_end(job *self, int status) {
    self->status = status;
    self->ended = true;
}

static void owned_job_on_released(void *arg, int status) {
    owned_job_end(arg, status);
}

/* Releases twice: the inner acquire has its own release, which leaves the lock held. */
static void on_audit(void *arg, int status, const zkl_grant *grant) {
    job *self = arg;
    if (status == ZKL_OK) {
        printf("auditing, under the same token %lld\n", (long long)grant->token);
        status = zkl_lock_release_async(self->lock, PATIENCE_MS, self, NULL, NULL);
    }
    if (status == ZKL_OK) {
        status = zkl_lock_release_async(self->lock, PATIENCE_MS, self, owned_job_on_released, self);
    }
    if (status != ZKL_OK) {
        owned_job_end(self, status);
    }
}

static void on_held(void *arg, int status, const zkl_grant *grant) {
    job *self = arg;
    if (status == ZKL_OK) {
        printf("booking, under token %lld\n", (long long)grant->token);
        int refused = zkl_lock_release_async(self->lock, PATIENCE_MS, &stranger, NULL, NULL);
        printf("to another job: %s\n", zkl_strerror(refused));
        /* At once, and without a request: this job holds it already. */
        status =
            zkl_lock_acquire_async(self->lock, ZKL_EXCLUSIVE, PATIENCE_MS, self, on_audit, self);
    }
    if (status != ZKL_OK) {
        owned_job_end(self, status);
    }
}

static int owned_job_run(zkl_client *client, int argc, char **argv) {
    (void)argc;
    (void)argv;
    struct pollfd news = { .events = POLLIN };
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.reentrant = 1;
    options.owner = "booking"; /* shown to people and used to find deadlocks */
    int status = zkl_client_event_descriptor(client, &news.fd);
    if (status == ZKL_OK) {
        status = zkl_lock_open(client, "ledger", &options, &booking.lock);
    }
    if (status == ZKL_OK) {
        status = zkl_lock_acquire_async(booking.lock, ZKL_EXCLUSIVE, PATIENCE_MS, &booking, on_held,
                                        &booking);
    }
    while (status == ZKL_OK && !booking.ended) {
        (void)poll(&news, 1, -1);
        status = zkl_client_dispatch(client, NULL);
    }
    zkl_lock_close(booking.lock);
    return status == ZKL_OK ? booking.status : status;
}

int main(int argc, char **argv) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.dispatch = ZKL_DISPATCH_CALLER;
    return run_example(argc, argv, &options, owned_job_run);
}
