#include "oracle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"
#include "candidate.h"
#include "election_observer.h"
#include "handle/lock.h"
#include "oracle_counts.h"
#include "oracle_records.h"
#include "retries.h"
#include "set_contender.h"
#include "store.h"
#include "trace.h"
#include "traffic.h"

enum { LOCAL_NUMBERS = 4096 };

struct oracle_state oracle;

/* ---- Violations ----------------------------------------------------------------------- */

const char *oracle_violation(void) {
    return oracle.violated ? oracle.violation : NULL;
}

const char *oracle_violated_rule(void) {
    return oracle.rule;
}

void oracle_violated(const char *format, ...) {
    if (oracle.violated) {
        return;
    }
    oracle.violated = true;
    oracle.rule = format;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(oracle.violation, sizeof(oracle.violation), format, arguments);
    va_end(arguments);
    trace_event("VIOLATION", "%s", oracle.violation);
}

/* ---- What the plan says of them ------------------------------------------------------ */

const plan_contender *oracle_plan_of(unsigned contender) {
    return &oracle.plan->contenders[contender];
}

int64_t oracle_stopped_us_of(unsigned contender) {
    return oracle.clients[oracle_plan_of(contender)->client].stopped_us;
}

bool oracle_keeps_lease(unsigned contender) {
    return oracle.plan->clients[oracle_plan_of(contender)->client].lease_tick_ms > 0;
}

int64_t oracle_pair(int64_t token, int64_t local_number) {
    return token * LOCAL_NUMBERS + local_number;
}

bool oracle_memory_runs_short(void) {
    for (size_t i = 0; i < oracle.plan->fault_count; i++) {
        if (oracle.plan->faults[i].kind == PLAN_ALLOCATION && !oracle.plan->faults[i].left_out) {
            return true;
        }
    }
    return false;
}

bool oracle_may_begin_late(unsigned contender) {
    return oracle_plan_of(contender)->asynchronous && oracle_memory_runs_short();
}

uint64_t oracle_count_sessions_ended(const client_record *client) {
    if (client->client == NULL) {
        return client->sessions_ended;
    }
    uint64_t ended = 0;
    for (const zkl_client_session *one = client->client->sessions; one != NULL; one = one->next) {
        ended += one->session.sender.session_number;
    }
    return ended;
}

uint64_t oracle_sessions_ended(unsigned contender) {
    return oracle_count_sessions_ended(&oracle.clients[oracle_plan_of(contender)->client]);
}

bool oracle_is_connected(unsigned contender) {
    return oracle_client_is_connected(oracle_plan_of(contender)->client);
}

bool oracle_client_is_connected(unsigned number) {
    const zkl_client *client = oracle.clients[number].client;
    if (client == NULL) {
        return false;
    }
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        if (!one->session.connected) {
            return false;
        }
    }
    return true;
}

/* ---- Leases ----------------------------------------------------------------------------- */

/* On the clock of the process: its own timers may be late, and must not matter. */
static int64_t lease_left_ms(const zkl_session *session, zkl_process *process) {
    zkl_process *mine = zkl_process_enter(process);
    int64_t left_ms = zkl_liveness_lease_left(&session->liveness);
    (void)zkl_process_enter(mine);
    return left_ms;
}

bool oracle_has_running_lease(const record *one) {
    const zkl_request_runner *runner = one->lock->members[0].runner;
    return one->lock->state == ZKL_STATE_HELD && runner != NULL &&
           lease_left_ms(runner->sender.session, one->process) > 0;
}

/* A session that the servers have ended of their own accord has no lease left. */
static void judge_lease(const client_record *one) {
    for (const zkl_client_session *its = one->client->sessions; its != NULL; its = its->next) {
        const zkl_session *session = &its->session;
        if (nodes_session_ended(session->id) && session->liveness.lease.tick_ms > 0 &&
            lease_left_ms(session, one->process) > 0) {
            oracle_violated("session %" PRIx64 " was ended by the servers, and its client has a "
                            "lease that runs for %" PRId64 " ms more",
                            (uint64_t)session->id, lease_left_ms(session, one->process));
        }
    }
}

static void judge_leases(void) {
    for (size_t i = 0; i < oracle.plan->client_count; i++) {
        if (oracle.clients[i].client != NULL) {
            judge_lease(&oracle.clients[i]);
        }
    }
}

/* A request that has ended is gone with its name. */
static void note_guids(void) {
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        record *one = &oracle.records[i];
        if (one->asking && one->lock->members[0].runner != NULL) {
            memcpy(one->guid, one->lock->members[0].runner->request.session.guid,
                   sizeof(one->guid));
        }
    }
}

static void on_step(void) {
    judge_leases();
    note_guids();
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        oracle_follow_changes(i);
    }
    for (unsigned i = 0; i < oracle.plan->client_count; i++) {
        if (oracle.clients[i].client != NULL) {
            retries_look(i, oracle.clients[i].client, oracle.clients[i].process);
        }
    }
}

static bool modes_conflict(zkl_mode one, zkl_mode other) {
    return one != ZKL_READ || other != ZKL_READ;
}

/* ---- Grants ------------------------------------------------------------------------------- */

static unsigned resource_of(unsigned contender) {
    return oracle.plan->contenders[contender].resource;
}

static void judge_justification(unsigned contender, const record *one) {
    const node_record *node = one->node;
    if (node == NULL) {
        oracle_violated("contender %u was granted a lock with a node that never was", contender);
        return;
    }
    if (node->czxid != one->token) {
        oracle_violated("contender %u was granted token %" PRId64
                        ", but its node has czxid %" PRId64,
                        contender, one->token, node->czxid);
    }
    const char *blocker = nodes_wrongly_passed(node);
    if (blocker != NULL) {
        oracle_violated("contender %u was granted with node %s%s, but %s is before it", contender,
                        node->name, node->alive ? "" : " (which is gone)", blocker);
    }
    if (nodes_is_near_the_end(node)) {
        oracle_violated("contender %u was granted with %s, whose sequence is too near to 2^31",
                        contender, node->name);
    }
    const node_record *earlier = nodes_given_up_for(node);
    if (earlier != NULL) {
        oracle_violated(
            "contender %u was granted with node %s, and gave up %s, which was before it", contender,
            node->name, earlier->name);
    }
    bool leased = one->lock->members[0].runner != NULL &&
                  one->lock->members[0].runner->sender.session->liveness.lease.tick_ms > 0;
    if (leased && !node->alive && !node->by_hand) {
        oracle_violated("contender %u was granted on a lease, but its node %s is gone", contender,
                        node->name);
    }
}

/* Of grants whose nodes live: one whose node has gone is an old one that comes late. */
static void judge_token_order(unsigned contender, const record *one) {
    unsigned resource = resource_of(contender);
    if (one->pair <= one->last_pair) {
        oracle_violated("contender %u was granted token %" PRId64 " after its own %" PRId64,
                        contender, one->pair, one->last_pair);
    }
    if (one->node == NULL || !one->node->alive || oracle_plan_of(contender)->permits > 0) {
        return; /* a permit's identifies, and does not order */
    }
    int64_t before = one->mode == ZKL_READ ? oracle.greatest_writer_pair[resource]
                                           : oracle.greatest_pair[resource];
    if (one->pair <= before) {
        oracle_violated("contender %u was granted token %" PRId64 " after a conflicting %" PRId64,
                        contender, one->pair, before);
    }
    if (one->pair > oracle.greatest_pair[resource]) {
        oracle.greatest_pair[resource] = one->pair;
    }
    if (one->mode != ZKL_READ && one->pair > oracle.greatest_writer_pair[resource]) {
        oracle.greatest_writer_pair[resource] = one->pair;
    }
}

static bool is_excused(const record *one) {
    return one->node == NULL || one->node->by_hand;
}

/* An answer may tell no more than how it was when it was asked for. So a contender without a lease
 * may hear of its grant when its session has ended in the meantime. */
static bool has_ended_since_it_asked(const record *one) {
    const zkl_request_runner *runner = one->lock->members[0].runner;
    if (one->node->alive || runner == NULL) {
        return false;
    }
    zkl_process *mine = zkl_process_enter(one->process);
    const zkl_liveness *liveness = &runner->sender.session->liveness;
    /* Not by the clock alone, which stands still with a virtual machine. */
    int64_t age_ms = zkl_sender_passed_ms(liveness->sender) - liveness->answered_ms;
    (void)zkl_process_enter(mine);
    return one->node->gone_us >= zkl_world_now_us() - (age_ms + 1) * US_PER_MS;
}

static void judge_pair(unsigned contender, unsigned other) {
    const record *one = &oracle.records[contender];
    const record *with = &oracle.records[other];
    if (contender == other || !with->holds || resource_of(contender) != resource_of(other) ||
        !modes_conflict(one->mode, with->mode) || is_excused(one) || is_excused(with)) {
        return;
    }
    bool both_alive = one->node->alive && with->node->alive;
    bool both_leased = oracle_has_running_lease(one) && oracle_has_running_lease(with);
    bool over_a_lease = oracle_has_running_lease(with) && !has_ended_since_it_asked(one);
    if (both_alive || both_leased || over_a_lease) {
        oracle_violated("contenders %u and %u both hold resource %u (%s)", contender, other,
                        resource_of(contender), both_alive ? "both nodes live" : "a lease runs");
    }
}

void oracle_judge_grant(unsigned contender) {
    const record *one = &oracle.records[contender];
    judge_justification(contender, one);
    judge_token_order(contender, one);
    if (oracle_plan_of(contender)->permits > 0) {
        oracle_judge_permits(contender);
        return;
    }
    for (unsigned other = 0; other < oracle.plan->contender_count; other++) {
        judge_pair(contender, other);
    }
}

/* ---- What contenders are told -----------------------------------------------------------------
 */

void oracle_opened(unsigned contender, int status) {
    if ((status != ZKL_NO_MEMORY && status != ZKL_SYSTEM) || !oracle_memory_runs_short()) {
        oracle_violated("contender %u could not open its handle: %s", contender,
                        zkl_strerror(status));
    }
}

void oracle_notes_question(record *one, unsigned contender) {
    one->asked_closed = oracle.clients[oracle_plan_of(contender)->client].closes;
    one->was_closed = false;
    one->cancelled = false;
    one->guid[0] = '\0';
    one->sessions_ended = oracle_sessions_ended(contender);
    one->was_connected = oracle_is_connected(contender);
    one->asked_ms = zkl_clock_ms();
    one->asked_us = zkl_world_now_us();
    one->stopped_us = oracle_stopped_us_of(contender);
}

void oracle_asks(unsigned contender, zkl_lock *lock, const plan_turn *turn) {
    record *one = &oracle.records[contender];
    oracle_notes_question(one, contender);
    one->lock = lock;
    one->asking = true;
    one->first_since_us = -1;
    one->contended_since_us = -1;
    one->alone_since_us = -1;
    one->downgrades = false;
    one->downgraded = false;
    oracle.acquires++;
    oracle.tries += turn->timeout_ms == 0 || oracle_plan_of(contender)->max_waiting > 0;
    oracle.leased += oracle_keeps_lease(contender);
    oracle.looks += oracle_plan_of(contender)->tell_contended || oracle_plan_of(contender)->borrows;
}

void oracle_cancels(unsigned contender, int status) {
    record *one = &oracle.records[contender];
    if (status == ZKL_OK) {
        one->cancelled = true;
        one->cancelled_ms = zkl_clock_ms();
        one->cancelled_stopped_us = oracle_stopped_us_of(contender);
    }
}

void oracle_acquired(unsigned contender, zkl_lock *lock, zkl_process *process,
                     const plan_turn *turn, int status, const zkl_grant *grant) {
    record *one = &oracle.records[contender];
    one->asking = false;
    if (oracle_judge_closed_acquire(contender, status)) {
        oracle.refusals++;
        return;
    }
    oracle_judge_verdict(contender, turn, status);
    if (status != ZKL_OK) {
        oracle.refusals++;
        return;
    }
    oracle.grants++;
    one->lock = lock;
    one->process = process;
    one->mode = grant->mode;
    one->token = grant->token;
    one->local_number = grant->local_number;
    one->pair = oracle_pair(grant->token, grant->local_number);
    one->node = nodes_find(grant->node);
    oracle.waits += one->node != NULL && one->node->had_to_wait;
    one->granted_ms = zkl_clock_ms();
    one->granted_us = zkl_world_now_us();
    one->granted_stopped_us = oracle_stopped_us_of(contender);
    one->holds = true;
    one->knows_of_loss = false;
    one->losses_told = 0;
    one->revocations_told = one->revoked_pair == one->pair ? 1 : 0;
    if (grant->mode != turn->mode) {
        oracle_violated("contender %u was granted another mode than it asked for", contender);
    }
    oracle_judge_grant(contender);
    oracle_judge_lending(contender);
    one->last_pair = one->pair;
}

void oracle_acquired_again(unsigned contender, bool reentrant, int status, const zkl_grant *grant) {
    if (oracle_judge_closed(contender, "acquired again", status)) {
        return;
    }
    const record *one = &oracle.records[contender];
    int expected = reentrant ? ZKL_OK : ZKL_ALREADY_HELD;
    bool lost = reentrant && status == ZKL_LOST;
    if (status != expected && !lost) {
        oracle_violated("contender %u acquired again and was told: %s", contender,
                        zkl_strerror(status));
    }
    if (status == ZKL_OK && oracle_pair(grant->token, grant->local_number) != one->pair) {
        oracle_violated("contender %u acquired again with another token", contender);
    }
}

void oracle_released_once(unsigned contender, int status) {
    if (oracle_judge_closed(contender, "released one hold of several", status)) {
        return;
    }
    if (status != ZKL_OK && status != ZKL_LOST) {
        oracle_violated("contender %u released one hold of several and was told: %s", contender,
                        zkl_strerror(status));
    }
}

void oracle_checks(unsigned contender) {
    record *one = &oracle.records[contender];
    int64_t lease_ms = 0;
    if (oracle.clients[oracle_plan_of(contender)->client].closes) {
        (void)oracle_judge_closed(contender, "checked", zkl_lock_check(one->lock, &lease_ms));
        return;
    }
    oracle_judge_news_of_limit(contender);
    int status = zkl_lock_check(one->lock, &lease_ms);
    if (status != ZKL_OK && status != ZKL_SUSPECT && status != ZKL_LOST) {
        oracle_violated("contender %u holds, and check says: %s", contender, zkl_strerror(status));
    }
    if (one->knows_of_loss && status != ZKL_LOST) {
        oracle_violated("contender %u was told LOST, and then: %s", contender,
                        zkl_strerror(status));
    }
    oracle_judge_knowledge(contender, status);
    if (oracle_keeps_lease(contender) && status != ZKL_LOST && lease_ms <= 0) {
        oracle_violated("contender %u holds, and no lease runs", contender);
    }
    if (status == ZKL_LOST) {
        one->knows_of_loss = true;
    } else if (lease_ms > 0 && one->node != NULL && !one->node->alive && !one->node->by_hand) {
        oracle_violated("contender %u is told of a lease of %" PRId64 " ms on a node that is gone",
                        contender, lease_ms);
    }
}

void oracle_told(unsigned contender, const zkl_lock_event *event) {
    record *one = &oracle.records[contender];
    oracle_judge_callback(contender);
    trace_call(contender, "is told: %s (%s)", zkl_lock_state_name((int)event->state),
               zkl_strerror(event->reason));
    if (event->state == ZKL_STATE_CONTENDED) {
        oracle_judge_contended(contender, event);
    }
    if (event->state == ZKL_STATE_REVOKE_REQUESTED) {
        oracle_judge_revocation(contender, event);
    }
    if (event->state != ZKL_STATE_LOST || event->token != one->token) {
        return;
    }
    one->knows_of_loss = one->knows_of_loss || one->holds;
    if (event->reason == ZKL_SESSION_EXPIRED && one->holds && one->node != NULL &&
        !nodes_session_told_expired(one->node->owner)) {
        oracle_violated("contender %u holds, and its session was given up before the servers did",
                        contender);
    }
    if (++one->losses_told > 1) {
        oracle_violated("contender %u was told twice that one grant is lost", contender);
    }
}

void oracle_leaves(unsigned contender) {
    record *one = &oracle.records[contender];
    one->holds = false;
    one->left_closed = oracle.clients[oracle_plan_of(contender)->client].closes;
    one->left_ms = zkl_clock_ms();
    one->sessions_ended = oracle_sessions_ended(contender);
}

void oracle_released(unsigned contender, const plan_turn *turn, int status) {
    if (oracle_judge_closed_release(contender, status)) {
        return;
    }
    oracle.losses += status == ZKL_LOST;
    oracle_judge_release(contender, turn, status);
}

void oracle_closed(unsigned contender) {
    const record *one = &oracle.records[contender];
    oracle.records[contender] =
        (record){ .last_pair = one->last_pair, .has_handle = one->has_handle };
}

/* ---- The store
 * ----------------------------------------------------------------------------------- */

bool oracle_store_claim(unsigned contender, int64_t *value) {
    return store_claim(resource_of(contender), oracle.records[contender].pair, value);
}

void oracle_store_write(unsigned contender, int64_t value) {
    const char *wrong = store_write(resource_of(contender), oracle.records[contender].pair, value);
    if (wrong != NULL) {
        oracle_violated("contender %u wrote to the store: %s", contender, wrong);
    }
}

/* ---- What happens to them
 * --------------------------------------------------------------------------- */

void oracle_client(unsigned number, zkl_client *client, zkl_process *process) {
    oracle.clients[number].client = client;
    oracle.clients[number].process = process;
    oracle.clients[number].waits_since_us = -1;
    oracle.clients[number].ends_us = -1;
}

void oracle_looks(void) {
    oracle_judge_early_ends();
    election_observers_look();
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        oracle_judge_turn(i);
        oracle_judge_contention(i);
        oracle_judge_place(i);
    }
    oracle_judge_lent_nodes();
    for (unsigned i = 0; i < oracle.plan->client_count; i++) {
        if (oracle.clients[i].client != NULL) {
            oracle_judge_patience(i);
        }
    }
}

void oracle_was_stopped(unsigned client, int64_t us) {
    oracle.clients[client].stopped_us += us + us / CLOCK_PARTS; /* by its own clock, perhaps */
    if (!oracle.clients[client].closes) {
        oracle.clients[client].ends_us = -1; /* if it was dead, it is not any more */
    }
    oracle.clients[client].waits_since_us = -1;
}

/* The end of a lease leaves the node to its holder; only the limit of its hold takes it away. */
void oracle_deleted(const node_record *node) {
    set_contenders_deleted(node);
    candidates_deleted(node);
    oracle_judge_deleted_lent_node(node);
    for (unsigned i = 0; i < oracle.plan->contender_count; i++) {
        const record *one = &oracle.records[i];
        bool is_replaced = one->downgrades && !one->downgraded; /* see oracle_follow_changes */
        if (one->holds && one->node == node && oracle_plan_of(i)->max_hold_ms == 0 &&
            !is_replaced) {
            oracle_violated("the node %s is deleted by its session, and contender %u has not left",
                            node->name, i);
        }
    }
}

/* ---- Beginning and end
 * ---------------------------------------------------------------------------------- */

void oracle_count(simulation_counts *counts) {
    counts->grants += oracle.grants;
    counts->waits += oracle.waits;
    counts->sets += oracle.sets;
    counts->refusals += oracle.refusals;
    counts->losses += oracle.losses;
    counts->contended += oracle.contended;
    retries_count(counts);
}

void oracle_judge_quiescence(void) {
    nodes_judge_quiescence();
    traffic_judge(&(traffic_asked){ .acquires = oracle.acquires,
                                    .looks = oracle.looks,
                                    .tries = oracle.tries,
                                    .leased = oracle.leased,
                                    .downgrades = oracle.downgrades,
                                    .most_permits = plan_most_permits(oracle.plan) });
    oracle_counts_judge();
    for (unsigned resource = 0; resource < oracle.plan->resource_count; resource++) {
        const char *wrong = store_judge(resource);
        if (wrong != NULL) {
            oracle_violated("the store of resource %u: %s", resource, wrong);
        }
    }
}

void oracle_begin(const run_plan *plan) {
    memset(&oracle, 0, sizeof(oracle));
    oracle.plan = plan;
    oracle.healed_us = plan_is_calm(plan) ? 0 : INT64_MAX;
    nodes_begin(on_step, plan->first_sequence_to_end >= 0);
    traffic_begin(plan);
    retries_begin();
    store_begin();
    oracle_counts_begin();
    oracle_lending_begin();
}

void oracle_end(void) {
    oracle_counts_end();
    oracle_guarded_end();
    nodes_end();
}
