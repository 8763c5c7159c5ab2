#include "closer.h"

#include <inttypes.h>
#include <string.h>

#include "faults.h"
#include "oracle_records.h"
#include "testing/world.h"
#include "trace.h"

enum { ROUNDS = 4, ACQUIRE_MS = 3000, REST_MS = 500, SOON_US = 3000, LATER_MS = 2000 };

typedef struct closing_call {
    const char *name;
    int (*make)(zkl_lock *lock);
    /* Which it may be told though all is well, and only as it is closed. */
    int unfinished[2];
} closing_call;

static struct {
    const run_plan *plan;
    zkl_client *client;
    const bool *client_closes;
    bool started;
    bool done;
    /* Of a round. */
    zkl_lock *lock;
    bool calls;
    bool closes;
    bool closed;
} closer;

static int release(zkl_lock *lock) {
    return zkl_lock_release(lock, ZKL_FOREVER);
}

static int verify(zkl_lock *lock) {
    return zkl_lock_verify(lock, ZKL_FOREVER);
}

static int downgrade(zkl_lock *lock) {
    return zkl_lock_downgrade(lock, ZKL_FOREVER);
}

static int commit(zkl_lock *lock) {
    zkl_transaction *transaction = NULL;
    int status = zkl_transaction_begin(lock, &transaction);
    if (status == ZKL_OK) {
        status = zkl_transaction_commit(transaction, ZKL_FOREVER, NULL);
    }
    zkl_transaction_free(transaction);
    return status;
}

static const closing_call calls[] = {
    { "release", release, { ZKL_PENDING, ZKL_PENDING } },
    { "verify", verify, { ZKL_CANCELLED, ZKL_SUSPECT } },
    { "downgrade", downgrade, { ZKL_NOT_HELD, ZKL_NOT_HELD } },
    { "commit", commit, { ZKL_CANCELLED, ZKL_UNKNOWN } },
};

/* ---- The oracle ----------------------------------------------------------------------------- */

static int64_t stopped_us(void) {
    return oracle.clients[closer.plan->closer_client].stopped_us;
}

/* What the servers, or the end of a session or of the client, may say of any of them. */
static bool may_be_told(int status) {
    return status == ZKL_OK || status == ZKL_LOST || status == ZKL_NO_MEMORY ||
           status == ZKL_SERVER_REFUSED || status == ZKL_NO_PERMISSION ||
           (status == ZKL_CLOSED && *closer.client_closes);
}

/* A session that is given up leaves a release unconfirmed; a lost reply a commit unknown, and what
 * was asked open. */
static void judge_call(const closing_call *call, int status) {
    bool unfinished = status == call->unfinished[0] || status == call->unfinished[1];
    bool lost = status == ZKL_PENDING || status == ZKL_UNKNOWN || status == ZKL_SUSPECT;
    if (!may_be_told(status) && !(unfinished && (closer.closes || lost))) {
        oracle_violated("the handle that is closed meanwhile was told of a %s: %s", call->name,
                        zkl_strerror(status));
    }
}

/* ---- A round -------------------------------------------------------------------------------- */

static void close_now(void) {
    int64_t begun_us = zkl_world_now_us();
    int64_t stopped_before_us = stopped_us();
    trace_event("closer", "close, %s a call", closer.calls ? "in the middle of" : "after");
    closer.closes = true;
    zkl_lock_close(closer.lock);
    int64_t took_us = zkl_world_now_us() - begun_us - (stopped_us() - stopped_before_us);
    if (took_us > LATE_MAX_MS * US_PER_MS) {
        oracle_violated("the close of a handle in the middle of a call took %" PRId64 " ms",
                        took_us / US_PER_MS);
    }
}

static void *close_meanwhile(void *arg) {
    const int64_t *after_us = arg;
    zkl_world_sleep_us(*after_us);
    close_now();
    closer.closed = true;
    zkl_world_wake_all(&closer.closed);
    return NULL;
}

/* Mostly while the servers answer, at times while they are away for long. */
static int64_t draw_pause_us(void) {
    return zkl_world_random(2) == 0 ? zkl_world_random_between(0, SOON_US)
                                    : zkl_world_random_between(0, LATER_MS) * (int64_t)US_PER_MS;
}

static void call_and_be_closed(void) {
    const closing_call *call = &calls[zkl_world_random(sizeof(calls) / sizeof(calls[0]))];
    int64_t after_us = draw_pause_us();
    closer.closes = false;
    closer.closed = false;
    closer.calls = true;
    trace_event("closer", "%s", call->name);
    (void)zkl_task_start(close_meanwhile, &after_us);
    int status = call->make(closer.lock);
    closer.calls = false;
    trace_event("closer", "%s: %s", call->name, zkl_strerror(status));
    judge_call(call, status);
    while (!closer.closed) {
        zkl_world_wait_on(&closer.closed, INT64_MAX);
    }
}

static void take_round(void) {
    zkl_world_sleep_us(zkl_world_random_between(0, REST_MS) * (int64_t)US_PER_MS);
    if (*closer.client_closes ||
        zkl_lock_open(closer.client, "closed-meanwhile", NULL, &closer.lock) != ZKL_OK) {
        return;
    }
    if (zkl_lock_acquire(closer.lock, ZKL_WRITE, ACQUIRE_MS, NULL) == ZKL_OK) {
        zkl_world_sleep_us(draw_pause_us());
        call_and_be_closed();
    } else {
        zkl_lock_close(closer.lock);
    }
    closer.lock = NULL;
}

static void *run_closer(void *arg) {
    (void)arg;
    for (int i = 0; i < ROUNDS; i++) {
        take_round();
    }
    closer.done = true;
    zkl_world_wake_all(&closer.done);
    return NULL;
}

/* ---- Beginning and end ---------------------------------------------------------------------- */

void closer_begin(const run_plan *plan) {
    memset(&closer, 0, sizeof(closer));
    closer.plan = plan;
}

bool closer_is_of(unsigned client) {
    return closer.plan->closer_client == (int)client;
}

void closer_start(unsigned client, zkl_client *handle, const bool *client_closes) {
    if (closer_is_of(client)) {
        closer.client = handle;
        closer.client_closes = client_closes;
        closer.started = true;
        (void)zkl_task_start(run_closer, NULL);
    }
}

bool closer_is_done(unsigned client) {
    return !closer_is_of(client) || !closer.started || closer.done;
}

void closer_wait(unsigned client, int64_t until_us) {
    while (!closer_is_done(client) && zkl_world_now_us() < until_us) {
        zkl_world_wait_on(&closer.done, until_us);
    }
}

void closer_name_the_stuck(void) {
    if (closer.started && !closer.done && !faults_has_died((unsigned)closer.plan->closer_client)) {
        oracle_violated("the handle that is closed in the middle of calls is stuck");
    }
}
