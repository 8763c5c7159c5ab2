/*
 * Contenders for stripes that only use the asynchronous calls, while connections break, requests
 * and replies are lost, calls are cancelled and handles closed, as the seed has it: each call is
 * told once, and of those who hold no two have the same stripe.
 */
#include <string.h>

#include "support/unit.h"
#include "zklock/striped_lock.h"
#include "zklock/testing.h"

enum {
    STRIPES = 3,
    CLIENTS = 3,
    CONTENDERS = 6,
    TURNS = 8,
    SEEDS = 150,
    PER_MILLION = 3000,
    SESSION_MS = 4000,
    LONG_MS = 60000
};

typedef struct contender {
    zkl_client *client;
    zkl_striped_lock *striped_lock; /* NULL: closed */
    int32_t stripe;                 /* of the last grant */
    unsigned owed;                  /* callbacks */
    unsigned told;
    bool granted;
    bool cancelled;
    bool closed;
} contender;

static zkl_client *clients[CLIENTS];
static contender contenders[CONTENDERS];

static bool meet(const contender *one, const contender *other) {
    return one->stripe == ZKL_ALL_STRIPES || other->stripe == ZKL_ALL_STRIPES ||
           one->stripe == other->stripe;
}

static bool holds(const contender *one) {
    return one->granted && one->striped_lock != NULL &&
           zkl_lock_check(zkl_striped_lock_held(one->striped_lock), NULL) == ZKL_OK;
}

static void expect_no_other_holder(const contender *self) {
    for (size_t i = 0; holds(self) && i < CONTENDERS; i++) {
        const contender *other = &contenders[i];
        ZKL_TESTING_EXPECT(other == self || !holds(other) || !meet(self, other));
    }
}

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    contender *self = arg;
    self->told++;
    ZKL_TESTING_EXPECT(self->told == self->owed);
    ZKL_TESTING_EXPECT((grant != NULL) == (status == ZKL_OK));
    ZKL_TESTING_EXPECT(!self->cancelled || status == ZKL_CANCELLED);
    ZKL_TESTING_EXPECT(!self->closed || status == ZKL_CANCELLED);
    ZKL_TESTING_EXPECT(status != ZKL_CANCELLED || self->cancelled || self->striped_lock == NULL);
    if (grant != NULL) {
        self->granted = true;
        self->stripe = grant->stripe;
        expect_no_other_holder(self);
    }
}

static void on_released(void *arg, int status) {
    contender *self = arg;
    self->told++;
    ZKL_TESTING_EXPECT(self->told == self->owed);
    ZKL_TESTING_EXPECT(status == ZKL_OK || status == ZKL_PENDING || status == ZKL_LOST);
}

static void open_handle(contender *self) {
    int status = zkl_striped_lock_open(self->client, "stock", STRIPES, NULL, &self->striped_lock);
    ZKL_TESTING_EXPECT(status == ZKL_OK);
    self->closed = false;
}

static void close_handle(contender *self) {
    zkl_striped_lock *striped_lock = self->striped_lock;
    self->striped_lock = NULL;
    self->granted = false;
    zkl_striped_lock_close(striped_lock);
    self->closed = true;
}

static int begin_acquire(contender *self) {
    static const int64_t timeouts[] = { 0, 500, 5000, LONG_MS, ZKL_FOREVER };
    int64_t timeout_ms = timeouts[zkl_testing_random(COUNT_OF(timeouts))];
    zkl_mode mode = zkl_testing_random(2) == 0 ? ZKL_EXCLUSIVE : ZKL_WRITE;
    char key = (char)('a' + zkl_testing_random(8));
    switch (zkl_testing_random(4)) {
    case 0:
        return zkl_striped_lock_acquire_async(self->striped_lock, ZKL_ALL_STRIPES, mode, timeout_ms,
                                              on_acquired, self);
    case 1:
        return zkl_striped_lock_acquire_async(self->striped_lock,
                                              zkl_stripe_of_key(&key, 1, STRIPES), mode, timeout_ms,
                                              on_acquired, self);
    default:
        return zkl_striped_lock_acquire_async(self->striped_lock, ZKL_ANY_STRIPE, mode, timeout_ms,
                                              on_acquired, self);
    }
}

static int is_told(void *arg) {
    const contender *self = arg;
    return self->told == self->owed;
}

static void wait_until_told(contender *self) {
    ZKL_TESTING_EXPECT(zkl_testing_wait_until(is_told, self, 20 * LONG_MS) == 1);
}

static void interfere(contender *self) {
    (void)zkl_testing_wait_until(is_told, self, (int64_t)zkl_testing_random(100));
    if (is_told(self)) {
        return;
    }
    if (zkl_testing_random(2) == 0) {
        self->cancelled = zkl_striped_lock_cancel(self->striped_lock) == ZKL_OK;
    } else {
        close_handle(self);
    }
}

static void hold(contender *self) {
    zkl_testing_sleep((int64_t)zkl_testing_random(500));
    expect_no_other_holder(self);
    if (zkl_testing_random(6) == 0) {
        close_handle(self);
        return;
    }
    self->granted = false;
    self->owed++;
    int64_t timeout_ms = zkl_testing_random(2) == 0 ? ZKL_FOREVER : 100;
    ZKL_TESTING_EXPECT(zkl_lock_release_async(zkl_striped_lock_held(self->striped_lock), timeout_ms,
                                              NULL, on_released, self) == ZKL_OK);
    wait_until_told(self);
}

static void take_turn(contender *self) {
    if (self->striped_lock == NULL) {
        open_handle(self);
    }
    self->cancelled = false;
    self->owed++;
    ZKL_TESTING_EXPECT(begin_acquire(self) == ZKL_OK);
    if (zkl_testing_random(4) == 0) {
        interfere(self);
    }
    wait_until_told(self);
    if (self->granted) {
        hold(self);
    }
}

static void contend(void *arg) {
    contender *self = arg;
    for (int turn = 0; turn < TURNS; turn++) {
        zkl_testing_sleep((int64_t)zkl_testing_random(300));
        take_turn(self);
    }
    zkl_striped_lock_close(self->striped_lock);
    self->striped_lock = NULL;
}

/* The loop of a client that is dispatched, and late. */
static bool loops_end;

static void run_loop(void *arg) {
    while (!loops_end) {
        (void)zkl_client_dispatch(arg, NULL);
        zkl_testing_sleep((int64_t)zkl_testing_random(60));
    }
}

static void survive(void *arg) {
    (void)arg;
    zkl_testing_task *tasks[CONTENDERS];
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = SESSION_MS;
    options.dispatch = zkl_testing_seed() % 2 == 0 ? ZKL_DISPATCH_CALLER : ZKL_DISPATCH_THREAD;
    zkl_testing_task *loops[CLIENTS];
    loops_end = false;
    for (size_t i = 0; i < CLIENTS; i++) {
        ZKL_TESTING_EXPECT(zkl_client_open("server:2181", &options, &clients[i]) == ZKL_OK);
        loops[i] = zkl_testing_start(run_loop, clients[i]);
    }
    zkl_testing_set_failure_rate(PER_MILLION);
    for (size_t i = 0; i < CONTENDERS; i++) {
        contenders[i] = (contender){ .client = clients[i % CLIENTS] };
        tasks[i] = zkl_testing_start(contend, &contenders[i]);
    }
    for (size_t i = 0; i < CONTENDERS; i++) {
        zkl_testing_join(tasks[i]);
    }
    zkl_testing_heal();
    zkl_testing_set_failure_rate(0);
    loops_end = true;
    for (size_t i = 0; i < CLIENTS; i++) {
        zkl_testing_join(loops[i]);
    }
    zkl_testing_expect_clean(LONG_MS);
    for (size_t i = 0; i < CLIENTS; i++) {
        ZKL_TESTING_EXPECT(zkl_client_close(clients[i], LONG_MS) == ZKL_OK);
    }
}

TEST(calls_are_told_once_and_stripes_have_one_holder_whatever_breaks) {
    zkl_testing_run_seeds(1, SEEDS, NULL, survive, NULL);
    EXPECT(contenders[0].told > 0);
}
