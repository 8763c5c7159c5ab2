#include "asker.h"

#include <inttypes.h>

#include "base/threads.h"
#include "oracle_records.h"

enum { ROUNDING_MS = 1 };

int64_t asker_stopped_us(const asker *self) {
    return oracle.clients[self->client].stopped_us;
}

void asker_begins(asker *self) {
    self->called_closed = *self->client_closes;
    self->cancelled = false;
    self->closes = false;
    self->closed = false;
    self->asked_ms = zkl_clock_ms();
    self->stopped_us = asker_stopped_us(self);
    self->sessions_ended = oracle_count_sessions_ended(&oracle.clients[self->client]);
}

static bool keeps_lease(const asker *self) {
    return oracle.plan->clients[self->client].lease_tick_ms > 0;
}

/* ---- Grants ------------------------------------------------------------------------------- */

void asker_judge_node(const asker *self, const node_record *node) {
    const char *blocker = nodes_wrongly_passed(node);
    if (blocker != NULL) {
        oracle_violated("%s %u was granted with %s%s, but %s is before it", self->name,
                        self->number, node->path, node->alive ? "" : " (which is gone)", blocker);
    }
    if (!node->alive && !node->by_hand && !nodes_session_ended(node->owner)) {
        oracle_violated("%s %u was granted with %s, which its session has deleted", self->name,
                        self->number, node->path);
    }
    if (nodes_is_near_the_end(node)) {
        oracle_violated("%s %u was granted with %s, whose sequence is used up", self->name,
                        self->number, node->path);
    }
    if (keeps_lease(self) && !node->alive && !node->by_hand) {
        oracle_violated("%s %u was granted on a lease, but its node %s is gone", self->name,
                        self->number, node->path);
    }
}

/* ---- Refusals ------------------------------------------------------------------------------ */

bool asker_plan_has(const run_plan *plan, plan_fault_kind kind) {
    for (size_t i = 0; i < plan->fault_count; i++) {
        if (plan->faults[i].kind == kind && !plan->faults[i].left_out) {
            return true;
        }
    }
    return false;
}

/* A session that somebody else ends takes its nodes along, and behind a connection that stays the
 * client hears of that first. */
static bool nodes_are_deleted(void) {
    return asker_plan_has(oracle.plan, PLAN_DELETE_NODE) ||
           asker_plan_has(oracle.plan, PLAN_DELETE_PARENT) ||
           asker_plan_has(oracle.plan, PLAN_LEAVE_SESSION) ||
           asker_plan_has(oracle.plan, PLAN_REPLACE_NODE) || oracle.plan->breaks;
}

static bool is_timed_out(const asker *self, const plan_turn *turn) {
    return turn->timeout_ms > 0 &&
           zkl_clock_ms() - self->asked_ms >= turn->timeout_ms - ROUNDING_MS;
}

static bool has_session_ended(const asker *self) {
    return oracle_count_sessions_ended(&oracle.clients[self->client]) > self->sessions_ended;
}

/* What was granted may be lost before the caller is told, who may come late to that. */
static bool may_be_late(const asker *self) {
    return self->asynchronous || asker_stopped_us(self) > self->stopped_us;
}

static bool may_be_told_ok(const asker *self) {
    return !self->closed && (!*self->client_closes || (self->asynchronous && !self->called_closed));
}

/* Where servers answer each request nobody is turned away for now: what is refused is refused for
 * good, and says so. */
static bool may_be_turned_away(void) {
    return !plan_is_answered(oracle.plan);
}

/* Whoever does not try joins again where a place was lost. */
static bool may_be_told(const asker *self, const plan_turn *turn, int status) {
    bool tries = turn->timeout_ms == 0;
    bool may_lose = tries || self->hears_of_loss || may_be_late(self);
    switch (status) {
    case ZKL_OK:
        return may_be_told_ok(self);
    case ZKL_BUSY:
        return tries;
    case ZKL_DISCONNECTED:
        return tries || is_timed_out(self, turn);
    case ZKL_SERVER_REFUSED:
        return tries && may_be_turned_away();
    case ZKL_LEASE_ENDED:
        return may_lose && keeps_lease(self);
    case ZKL_NODE_DELETED:
        return may_lose && nodes_are_deleted();
    case ZKL_HOLD_LIMIT:
        return may_be_late(self) && self->max_hold_ms > 0;
    case ZKL_SESSION_EXPIRED:
        return (may_lose || self->fail_on_session_expiry) && has_session_ended(self);
    case ZKL_TIMEOUT:
        return is_timed_out(self, turn);
    case ZKL_CANCELLED:
        return self->cancelled || self->closes;
    case ZKL_SEQUENCE_EXHAUSTED:
        return oracle.plan->first_sequence_to_end >= 0;
    case ZKL_NO_MEMORY:
        return oracle_memory_runs_short();
    case ZKL_SYSTEM: /* no queue for the callback */
        return self->asynchronous && oracle_memory_runs_short();
    case ZKL_NO_PERMISSION:
        return asker_plan_has(oracle.plan, PLAN_REFUSE) || plan_lacks_rights(oracle.plan);
    case ZKL_CLOSED:
        return *self->client_closes;
    default:
        return false;
    }
}

void asker_judge_verdict(const asker *self, const plan_turn *turn, int status) {
    if (!may_be_told(self, turn, status)) {
        oracle_violated("%s %u was told: %s", self->name, self->number, zkl_strerror(status));
    }
    if (self->cancelled && status != ZKL_CANCELLED && status != ZKL_CLOSED) {
        oracle_violated("%s %u was cancelled, and told: %s", self->name, self->number,
                        zkl_strerror(status));
    }
    int64_t took_ms = zkl_clock_ms() - self->asked_ms;
    int64_t stopped_ms = (asker_stopped_us(self) - self->stopped_us) / US_PER_MS;
    int64_t within_ms = turn->timeout_ms + turn->timeout_ms / CLOCK_PARTS + LATE_MAX_MS;
    if (turn->timeout_ms > 0 && took_ms > within_ms + stopped_ms) {
        oracle_violated("%s %u asked for %" PRId64 " ms and got its answer after %" PRId64,
                        self->name, self->number, turn->timeout_ms, took_ms);
    }
}

/* ---- Releases ------------------------------------------------------------------------------ */

void asker_judge_release(const asker *self, const plan_turn *turn, bool knows_of_loss, int status) {
    bool fine = status == ZKL_OK || status == ZKL_LOST ||
                (status == ZKL_PENDING && turn->release_timeout_ms != 0) ||
                (status == ZKL_CLOSED && *self->client_closes);
    if (!fine || (knows_of_loss && status != ZKL_LOST && status != ZKL_CLOSED)) {
        oracle_violated("%s %u released and was told: %s", self->name, self->number,
                        zkl_strerror(status));
    }
}
