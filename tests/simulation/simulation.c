#include "simulation.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "administrator.h"
#include "base/threads.h"
#include "candidate.h"
#include "client/client.h"
#include "closer.h"
#include "contender.h"
#include "election_observer.h"
#include "faults.h"
#include "nodes.h"
#include "oracle.h"
#include "retries.h"
#include "set_contender.h"
#include "testing/ensemble.h"
#include "trace.h"

enum {
    US_PER_MS = 1000,
    US_PER_SECOND = 1000000,
    LOOK_EVERY_US = 50 * US_PER_MS,
    SERVERS = 3,
    RUNS_TO_JUDGE = 1000,  /* together */
    FINISH_WITHIN_S = 900, /* all turns, when nothing goes wrong any more */
    DELAYED_PPM = 300000,  /* of the dispatches of callbacks */
    CONTAINER_TICKS = 4,   /* where real servers look for empty ones each minute */
    DELAY_MAX_US = 2 * US_PER_MS,
    QUIET_WITHIN_TIMEOUTS = 6 /* of the longest session that there can be: 20 ticks */
};

/* One process with its client, and the task that opens and closes it. */
typedef struct client_run {
    const plan_client *plan;
    unsigned number;
    zkl_process *process;
    zkl_client *client;
    bool done; /* with all turns */
    bool may_close;
    bool closes; /* it is about to be closed, or is */
    bool is_closed;
    bool dispatcher_runs;
    bool dispatcher_ends; /* tells it to */
} client_run;

static struct {
    const run_plan *plan;
    client_run clients[PLAN_CLIENTS_MAX];
    zkl_process *processes[PLAN_CLIENTS_MAX];
    contender contenders[PLAN_CONTENDERS_MAX];
} run;

/* ---- The application ---------------------------------------------------------------- */

static void on_log(void *arg, const zkl_log_record *record) {
    const client_run *self = arg;
    if (self->is_closed) {
        oracle_violated("client %u logs, and is closed", self->number);
    }
    trace_event("log", "%u: %s %s %s%s%s %s", self->number, zkl_log_event_name((int)record->event),
                record->resource, record->node, record->behind[0] != '\0' ? " behind " : "",
                record->behind, record->status != ZKL_OK ? zkl_strerror(record->status) : "");
}

static void open_client(client_run *self) {
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    options.session_timeout_ms = self->plan->session_timeout_ms;
    options.lease_tick_ms = self->plan->lease_tick_ms;
    options.label = "simulation";
    options.metrics = 1;
    options.dispatch = self->plan->dispatches ? ZKL_DISPATCH_CALLER : ZKL_DISPATCH_THREAD;
    options.container_parents = self->plan->containers ? 1 : 0;
    options.security = &security;
    security.unprotected = run.plan->some_are_open && self->number % 2 == 1;
    plan_introduce(run.plan, &security);
    if (self->plan->logs) {
        options.log_callback = on_log;
        options.log_arg = self;
        options.log_level = ZKL_LOG_DEBUG;
    }
    while (zkl_client_open("server:2181", &options, &self->client) != ZKL_OK) {
        zkl_world_sleep_us(10 * (int64_t)US_PER_MS);
    }
    if (self->plan->watched_bytes_max > 0) {
        self->client->watched_bytes_max = (size_t)self->plan->watched_bytes_max;
    }
    oracle_client(self->number, self->client, self->process);
}

/* ---- Callbacks that the application runs itself ------------------------------------------ */

static bool is_readable(int descriptor) {
    struct pollfd one = { .fd = descriptor, .events = POLLIN };
    return poll(&one, 1, 0) == 1;
}

static void judge_descriptor(const client_run *self, int descriptor) {
    bool waits = self->client->callbacks->first != NULL;
    if (is_readable(descriptor) != waits) {
        oracle_violated("the descriptor of client %u is %s, and callbacks %s", self->number,
                        waits ? "not readable" : "readable", waits ? "wait" : "do not wait");
    }
}

/* A process that dies never closes its own. */
static int open_descriptor(const client_run *self) {
    int descriptor = -1;
    if (self->plan->dies_at_ms < 0 &&
        zkl_client_event_descriptor(self->client, &descriptor) != ZKL_OK) {
        oracle_violated("client %u has no descriptor", self->number);
    }
    return descriptor;
}

/* Where a program would poll the descriptor, it waits for what makes that readable. */
static void *dispatch(void *arg) {
    client_run *self = arg;
    int descriptor = open_descriptor(self);
    while (!self->dispatcher_ends) {
        if (self->client->callbacks->first == NULL) {
            zkl_world_wait_on(&self->client->callbacks->changed, INT64_MAX);
        }
        if (zkl_world_chance(DELAYED_PPM)) {
            zkl_world_sleep_us(zkl_world_random_between(0, DELAY_MAX_US));
        }
        if (descriptor >= 0) {
            judge_descriptor(self, descriptor);
        }
        (void)zkl_client_dispatch(self->client, NULL);
    }
    self->dispatcher_runs = false;
    zkl_world_wake_all(&self->dispatcher_runs);
    return NULL;
}

static void start_dispatcher(client_run *self) {
    if (self->plan->dispatches) {
        self->dispatcher_runs = true;
        (void)zkl_task_start(dispatch, self);
    }
}

/* No other task may dispatch when the client is closed. */
static void end_dispatcher(client_run *self) {
    if (self->dispatcher_runs) {
        self->dispatcher_ends = true;
        zkl_world_wake_all(&self->client->callbacks->changed);
        while (self->dispatcher_runs) {
            zkl_world_wait_on(&self->dispatcher_runs, INT64_MAX);
        }
    }
}

/* ---- Contenders and the close ------------------------------------------------------------ */

static void start_contenders(const client_run *self) {
    for (unsigned i = 0; i < run.plan->contender_count; i++) {
        const plan_contender *plan = &run.plan->contenders[i];
        if (plan->client != self->number || plan->left_out) {
            continue;
        }
        run.contenders[i] = (contender){
            .plan = plan,
            .run = run.plan,
            .number = i,
            .client = self->client,
            .process = self->process,
            .client_closes = &self->closes,
            .lends_a_hand = self->plan->dispatches && i % 2 == 1,
            .acquire_began_ms = -1,
        };
        (void)zkl_task_start(contender_run, &run.contenders[i]);
    }
    set_contenders_start(self->number, self->client, self->process, &self->closes);
    closer_start(self->number, self->client, &self->closes);
    candidates_start(self->number, self->client, self->process, &self->closes);
    election_observers_start(self->number, self->client, &self->closes);
}

static void wait_for_contenders(const client_run *self, int64_t until_us) {
    for (size_t i = 0; i < run.plan->contender_count; i++) {
        const contender *one = &run.contenders[i];
        while (one->plan != NULL && one->plan->client == self->number && !one->done &&
               zkl_world_now_us() < until_us) {
            zkl_world_wait_on(one, until_us);
        }
    }
    set_contenders_wait(self->number, until_us);
    closer_wait(self->number, until_us);
    candidates_wait(self->number, until_us);
}

static bool has_contenders(const client_run *self) {
    for (size_t i = 0; i < run.plan->contender_count; i++) {
        const contender *one = &run.contenders[i];
        if (one->plan != NULL && one->plan->client == self->number && !one->done) {
            return true;
        }
    }
    return !set_contenders_are_done(self->number) || !candidates_are_done(self->number) ||
           !closer_is_done(self->number);
}

static void close_client(client_run *self, int64_t timeout_ms) {
    election_observers_end(self->number, false);
    end_dispatcher(self);
    trace_event("client", "%u: close, timeout %" PRId64 " ms", self->number, timeout_ms);
    oracle_client_closes(self->number);
    set_contenders_client_closes(self->number);
    candidates_client_closes(self->number);
    self->closes = true;
    int64_t began_ms = zkl_clock_ms();
    int status = zkl_client_close(self->client, timeout_ms);
    self->is_closed = true;
    trace_event("client", "%u: closed: %s", self->number, zkl_strerror(status));
    oracle_client_closed(self->number, status, timeout_ms, zkl_clock_ms() - began_ms);
    election_observers_end(self->number, true);
}

static void *run_client(void *arg) {
    client_run *self = arg;
    open_client(self);
    start_dispatcher(self);
    start_contenders(self);
    if (self->plan->closes_at_ms >= 0) {
        wait_for_contenders(self, self->plan->closes_at_ms * (int64_t)US_PER_MS);
        if (has_contenders(self)) {
            close_client(self, self->plan->close_timeout_ms);
        }
    }
    wait_for_contenders(self, INT64_MAX);
    self->done = true;
    while (!self->may_close) {
        zkl_world_wait_on(&self->may_close, INT64_MAX);
    }
    if (!self->closes) {
        close_client(self, 1000);
    }
    return NULL;
}

/* ---- Servers -------------------------------------------------------------------------- */

static void begin_servers(void) {
    zkl_ensemble_options options = zkl_ensemble_defaults();
    options.servers = SERVERS;
    options.tick_ms = run.plan->tick_ms;
    options.container_ms = CONTAINER_TICKS * run.plan->tick_ms;
    options.rates.request_lost = run.plan->lost_before_ppm;
    options.rates.reply_lost = run.plan->lost_after_ppm / 2;
    options.rates.request_late = run.plan->lost_after_ppm / 2;
    options.rates.slow_message = run.plan->slow_ppm;
    options.rates.slow_commit = run.plan->slow_ppm;
    options.rates.slow_apply = run.plan->slow_ppm;
    options.rates.slow_delivery = run.plan->slow_ppm;
    options.rates.not_sent = run.plan->strange_ppm;
    options.rates.throttled = run.plan->strange_ppm;
    options.rates.connect_refused = run.plan->strange_ppm;
    options.rates.connection_mute = run.plan->strange_ppm;
    options.rates.news_repeated = run.plan->strange_ppm;
    options.checks_early = run.plan->checks_early;
    options.hooks = nodes_hooks();
    zkl_ensemble_refuse_digests(zkl_ensemble_begin(&options), run.plan->refuses_digests);
}

/* For the writes that locks guard. */
static void make_guarded_nodes(void) {
    for (unsigned i = 0; i < run.plan->resource_count; i++) {
        char path[64];
        snprintf(path, sizeof(path), "/guarded-%u", i);
        (void)zkl_ensemble_create(zkl_ensemble_current(), 0, path, NULL, false, false, NULL, 0);
    }
}

static void make_node(const char *path) {
    (void)zkl_ensemble_create(zkl_ensemble_current(), 0, path, NULL, false, false, NULL, 0);
}

static void make_queues(void) {
    make_node("/locks");
    make_node(PLAN_STRIPED);
    for (size_t i = 0; i < plan_queue_count(run.plan); i++) {
        char path[PLAN_QUEUE_PATH_SIZE];
        plan_queue_path(run.plan, i, path);
        make_node(path);
    }
}

/* As if the resources had seen nearly 2^31 requests. */
static void age_resources(void) {
    if (run.plan->first_sequence_to_end < 0) {
        return;
    }
    make_queues();
    for (size_t i = 0; i < plan_queue_count(run.plan); i++) {
        char path[PLAN_QUEUE_PATH_SIZE];
        plan_queue_path(run.plan, i, path);
        (void)zkl_ensemble_set_creates(zkl_ensemble_current(), path,
                                       INT32_MAX - run.plan->first_sequence_to_end);
    }
}

/* Another team's root, in which it has made our resources. */
static void withhold_rights(void) {
    if (run.plan->withheld == 0) {
        return;
    }
    make_queues();
    for (unsigned i = 0; i < PLAN_SET_RESOURCES; i++) {
        char path[PLAN_QUEUE_PATH_SIZE];
        snprintf(path, sizeof(path), "/locks/resource-%u", i);
        make_node(path);
    }
    zkl_ensemble_withhold(zkl_ensemble_current(), "/locks", run.plan->withheld, ZKL_FOREVER);
}

/* ---- The course of a run ----------------------------------------------------------------- */

static void start_clients(void) {
    for (unsigned i = 0; i < run.plan->client_count; i++) {
        client_run *self = &run.clients[i];
        self->plan = &run.plan->clients[i];
        self->number = i;
        self->process = zkl_process_begin(self->plan->rate_ppm);
        run.processes[i] = self->process;
        zkl_process *mine = zkl_process_enter(self->process);
        (void)zkl_task_start(run_client, self);
        (void)zkl_process_enter(mine);
    }
}

static bool all_done(void) {
    bool done = true;
    for (size_t i = 0; i < run.plan->client_count; i++) {
        done = done && (run.clients[i].done || faults_has_died(i));
    }
    return done;
}

static bool all_closed(void) {
    bool closed = true;
    for (size_t i = 0; i < run.plan->client_count; i++) {
        closed = closed && run.clients[i].is_closed;
    }
    return closed;
}

/* Lets time pass until something is so, or was not in time. */
static bool wait_until(bool (*is_so)(void), int64_t within_us) {
    int64_t until_us = zkl_world_now_us() + within_us;
    while (oracle_violation() == NULL && !is_so() && zkl_world_now_us() < until_us) {
        zkl_world_sleep_us(LOOK_EVERY_US);
        oracle_looks();
    }
    return is_so();
}

static void let_clients_close(void) {
    for (size_t i = 0; i < run.plan->client_count; i++) {
        run.clients[i].may_close = true;
        zkl_world_wake_all(&run.clients[i].may_close);
    }
}

static void name_the_stuck(void) {
    for (unsigned i = 0; i < run.plan->contender_count; i++) {
        const contender *one = &run.contenders[i];
        if (one->plan != NULL && !one->done && !faults_has_died(one->plan->client)) {
            oracle_violated("contender %u is stuck %s", i,
                            one->acquire_began_ms >= 0 ? "in an acquire" : "outside of an acquire");
        }
    }
    set_contenders_name_the_stuck();
    closer_name_the_stuck();
    candidates_name_the_stuck();
    oracle_violated("a client is stuck");
}

static int64_t quiet_us(void) {
    return QUIET_WITHIN_TIMEOUTS * 20 * (int64_t)US_PER_MS * run.plan->tick_ms;
}

static void let_all_finish(void) {
    if (!wait_until(all_done, FINISH_WITHIN_S * (int64_t)US_PER_SECOND)) {
        name_the_stuck();
    }
    (void)wait_until(nodes_are_gone, quiet_us());
    oracle_judge_quiescence();
}

/* Faults; then none, and everything must come to its end. */
static void run_its_course(void) {
    (void)wait_until(all_done, run.plan->faults_end_ms * (int64_t)US_PER_MS);
    faults_heal();
    administrator_stop();
    if (!wait_until(administrator_is_done, quiet_us())) {
        oracle_violated("the administrator is stuck");
    }
    let_all_finish();
    if (faults_revive_the_dead()) {
        let_all_finish();
    }
    let_clients_close();
    if (!wait_until(all_closed, quiet_us())) {
        oracle_violated("a client cannot be closed");
    }
}

static void count(simulation_counts *counts) {
    const zkl_ensemble *ensemble = zkl_ensemble_current();
    oracle_count(counts);
    counts->runs++;
    counts->virtual_seconds += (uint64_t)(zkl_world_now_us() / US_PER_SECOND);
    int64_t session_id;
    for (size_t i = 0; (session_id = zkl_ensemble_session_at(ensemble, i)) != 0; i++) {
        counts->sessions++;
        for (int kind = 0; kind < ZKL_CALL_PING; kind++) {
            counts->requests +=
                zkl_ensemble_request_count(ensemble, session_id, (zkl_call_kind)kind);
        }
    }
}

const char *simulation_run(const run_plan *plan, simulation_counts *counts) {
    memset(&run, 0, sizeof(run));
    run.plan = plan;
    zkl_world_begin(plan->seed);
    oracle_begin(plan);
    set_contenders_begin(plan);
    closer_begin(plan);
    candidates_begin(plan);
    election_observers_begin(plan);
    begin_servers();
    make_guarded_nodes();
    age_resources();
    withhold_rights();
    start_clients();
    administrator_begin(plan);
    faults_begin(plan, run.processes);
    run_its_course();
    if (counts != NULL) {
        count(counts);
    }
    faults_end();
    zkl_ensemble_end();
    oracle_end();
    zkl_world_end();
    return oracle_violation();
}

/* ---- Counts -----------------------------------------------------------------------------------
 */

void simulation_counts_add(simulation_counts *sum, const simulation_counts *one) {
    sum->runs += one->runs;
    sum->grants += one->grants;
    sum->sets += one->sets;
    sum->refusals += one->refusals;
    sum->losses += one->losses;
    sum->contended += one->contended;
    sum->waits += one->waits;
    sum->requests += one->requests;
    sum->sessions += one->sessions;
    sum->virtual_seconds += one->virtual_seconds;
    sum->pauses += one->pauses;
    sum->equal_pauses += one->equal_pauses;
}

/* Runs in which nothing happens prove nothing. */
static bool are_idle(const simulation_counts *counts) {
    return counts->grants < counts->runs || counts->waits < counts->runs ||
           counts->refusals < counts->runs || counts->losses < counts->runs / 10 ||
           counts->contended < counts->runs / 10 || counts->sets < counts->runs / 2;
}

const char *simulation_counts_judge(const simulation_counts *counts) {
    if (counts->runs >= RUNS_TO_JUDGE && are_idle(counts)) {
        return "hardly anything happens";
    }
    return retries_judge(counts);
}

void simulation_counts_print(const simulation_counts *counts, FILE *file) {
    fprintf(file,
            "%" PRIu64 " runs over %" PRIu64 " hours of virtual time: %" PRIu64
            " requests in %" PRIu64 " sessions, %" PRIu64 " grants (%" PRIu64
            " after a wait, %" PRIu64 " told that somebody waits), %" PRIu64
            " of sets or stripes, %" PRIu64 " refusals, %" PRIu64 " locks lost; %" PRIu64
            " pauses before retries, %" PRIu64 " as long as the one before\n",
            counts->runs, counts->virtual_seconds / 3600, counts->requests, counts->sessions,
            counts->grants, counts->waits, counts->contended, counts->sets, counts->refusals,
            counts->losses, counts->pauses, counts->equal_pauses);
}
