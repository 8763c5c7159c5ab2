/*
 * Makes a report part by part, and sends it, which cannot be undone: guarded_report HOSTS
 *
 * It stops as soon as somebody else may have the lock, and asks the servers before the last step.
 */
#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */

#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#include "../example.h"

enum {
    TICK_MS = 2000,       /* tickTime of the servers, or more */
    SESSION_MS = 12000,   /* six ticks: room for a lease */
    HOLD_MAX_MS = 600000, /* a report that hangs gives the lock to the next one */
    PART_MS = 500,        /* a part takes this long at most */
    PARTS = 3,
    PATIENCE_MS = 30000
};

/* Runs on zklock's thread, and sets a flag that the worker looks at. LOST is final for this grant.
 */
static void report_on_state(void *arg, const zkl_lock_event *event) {
    atomic_bool *stop = arg;
    printf("the lock is %s\n", zkl_lock_state_name((int)event->state));
    if (event->state == ZKL_STATE_LOST) {
        printf("because: %s\n", zkl_strerror(event->reason)); /* such as ZKL_HOLD_LIMIT */
        *stop = true;
    }
}

/* Tells whether to make the next part. ZKL_SUSPECT: there is no connection; it continues while the
 * lease lasts, as nobody else can have the lock before the lease ends, but only if the next part
 * will be done by then. */
static int may_go_on(const zkl_lock *lock, const atomic_bool *stop) {
    int64_t lease_left_ms = 0;
    int status = zkl_lock_check(lock, &lease_left_ms);
    if (*stop) {
        return ZKL_LOST;
    }
    return status == ZKL_SUSPECT && lease_left_ms > PART_MS ? ZKL_OK : status;
}

static int make_parts(const zkl_lock *lock, const atomic_bool *stop) {
    static const struct timespec work = { .tv_nsec = PART_MS * 1000000L / 2 };
    int status = may_go_on(lock, stop);
    for (int part = 1; part <= PARTS && status == ZKL_OK; part++) {
        (void)nanosleep(&work, NULL);
        printf("part %d is made\n", part);
        status = may_go_on(lock, stop);
    }
    return status;
}

/* Asks the servers whether the lock was held a moment ago, and sends the report. The lock may be
 * lost just after: so the report carries the token, and the receiver can refuse a late one. */
static int send_report(zkl_lock *lock, const zkl_grant *grant) {
    int status = zkl_lock_verify(lock, PATIENCE_MS);
    if (status == ZKL_OK) {
        printf("verified, and sent with token %lld\n", (long long)grant->token);
    }
    return status;
}

static int guarded_report(zkl_client *client, int argc, char **argv) {
    (void)argc;
    (void)argv;
    atomic_bool stop = false; /* outlives the handle: no callback comes after its close */
    zkl_grant grant = ZKL_GRANT_INIT;
    zkl_lock *lock = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_hold_ms = HOLD_MAX_MS;
    options.state_callback = report_on_state;
    options.state_arg = &stop;
    int status = zkl_lock_open(client, "report", &options, &lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant);
    }
    if (status == ZKL_OK) {
        status = make_parts(lock, &stop);
    }
    if (status == ZKL_OK) {
        status = send_report(lock, &grant);
    }
    zkl_lock_close(lock); /* releases */
    return status;
}

int main(int argc, char **argv) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    options.lease_tick_ms = TICK_MS;
    return run_example(argc, argv, &options, guarded_report);
}
