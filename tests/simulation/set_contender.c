#include "set_contender.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "asker.h"
#include "base/threads.h"
#include "faults.h"
#include "oracle_records.h"
#include "set_handle.h"
#include "trace.h"

enum {
    PIECES_OF_A_HOLD = 3,
    NUMBERS_FROM = 100,
    LAG_MAX_MS = 100,
    STALE_MAX_MS = 5000,
    ANSWER_MS = 1000
};

typedef struct set_contender {
    const plan_set *plan;
    asker asks;
    zkl_client *client;
    zkl_process *process;
    set_handle lock;
    bool started;
    bool done;
    const plan_turn *turn; /* that it takes */
    bool acquires;
    bool holds;
    bool knows_of_loss;
    int64_t told_lost; /* the token */
    int64_t token;
    const node_record *nodes[PLAN_SET_RESOURCES]; /* of the grant */
    size_t node_count;
    int64_t asked_us; /* in the world's time */
} set_contender;

static struct {
    const run_plan *plan;
    set_contender all[PLAN_SETS_MAX];
} run;

static void sleep_ms(int64_t ms) {
    zkl_world_sleep_us(ms * US_PER_MS);
}

/* ---- Grants ------------------------------------------------------------------------------- */

static bool is_below(const node_record *node, const char *parent) {
    size_t length = strlen(parent);
    return strncmp(node->path, parent, length) == 0 && node->path[length] == '/';
}

/* The node of one of its resources that the transaction of this zxid has made. */
static const node_record *find_node(const char *parent, int64_t zxid) {
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        if (node->czxid == zxid && is_below(node, parent)) {
            return node;
        }
    }
    return NULL;
}

static void judge_part(set_contender *self, size_t number, int64_t token) {
    char parent[SET_PARENT_SIZE];
    set_parent(self->plan, number, parent);
    const node_record *node = find_node(parent, token);
    self->nodes[self->node_count++] = node;
    if (node != NULL) {
        asker_judge_node(&self->asks, node);
    } else {
        oracle_violated("set-contender %u was granted token %" PRId64 ", which no node of %s has",
                        self->asks.number, token, parent);
    }
}

static void judge_stripe(const set_contender *self, int32_t stripe) {
    int32_t asked = set_stripe_asked(self->plan, self->turn);
    bool is_one = stripe >= 0 && stripe < self->plan->stripes;
    bool fits = self->plan->stripes > 0 && self->turn->way == PLAN_ANY ? is_one : stripe == asked;
    if (!fits) {
        oracle_violated("set-contender %u was granted stripe %d, and asked for %d",
                        self->asks.number, (int)stripe, (int)asked);
    }
}

static void judge_grant(set_contender *self, const set_grant *grant) {
    if (grant->token <= self->token) {
        oracle_violated("set-contender %u was granted token %" PRId64 " after %" PRId64,
                        self->asks.number, grant->token, self->token);
    }
    self->token = grant->token;
    self->node_count = 0;
    judge_stripe(self, grant->stripe);
    if (grant->stripe != ZKL_ALL_STRIPES) {
        judge_part(self, (size_t)grant->stripe, grant->token);
        return;
    }
    for (size_t i = 0; i < set_count(self->plan); i++) {
        judge_part(self, i, grant->token);
    }
}

/* What it was told that it holds it has not lost in that very moment: the clock is asked. */
static void judge_hold(set_contender *self) {
    int64_t lease_ms = 0;
    if (!*self->asks.client_closes && set_check(&self->lock, &lease_ms) == ZKL_LOST) {
        oracle_violated("set-contender %u was granted what it had lost by then", self->asks.number);
    }
}

/* ---- Tries --------------------------------------------------------------------------------- */

static bool reads(const set_contender *self, size_t number) {
    zkl_mode mode = self->plan->stripes > 0 ? self->turn->mode : self->plan->modes[number];
    return mode == ZKL_READ;
}

/* Somebody was there, or had just gone. */
static bool was_taken(const set_contender *self, size_t number) {
    char parent[SET_PARENT_SIZE];
    bool is_well = plan_is_by_hand(run.plan) || plan_is_answered(run.plan);
    int64_t since_us = self->asked_us - (is_well ? LAG_MAX_MS : STALE_MAX_MS) * (int64_t)US_PER_MS;
    set_parent(self->plan, number, parent);
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        if (is_below(node, parent) && nodes_conflicts(node, reads(self, number)) &&
            (node->alive || node->gone_us >= since_us)) {
            return true;
        }
    }
    return false;
}

/* Of all one is enough; of any each must be that has numbers left: the last one decides. */
static bool may_be_busy(const set_contender *self) {
    int32_t stripe = set_stripe_asked(self->plan, self->turn);
    if (stripe != ZKL_ALL_STRIPES) {
        return was_taken(self, (size_t)stripe);
    }
    size_t taken = 0;
    for (size_t i = 0; i < set_count(self->plan); i++) {
        taken += was_taken(self, i) ? 1 : 0;
    }
    bool wants_any = self->plan->stripes > 0 && self->turn->way == PLAN_ANY;
    bool may_lack_numbers = oracle.plan->first_sequence_to_end >= 0;
    return taken >= (wants_any && !may_lack_numbers ? set_count(self->plan) : 1);
}

/* ---- A turn -------------------------------------------------------------------------------- */

static void on_cancel(void *arg) {
    set_contender *self = arg;
    if (self->acquires && set_is_open(&self->lock) && !*self->asks.client_closes) {
        int status = set_cancel(&self->lock);
        trace_call(self->asks.number, "cancel: %s", zkl_strerror(status));
        self->asks.cancelled = self->asks.cancelled || status == ZKL_OK;
    }
}

/* What traffic.c counts: a node for each, and a list behind it, and one before it for a try. Who
 * wants any tries all, and waits for one of them in the end. */
static void count_requests(const set_contender *self) {
    size_t count = set_count(self->plan) + (self->plan->stripes > 0 ? 1 : 0);
    oracle.acquires += count;
    oracle.tries += 2 * count;
    if (run.plan->clients[self->plan->client].lease_tick_ms > 0) {
        oracle.leased += count;
    }
}

static void told_of_acquire(set_contender *self, int status, const set_grant *grant) {
    self->acquires = false;
    trace_call(self->asks.number, "acquired: %s", zkl_strerror(status));
    asker_judge_verdict(&self->asks, self->turn, status);
    if (status == ZKL_BUSY && !may_be_busy(self)) {
        oracle_violated("set-contender %u was told that it is busy, and nobody was there",
                        self->asks.number);
    }
    if (status == ZKL_OK) {
        oracle.sets++;
        judge_grant(self, grant);
        judge_hold(self);
        self->holds = !*self->asks.client_closes;
        self->knows_of_loss = false;
    }
}

/* An asynchronous call, in memory of the world: should its callback come twice, it is there. */
typedef struct call {
    set_call base; /* first */
    set_contender *self;
    unsigned times; /* that it was told */
    bool refused;
    int status;
} call;

static void on_acquired(set_call *base, int status, const set_grant *grant);
static void on_released(set_call *base, int status);

static call *make_call(set_contender *self) {
    call *made = zkl_world_allocate(sizeof(*made));
    made->base = (set_call){ on_acquired, on_released };
    made->self = self;
    return made;
}

static bool tell(call *its, int status) {
    if (++its->times > 1 || its->refused) {
        oracle_violated("set-contender %u is told of a call that %s: %s", its->self->asks.number,
                        its->refused ? "was refused" : "it was told of before",
                        zkl_strerror(status));
        return false;
    }
    its->status = status;
    zkl_world_wake_all(its);
    return true;
}

static void on_acquired(set_call *base, int status, const set_grant *grant) {
    call *its = (call *)base;
    if ((grant != NULL) != (status == ZKL_OK)) {
        oracle_violated("a callback has %s grant: %s", grant != NULL ? "a" : "no",
                        zkl_strerror(status));
    }
    if (tell(its, status)) {
        told_of_acquire(its->self, status, grant);
    }
}

static void wait_until_told(const call *its, int64_t until_us) {
    while (its->times == 0 && zkl_world_now_us() < until_us) {
        zkl_world_wait_on(its, until_us);
    }
}

static void close_handle(set_contender *self);

static void close_while_it_waits(set_contender *self) {
    self->asks.closes = true;
    close_handle(self);
    self->asks.closed = true;
}

static int acquire_asynchronously(set_contender *self) {
    call *its = make_call(self);
    int32_t close_after_ms = self->turn->close_after_ms;
    int64_t until_us =
        close_after_ms >= 0 ? zkl_world_now_us() + close_after_ms * (int64_t)US_PER_MS : INT64_MAX;
    int status = set_acquire_async(&self->lock, self->turn, &its->base);
    if (status != ZKL_OK) {
        its->refused = true;
        told_of_acquire(self, status, NULL);
        return status;
    }
    wait_until_told(its, until_us);
    if (its->times == 0) {
        close_while_it_waits(self);
        wait_until_told(its, INT64_MAX);
        self->holds = false;
    }
    return its->status;
}

static int acquire_and_wait(set_contender *self) {
    set_grant grant = { 0, 0 };
    int status = set_acquire(&self->lock, self->turn, &grant);
    told_of_acquire(self, status, &grant);
    return status;
}

static int acquire(set_contender *self, const plan_turn *turn) {
    zkl_world_event cancel = { .run = on_cancel, .arg = self, .process = self->process };
    if (turn->cancel_after_ms >= 0) {
        zkl_world_schedule(&cancel,
                           zkl_world_now_us() + turn->cancel_after_ms * (int64_t)US_PER_MS);
    }
    count_requests(self);
    self->turn = turn;
    self->acquires = true;
    self->asked_us = zkl_world_now_us();
    asker_begins(&self->asks);
    trace_call(self->asks.number, "acquire, timeout %" PRId64 " ms", turn->timeout_ms);
    int status = self->plan->asynchronous ? acquire_asynchronously(self) : acquire_and_wait(self);
    zkl_world_unschedule(&cancel);
    return status;
}

/* News of earlier grants may come late. */
static void on_news(void *arg, const zkl_lock_event *event) {
    set_contender *self = arg;
    if (event->state != ZKL_STATE_LOST) {
        return;
    }
    trace_call(self->asks.number, "lost %s: %s", event->resource, zkl_strerror(event->reason));
    if (event->token <= self->told_lost) {
        oracle_violated("set-contender %u is told once more that token %" PRId64 " is lost",
                        self->asks.number, event->token);
    }
    if (self->plan->asynchronous && event->token > self->token) {
        oracle_violated("set-contender %u is told that token %" PRId64
                        " is lost, which it was not told that it has",
                        self->asks.number, event->token);
    }
    self->told_lost = event->token;
    if (self->holds && event->token == self->token) {
        self->knows_of_loss = true;
    }
}

static void judge_lease(const set_contender *self, int64_t lease_ms) {
    for (size_t i = 0; i < self->node_count; i++) {
        const node_record *node = self->nodes[i];
        if (lease_ms > 0 && node != NULL && !node->alive && !node->by_hand) {
            oracle_violated("set-contender %u is told of a lease of %" PRId64
                            " ms on %s, which is gone",
                            self->asks.number, lease_ms, node->path);
        }
    }
}

static void check(set_contender *self) {
    int64_t lease_ms = 0;
    int status = set_check(&self->lock, &lease_ms);
    bool fine = *self->asks.client_closes
                    ? status == ZKL_CLOSED
                    : status == ZKL_OK || status == ZKL_SUSPECT || status == ZKL_LOST;
    if (!fine || (self->knows_of_loss && status != ZKL_LOST && status != ZKL_CLOSED)) {
        oracle_violated("set-contender %u holds, and check says: %s", self->asks.number,
                        zkl_strerror(status));
    }
    self->knows_of_loss = self->knows_of_loss || status == ZKL_LOST;
    if (status == ZKL_LOST && plan_is_calm(run.plan) && self->plan->max_hold_ms == 0 &&
        run.plan->clients[self->plan->client].lease_tick_ms == 0) {
        oracle_violated("set-contender %u has lost its locks, and nothing went wrong",
                        self->asks.number);
    }
    judge_lease(self, lease_ms);
}

static bool all_live(const set_contender *self) {
    for (size_t i = 0; i < self->node_count; i++) {
        if (self->nodes[i] != NULL && !self->nodes[i]->alive) {
            return false;
        }
    }
    return true;
}

/* What the servers say of all its nodes together. */
static void verify(set_contender *self) {
    bool lived = all_live(self);
    int status = set_verify(&self->lock, ANSWER_MS);
    trace_call(self->asks.number, "verified: %s", zkl_strerror(status));
    bool fine = status == ZKL_OK || status == ZKL_LOST || status == ZKL_SUSPECT ||
                status == ZKL_SERVER_REFUSED ||
                (status == ZKL_CLOSED && *self->asks.client_closes) ||
                (status == ZKL_NO_PERMISSION && asker_plan_has(oracle.plan, PLAN_REFUSE)) ||
                (status == ZKL_NO_MEMORY && oracle_memory_runs_short());
    if (!fine) {
        oracle_violated("set-contender %u verifies, and is told: %s", self->asks.number,
                        zkl_strerror(status));
    }
    if (status == ZKL_OK && !lived) {
        oracle_violated("set-contender %u was told that it holds, when a node of its was gone",
                        self->asks.number);
    }
    if (status == ZKL_LOST && all_live(self) && set_check(&self->lock, NULL) == ZKL_OK) {
        oracle_violated("set-contender %u holds, and verify says that it is lost",
                        self->asks.number);
    }
}

static void judge_release(const set_contender *self, const plan_turn *turn, int status) {
    asker_judge_release(&self->asks, turn, self->knows_of_loss, status);
    bool confirmed = status == ZKL_OK && turn->release_timeout_ms != 0;
    for (size_t i = 0; confirmed && i < self->node_count; i++) {
        const node_record *node = self->nodes[i];
        if (node != NULL && node->alive && !nodes_session_told_expired(node->owner)) {
            oracle_violated("set-contender %u was told that it has released, but %s is there",
                            self->asks.number, node->path);
        }
    }
}

static void on_released(set_call *base, int status) {
    call *its = (call *)base;
    if (tell(its, status)) {
        judge_release(its->self, its->self->turn, status);
    }
}

/* There may be no memory for the callback: then nothing has happened. */
static void release_asynchronously(set_contender *self) {
    call *its = make_call(self);
    int64_t timeout_ms = self->turn->release_timeout_ms;
    int status = set_release_async(&self->lock, timeout_ms, &its->base);
    while (status == ZKL_NO_MEMORY && oracle_memory_runs_short()) {
        sleep_ms(10);
        status = set_release_async(&self->lock, timeout_ms, &its->base);
    }
    if (status == ZKL_OK) {
        wait_until_told(its, INT64_MAX);
    } else {
        its->refused = true;
        judge_release(self, self->turn, status);
    }
}

static bool open_handle(set_contender *self) {
    self->lock = (set_handle){ .plan = self->plan };
    while (!*self->asks.client_closes) {
        if (set_open(&self->lock, self->client, self->plan->hears_news ? on_news : NULL, self) ==
            ZKL_OK) {
            return true;
        }
        if (!oracle_memory_runs_short()) {
            oracle_violated("set-contender %u could not open its handle", self->asks.number);
        }
        sleep_ms(10);
    }
    return false;
}

static void close_handle(set_contender *self) {
    trace_call(self->asks.number, "close");
    self->holds = false;
    set_close(&self->lock);
}

static bool leave(set_contender *self, const plan_turn *turn) {
    if (turn->closes) {
        close_handle(self);
        return open_handle(self);
    }
    self->holds = false;
    trace_call(self->asks.number, "release");
    if (self->plan->asynchronous) {
        release_asynchronously(self);
    } else {
        judge_release(self, turn, set_release(&self->lock, turn->release_timeout_ms));
    }
    return true;
}

/* False: there will be no more turns. */
static bool take_turn(set_contender *self, const plan_turn *turn) {
    sleep_ms(turn->rest_ms);
    int status = acquire(self, turn);
    if (!set_is_open(&self->lock)) {
        return open_handle(self);
    }
    if (status != ZKL_OK) {
        return status != ZKL_CLOSED;
    }
    for (int i = 0; i < PIECES_OF_A_HOLD; i++) {
        sleep_ms(turn->hold_ms / PIECES_OF_A_HOLD);
        check(self);
        if (turn->asks_servers) {
            verify(self);
        }
    }
    return leave(self, turn);
}

static void *run_contender(void *arg) {
    set_contender *self = arg;
    bool goes_on = open_handle(self);
    for (size_t i = 0; goes_on && i < self->plan->turn_count; i++) {
        goes_on = take_turn(self, &self->plan->turns[i]);
    }
    if (set_is_open(&self->lock)) {
        close_handle(self);
    }
    self->done = true;
    zkl_world_wake_all(self);
    return NULL;
}

/* ---- All of them --------------------------------------------------------------------------- */

static bool is_of(const set_contender *one, unsigned client) {
    return one->plan->client == client && !one->plan->left_out;
}

void set_contenders_begin(const run_plan *plan) {
    memset(&run, 0, sizeof(run));
    run.plan = plan;
    for (unsigned i = 0; i < plan->set_count; i++) {
        run.all[i].plan = &plan->sets[i];
        run.all[i].asks = (asker){
            .name = "set-contender",
            .number = NUMBERS_FROM + i,
            .client = plan->sets[i].client,
            .fail_on_session_expiry = plan->sets[i].fail_on_session_expiry,
            .asynchronous = plan->sets[i].asynchronous,
            .max_hold_ms = plan->sets[i].max_hold_ms,
        };
    }
}

void set_contenders_start(unsigned client, zkl_client *handle, zkl_process *process,
                          const bool *client_closes) {
    for (unsigned i = 0; i < run.plan->set_count; i++) {
        set_contender *one = &run.all[i];
        if (is_of(one, client)) {
            one->client = handle;
            one->process = process;
            one->asks.client_closes = client_closes;
            one->started = true;
            (void)zkl_task_start(run_contender, one);
        }
    }
}

bool set_contenders_are_of(unsigned client) {
    for (unsigned i = 0; i < run.plan->set_count; i++) {
        if (is_of(&run.all[i], client)) {
            return true;
        }
    }
    return false;
}

bool set_contenders_are_done(unsigned client) {
    for (unsigned i = 0; i < run.plan->set_count; i++) {
        if (is_of(&run.all[i], client) && run.all[i].started && !run.all[i].done) {
            return false;
        }
    }
    return true;
}

void set_contenders_wait(unsigned client, int64_t until_us) {
    for (unsigned i = 0; i < run.plan->set_count; i++) {
        const set_contender *one = &run.all[i];
        while (is_of(one, client) && one->started && !one->done && zkl_world_now_us() < until_us) {
            zkl_world_wait_on(one, until_us);
        }
    }
}

void set_contenders_client_closes(unsigned client) {
    for (unsigned i = 0; i < run.plan->set_count; i++) {
        if (is_of(&run.all[i], client)) {
            run.all[i].holds = false;
        }
    }
}

/* Only the limit of its hold takes a node from a holder who has not left; and with one that is
 * lost the others stay. */
void set_contenders_deleted(const node_record *node) {
    for (unsigned i = 0; i < run.plan->set_count; i++) {
        const set_contender *one = &run.all[i];
        for (size_t k = 0; one->holds && k < one->node_count; k++) {
            if (one->nodes[k] == node && one->plan->max_hold_ms == 0) {
                oracle_violated("the node %s is deleted by its session, and set-contender %u "
                                "has not left",
                                node->path, one->asks.number);
            }
        }
    }
}

void set_contenders_name_the_stuck(void) {
    for (unsigned i = 0; i < run.plan->set_count; i++) {
        const set_contender *one = &run.all[i];
        if (one->started && !one->done && !faults_has_died(one->plan->client)) {
            oracle_violated("set-contender %u is stuck %s", one->asks.number,
                            one->acquires ? "in an acquire" : "outside of an acquire");
        }
    }
}
