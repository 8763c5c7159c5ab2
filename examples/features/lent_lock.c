/*
 * What it brings, and what it costs others, to lend one place in the queue to all threads of a
 * process: lent_lock HOSTS
 *
 * Four sellers of this process sell the same product, each sale under the lock. Then they do the
 * same with handles that share a place (zklock/lending.h). In the end another process (here: a
 * client of its own) wants the product too, again and again: how many of our sales are made first?
 */
#define _POSIX_C_SOURCE 200809L /* -std=c11 alone hides POSIX functions */
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "../example.h"

enum { SELLERS = 4, SALES = 200, LENT_SALES = 20000, VISITS = 10 };
enum { HAND_OFFS = 16, RETAIN_MS = 1000, TICK_MS = 2000, PATIENCE_MS = 30000 };

typedef struct shop {
    zkl_client *client;
    const zkl_lending *lending; /* NULL: each handle has a place of its own */
    atomic_llong sold;
    int64_t goal; /* at so many sales the shop closes */
    atomic_bool is_closed;
    atomic_int failure; /* ZKL_OK: none */
} shop;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int shop_sell(shop *self, zkl_lock *lock) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, &grant);
    if (status != ZKL_OK) {
        return status;
    }
    /* Here one would write to a store, with grant.token and grant.local_number. */
    if (atomic_fetch_add(&self->sold, 1) + 1 >= self->goal) {
        self->is_closed = true;
    }
    return zkl_lock_release(lock, PATIENCE_MS);
}

static void *seller_run(void *arg) {
    shop *self = arg;
    zkl_lock *lock = NULL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.lending = self->lending;
    int status = zkl_lock_open(self->client, "product", &options, &lock);
    while (status == ZKL_OK && !self->is_closed) {
        status = shop_sell(self, lock);
    }
    zkl_lock_close(lock);
    if (status != ZKL_OK) {
        self->failure = status;
        self->is_closed = true;
    }
    return NULL;
}

/* Opens the shop, and returns when the sellers have closed it; they visit meanwhile. */
static void shop_run(shop *self, void (*visit)(shop *self, void *arg), void *arg) {
    pthread_t sellers[SELLERS];
    for (int i = 0; i < SELLERS; i++) {
        pthread_create(&sellers[i], NULL, seller_run, self);
    }
    if (visit != NULL) {
        visit(self, arg);
        self->is_closed = true;
    }
    for (int i = 0; i < SELLERS; i++) {
        pthread_join(sellers[i], NULL);
    }
}

/* Returns the sales in a second. */
static double measure(zkl_client *client, const zkl_lending *lending, int64_t sales, int *status) {
    shop ours = { .client = client, .lending = lending, .goal = sales };
    int64_t begun = now_ns();
    shop_run(&ours, NULL, NULL);
    *status = ours.failure;
    return (double)ours.sold * 1e9 / (double)(now_ns() - begun);
}

/* ---- Somebody else comes --------------------------------------------------------------------- */

typedef struct visitor {
    zkl_client *client;
    int64_t waited_ns; /* at most */
    int64_t before; /* sales of ours between an acquire of the visitor's and its grant, at most */
} visitor;

static int64_t greater_of(int64_t one, int64_t other) {
    return one > other ? one : other;
}

static int come_once(const shop *self, visitor *other, zkl_lock *lock) {
    int64_t sold = self->sold;
    int64_t begun = now_ns();
    int status = zkl_lock_acquire(lock, ZKL_EXCLUSIVE, PATIENCE_MS, NULL);
    other->waited_ns = greater_of(other->waited_ns, now_ns() - begun);
    other->before = greater_of(other->before, self->sold - sold);
    return status == ZKL_OK ? zkl_lock_release(lock, PATIENCE_MS) : status;
}

static void come_again_and_again(shop *self, void *arg) {
    visitor *other = arg;
    zkl_lock *lock = NULL;
    int status = zkl_lock_open(other->client, "product", NULL, &lock);
    while (self->sold == 0 && !self->is_closed) {
        (void)nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL); /* they sell soon */
    }
    for (int i = 0; i < VISITS && status == ZKL_OK; i++) {
        status = come_once(self, other, lock);
    }
    zkl_lock_close(lock);
    if (status != ZKL_OK) {
        self->failure = status;
    }
}

static int let_somebody_come(zkl_client *client, const char *hosts, const zkl_lending *lending) {
    visitor other = { 0 };
    shop ours = { .client = client, .lending = lending, .goal = INT64_MAX };
    int status = zkl_client_open(hosts, NULL, &other.client);
    if (status == ZKL_OK) {
        shop_run(&ours, come_again_and_again, &other);
        printf("somebody else comes %d times: up to %" PRId64
               " of our sales are made first, in %.1f "
               "ms at most\n",
               VISITS, other.before, (double)other.waited_ns / 1e6);
        status = ours.failure;
    }
    (void)zkl_client_close(other.client, PATIENCE_MS);
    return status;
}

static int lent_lock_run(zkl_client *client, int argc, char **argv) {
    zkl_lending lending = ZKL_LENDING_INIT;
    lending.hand_offs = HAND_OFFS;
    lending.retain_ms = RETAIN_MS;
    int status = ZKL_OK;
    double alone = measure(client, NULL, SALES, &status);
    if (status != ZKL_OK) {
        return status;
    }
    printf("a place for each: %.0f sales a second\n", alone);
    double lent = measure(client, &lending, LENT_SALES, &status);
    if (status != ZKL_OK) {
        return status;
    }
    printf("one place, lent: %.0f sales a second, %.0f times as many\n", lent, lent / alone);
    return let_somebody_come(client, argc > 1 ? argv[1] : "127.0.0.1:2181", &lending);
}

int main(int argc, char **argv) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.lease_tick_ms = TICK_MS; /* a place is kept only while a lease runs */
    return run_example(argc, argv, &options, lent_lock_run);
}
