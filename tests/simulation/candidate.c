#include "candidate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/threads.h"
#include "candidate_records.h"
#include "election_observer.h"
#include "faults.h"
#include "oracle_records.h"
#include "trace.h"

enum { PIECES_OF_A_TERM = 3, NUMBERS_FROM = 200 };

static struct {
    const run_plan *plan;
    candidate all[PLAN_CANDIDATES_MAX];
} run;

static void sleep_ms(int64_t ms) {
    zkl_world_sleep_us(ms * US_PER_MS);
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
        candidate_takes_office(self, term);
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
        int status = zkl_lock_cancel(zkl_election_lock(self->election));
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
    options.elected = candidate_on_elected;
    options.lost = candidate_on_lost;
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
        candidate_resigns(self, self->turn->release_timeout_ms);
        candidate_hears_of_loss(self);
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
        candidate_checks(self);
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

const candidate *candidates_rival(const candidate *self) {
    for (size_t i = 0; i < run.plan->candidate_count; i++) {
        const candidate *other = &run.all[i];
        if (other != self && other->leads && other->plan->resource == self->plan->resource &&
            other->node != NULL && other->node->alive) {
            return other;
        }
    }
    return NULL;
}

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
            if (one->terms[k] == node->czxid && candidate_is_of_resource(one, node)) {
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
