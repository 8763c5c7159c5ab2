#include "plan.h"

#include <inttypes.h>
#include <string.h>

#include "testing/ensemble.h"
#include "testing/world.h"

/* So that the stream of numbers that draws the plan is not the one of the run. */
#define PLAN_STREAM 0x706c616e00000000U

enum {
    FAULTS_LAST_MS = 12000,
    COMMON_FAULTS_MAX = 24,
    COMMON_FAULT_KINDS = PLAN_REPLACE_CONNECTION, /* what comes before it */
    MACHINE_FAULTS_MAX = 4,
    LAST_MACHINE_FAULT = PLAN_FAIL_OPENS,
    MOVES_MAX = 4,
    STRANGERS_MAX = 4,
    PEERS_MAX = 8,
    LOCK_SETS_MAX = 4,
    STRIPED_LOCKS_MAX = PLAN_SETS_MAX - LOCK_SETS_MAX,
    KEYS = 5,
    HEALED_AFTER_MS = 1000,
    RATE_PARTS = 5,     /* and the rights that are withheld */
    ACTS_OF_OTHERS = 2, /* break, and revoke */
    LEADS_LAST_MS = 6000,
    ADMINISTERED_ONE_IN = 4
};

static bool one_in(uint64_t n) {
    return zkl_world_random(n) == 0;
}

static int32_t between(int32_t low, int32_t high) {
    return (int32_t)zkl_world_random_between(low, high);
}

/* Mostly short, sometimes long: so that both short races and long waits come up. */
static int32_t about(int32_t most) {
    return one_in(4) ? between(0, most) : between(0, most / 20 + 1);
}

static void draw_client(run_plan *plan, plan_client *client, bool leases) {
    client->session_timeout_ms = plan->tick_ms * between(4, 12);
    bool has_lease = leases && !one_in(4);
    client->lease_tick_ms = has_lease ? plan->tick_ms : 0;
    client->rate_ppm = one_in(2) ? 0 : between(-1000, 1000);
    client->logs = one_in(4);
    client->closes_at_ms = -1;
    client->dies_at_ms = -1;
}

static int64_t draw_timeout(void) {
    switch (zkl_world_random(6)) {
    case 0:
        return 0;
    case 1:
    case 2:
        return ZKL_FOREVER;
    case 3:
        return between(1, 300);
    default:
        return between(300, 20000);
    }
}

static void draw_turn(plan_turn *turn, zkl_mode mode) {
    turn->rest_ms = about(3000);
    turn->mode = mode;
    turn->timeout_ms = draw_timeout();
    turn->cancel_after_ms = one_in(8) ? about(3000) : -1;
    turn->close_after_ms = -1;
    turn->hold_ms = about(4000);
    turn->acquire_again = one_in(2) ? between(1, 3) : 0;
    turn->writes = mode != ZKL_READ && !one_in(4);
    turn->asks_servers = one_in(3);
    turn->closes = one_in(10);
    turn->release_timeout_ms = one_in(2) ? 0 : one_in(2) ? ZKL_FOREVER : between(1, 2000);
}

static zkl_mode draw_mode(unsigned flavour) {
    switch (flavour) {
    case 0:
        return ZKL_EXCLUSIVE;
    case 1:
        return one_in(2) ? ZKL_READ : ZKL_WRITE;
    default:
        return (zkl_mode)zkl_world_random(3);
    }
}

static void draw_contender(const run_plan *plan, plan_contender *contender, unsigned flavour) {
    contender->client = (unsigned)zkl_world_random(plan->client_count);
    contender->resource = (unsigned)zkl_world_random(plan->resource_count);
    contender->reentrant = one_in(3);
    contender->fail_on_session_expiry = one_in(4);
    contender->hears_news = one_in(2);
    contender->max_hold_ms = one_in(6) ? between(50, 3000) : 0;
    contender->turn_count = (size_t)between(1, PLAN_TURNS_MAX);
    for (size_t i = 0; i < contender->turn_count; i++) {
        draw_turn(&contender->turns[i], draw_mode(flavour));
    }
}

static void draw_fault(plan_fault *fault, const bool *wanted) {
    do {
        fault->kind = (plan_fault_kind)zkl_world_random(COMMON_FAULT_KINDS);
    } while (!wanted[fault->kind]);
    fault->at_ms = between(0, FAULTS_LAST_MS);
    fault->duration_ms = about(8000);
    fault->target = (uint32_t)zkl_world_random(UINT32_MAX);
    fault->choice = (uint32_t)zkl_world_random(UINT32_MAX);
}

/* Few kinds at a time, each with a good chance: a run in which everything goes
 * wrong at once shows little. One in eight has no faults at all. */
static void draw_faults(run_plan *plan) {
    bool wanted[PLAN_FAULT_KINDS] = { false };
    size_t kinds = one_in(8) ? 0 : (size_t)between(1, 4);
    for (size_t i = 0; i < kinds; i++) {
        wanted[zkl_world_random(COMMON_FAULT_KINDS)] = true;
    }
    if (kinds > 0) {
        plan->fault_count = (size_t)between(1, COMMON_FAULTS_MAX);
        for (size_t i = 0; i < plan->fault_count; i++) {
            draw_fault(&plan->faults[i], wanted);
        }
    }
    if (kinds > 0 && one_in(2)) {
        plan->lost_before_ppm = (uint32_t)between(0, 60000);
        plan->lost_after_ppm = (uint32_t)between(0, 60000);
    }
    if (kinds > 0 && one_in(3)) {
        plan->slow_ppm = (uint32_t)between(0, 50000);
    }
    if (kinds > 0 && one_in(4)) {
        plan->strange_ppm = (uint32_t)between(0, 20000);
    }
}

static void draw_end_of_client(plan_client *client) {
    if (one_in(4)) {
        client->closes_at_ms = about(FAULTS_LAST_MS);
        client->close_timeout_ms = one_in(4) ? 0 : between(1, 3000);
    } else if (one_in(4)) {
        client->dies_at_ms = about(FAULTS_LAST_MS);
    }
}

/* After all that: what other parts are drawn from a seed does not depend on it. */
static void draw_early_ends(run_plan *plan) {
    if (!one_in(3)) {
        return;
    }
    for (size_t i = 0; i < plan->client_count; i++) {
        draw_end_of_client(&plan->clients[i]);
    }
    for (size_t i = 0; i < plan->contender_count; i++) {
        plan_contender *contender = &plan->contenders[i];
        for (size_t turn = 0; turn < contender->turn_count; turn++) {
            contender->turns[turn].close_after_ms = one_in(8) ? about(3000) : -1;
        }
    }
}

/* After all else, for the same reason. */
static void draw_asynchronous(run_plan *plan) {
    bool all = one_in(4);
    for (size_t i = 0; i < plan->client_count; i++) {
        plan->clients[i].dispatches = one_in(3);
    }
    for (size_t i = 0; i < plan->contender_count; i++) {
        plan->contenders[i].asynchronous = all || one_in(3);
    }
}

/* One in eight takes it for another semaphore than the rest. */
static void draw_permit(plan_contender *contender, unsigned permits) {
    unsigned another = permits % PLAN_PERMITS_MAX + 1;
    contender->permits = one_in(8) ? another : permits;
    for (size_t i = 0; i < contender->turn_count; i++) {
        contender->turns[i].mode = ZKL_EXCLUSIVE;
        contender->turns[i].writes = false; /* many may hold a permit */
    }
}

static void draw_semaphores(run_plan *plan) {
    for (unsigned resource = 0; resource < plan->resource_count; resource++) {
        unsigned permits = one_in(4) ? (unsigned)between(1, PLAN_PERMITS_MAX) : 0;
        for (size_t i = 0; permits > 0 && i < plan->contender_count; i++) {
            if (plan->contenders[i].resource == resource) {
                draw_permit(&plan->contenders[i], permits);
            }
        }
    }
}

/* The last to be drawn, for the same reason. */
static void draw_family(run_plan *plan) {
    draw_semaphores(plan);
    bool limits = one_in(4);
    bool changes = one_in(2);
    for (size_t i = 0; i < plan->contender_count; i++) {
        plan_contender *contender = &plan->contenders[i];
        contender->max_waiting = limits && one_in(2) ? (unsigned)between(1, 3) : 0;
        for (size_t turn = 0; turn < contender->turn_count; turn++) {
            contender->turns[turn].changes = changes && one_in(2);
            contender->turns[turn].downgrade_timeout_ms = one_in(3) ? about(500) : ZKL_FOREVER;
        }
    }
}

static void draw_set(const run_plan *plan, plan_set *set, unsigned flavour) {
    set->client = (unsigned)zkl_world_random(plan->client_count);
    set->resource_count = (size_t)between(2, PLAN_SET_RESOURCES);
    unsigned first = (unsigned)zkl_world_random(PLAN_SET_RESOURCES);
    unsigned step = one_in(2) ? 1 : PLAN_SET_RESOURCES - 1; /* upwards, or downwards */
    for (unsigned i = 0; i < set->resource_count; i++) {
        set->resources[i] = (first + i * step) % PLAN_SET_RESOURCES;
        set->modes[i] = draw_mode(flavour);
    }
    set->fail_on_session_expiry = one_in(4);
    set->max_hold_ms = one_in(6) ? between(50, 3000) : 0;
    set->turn_count = (size_t)between(1, PLAN_TURNS_MAX);
    for (size_t i = 0; i < set->turn_count; i++) {
        draw_turn(&set->turns[i], ZKL_EXCLUSIVE);
    }
}

static void draw_asynchronous_set(plan_set *set) {
    set->asynchronous = one_in(2);
    set->hears_news = one_in(2);
    for (size_t turn = 0; turn < set->turn_count && set->asynchronous; turn++) {
        set->turns[turn].close_after_ms = one_in(8) ? about(3000) : -1;
    }
}

/* Behind all others, as before. */
static void draw_sets(run_plan *plan, unsigned flavour) {
    plan->set_count = one_in(3) ? (size_t)between(1, LOCK_SETS_MAX) : 0;
    for (size_t i = 0; i < plan->set_count; i++) {
        draw_set(plan, &plan->sets[i], flavour);
    }
    for (size_t i = 0; i < plan->set_count; i++) {
        draw_asynchronous_set(&plan->sets[i]);
    }
}

/* Behind all others, as before. */
static void draw_contended(run_plan *plan) {
    bool some = one_in(2);
    for (size_t i = 0; i < plan->contender_count; i++) {
        plan_contender *contender = &plan->contenders[i];
        contender->tell_contended = some && contender->hears_news && !one_in(4);
    }
}

static void draw_candidate(const run_plan *plan, plan_candidate *candidate) {
    candidate->client = (unsigned)zkl_world_random(plan->client_count);
    candidate->resource = (unsigned)zkl_world_random(plan->resource_count);
    candidate->asynchronous = one_in(2);
    candidate->resigns_when_lost = one_in(3);
    candidate->turn_count = (size_t)between(1, PLAN_TURNS_MAX);
    for (size_t i = 0; i < candidate->turn_count; i++) {
        draw_turn(&candidate->turns[i], ZKL_EXCLUSIVE);
        candidate->turns[i].close_after_ms =
            candidate->asynchronous && one_in(8) ? about(3000) : -1;
    }
}

/* For so long that everybody must hear of it. */
static void draw_last_turn(plan_candidate *candidate) {
    candidate->comes_back = true;
    plan_turn *last = &candidate->turns[candidate->turn_count - 1];
    last->timeout_ms = ZKL_FOREVER;
    last->cancel_after_ms = -1;
    last->close_after_ms = -1;
    last->hold_ms = LEADS_LAST_MS;
}

static void draw_observer(const run_plan *plan, plan_observer *observer) {
    observer->client = (unsigned)zkl_world_random(plan->client_count);
    observer->resource = plan->candidates[0].resource;
    observer->opens_after_ms = about(3000);
    observer->follows_ms = one_in(4) ? between(1, 6000) : -1;
    observer->closes_itself = one_in(8);
    observer->outlives_client = one_in(4);
}

/* Behind all others, too. */
static void draw_election(run_plan *plan) {
    if (!one_in(4)) {
        return;
    }
    plan->candidate_count = (size_t)between(1, PLAN_CANDIDATES_MAX);
    for (size_t i = 0; i < plan->candidate_count; i++) {
        draw_candidate(plan, &plan->candidates[i]);
    }
    if (one_in(2)) {
        draw_last_turn(&plan->candidates[0]);
    }
    plan->observer_count = (size_t)zkl_world_random(PLAN_OBSERVERS_MAX + 1);
    for (size_t i = 0; i < plan->observer_count; i++) {
        draw_observer(plan, &plan->observers[i]);
    }
}

static void draw_nothing_else(run_plan *plan) {
    plan->fault_count = 0;
    plan->lost_before_ppm = 0;
    plan->lost_after_ppm = 0;
    plan->slow_ppm = 0;
    plan->strange_ppm = 0;
}

/* In half of the runs in which somebody does something to others, nothing else goes wrong: then
 * everybody must hear of it soon. */
static void draw_administrator(run_plan *plan) {
    plan->administered = plan->seed % ADMINISTERED_ONE_IN == 0;
    plan->breaks = plan->administered && one_in(2);
    plan->revokes = plan->administered && one_in(2);
    if ((plan->breaks || plan->revokes) && one_in(2)) {
        draw_nothing_else(plan);
    }
    for (size_t i = 0; i < plan->contender_count; i++) {
        plan->contenders[i].cooperates = plan->revokes && one_in(2);
        plan->contenders[i].revocable = plan->contenders[i].cooperates || one_in(4);
    }
    /* Where nothing at all goes wrong each request is counted. */
    plan->administered = plan->administered && !plan_is_calm(plan);
}

static void find_end_of_faults(run_plan *plan) {
    for (size_t i = 0; i < plan->fault_count; i++) {
        int32_t end_ms = plan->faults[i].at_ms + plan->faults[i].duration_ms;
        if (end_ms > plan->faults_end_ms) {
            plan->faults_end_ms = end_ms;
        }
    }
    for (size_t i = 0; i < plan->client_count; i++) {
        if (plan->clients[i].dies_at_ms > plan->faults_end_ms) {
            plan->faults_end_ms = plan->clients[i].dies_at_ms;
        }
    }
    plan->faults_end_ms += HEALED_AFTER_MS;
}

/* Among those that are not used any more, or shortly before. */
static int32_t draw_sequence_to_end(void) {
    int32_t unused = 1 << 20;
    return one_in(2) ? between(0, unused) : between(unused - 5, unused + 60);
}

static void draw_containers(run_plan *plan) {
    for (size_t i = 0; i < plan->client_count; i++) {
        plan->clients[i].containers = one_in(4);
    }
}

static void draw_faults_of(run_plan *plan, int32_t first, int32_t last, size_t count) {
    for (size_t i = 0; i < count && plan->fault_count > 0; i++) {
        plan_fault *fault = &plan->faults[plan->fault_count++];
        fault->kind = (plan_fault_kind)between(first, last);
        fault->at_ms = between(0, FAULTS_LAST_MS);
        fault->duration_ms = about(FAULTS_LAST_MS);
        fault->target = (uint32_t)zkl_world_random(UINT32_MAX);
        fault->choice = (uint32_t)zkl_world_random(UINT32_MAX);
    }
}

/* Of the clients' own machines. */
static void draw_machine_faults(run_plan *plan) {
    size_t count = one_in(4) ? (size_t)between(1, MACHINE_FAULTS_MAX) : 0;
    draw_faults_of(plan, COMMON_FAULT_KINDS, LAST_MACHINE_FAULT, count);
}

static void draw_moves(run_plan *plan) {
    size_t count = one_in(4) ? (size_t)between(1, MOVES_MAX) : 0;
    draw_faults_of(plan, LAST_MACHINE_FAULT + 1, PLAN_MOVE_SOME, count);
    plan->renames = one_in(8);
}

static void draw_strangers(run_plan *plan) {
    size_t count = one_in(4) ? (size_t)between(1, STRANGERS_MAX) : 0;
    draw_faults_of(plan, PLAN_MOVE_SOME + 1, (int32_t)PLAN_FAULT_KINDS - 1, count);
}

/* So that a few requests need another session. */
static void draw_small_sessions(run_plan *plan) {
    bool some = one_in(4);
    for (size_t i = 0; i < plan->client_count; i++) {
        plan->clients[i].watched_bytes_max = some && !one_in(4) ? between(600, 1500) : 0;
    }
}

static void draw_striped(const run_plan *plan, plan_set *set, unsigned flavour) {
    set->client = (unsigned)zkl_world_random(plan->client_count);
    set->stripes = plan->stripes;
    set->fail_on_session_expiry = one_in(4);
    set->max_hold_ms = one_in(6) ? between(50, 3000) : 0;
    set->asynchronous = one_in(2);
    set->turn_count = (size_t)between(1, PLAN_TURNS_MAX);
    for (size_t i = 0; i < set->turn_count; i++) {
        plan_turn *turn = &set->turns[i];
        draw_turn(turn, draw_mode(flavour));
        turn->close_after_ms = set->asynchronous && one_in(8) ? about(3000) : -1;
        turn->way = one_in(4) ? PLAN_ALL : one_in(2) ? PLAN_ANY : PLAN_BY_KEY;
        turn->key = (uint32_t)zkl_world_random(KEYS);
    }
}

/* The last to be drawn, for the same reason. */
static void draw_stripes(run_plan *plan) {
    if (!one_in(4)) {
        return;
    }
    unsigned flavour = (unsigned)zkl_world_random(3);
    plan->stripes = between(1, PLAN_SET_RESOURCES);
    for (size_t count = (size_t)between(1, STRIPED_LOCKS_MAX); count > 0; count--) {
        draw_striped(plan, &plan->sets[plan->set_count++], flavour);
    }
}

/* Where nothing at all goes wrong each request is counted: none there. */
static void draw_closer(run_plan *plan) {
    bool some = one_in(4) && !plan_is_calm(plan);
    plan->closer_client = some ? (int)zkl_world_random(plan->client_count) : -1;
}

/* Not creates where servers check early: whoever may not make a resource's node, and asks for that
 * among other requests, breaks the connection for all of them, again and again. */
static void draw_rights(run_plan *plan) {
    static const unsigned rights[] = { ZKL_RIGHT_READ, ZKL_RIGHT_CREATE, ZKL_RIGHT_DELETE };
    bool some = one_in(8);
    for (size_t i = 0; some && i < sizeof(rights) / sizeof(rights[0]); i++) {
        plan->withheld |= one_in(2) ? rights[i] : 0;
    }
    plan->checks_early = some && one_in(2);
    if (plan->checks_early) {
        plan->withheld &= ~(uint32_t)ZKL_RIGHT_CREATE;
    }
}

/* What they do not go with is left to others. */
static void borrow(plan_contender *contender) {
    contender->borrows = true;
    contender->priority = one_in(4) ? between(-1, 1) : 0;
    contender->permits = 0;
    contender->max_waiting = 0;
    for (size_t i = 0; i < contender->turn_count; i++) {
        contender->turns[i].changes = false;
    }
}

static void draw_lending(run_plan *plan) {
    bool some = one_in(3);
    bool all = one_in(2);
    plan->hand_offs = one_in(3) ? 0 : between(1, 4);
    plan->hand_off_ms = one_in(3) ? between(1, 5000) : 0;
    plan->retain_ms = plan->hand_offs == 0 || one_in(2) ? between(1, 20000) : 0;
    for (size_t i = 0; i < plan->contender_count && some; i++) {
        if (plan->contenders[i].permits == 0 && (all || one_in(2))) {
            borrow(&plan->contenders[i]);
        }
    }
}

/* What a naming does not go with: a latch has one mode and is not asked for, and kazoo's writers
 * stay writers. */
static void fit_naming(const run_plan *plan, plan_contender *contender) {
    zkl_naming naming = plan_naming(plan, contender);
    if (naming == ZKL_NAMING_LEADER_LATCH) {
        contender->revocable = false;
        contender->cooperates = false;
    }
    for (size_t i = 0; i < contender->turn_count && naming != ZKL_NAMING_CURATOR; i++) {
        plan_turn *turn = &contender->turns[i];
        turn->mode = naming == ZKL_NAMING_LEADER_LATCH ? ZKL_EXCLUSIVE : turn->mode;
        turn->changes = turn->changes && turn->mode == ZKL_READ;
    }
}

/* Drawn last, as are its strangers, so that the other plans stay as they were. */
static void draw_namings(run_plan *plan) {
    if (!one_in(6)) {
        return;
    }
    for (unsigned i = 0; i < plan->resource_count; i++) {
        plan->namings[i] = one_in(3) ? ZKL_NAMING_LEADER_LATCH : ZKL_NAMING_KAZOO;
    }
    for (size_t i = 0; i < plan->contender_count; i++) {
        fit_naming(plan, &plan->contenders[i]);
    }
    draw_faults_of(plan, PLAN_FOREIGN_NODE, PLAN_FOREIGN_NODE, (size_t)between(1, PEERS_MAX));
}

void plan_draw(run_plan *plan, uint64_t seed) {
    zkl_world_begin(seed ^ PLAN_STREAM);
    memset(plan, 0, sizeof(*plan));
    plan->seed = seed;
    plan->tick_ms = between(2, 10) * 50;
    plan->resource_count = one_in(3) ? PLAN_RESOURCES_MAX : 1;
    plan->client_count = (size_t)between(1, PLAN_CLIENTS_MAX);
    bool leases = one_in(2);
    for (size_t i = 0; i < plan->client_count; i++) {
        draw_client(plan, &plan->clients[i], leases);
    }
    unsigned flavour = (unsigned)zkl_world_random(3);
    plan->contender_count = (size_t)between(1, PLAN_CONTENDERS_MAX);
    for (size_t i = 0; i < plan->contender_count; i++) {
        draw_contender(plan, &plan->contenders[i], flavour);
    }
    draw_faults(plan);
    plan->first_sequence_to_end = one_in(50) ? draw_sequence_to_end() : -1;
    draw_early_ends(plan);
    draw_asynchronous(plan);
    draw_family(plan);
    draw_sets(plan, flavour);
    draw_containers(plan);
    draw_contended(plan);
    draw_election(plan);
    draw_administrator(plan);
    draw_machine_faults(plan);
    draw_small_sessions(plan);
    draw_stripes(plan);
    draw_closer(plan);
    draw_rights(plan);
    plan->closed = one_in(4);
    plan->refuses_digests = !plan->closed && one_in(8);
    plan->some_are_open = one_in(4);
    draw_moves(plan);
    plan->rotates = !plan->refuses_digests && one_in(8);
    draw_lending(plan);
    draw_strangers(plan);
    draw_namings(plan);
    find_end_of_faults(plan);
    zkl_world_end();
}

/* ---- What goes wrong ---------------------------------------------------------------- */

static bool loses_nothing(const run_plan *plan) {
    return plan->lost_before_ppm + plan->lost_after_ppm + plan->slow_ppm + plan->strange_ppm == 0 &&
           plan->first_sequence_to_end < 0 && !plan->rotates;
}

static bool nobody_dies(const run_plan *plan) {
    for (size_t i = 0; i < plan->client_count; i++) {
        if (plan->clients[i].dies_at_ms >= 0) {
            return false;
        }
    }
    return true;
}

/* Of the faults those of a set at most, a bit each; and no message is lost or late. */
static bool has_only(const run_plan *plan, unsigned kinds) {
    for (size_t i = 0; i < plan->fault_count; i++) {
        if (!plan->faults[i].left_out && (kinds >> plan->faults[i].kind & 1U) == 0) {
            return false;
        }
    }
    return loses_nothing(plan) && nobody_dies(plan);
}

/* Where a resource's node goes it cannot be made again, or cannot be deleted for another one. */
bool plan_lacks_rights(const run_plan *plan) {
    bool ends = plan->first_sequence_to_end >= 0;
    return ((plan->withheld & ZKL_RIGHT_CREATE) != 0 && !plan_is_calm(plan)) ||
           ((plan->withheld & ZKL_RIGHT_DELETE) != 0 && ends);
}

bool plan_is_calm(const run_plan *plan) {
    return has_only(plan, 0) && !plan->breaks && !plan->revokes;
}

/* A server that refuses by itself answers out of turn. */
static bool refusals_break_connections(const run_plan *plan) {
    return plan->checks_early && plan->fault_count > 0;
}

bool plan_is_by_hand(const run_plan *plan) {
    return has_only(plan, 1U << PLAN_DELETE_NODE | 1U << PLAN_FOREIGN_NODE |
                              1U << PLAN_DELETE_PARENT | 1U << PLAN_REPLACE_NODE) &&
           !refusals_break_connections(plan);
}

bool plan_is_answered(const run_plan *plan) {
    return has_only(plan, 1U << PLAN_REFUSE | 1U << PLAN_FOREIGN_NODE) &&
           !refusals_break_connections(plan);
}

size_t plan_queue_count(const run_plan *plan) {
    return plan->resource_count + (size_t)plan->stripes;
}

void plan_queue_path(const run_plan *plan, size_t number, char path[PLAN_QUEUE_PATH_SIZE]) {
    if (number < plan->resource_count) {
        snprintf(path, PLAN_QUEUE_PATH_SIZE, "/locks/resource-%zu", number);
    } else {
        snprintf(path, PLAN_QUEUE_PATH_SIZE, PLAN_STRIPED "/stripe-%04zu",
                 number - plan->resource_count);
    }
}

zkl_naming plan_naming(const run_plan *plan, const plan_contender *contender) {
    return contender->permits > 0 ? ZKL_NAMING_CURATOR : plan->namings[contender->resource];
}

zkl_naming plan_naming_of(const run_plan *plan, const char *path) {
    for (size_t i = 0; i < plan->resource_count; i++) {
        char resource[PLAN_QUEUE_PATH_SIZE];
        plan_queue_path(plan, i, resource);
        if (strcmp(resource, path) == 0) {
            return plan->namings[i];
        }
    }
    return ZKL_NAMING_CURATOR;
}

unsigned plan_most_permits(const run_plan *plan) {
    unsigned most = 1;
    for (size_t i = 0; i < plan->contender_count; i++) {
        most = plan->contenders[i].permits > most ? plan->contenders[i].permits : most;
    }
    return most;
}

/* ---- Parts ------------------------------------------------------------------------ */

size_t plan_part_count(const run_plan *plan) {
    size_t count = RATE_PARTS + ACTS_OF_OTHERS + plan->client_count + plan->set_count +
                   plan->candidate_count + plan->observer_count + plan->fault_count + 1;
    for (size_t i = 0; i < plan->contender_count; i++) {
        count += 1 + plan->contenders[i].turn_count;
    }
    return count;
}

static bool flip(bool *flag, bool left_out) {
    bool changes = *flag != left_out;
    *flag = left_out;
    return changes;
}

static bool reset(uint32_t *rate) {
    bool changes = *rate > 0;
    *rate = 0;
    return changes;
}

/* Rates, and early ends, cannot be taken in again: the caller keeps a copy. */
static bool leave_rate_out(run_plan *plan, size_t part) {
    uint32_t *const rates[RATE_PARTS] = { &plan->lost_before_ppm, &plan->lost_after_ppm,
                                          &plan->slow_ppm, &plan->strange_ppm, &plan->withheld };
    return reset(rates[part]);
}

static bool leave_early_end_out(plan_client *client) {
    bool changes = client->closes_at_ms >= 0 || client->dies_at_ms >= 0;
    client->closes_at_ms = -1;
    client->dies_at_ms = -1;
    return changes;
}

static bool leave_closer_out(run_plan *plan) {
    bool changes = plan->closer_client >= 0;
    plan->closer_client = -1;
    return changes;
}

bool plan_leave_out(run_plan *plan, size_t part, bool left_out) {
    if (part < RATE_PARTS) {
        return left_out && leave_rate_out(plan, part);
    }
    part -= RATE_PARTS;
    if (part < plan->client_count) {
        return left_out && leave_early_end_out(&plan->clients[part]);
    }
    part -= plan->client_count;
    if (part < plan->set_count) {
        return flip(&plan->sets[part].left_out, left_out);
    }
    part -= plan->set_count;
    if (part < plan->candidate_count) {
        return flip(&plan->candidates[part].left_out, left_out);
    }
    part -= plan->candidate_count;
    if (part < plan->observer_count) {
        return flip(&plan->observers[part].left_out, left_out);
    }
    part -= plan->observer_count;
    if (part < ACTS_OF_OTHERS) {
        bool *const acts[ACTS_OF_OTHERS] = { &plan->breaks, &plan->revokes };
        return left_out && flip(acts[part], false);
    }
    part -= ACTS_OF_OTHERS;
    for (size_t i = 0; i < plan->contender_count; i++) {
        plan_contender *contender = &plan->contenders[i];
        if (part == 0) {
            return flip(&contender->left_out, left_out);
        }
        part--;
        if (part < contender->turn_count) {
            return !contender->left_out && flip(&contender->turns[part].left_out, left_out);
        }
        part -= contender->turn_count;
    }
    if (part < plan->fault_count) {
        return flip(&plan->faults[part].left_out, left_out);
    }
    return left_out && leave_closer_out(plan);
}

/* ---- Text -------------------------------------------------------------------------- */

const char *plan_fault_name(plan_fault_kind kind) {
    static const char *const names[] = {
#define PLAN_FAULT_NAME(name, text) text,
        PLAN_FAULT_LIST(PLAN_FAULT_NAME)
#undef PLAN_FAULT_NAME
    };
    return kind < PLAN_FAULT_KINDS ? names[kind] : "unknown";
}

static void print_turn(const plan_turn *turn, FILE *file) {
    fprintf(file, "    rest %d ms, %s, timeout %" PRId64 " ms", (int)turn->rest_ms,
            zkl_lock_mode_name((int)turn->mode), turn->timeout_ms);
    if (turn->cancel_after_ms >= 0) {
        fprintf(file, ", cancelled after %d ms", (int)turn->cancel_after_ms);
    }
    if (turn->close_after_ms >= 0) {
        fprintf(file, ", closed after %d ms", (int)turn->close_after_ms);
    }
    fprintf(file, ", hold %d ms%s%s", (int)turn->hold_ms, turn->writes ? " and write" : "",
            turn->asks_servers ? ", asking the servers" : "");
    if (turn->changes) {
        fprintf(file, ", change the mode with %" PRId64 " ms", turn->downgrade_timeout_ms);
    }
    if (turn->closes) {
        fprintf(file, ", close\n");
    } else {
        fprintf(file, ", release with %" PRId64 " ms\n", turn->release_timeout_ms);
    }
}

static void print_client(const plan_client *client, size_t number, FILE *file) {
    fprintf(file, "  client %zu: session of %d ms, %s lease, clock %+d ppm%s", number,
            (int)client->session_timeout_ms, client->lease_tick_ms > 0 ? "with" : "no",
            (int)client->rate_ppm, client->dispatches ? ", dispatches" : "");
    if (client->containers) {
        fprintf(file, ", with containers");
    }
    if (client->watched_bytes_max > 0) {
        fprintf(file, ", watches %d bytes in each session", (int)client->watched_bytes_max);
    }
    if (client->closes_at_ms >= 0) {
        fprintf(file, ", closed at %d ms with %d ms", (int)client->closes_at_ms,
                (int)client->close_timeout_ms);
    }
    if (client->dies_at_ms >= 0) {
        fprintf(file, ", dies at %d ms", (int)client->dies_at_ms);
    }
    fputc('\n', file);
}

static void print_contender(const run_plan *plan, size_t number, FILE *file) {
    const plan_contender *contender = &plan->contenders[number];
    fprintf(file, "  contender %zu: client %u, resource %u%s%s%s%s", number, contender->client,
            contender->resource, contender->asynchronous ? ", asynchronous" : "",
            contender->reentrant ? ", reentrant" : "",
            contender->fail_on_session_expiry ? ", fails on expiry" : "",
            contender->tell_contended ? ", wants to hear of who waits" : "");
    fprintf(file, "%s", contender->cooperates ? ", cooperates" : "");
    fprintf(file, "%s", contender->revocable ? ", is revocable" : "");
    if (plan_naming(plan, contender) != ZKL_NAMING_CURATOR) {
        fprintf(file, ", with the names of %s",
                plan_naming(plan, contender) == ZKL_NAMING_KAZOO ? "kazoo" : "LeaderLatch");
    }
    if (contender->permits > 0) {
        fprintf(file, ", a permit of %u", contender->permits);
    }
    if (contender->max_waiting > 0) {
        fprintf(file, ", behind fewer than %u", contender->max_waiting);
    }
    if (contender->borrows) {
        fprintf(file, ", borrows (priority %d)", (int)contender->priority);
    }
    if (contender->max_hold_ms > 0) {
        fprintf(file, ", holds for %" PRId64 " ms at most", contender->max_hold_ms);
    }
    fputc('\n', file);
    for (size_t i = 0; i < contender->turn_count; i++) {
        if (!contender->turns[i].left_out) {
            print_turn(&contender->turns[i], file);
        }
    }
}

static void print_set(const plan_set *set, size_t number, FILE *file) {
    static const char *const ways[PLAN_WAYS] = { "by key", "any", "all" };
    fprintf(file, "  set-contender %zu: client %u, ", number, set->client);
    if (set->stripes > 0) {
        fprintf(file, "%d stripes", (int)set->stripes);
    } else {
        fprintf(file, "resources");
    }
    for (size_t i = 0; i < set->resource_count; i++) {
        fprintf(file, " %u (%s)", set->resources[i], zkl_lock_mode_name((int)set->modes[i]));
    }
    fprintf(file, "%s%s%s", set->asynchronous ? ", asynchronous" : "",
            set->hears_news ? ", hears news" : "",
            set->fail_on_session_expiry ? ", fails on expiry" : "");
    if (set->max_hold_ms > 0) {
        fprintf(file, ", holds for %" PRId64 " ms at most", set->max_hold_ms);
    }
    fputc('\n', file);
    for (size_t i = 0; i < set->turn_count; i++) {
        if (set->stripes > 0) {
            fprintf(file, "    %s (%u):\n", ways[set->turns[i].way], set->turns[i].key);
        }
        print_turn(&set->turns[i], file);
    }
}

static void print_candidate(const plan_candidate *candidate, size_t number, FILE *file) {
    fprintf(file, "  candidate %zu: client %u, resource %u%s%s%s\n", number, candidate->client,
            candidate->resource, candidate->asynchronous ? ", asynchronous" : "",
            candidate->resigns_when_lost ? ", resigns when it is told of a loss" : "",
            candidate->comes_back ? ", comes back when nothing goes wrong any more" : "");
    for (size_t i = 0; i < candidate->turn_count; i++) {
        print_turn(&candidate->turns[i], file);
    }
}

static void print_observer(const plan_observer *observer, size_t number, FILE *file) {
    fprintf(file, "  observer %zu: client %u, resource %u, opens after %d ms", number,
            observer->client, observer->resource, (int)observer->opens_after_ms);
    if (observer->follows_ms >= 0) {
        fprintf(file, ", anew after %d ms", (int)observer->follows_ms);
    }
    fprintf(file, "%s%s\n", observer->closes_itself ? ", closes itself" : "",
            observer->outlives_client ? ", is closed after its client" : "");
}

static void print_election(const run_plan *plan, FILE *file) {
    for (size_t i = 0; i < plan->candidate_count; i++) {
        if (!plan->candidates[i].left_out) {
            print_candidate(&plan->candidates[i], i, file);
        }
    }
    for (size_t i = 0; i < plan->observer_count; i++) {
        if (!plan->observers[i].left_out) {
            print_observer(&plan->observers[i], i, file);
        }
    }
}

const zkl_credential plan_credentials[] = {
    { sizeof(zkl_credential), "digest", "others:secret", sizeof("others:secret") - 1 },
    { sizeof(zkl_credential), "digest", "stock:secret", sizeof("stock:secret") - 1 },
    { sizeof(zkl_credential), "digest", "stock:\xc3\xa4", sizeof("stock:\xc3\xa4") - 1 },
};

void plan_introduce(const run_plan *plan, zkl_security *security) {
    if (plan->closed) {
        security->credentials = plan_credentials;
        security->credential_count = PLAN_CREDENTIALS;
        security->node_acl = ZKL_ACL_AUTHENTICATED;
        security->parent_acl = ZKL_ACL_AUTHENTICATED;
    }
}

void plan_print(const run_plan *plan, FILE *file) {
    fprintf(file, "plan of seed %" PRIu64 ": tick %d ms", plan->seed, (int)plan->tick_ms);
    if (plan->first_sequence_to_end >= 0) {
        fprintf(file, ", sequences from 2^31 - %d", (int)plan->first_sequence_to_end);
    }
    if (plan->closed) {
        fprintf(file, ", closed to strangers");
    }
    if (plan->refuses_digests) {
        fprintf(file, ", without digests");
    }
    if (plan->some_are_open) {
        fprintf(file, ", some clients protect nothing");
    }
    if (plan->renames) {
        fprintf(file, ", with new lists of hosts");
    }
    if (plan->rotates) {
        fprintf(file, ", with new credentials");
    }
    if (plan->withheld != 0) {
        fprintf(file, ", rights %u to the lock root withheld%s", plan->withheld,
                plan->checks_early ? " and checked early" : "");
    }
    fprintf(file,
            ", of a million lost before %u and after %u, slow %u, strange %u, healed after %d ms\n",
            plan->lost_before_ppm, plan->lost_after_ppm, plan->slow_ppm, plan->strange_ppm,
            (int)plan->faults_end_ms);
    for (size_t i = 0; i < plan->client_count; i++) {
        const plan_client *client = &plan->clients[i];
        print_client(client, i, file);
    }
    for (size_t i = 0; i < plan->contender_count; i++) {
        if (!plan->contenders[i].left_out) {
            print_contender(plan, i, file);
        }
    }
    for (size_t i = 0; i < plan->set_count; i++) {
        if (!plan->sets[i].left_out) {
            print_set(&plan->sets[i], i, file);
        }
    }
    print_election(plan, file);
    if (plan->closer_client >= 0) {
        fprintf(file, "  a handle of client %d is closed in the middle of its calls\n",
                plan->closer_client);
    }
    if (plan->administered) {
        fprintf(file, "  an administrator looks%s%s\n", plan->breaks ? ", breaks" : "",
                plan->revokes ? ", revokes" : "");
    }
    for (size_t i = 0; i < plan->fault_count; i++) {
        const plan_fault *fault = &plan->faults[i];
        if (!fault->left_out) {
            fprintf(file, "  at %d ms: %s for %d ms (target %u, choice %u)\n", (int)fault->at_ms,
                    plan_fault_name(fault->kind), (int)fault->duration_ms, fault->target,
                    fault->choice);
        }
    }
}
