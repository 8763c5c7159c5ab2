/* Parts of programs that hold locks, which the manual's pages show: holders HOSTS */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "../example.h"

enum { PATIENCE_MS = 5000, STEPS = 3, STEP_MS = 300 };

/* What is known of a lock that is held, for the thread that works. */
typedef struct watched {
    zkl_lock *lock;
    _Atomic int64_t lost; /* the token of the grant that was lost */
} watched;

/* Runs on the client's thread for callbacks. It must not block. */
static void on_state(void *arg, const zkl_lock_event *event) {
    watched *self = arg;
    switch (event->state) {
    case ZKL_STATE_SUSPECT: /* cut off: another may be granted the lock soon */
        fprintf(stderr, "%s: suspect\n", event->resource);
        break;
    case ZKL_STATE_HELD:
        fprintf(stderr, "%s: held again\n", event->resource);
        break;
    case ZKL_STATE_LOST: /* for ever: stop, release, acquire again */
        fprintf(stderr, "%s: %s\n", event->resource, zkl_strerror(event->reason));
        self->lost = event->token;
        break;
    default:
        break;
    }
}

static int open_watched(zkl_client *client, watched *self) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.state_callback = on_state;
    options.state_arg = self;
    options.max_hold_ms = 600000; /* a job that hangs loses the lock */
    return zkl_lock_open(client, "nightly-job", &options, &self->lock);
}

/* Works for as long as nobody else can have the lock. Each step takes up to STEP_MS. */
static int work_in_steps(zkl_lock *lock) {
    for (int step = 1; step <= STEPS; step++) {
        int64_t lease_left_ms = 0;
        int status = zkl_lock_check(lock, &lease_left_ms);
        if (status == ZKL_SUSPECT && lease_left_ms >= STEP_MS) {
            status = ZKL_OK; /* cut off, but the lease is long enough for this step */
        }
        if (status != ZKL_OK) {
            return status; /* ZKL_SUSPECT or ZKL_LOST: stop, and undo nothing */
        }
        printf("step %d\n", step);
    }
    return ZKL_OK;
}

/* Readers hold it together; a writer is alone. */
static int read_or_write(zkl_lock *lock, bool writes) {
    int status = zkl_lock_acquire(lock, writes ? ZKL_WRITE : ZKL_READ, PATIENCE_MS, NULL);
    if (status == ZKL_OK) {
        printf("%s\n", writes ? "writing, alone" : "reading, with other readers");
        status = zkl_lock_release(lock, PATIENCE_MS);
    }
    return status;
}

/* Lets other readers in, once the writing is done; and writes again, if nobody came. */
static int write_then_read(zkl_lock *lock) {
    int status = zkl_lock_acquire(lock, ZKL_WRITE, PATIENCE_MS, NULL);
    if (status == ZKL_OK) {
        status = zkl_lock_downgrade(lock, PATIENCE_MS);
    }
    if (status == ZKL_OK) {
        status = zkl_lock_try_upgrade(lock, NULL);
    }
    int released = zkl_lock_release(lock, PATIENCE_MS);
    return status == ZKL_OK || status == ZKL_BUSY ? released : status;
}

static int holders_run(zkl_client *client, int argc, char **argv) {
    watched job = { .lock = NULL };
    (void)argc;
    (void)argv;
    int status = open_watched(client, &job);
    if (status == ZKL_OK) {
        status = read_or_write(job.lock, false);
    }
    if (status == ZKL_OK) {
        status = write_then_read(job.lock);
    }
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(job.lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    }
    if (status == ZKL_OK) {
        status = work_in_steps(job.lock);
    }
    zkl_lock_close(job.lock); /* releases; no callback comes any more */
    return status;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, holders_run);
}
