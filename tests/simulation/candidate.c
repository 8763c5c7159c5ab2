#include "candidate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "asker.h"
#include "election_observer.h"
#include "faults.h"
#include "oracle_records.h"
#include "threads.h"
#include "trace.h"
#include "zklock/election.h"

enum {
    PIECES_OF_A_TERM = 3,
    NUMBERS_FROM = 200,
    TERMS_MAX = 64,
    CALLBACK_MAX_MS = 100, /* until its turn comes */
    TEXT_SIZE = 24
};

typedef struct candidate {
    const plan_candidate *plan;
    asker asks;
    char text[TEXT_SIZE];
    zkl_client *client;
    zkl_process *process;
    const plan_turn *turn;
    zkl_election *election;
    bool has_handle; /* that is open */
    bool started;
    bool done;
    bool campaigns;
    bool closed_meanwhile; /* its handle, while its campaign waited */
    int told_status;       /* of the latest */
    bool leads;
    bool knows_of_loss;
    int64_t term;
    const node_record *node;
    int64_t office_us; /* since then it leads, */
    int64_t led_us;    /* ... or knows that it has lost */
    int64_t led_stopped_us;
    int64_t elected_term; /* the last one that each callback was told of */
    int64_t lost_term;
    int64_t resigned_term;
    int64_t resigned_us;
    int resigned_status;
    bool resigned_in_callback;
    int64_t terms[TERMS_MAX]; /* of which it was told, one way or the other */
    size_t term_count;
} candidate;

static struct {
    const run_plan *plan;
    candidate all[PLAN_CANDIDATES_MAX];
} run;

static void sleep_ms(int64_t ms) {
    zkl_world_sleep_us(ms * US_PER_MS);
}

/* ---- Its terms ---------------------------------------------------------------------------- */

static bool is_of_resource(const candidate *self, const node_record *node) {
    char parent[64];
    int length = snprintf(parent, sizeof(parent), "/locks/resource-%u/", self->plan->resource);
    return strncmp(node->path, parent, (size_t)length) == 0;
}

static const node_record *find_node(const candidate *self, int64_t term) {
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        if (node->czxid == term && is_of_resource(self, node)) {
            return node;
        }
    }
    return NULL;
}

static void note_term(candidate *self, int64_t term) {
    for (size_t i = 0; i < self->term_count; i++) {
        if (self->terms[i] == term) {
            return;
        }
    }
    if (self->term_count < TERMS_MAX) {
        self->terms[self->term_count++] = term;
    }
}

static const node_record *judge_node(const candidate *self, int64_t term) {
    const node_record *node = find_node(self, term);
    if (node == NULL) {
        oracle_violated("candidate %u leads with term %" PRId64 ", which no node has",
                        self->asks.number, term);
        return NULL;
    }
    asker_judge_node(&self->asks, node);
    if (nodes_session_process(node->owner) != zkl_process_number(self->process)) {
        oracle_violated("candidate %u leads with node %s, which is another's", self->asks.number,
                        node->path);
    }
    return node;
}

/* One whose node has gone is an old one that comes late. */
static void judge_order(const candidate *self, const node_record *node) {
    int64_t *greatest = &oracle.greatest_token[self->plan->resource];
    if (node == NULL || !node->alive) {
        return;
    }
    if (node->czxid <= *greatest) {
        oracle_violated("candidate %u leads with term %" PRId64 " after a conflicting %" PRId64,
                        self->asks.number, node->czxid, *greatest);
    }
    *greatest = node->czxid;
    oracle.greatest_writer_token[self->plan->resource] = node->czxid;
}

/* Both by the commits of the servers: who leads and whoever else holds. */
static void judge_others(const candidate *self, const node_record *node) {
    for (size_t i = 0; i < run.plan->candidate_count; i++) {
        const candidate *other = &run.all[i];
        if (other != self && other->leads && other->plan->resource == self->plan->resource &&
            node != NULL && node->alive && other->node != NULL && other->node->alive) {
            oracle_violated("candidates %u and %u both lead", self->asks.number,
                            other->asks.number);
        }
    }
}

static void take_office(candidate *self, int64_t term) {
    if (term <= self->term) {
        oracle_violated("candidate %u leads with term %" PRId64 " after its own %" PRId64,
                        self->asks.number, term, self->term);
    }
    self->node = judge_node(self, term);
    judge_order(self, self->node);
    judge_others(self, self->node);
    note_term(self, term);
    self->term = term;
    self->leads = true;
    self->knows_of_loss = false;
    self->resigned_in_callback = false;
    self->office_us = zkl_world_now_us();
    self->led_us = self->office_us;
    self->led_stopped_us = asker_stopped_us(&self->asks);
    oracle.grants++;
    oracle.waits += self->node != NULL && self->node->had_to_wait;
}

/* ---- Callbacks ---------------------------------------------------------------------------- */

static void judge_callback(const candidate *self, const char *what, int64_t term) {
    trace_call(self->asks.number, "is told: %s, term %" PRId64, what, term);
    if (!self->has_handle || oracle.clients[self->plan->client].closed) {
        oracle_violated("candidate %u is told that it is %s, and its handle is closed",
                        self->asks.number, what);
    }
}

/* A callback that had begun when the term was resigned may still come in that moment. */
static void on_elected(void *arg, int64_t term) {
    candidate *self = arg;
    judge_callback(self, "elected", term);
    if (term <= self->elected_term) {
        oracle_violated("candidate %u is elected for term %" PRId64 " after %" PRId64,
                        self->asks.number, term, self->elected_term);
    }
    if (term == self->resigned_term && zkl_world_now_us() > self->resigned_us &&
        asker_stopped_us(&self->asks) == self->led_stopped_us) {
        oracle_violated("candidate %u is elected for a term that it has resigned",
                        self->asks.number);
    }
    if (self->campaigns ? self->plan->asynchronous : term != self->term) {
        oracle_violated("candidate %u is elected for term %" PRId64 ", of which no campaign has "
                        "told it",
                        self->asks.number, term);
    }
    (void)judge_node(self, term);
    note_term(self, term);
    self->elected_term = term;
}

static bool is_reason(const candidate *self, int reason) {
    const node_record *node = find_node(self, self->elected_term);
    switch (reason) {
    case ZKL_SESSION_EXPIRED:
        return node == NULL || nodes_session_told_expired(node->owner);
    case ZKL_NODE_DELETED:
        return node == NULL || !node->alive;
    case ZKL_LEASE_ENDED:
        return run.plan->clients[self->plan->client].lease_tick_ms > 0;
    default:
        return false;
    }
}

static void resign(candidate *self, int64_t timeout_ms);

static void judge_lost(const candidate *self, int64_t term, int reason) {
    if (term != self->elected_term || term == self->lost_term) {
        oracle_violated("candidate %u is told that it has lost term %" PRId64
                        ", and was elected for %" PRId64 ", and has lost %" PRId64,
                        self->asks.number, term, self->elected_term, self->lost_term);
    }
    if (term == self->resigned_term && self->resigned_status != ZKL_LOST &&
        self->resigned_status != ZKL_CLOSED) {
        oracle_violated("candidate %u has resigned, and is told that it has lost",
                        self->asks.number);
    }
    if (!is_reason(self, reason)) {
        oracle_violated("candidate %u has lost, and is told as the reason: %s", self->asks.number,
                        zkl_strerror(reason));
    }
}

static void on_lost(void *arg, int64_t term, int reason) {
    candidate *self = arg;
    judge_callback(self, "lost", term);
    judge_lost(self, term, reason);
    self->lost_term = term;
    if (!self->leads || term != self->term) {
        return;
    }
    self->knows_of_loss = true;
    if (self->plan->resigns_when_lost && !*self->asks.client_closes) {
        self->resigned_in_callback = true;
        resign(self, 0);
    }
}

static bool has_waited(const candidate *self) {
    int64_t stopped_us = asker_stopped_us(&self->asks) - self->led_stopped_us;
    return zkl_world_now_us() - self->led_us - stopped_us > CALLBACK_MAX_MS * US_PER_MS;
}

static void judge_told(const candidate *self) {
    if (*self->asks.client_closes || !has_waited(self)) {
        return;
    }
    if (self->elected_term != self->term) {
        oracle_violated("candidate %u leads with term %" PRId64 ", and elected was not told of it",
                        self->asks.number, self->term);
    }
    if (self->knows_of_loss && self->lost_term != self->term) {
        oracle_violated("candidate %u has lost term %" PRId64 ", and lost was not told of it",
                        self->asks.number, self->term);
    }
}

/* ---- Terms -------------------------------------------------------------------------------- */

static void judge_confirmed(const candidate *self, int64_t timeout_ms, int status) {
    if (status == ZKL_OK && timeout_ms != 0 && self->node != NULL && self->node->alive &&
        !nodes_session_told_expired(self->node->owner)) {
        oracle_violated("candidate %u was told that it has resigned, but %s is there",
                        self->asks.number, self->node->path);
    }
    if (status != ZKL_LOST && status != ZKL_CLOSED && self->lost_term == self->term) {
        oracle_violated("candidate %u was told that it has lost, and resign said: %s",
                        self->asks.number, zkl_strerror(status));
    }
}

static void resign(candidate *self, int64_t timeout_ms) {
    const plan_turn how = { .release_timeout_ms = timeout_ms };
    self->leads = false;
    trace_call(self->asks.number, "resign, timeout %" PRId64 " ms", timeout_ms);
    int status = zkl_election_resign(self->election, timeout_ms);
    trace_call(self->asks.number, "resigned: %s", zkl_strerror(status));
    self->resigned_term = self->term;
    self->resigned_status = status;
    self->resigned_us = zkl_world_now_us();
    oracle.losses += status == ZKL_LOST;
    asker_judge_release(&self->asks, &how, self->knows_of_loss, status);
    judge_confirmed(self, timeout_ms, status);
}

/* Of a loss that was found out by the resignation, too. */
static void hear_of_loss(candidate *self) {
    if (self->resigned_status != ZKL_LOST || self->elected_term != self->term) {
        return;
    }
    self->led_us = zkl_world_now_us();
    self->led_stopped_us = asker_stopped_us(&self->asks);
    self->knows_of_loss = true;
    sleep_ms(CALLBACK_MAX_MS + 1);
    judge_told(self);
}

static void judge_answer(candidate *self, int status, int64_t term, int64_t lease_ms) {
    bool closed = status == ZKL_CLOSED && *self->asks.client_closes;
    bool fine = status == ZKL_OK || status == ZKL_SUSPECT || status == ZKL_LOST || closed;
    if (!fine || (self->knows_of_loss && status != ZKL_LOST && !closed)) {
        oracle_violated("candidate %u leads, and is_leader says: %s", self->asks.number,
                        zkl_strerror(status));
    }
    if (!closed && term != self->term) {
        oracle_violated("candidate %u leads with term %" PRId64 ", and is_leader says %" PRId64,
                        self->asks.number, self->term, term);
    }
    if (status == ZKL_LOST && !self->knows_of_loss) {
        self->knows_of_loss = true;
        self->led_us = zkl_world_now_us();
        self->led_stopped_us = asker_stopped_us(&self->asks);
    }
    if (status != ZKL_LOST && lease_ms > 0 && self->node != NULL && !self->node->alive &&
        !self->node->by_hand) {
        oracle_violated("candidate %u is told of a lease of %" PRId64 " ms on %s, which is gone",
                        self->asks.number, lease_ms, self->node->path);
    }
}

/* By the hand of somebody, in a run in which nothing else goes wrong. */
static void judge_deletion(const candidate *self, int status) {
    if (!plan_is_by_hand(run.plan) || self->node == NULL || self->node->alive) {
        return;
    }
    int64_t watched_us =
        self->office_us +
        run.plan->clients[self->plan->client].session_timeout_ms * (int64_t)US_PER_MS / 3;
    int64_t since_us = self->node->gone_us > watched_us ? self->node->gone_us : watched_us;
    if (status != ZKL_LOST && status != ZKL_CLOSED &&
        zkl_world_now_us() > since_us + CALLBACK_MAX_MS * US_PER_MS) {
        oracle_violated("candidate %u was not told that its node %s is deleted", self->asks.number,
                        self->node->path);
    }
}

static void check(candidate *self) {
    int64_t term = 0;
    int64_t lease_ms = 0;
    if (!self->leads) {
        return; /* it has resigned in a callback */
    }
    judge_told(self);
    int status = zkl_election_is_leader(self->election, &term, &lease_ms);
    if (self->leads) {
        judge_answer(self, status, term, lease_ms);
        judge_deletion(self, status);
    }
}

/* ---- Campaigns ---------------------------------------------------------------------------- */

/* What was decided before the close may come after it, but for a term. */
static void judge_verdict(const candidate *self, int status) {
    if (self->closed_meanwhile && status == ZKL_OK) {
        oracle_violated("candidate %u leads, and has closed its handle before", self->asks.number);
    }
    if (!self->closed_meanwhile || status != ZKL_CANCELLED) {
        asker_judge_verdict(&self->asks, self->turn, status);
    }
}

static void told_of_campaign(candidate *self, int status, int64_t term) {
    self->campaigns = false;
    self->told_status = status;
    trace_call(self->asks.number, "campaigned: %s, term %" PRId64, zkl_strerror(status), term);
    if ((term > 0) != (status == ZKL_OK)) {
        oracle_violated("candidate %u has campaigned for term %" PRId64 ": %s", self->asks.number,
                        term, zkl_strerror(status));
    }
    judge_verdict(self, status);
    if (status == ZKL_OK) {
        take_office(self, term);
    } else {
        oracle.refusals++;
    }
}

static void on_campaigned(void *arg, int status, int64_t term) {
    candidate *self = arg;
    if (!self->campaigns) {
        oracle_violated("candidate %u is told of a campaign that has ended", self->asks.number);
        return;
    }
    told_of_campaign(self, status, term);
    zkl_world_wake_all(&self->campaigns);
}

static void wait_for_campaign(candidate *self, int64_t until_us) {
    while (self->campaigns && zkl_world_now_us() < until_us) {
        zkl_world_wait_on(&self->campaigns, until_us);
    }
}

static void close_handle(candidate *self);

static void campaign_asynchronously(candidate *self) {
    int64_t close_ms = self->turn->close_after_ms;
    int status =
        zkl_election_campaign_async(self->election, self->turn->timeout_ms, on_campaigned, self);
    if (status != ZKL_OK) {
        told_of_campaign(self, status, 0);
    }
    if (close_ms >= 0) {
        wait_for_campaign(self, zkl_world_now_us() + close_ms * US_PER_MS);
        self->closed_meanwhile = self->campaigns;
    }
    if (self->closed_meanwhile) {
        close_handle(self);
    }
    wait_for_campaign(self, INT64_MAX);
}

static void campaign_and_wait(candidate *self) {
    int64_t term = 0;
    int64_t before = self->elected_term;
    int status = zkl_election_campaign(self->election, self->turn->timeout_ms, &term);
    told_of_campaign(self, status, term);
    if (self->elected_term != before && self->elected_term != term) {
        oracle_violated("candidate %u was elected for term %" PRId64 ", and its campaign says: %s",
                        self->asks.number, self->elected_term, zkl_strerror(status));
    }
}

static void on_cancel(void *arg) {
    candidate *self = arg;
    if (self->campaigns && self->election != NULL && !*self->asks.client_closes) {
        int status = zkl_election_cancel(self->election);
        trace_call(self->asks.number, "cancel: %s", zkl_strerror(status));
        self->asks.cancelled = self->asks.cancelled || status == ZKL_OK;
    }
}

/* What traffic.c counts. */
static void count_request(const candidate *self) {
    oracle.acquires++;
    oracle.tries += self->turn->timeout_ms == 0;
    oracle.leased += run.plan->clients[self->plan->client].lease_tick_ms > 0;
}

static int campaign(candidate *self) {
    const plan_turn *turn = self->turn;
    zkl_world_event cancel = { .run = on_cancel, .arg = self, .process = self->process };
    if (turn->cancel_after_ms >= 0) {
        zkl_world_schedule(&cancel,
                           zkl_world_now_us() + turn->cancel_after_ms * (int64_t)US_PER_MS);
    }
    count_request(self);
    asker_begins(&self->asks);
    self->campaigns = true;
    self->closed_meanwhile = false;
    trace_call(self->asks.number, "campaign, timeout %" PRId64 " ms", turn->timeout_ms);
    if (self->plan->asynchronous) {
        campaign_asynchronously(self);
    } else {
        campaign_and_wait(self);
    }
    zkl_world_unschedule(&cancel);
    return self->told_status;
}

/* ---- Handles ------------------------------------------------------------------------------ */

static bool open_handle(candidate *self) {
    char resource[32];
    snprintf(resource, sizeof(resource), "resource-%u", self->plan->resource);
    zkl_election_options options = ZKL_ELECTION_OPTIONS_INIT;
    options.candidate = self->text;
    options.elected = on_elected;
    options.lost = on_lost;
    options.arg = self;
    options.resource_class = resource;
    while (!*self->asks.client_closes) {
        int status = zkl_election_open(self->client, resource, &options, &self->election);
        self->has_handle = status == ZKL_OK;
        if (status == ZKL_OK) {
            return true;
        }
        if (!oracle_memory_runs_short()) {
            oracle_violated("candidate %u could not open its handle: %s", self->asks.number,
                            zkl_strerror(status));
        }
        sleep_ms(10);
    }
    return false;
}

static void close_handle(candidate *self) {
    trace_call(self->asks.number, "close");
    self->leads = false;
    zkl_election *election = self->election;
    self->election = NULL;
    zkl_election_close(election);
    self->has_handle = false;
}

/* ---- A turn ------------------------------------------------------------------------------- */

static bool leave(candidate *self) {
    if (self->turn->closes) {
        close_handle(self);
        return open_handle(self);
    }
    if (self->leads) {
        resign(self, self->turn->release_timeout_ms);
        hear_of_loss(self);
    }
    return true;
}

/* When all clients must be well. */
static int64_t back_us_of_plan(void) {
    int64_t most_ms = 0;
    for (unsigned i = 0; i < run.plan->client_count; i++) {
        int64_t ms = election_observers_well_after_ms(i);
        most_ms = ms > most_ms ? ms : most_ms;
    }
    return (run.plan->faults_end_ms + most_ms) * US_PER_MS;
}

static void rest(const candidate *self, bool is_last) {
    sleep_ms(self->turn->rest_ms);
    int64_t back_us = back_us_of_plan();
    if (is_last && self->plan->comes_back && zkl_world_now_us() < back_us) {
        zkl_world_sleep_us(back_us - zkl_world_now_us());
    }
}

/* False: there will be no more turns. */
static bool take_turn(candidate *self, bool is_last) {
    rest(self, is_last);
    int status = campaign(self);
    if (self->closed_meanwhile) {
        return open_handle(self);
    }
    if (status != ZKL_OK) {
        return status != ZKL_CLOSED;
    }
    for (int i = 0; i < PIECES_OF_A_TERM; i++) {
        sleep_ms(self->turn->hold_ms / PIECES_OF_A_TERM);
        check(self);
    }
    return leave(self);
}

static void *run_candidate(void *arg) {
    candidate *self = arg;
    bool goes_on = open_handle(self);
    for (size_t i = 0; goes_on && i < self->plan->turn_count; i++) {
        self->turn = &self->plan->turns[i];
        goes_on = take_turn(self, i + 1 == self->plan->turn_count);
    }
    if (self->election != NULL) {
        close_handle(self);
    }
    self->done = true;
    zkl_world_wake_all(self);
    return NULL;
}

/* ---- All of them -------------------------------------------------------------------------- */

static bool is_of(const candidate *one, unsigned client) {
    return one->plan->client == client && !one->plan->left_out;
}

void candidates_begin(const run_plan *plan) {
    memset(&run, 0, sizeof(run));
    run.plan = plan;
    for (unsigned i = 0; i < plan->candidate_count; i++) {
        candidate *one = &run.all[i];
        one->plan = &plan->candidates[i];
        one->asks = (asker){
            .name = "candidate",
            .number = NUMBERS_FROM + i,
            .client = one->plan->client,
            .hears_of_loss = true,
        };
        snprintf(one->text, sizeof(one->text), "candidate %u", NUMBERS_FROM + i);
    }
}

void candidates_start(unsigned client, zkl_client *handle, zkl_process *process,
                      const bool *client_closes) {
    for (unsigned i = 0; i < run.plan->candidate_count; i++) {
        candidate *one = &run.all[i];
        if (is_of(one, client)) {
            one->client = handle;
            one->process = process;
            one->asks.client_closes = client_closes;
            one->started = true;
            (void)zkl_task_start(run_candidate, one);
        }
    }
}

bool candidates_are_of(unsigned client) {
    for (unsigned i = 0; i < run.plan->candidate_count; i++) {
        if (is_of(&run.all[i], client)) {
            return true;
        }
    }
    return false;
}

bool candidates_are_done(unsigned client) {
    for (unsigned i = 0; i < run.plan->candidate_count; i++) {
        if (is_of(&run.all[i], client) && run.all[i].started && !run.all[i].done) {
            return false;
        }
    }
    return true;
}

void candidates_wait(unsigned client, int64_t until_us) {
    for (unsigned i = 0; i < run.plan->candidate_count; i++) {
        const candidate *one = &run.all[i];
        while (is_of(one, client) && one->started && !one->done && zkl_world_now_us() < until_us) {
            zkl_world_wait_on(one, until_us);
        }
    }
}

void candidates_client_closes(unsigned client) {
    for (unsigned i = 0; i < run.plan->candidate_count; i++) {
        if (is_of(&run.all[i], client)) {
            run.all[i].leads = false;
        }
    }
}

void candidates_deleted(const node_record *node) {
    for (unsigned i = 0; i < run.plan->candidate_count; i++) {
        const candidate *one = &run.all[i];
        if (one->leads && one->node == node) {
            oracle_violated("the node %s is deleted by its session, and candidate %u has not "
                            "resigned",
                            node->path, one->asks.number);
        }
    }
}

const char *candidates_text(const node_record *node) {
    for (unsigned i = 0; i < run.plan->candidate_count; i++) {
        const candidate *one = &run.all[i];
        for (size_t k = 0; k < one->term_count; k++) {
            if (one->terms[k] == node->czxid && is_of_resource(one, node)) {
                return one->text;
            }
        }
    }
    return NULL;
}

void candidates_name_the_stuck(void) {
    for (unsigned i = 0; i < run.plan->candidate_count; i++) {
        const candidate *one = &run.all[i];
        if (one->started && !one->done && !faults_has_died(one->plan->client)) {
            oracle_violated("candidate %u is stuck %s", one->asks.number,
                            one->campaigns ? "in a campaign" : "outside of a campaign");
        }
    }
}
