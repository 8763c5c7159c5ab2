/*
 * A batch that may take all night, and gives way when somebody waits: nightly_batch HOSTS
 *
 * It holds the lock from one item to the next, for as long as nobody waits. When it hears that
 * somebody waits behind it, it finishes its current item, releases, and queues again, behind the
 * waiter. (In this demo the waiter is a second handle of the same process.)
 */
#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */

#include <stdatomic.h>
#include <time.h>

#include "../example.h"

enum { PATIENCE_MS = 30000, ITEMS = 200, CUSTOMER_COMES_AT = 50, ITEM_MS = 5 };

typedef struct batch {
    zkl_lock *lock;
    zkl_grant grant;
    atomic_llong contended; /* the token of the grant that somebody waits behind */
} batch;

/* Runs on the client's thread for callbacks. News of an earlier grant may come late, so it notes
 * the token. */
static void batch_on_news(void *arg, const zkl_lock_event *event) {
    batch *self = arg;
    if (event->state == ZKL_STATE_CONTENDED) {
        atomic_store(&self->contended, event->token);
    }
}

static void on_customer_served(void *arg, int status, const zkl_grant *grant) {
    (void)grant;
    printf("the customer's turn: %s\n", zkl_strerror(status));
    (void)zkl_lock_release(arg, 0);
}

static void work_on_an_item(void) {
    const struct timespec duration = { .tv_nsec = ITEM_MS * 1000000L };
    (void)nanosleep(&duration, NULL);
}

static int give_way(batch *self, int done) {
    printf("somebody waits: giving way after %d items\n", done);
    int status = zkl_lock_release(self->lock, PATIENCE_MS);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(self->lock, ZKL_EXCLUSIVE, PATIENCE_MS, &self->grant);
    }
    return status;
}

static int work_through(batch *self, zkl_lock *customer) {
    int status = zkl_lock_acquire(self->lock, ZKL_EXCLUSIVE, PATIENCE_MS, &self->grant);
    for (int done = 0; done < ITEMS && status == ZKL_OK; done++) {
        work_on_an_item();
        if (done == CUSTOMER_COMES_AT) {
            status = zkl_lock_acquire_async(customer, ZKL_EXCLUSIVE, PATIENCE_MS, NULL,
                                            on_customer_served, customer);
        }
        if (status == ZKL_OK && atomic_load(&self->contended) == self->grant.token) {
            status = give_way(self, done + 1);
        }
    }
    return status == ZKL_OK ? zkl_lock_release(self->lock, PATIENCE_MS) : status;
}

static int batch_run(zkl_client *client, int argc, char **argv) {
    (void)argc;
    (void)argv;
    batch self = { .grant = ZKL_GRANT_INIT };
    zkl_lock *customer = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.state_callback = batch_on_news;
    options.state_arg = &self;
    options.tell_contended = 1;
    int status = zkl_lock_open(client, "stock-list", &options, &self.lock);
    if (status == ZKL_OK) {
        status = zkl_lock_open(client, "stock-list", NULL, &customer);
    }
    if (status == ZKL_OK) {
        status = work_through(&self, customer);
    }
    zkl_lock_close(customer);
    zkl_lock_close(self.lock);
    return status;
}

int main(int argc, char **argv) {
    return run_example(argc, argv, NULL, batch_run);
}
