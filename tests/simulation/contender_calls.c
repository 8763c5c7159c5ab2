#include "contender_calls.h"

#include "oracle.h"
#include "testing/world.h"
#include "trace.h"

enum { AGAIN_AFTER_US = 10000 };

/* An asynchronous call, in memory of the world: should its callback come twice, it is there. */
typedef struct call {
    contender *self;
    contender_told *told;
    unsigned times; /* that it was told */
    bool refused;
    int status;
} call;

static call *make_call(contender *self, contender_told *told) {
    call *made = zkl_world_allocate(sizeof(*made));
    made->self = self;
    made->told = told;
    return made;
}

static void tell(call *its, int status, const zkl_grant *grant) {
    unsigned number = its->self->number;
    if (++its->times > 1 || its->refused) {
        oracle_violated("contender %u is told of a call that %s: %s", number,
                        its->refused ? "was refused" : "it was told of before",
                        zkl_strerror(status));
        return;
    }
    its->status = status;
    its->told(its->self, status, grant);
    zkl_world_wake_all(its);
}

static void on_acquired(void *arg, int status, const zkl_grant *grant) {
    if ((grant != NULL) != (status == ZKL_OK)) {
        oracle_violated("a callback has %s grant: %s", grant != NULL ? "a" : "no",
                        zkl_strerror(status));
    }
    tell(arg, status, grant);
}

static void on_ended(void *arg, int status) {
    tell(arg, status, NULL);
}

/* The application's tasks may dispatch as well, and at the same time. */
static void lend_a_hand(const contender *self) {
    if (self->lends_a_hand && !*self->client_closes) {
        (void)zkl_client_dispatch(self->client, NULL);
    }
}

/* What was refused is told here, so that both ways look alike. */
static int finish(call *its, int status) {
    if (status != ZKL_OK) {
        its->told(its->self, status, NULL);
        its->refused = true;
        return status;
    }
    lend_a_hand(its->self);
    while (its->times == 0) {
        zkl_world_wait_on(its, INT64_MAX);
    }
    return its->status;
}

static int acquire_asynchronously(contender *self, zkl_mode mode, int64_t timeout_ms,
                                  contender_told *told) {
    call *its = make_call(self, told);
    return finish(its,
                  zkl_lock_acquire_async(self->lock, mode, timeout_ms, self, on_acquired, its));
}

static int begin_release(call *its, int64_t timeout_ms) {
    return zkl_lock_release_async(its->self->lock, timeout_ms, its->self, on_ended, its);
}

static int begin_downgrade(call *its, int64_t timeout_ms) {
    return zkl_lock_downgrade_async(its->self->lock, timeout_ms, its->self, on_ended, its);
}

static int begin_upgrade(call *its, int64_t timeout_ms) {
    (void)timeout_ms; /* it is a try */
    return zkl_lock_try_upgrade_async(its->self->lock, its->self, on_acquired, its);
}

/* There may be no memory for the callback: then nothing has happened. */
static int call_asynchronously(contender *self, int (*begin)(call *its, int64_t timeout_ms),
                               int64_t timeout_ms, contender_told *told) {
    call *its = make_call(self, told);
    int status = begin(its, timeout_ms);
    while (status == ZKL_NO_MEMORY && oracle_memory_runs_short()) {
        zkl_world_sleep_us(AGAIN_AFTER_US);
        status = begin(its, timeout_ms);
    }
    return finish(its, status);
}

int contender_acquire(contender *self, zkl_mode mode, int64_t timeout_ms, contender_told *told) {
    self->called_closed = *self->client_closes;
    if (self->plan->asynchronous) {
        return acquire_asynchronously(self, mode, timeout_ms, told);
    }
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(self->lock, mode, timeout_ms, &grant);
    told(self, status, &grant);
    return status;
}

int contender_release(contender *self, int64_t timeout_ms, contender_told *told) {
    self->called_closed = *self->client_closes;
    if (self->plan->asynchronous) {
        return call_asynchronously(self, begin_release, timeout_ms, told);
    }
    int status = zkl_lock_release(self->lock, timeout_ms);
    told(self, status, NULL);
    return status;
}

int contender_downgrade(contender *self, int64_t timeout_ms, contender_told *told) {
    if (self->plan->asynchronous) {
        return call_asynchronously(self, begin_downgrade, timeout_ms, told);
    }
    int status = zkl_lock_downgrade(self->lock, timeout_ms);
    told(self, status, NULL);
    return status;
}

int contender_try_upgrade(contender *self, contender_told *told) {
    if (self->plan->asynchronous) {
        return call_asynchronously(self, begin_upgrade, 0, told);
    }
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_try_upgrade(self->lock, &grant);
    told(self, status, &grant);
    return status;
}
