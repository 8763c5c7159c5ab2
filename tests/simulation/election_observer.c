#include "election_observer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "asker.h"
#include "candidate.h"
#include "oracle_records.h"
#include "trace.h"
#include "zklock/election.h"

enum {
    NUMBERS_FROM = 300,
    NEWS_MAX_MS = 2 * ZKL_LEADER_PAUSE_MS + 1000, /* two pauses, and what lies between */
    HEALED_MAX_MS = 10000,                        /* until all servers are well */
    TIMEOUTS_MAX = 4,  /* until a session that answers nothing has been given up */
    LOOKS_AT_FIRST = 4 /* of each, also with news of the connection */
};

typedef struct election_observer {
    const plan_observer *plan;
    unsigned number; /* in traces and violations */
    zkl_client *client;
    const bool *client_closes;
    zkl_observer *observer;
    bool started;
    bool is_open; /* callbacks may come */
    bool ends;    /* it is to be closed, for good */
    bool done;
    bool closed_itself;
    bool was_told; /* anything, by this handle */
    bool was_told_the_last;
    int64_t term;              /* as it was told last */
    const node_record *told;   /* the last leader of which it was told; NULL: none */
    const node_record *leader; /* when it was looked at last; NULL: nobody leads */
    int64_t steady_since_us;   /* ... which has been so since then, and the client was connected */
    uint64_t times_opened;
    uint64_t firsts_gone;
} election_observer;

static struct {
    const run_plan *plan;
    election_observer all[PLAN_OBSERVERS_MAX];
} run;

/* ---- What it is told ---------------------------------------------------------------------- */

static bool is_of_resource(const election_observer *self, const node_record *node) {
    char parent[64];
    int length = snprintf(parent, sizeof(parent), "/locks/resource-%u/", self->plan->resource);
    return strncmp(node->path, parent, (size_t)length) == 0;
}

static const node_record *find_node(const zkl_leader *leader) {
    const node_record *node;
    for (size_t i = 0; (node = nodes_at(i)) != NULL; i++) {
        if (node->czxid == leader->term && strcmp(node->path, leader->node) == 0) {
            return node;
        }
    }
    return NULL;
}

/* Who shares what it holds leads nobody. */
static bool may_lead(const node_record *node) {
    return nodes_conflicts(node, true) && nodes_permits(node) == 0;
}

static const node_record *find_leader(const election_observer *self) {
    char parent[64];
    snprintf(parent, sizeof(parent), "/locks/resource-%u/", self->plan->resource);
    const node_record *first = nodes_first(parent);
    return first != NULL && may_lead(first) ? first : NULL;
}

/* Whoever asks for a lock takes its identity away; others have none. */
static void judge_text(const election_observer *self, const zkl_leader *leader,
                       const node_record *node) {
    const char *text = candidates_text(node);
    if (text != NULL && node->revoked_us < 0 && strcmp(text, leader->candidate) != 0) {
        oracle_violated("observer %u is told that \"%s\" leads, and it is \"%s\"", self->number,
                        leader->candidate, text);
    }
}

/* Tells whether `node` was over when `told` was first: it was before that in the queue, or had gone
 * before that was made. Behind one that was made by hand, or where sequences stick, there are nodes
 * with lower terms that lead after it. */
static bool was_over(const node_record *node, const node_record *told) {
    return nodes_is_behind(told, node) || (!node->alive && node->gone_us < told->made_us);
}

static void judge_term(const election_observer *self, const node_record *node) {
    const node_record *told = self->told;
    if (told != NULL && node->czxid < told->czxid && was_over(node, told)) {
        oracle_violated("observer %u is told of term %" PRId64 " after %" PRId64, self->number,
                        node->czxid, told->czxid);
    }
}

static void judge_leader(const election_observer *self, const zkl_leader *leader) {
    const node_record *node = find_node(leader);
    if (node == NULL || !is_of_resource(self, node)) {
        oracle_violated("observer %u is told of a leader %s with term %" PRId64
                        " that never was there",
                        self->number, leader->node, leader->term);
        return;
    }
    if (leader->session_id != node->owner) {
        oracle_violated("observer %u is told that session %" PRIx64 " leads, and %s is of %" PRIx64,
                        self->number, (uint64_t)leader->session_id, node->path,
                        (uint64_t)node->owner);
    }
    if (run.plan->first_sequence_to_end < 0 && !nodes_was_first(node)) {
        oracle_violated("observer %u is told that %s leads, which was never first", self->number,
                        node->path);
    }
    if (!may_lead(node)) {
        oracle_violated("observer %u is told that %s leads, which shares what it holds",
                        self->number, node->path);
    }
    judge_term(self, node);
    judge_text(self, leader, node);
}

static bool may_be_told(const election_observer *self, int status) {
    switch (status) {
    case ZKL_OK:
        return true;
    case ZKL_CLOSED:
        return *self->client_closes;
    case ZKL_NO_PERMISSION:
        return asker_plan_has(run.plan, PLAN_REFUSE);
    case ZKL_SERVER_REFUSED:
        return !plan_is_by_hand(run.plan);
    default:
        return false;
    }
}

static void judge_news(const election_observer *self, const zkl_leader *leader) {
    if (!self->is_open || self->was_told_the_last) {
        oracle_violated("observer %u is told news %s", self->number,
                        self->is_open ? "after the last" : "and is closed");
    }
    if (!may_be_told(self, leader->status)) {
        oracle_violated("observer %u is told: %s", self->number, zkl_strerror(leader->status));
    }
    if (self->was_told && leader->status == ZKL_OK && leader->term == self->term) {
        oracle_violated("observer %u is told of term %" PRId64 " twice", self->number,
                        leader->term);
    }
    if (leader->status == ZKL_OK && leader->term > 0) {
        judge_leader(self, leader);
    }
}

/* Without a status it is not known who leads, so what is told next is news. */
static void on_leader(void *arg, const zkl_leader *leader) {
    election_observer *self = arg;
    trace_call(self->number, "is told: %s, term %" PRId64 " %s", zkl_strerror(leader->status),
               leader->term, leader->node);
    judge_news(self, leader);
    self->was_told = leader->status == ZKL_OK;
    self->was_told_the_last = leader->status == ZKL_CLOSED;
    self->term = leader->term;
    self->steady_since_us = zkl_world_now_us(); /* perhaps of one that is gone at the next look */
    if (leader->term > 0) {
        self->told = find_node(leader);
    }
    if (self->plan->closes_itself && leader->term > 0) {
        self->closed_itself = true;
        zkl_observer_close(self->observer);
        self->is_open = false;
        zkl_world_wake_all(self);
    }
}

/* ---- What it must be told ------------------------------------------------------------------ */

static bool is_connected(const election_observer *self) {
    return oracle_client_is_connected(self->plan->client) &&
           !zkl_process_is_stopped(oracle.clients[self->plan->client].process);
}

int64_t election_observers_well_after_ms(unsigned client) {
    return HEALED_MAX_MS + TIMEOUTS_MAX * run.plan->clients[client].session_timeout_ms;
}

/* What others do is no reason not to be told. */
static int64_t well_since_us(const election_observer *self) {
    if (plan_is_by_hand(run.plan)) {
        return 0;
    }
    if (oracle.healed_us == INT64_MAX) {
        return INT64_MAX;
    }
    return oracle.healed_us + election_observers_well_after_ms(self->plan->client) * US_PER_MS;
}

static void look(election_observer *self) {
    const node_record *leader = find_leader(self);
    int64_t now_us = zkl_world_now_us();
    if (!self->is_open || leader != self->leader || !is_connected(self) ||
        now_us < well_since_us(self)) {
        self->leader = leader;
        self->steady_since_us = now_us;
        return;
    }
    int64_t term = leader != NULL ? leader->czxid : 0;
    bool knows = self->was_told && self->term == term;
    if (!knows && now_us - self->steady_since_us > NEWS_MAX_MS * US_PER_MS) {
        oracle_violated("observer %u was not told since %" PRId64 " ms that %s leads", self->number,
                        (now_us - self->steady_since_us) / US_PER_MS,
                        leader != NULL ? leader->path : "nobody");
    }
}

void election_observers_look(void) {
    for (size_t i = 0; i < run.plan->observer_count; i++) {
        if (run.all[i].started) {
            look(&run.all[i]);
        }
    }
}

/* ---- Its course ---------------------------------------------------------------------------- */

static void open_observer(election_observer *self) {
    char resource[32];
    snprintf(resource, sizeof(resource), "resource-%u", self->plan->resource);
    self->was_told = false;
    self->was_told_the_last = false;
    self->closed_itself = false;
    self->term = 0;
    self->told = NULL;
    self->steady_since_us = zkl_world_now_us();
    self->times_opened++;
    self->is_open = true; /* it may be told before the call has returned */
    int status = zkl_election_observe(self->client, resource, on_leader, self, &self->observer);
    trace_call(self->number, "observe: %s", zkl_strerror(status));
    if (status == ZKL_OK) {
        return;
    }
    self->is_open = false;
    bool closed = status == ZKL_CLOSED && *self->client_closes;
    bool short_of_memory =
        (status == ZKL_NO_MEMORY || status == ZKL_SYSTEM) && oracle_memory_runs_short();
    if (!closed && !short_of_memory) {
        oracle_violated("observer %u could not begin: %s", self->number, zkl_strerror(status));
    }
}

static void close_observer(election_observer *self) {
    if (!self->closed_itself) {
        trace_call(self->number, "close");
        zkl_observer_close(self->observer);
    }
    self->is_open = false;
    self->observer = NULL;
}

static void wait(const election_observer *self, int64_t ms) {
    int64_t until_us = ms >= 0 ? zkl_world_now_us() + ms * US_PER_MS : INT64_MAX;
    while (!self->ends && !self->closed_itself && zkl_world_now_us() < until_us) {
        zkl_world_wait_on(self, until_us);
    }
}

static void *run_observer(void *arg) {
    election_observer *self = arg;
    wait(self, self->plan->opens_after_ms);
    while (!self->ends && !*self->client_closes) {
        open_observer(self);
        if (self->observer == NULL) {
            wait(self, 10);
            continue;
        }
        wait(self, self->plan->follows_ms);
        close_observer(self);
        if (self->plan->closes_itself && self->closed_itself) {
            break;
        }
    }
    self->done = true;
    zkl_world_wake_all(self);
    return NULL;
}

/* ---- All of them --------------------------------------------------------------------------- */

void election_observers_begin(const run_plan *plan) {
    memset(&run, 0, sizeof(run));
    run.plan = plan;
    for (unsigned i = 0; i < plan->observer_count; i++) {
        run.all[i].plan = &plan->observers[i];
        run.all[i].number = NUMBERS_FROM + i;
    }
}

static bool is_of(const election_observer *one, unsigned client) {
    return one->plan->client == client && !one->plan->left_out;
}

void election_observers_start(unsigned client, zkl_client *handle, const bool *client_closes) {
    for (size_t i = 0; i < run.plan->observer_count; i++) {
        election_observer *one = &run.all[i];
        if (is_of(one, client)) {
            one->client = handle;
            one->client_closes = client_closes;
            one->started = true;
            (void)zkl_task_start(run_observer, one);
        }
    }
}

void election_observers_end(unsigned client, bool is_closed) {
    for (size_t i = 0; i < run.plan->observer_count; i++) {
        election_observer *one = &run.all[i];
        if (!is_of(one, client) || !one->started || one->plan->outlives_client != is_closed) {
            continue;
        }
        one->ends = true;
        zkl_world_wake_all(one);
        while (!one->done) {
            zkl_world_wait_on(one, INT64_MAX);
        }
    }
}

/* ---- What they cost ------------------------------------------------------------------------ */

bool election_observers_follow(uint32_t process, const node_record *node) {
    for (size_t i = 0; i < run.plan->observer_count; i++) {
        const election_observer *one = &run.all[i];
        if (one->started && is_of_resource(one, node) &&
            zkl_process_number(oracle.clients[one->plan->client].process) == process) {
            return true;
        }
    }
    return false;
}

void election_observers_lose_first(const node_record *node) {
    for (size_t i = 0; i < run.plan->observer_count; i++) {
        run.all[i].firsts_gone += is_of_resource(&run.all[i], node) ? 1 : 0;
    }
}

uint64_t election_observers_most_lists(void) {
    uint64_t most = 0;
    for (size_t i = 0; i < run.plan->observer_count; i++) {
        const election_observer *one = &run.all[i];
        uint64_t pauses =
            (uint64_t)zkl_world_now_us() / (ZKL_LEADER_PAUSE_MS / 2 * (uint64_t)US_PER_MS);
        most +=
            one->started ? one->times_opened * LOOKS_AT_FIRST + 2 * one->firsts_gone + pauses : 0;
    }
    return most;
}
