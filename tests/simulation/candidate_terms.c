/* What must hold of the terms of candidates, and of what they are told of them. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "candidate_records.h"
#include "oracle_records.h"
#include "trace.h"

enum { CALLBACK_MAX_MS = 100 /* until its turn comes */ };

/* ---- Its terms ---------------------------------------------------------------------------- */

bool candidate_is_of_resource(const candidate *self, const node_record *node) {
    char parent[64];
    int length = snprintf(parent, sizeof(parent), "/locks/resource-%u/", self->plan->resource);
    return strncmp(node->path, parent, (size_t)length) == 0;
}

static const node_record *find_node(const candidate *self, int64_t term) {
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        if (node->czxid == term && candidate_is_of_resource(self, node)) {
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
    if (self->term_count < CANDIDATE_TERMS_MAX) {
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
    int64_t *greatest = &oracle.greatest_pair[self->plan->resource];
    if (node == NULL || !node->alive) {
        return;
    }
    int64_t its = oracle_pair(node->czxid, 0);
    if (its <= *greatest) {
        oracle_violated("candidate %u leads with term %" PRId64 " after a conflicting %" PRId64,
                        self->asks.number, its, *greatest);
    }
    *greatest = its;
    oracle.greatest_writer_pair[self->plan->resource] = its;
}

static void judge_rival(const candidate *self, const candidate *rival) {
    if (rival != NULL && self->node != NULL && self->node->alive) {
        oracle_violated("candidates %u and %u both lead", self->asks.number, rival->asks.number);
    }
}

void candidate_takes_office(candidate *self, int64_t term) {
    if (term <= self->term) {
        oracle_violated("candidate %u leads with term %" PRId64 " after its own %" PRId64,
                        self->asks.number, term, self->term);
    }
    self->node = judge_node(self, term);
    judge_order(self, self->node);
    judge_rival(self, candidates_rival(self));
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
void candidate_on_elected(void *arg, int64_t term) {
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
    if (term != self->term) { /* else it was judged when it was granted, and this may be late */
        (void)judge_node(self, term);
    }
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
        return oracle.plan->clients[self->plan->client].lease_tick_ms > 0;
    default:
        return false;
    }
}

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

void candidate_on_lost(void *arg, int64_t term, int reason) {
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
        candidate_resigns(self, 0);
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

void candidate_resigns(candidate *self, int64_t timeout_ms) {
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

void candidate_hears_of_loss(candidate *self) {
    if (self->resigned_status != ZKL_LOST || self->elected_term != self->term) {
        return;
    }
    self->led_us = zkl_world_now_us();
    self->led_stopped_us = asker_stopped_us(&self->asks);
    self->knows_of_loss = true;
    zkl_world_sleep_us((CALLBACK_MAX_MS + 1) * US_PER_MS);
    judge_told(self);
}

static void judge_answer(candidate *self, int status, int64_t term, int64_t lease_ms) {
    bool closed = status == ZKL_CLOSED && *self->asks.client_closes;
    bool fine = status == ZKL_OK || status == ZKL_SUSPECT || status == ZKL_LOST || closed;
    if (!fine || (self->knows_of_loss && status != ZKL_LOST && !closed)) {
        oracle_violated("candidate %u leads, and check says: %s", self->asks.number,
                        zkl_strerror(status));
    }
    if (!closed && term != self->term) {
        oracle_violated("candidate %u leads with term %" PRId64 ", and check says %" PRId64,
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
    if (!plan_is_by_hand(oracle.plan) || self->node == NULL || self->node->alive) {
        return;
    }
    int64_t watched_us =
        self->office_us +
        oracle.plan->clients[self->plan->client].session_timeout_ms * (int64_t)US_PER_MS / 3;
    int64_t since_us = self->node->gone_us > watched_us ? self->node->gone_us : watched_us;
    if (status != ZKL_LOST && status != ZKL_CLOSED &&
        zkl_world_now_us() > since_us + CALLBACK_MAX_MS * US_PER_MS) {
        oracle_violated("candidate %u was not told that its node %s is deleted", self->asks.number,
                        self->node->path);
    }
}

void candidate_checks(candidate *self) {
    zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
    int64_t lease_ms = 0;
    if (!self->leads) {
        return; /* it has resigned in a callback */
    }
    judge_told(self);
    const zkl_lock *lock = zkl_election_lock(self->election);
    int status = zkl_lock_check(lock, &lease_ms);
    (void)zkl_lock_info(lock, &now);
    if (self->leads) {
        judge_answer(self, status, now.token, lease_ms);
        judge_deletion(self, status);
    }
}
