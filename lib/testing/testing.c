/* zklock/testing.h: the simulation as a whole, its time, tasks and processes. */
#include "testing/testing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "testing/world.h"
#include "zklock/testing.h"

enum { US_PER_MS = 1000, TICK_MIN_MS = 10, TICK_MAX_MS = 60000, LONGEST_ELECTION_MS = 60000 };

/* A task of the application. */
struct zkl_testing_task {
    void (*run)(void *arg);
    void *arg;
    zkl_task *task;
};

static struct {
    int64_t time_limit_ms;
    zkl_world_event time_limit;
    size_t running_tasks; /* that the test has started */
} simulation;

/* ---- Mistakes ----------------------------------------------------------------------- */

zkl_ensemble *zkl_testing_ensemble(const char *function) {
    zkl_ensemble *ensemble = zkl_ensemble_current();
    zkl_testing_insist(ensemble != NULL, function, "zkl_testing_begin comes first");
    zkl_world_insist_on_thread();
    return ensemble;
}

static bool has_leader(void *arg) {
    return zkl_ensemble_has_leader(arg);
}

zkl_ensemble *zkl_testing_led_ensemble(const char *function) {
    zkl_ensemble *ensemble = zkl_testing_ensemble(function);
    int64_t until_us = zkl_testing_moment_after(function, LONGEST_ELECTION_MS);
    zkl_testing_insist(zkl_testing_wait(has_leader, ensemble, until_us), function,
                       "the servers have no leader; start them first");
    return ensemble;
}

int64_t zkl_testing_to_us(const char *function, int64_t ms) {
    zkl_testing_insist(ms >= 0, function, "a duration must not be negative");
    return ms <= INT64_MAX / US_PER_MS ? ms * US_PER_MS : INT64_MAX;
}

int64_t zkl_testing_moment_after(const char *function, int64_t ms) {
    int64_t now_us = zkl_world_now_us();
    int64_t us = zkl_testing_to_us(function, ms);
    return us <= INT64_MAX - now_us ? now_us + us : INT64_MAX;
}

void zkl_testing_expectation_failed(const char *file, int line, const char *condition) {
    zkl_testing_fail("%s:%d: expected %s", file, line, condition);
}

/* ---- Beginning and end -------------------------------------------------------------- */

static void check_options(const char *function, const zkl_testing_options *options) {
    zkl_testing_insist(options->servers >= 1 && options->servers <= ZKL_SERVERS_MAX, function,
                       "servers must be from 1 to 9");
    zkl_testing_insist(options->tick_ms >= TICK_MIN_MS && options->tick_ms <= TICK_MAX_MS, function,
                       "tick_ms must be from 10 to 60000");
    zkl_testing_insist(options->time_limit_ms >= 1, function, "time_limit_ms must be at least 1");
}

static const zkl_testing_options defaults = {
    .seed = 1, .servers = 3, .tick_ms = 2000, .time_limit_ms = 3600000
};

/* Returns them with the defaults in the place of 0. */
static zkl_testing_options read_options(const char *function, const zkl_testing_options *given) {
    zkl_testing_options options = defaults;
    if (given == NULL) {
        return options;
    }
    zkl_testing_insist(given->struct_size == sizeof(*given), function,
                       "struct_size must be that of ZKL_TESTING_OPTIONS_INIT");
    options.seed = given->seed != 0 ? given->seed : options.seed;
    options.servers = given->servers != 0 ? given->servers : options.servers;
    options.tick_ms = given->tick_ms != 0 ? given->tick_ms : options.tick_ms;
    options.time_limit_ms =
        given->time_limit_ms != 0 ? given->time_limit_ms : options.time_limit_ms;
    check_options(function, &options);
    return options;
}

static void on_time_limit(void *arg) {
    (void)arg;
    zkl_testing_fail("the test is not over after time_limit_ms, %" PRId64
                     " ms: does somebody wait for ever? (%zu of its tasks have not ended)",
                     simulation.time_limit_ms, simulation.running_tasks);
}

static void begin(const zkl_testing_options *options) {
    zkl_testing_end();
    zkl_world_begin(options->seed);
    zkl_ensemble_options its = zkl_ensemble_defaults();
    its.servers = options->servers;
    its.tick_ms = options->tick_ms;
    its.hooks = zkl_testing_trace_hooks();
    (void)zkl_ensemble_begin(&its);
    simulation.running_tasks = 0;
    simulation.time_limit_ms = options->time_limit_ms;
    simulation.time_limit = (zkl_world_event){ .run = on_time_limit };
    zkl_world_schedule(&simulation.time_limit,
                       zkl_testing_moment_after("zkl_testing_begin", options->time_limit_ms));
    zkl_testing_trace_locks(true);
    zkl_testing_trace("test", "begins with seed %" PRIu64, options->seed);
}

void zkl_testing_begin(const zkl_testing_options *given) {
    zkl_testing_insist_on_linkage();
    const zkl_testing_options options = read_options("zkl_testing_begin", given);
    begin(&options);
}

void zkl_testing_end(void) {
    if (zkl_ensemble_current() == NULL) {
        return;
    }
    zkl_world_insist_on_thread();
    zkl_testing_insist(zkl_task_current() == NULL, "zkl_testing_end", "not from a task");
    zkl_testing_trace("test", "ends");
    zkl_testing_trace_locks(false);
    zkl_ensemble_end();
    zkl_world_end();
}

/* ---- Seeds -------------------------------------------------------------------------- */

static void run_seed(uint64_t seed, const zkl_testing_options *options, void (*test)(void *arg),
                     void *arg) {
    zkl_testing_options its = *options;
    its.seed = seed;
    begin(&its);
    test(arg);
    zkl_testing_end();
}

static uint64_t parse_seed(const char *text) {
    char *end = NULL;
    errno = 0;
    uint64_t seed = strtoull(text, &end, 10);
    zkl_testing_insist(text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0,
                       "ZKLOCK_TESTING_SEED", "must be a number from 0 to 2^64 - 1");
    return seed;
}

void zkl_testing_run_seeds(uint64_t first, uint64_t last, const zkl_testing_options *given,
                           void (*test)(void *arg), void *arg) {
    static const char function[] = "zkl_testing_run_seeds";
    zkl_testing_insist(test != NULL, function, "test must not be NULL");
    zkl_testing_insist(first <= last, function, "first must not be greater than last");
    zkl_testing_insist_on_linkage();
    const zkl_testing_options options = read_options(function, given);
    const char *only = getenv("ZKLOCK_TESTING_SEED");
    if (only != NULL) {
        uint64_t seed = parse_seed(only);
        zkl_testing_trace_to(stderr);
        run_seed(seed, &options, test, arg);
        zkl_testing_trace_to(NULL);
        return;
    }
    for (uint64_t seed = first;; seed++) {
        run_seed(seed, &options, test, arg);
        if (seed == last) {
            return;
        }
    }
}

uint64_t zkl_testing_seed(void) {
    (void)zkl_testing_ensemble("zkl_testing_seed");
    return zkl_world_seed();
}

uint64_t zkl_testing_random(uint64_t bound) {
    (void)zkl_testing_ensemble("zkl_testing_random");
    zkl_testing_insist(bound >= 1, "zkl_testing_random", "bound must be at least 1");
    return zkl_world_random(bound);
}

/* ---- Time --------------------------------------------------------------------------- */

int64_t zkl_testing_now_ms(void) {
    (void)zkl_testing_ensemble("zkl_testing_now_ms");
    return zkl_world_now_us() / US_PER_MS;
}

void zkl_testing_sleep(int64_t ms) {
    static const char function[] = "zkl_testing_sleep";
    (void)zkl_testing_ensemble(function);
    int64_t until_us = zkl_testing_moment_after(function, ms);
    do {
        zkl_world_wait_on(&simulation.time_limit, until_us);
    } while (zkl_world_now_us() < until_us);
}

bool zkl_testing_wait(bool (*is_so)(void *arg), void *arg, int64_t until_us) {
    while (!is_so(arg) && zkl_world_now_us() < until_us) {
        zkl_testing_sleep(1);
    }
    return is_so(arg);
}

typedef struct condition {
    int (*is_so)(void *arg);
    void *arg;
} condition;

static bool holds(void *arg) {
    const condition *its = arg;
    return its->is_so(its->arg) != 0;
}

int zkl_testing_wait_until(int (*is_so)(void *arg), void *arg, int64_t within_ms) {
    static const char function[] = "zkl_testing_wait_until";
    (void)zkl_testing_ensemble(function);
    zkl_testing_insist(is_so != NULL, function, "is_so must not be NULL");
    condition its = { is_so, arg };
    return zkl_testing_wait(holds, &its, zkl_testing_moment_after(function, within_ms));
}

typedef struct wanted_state {
    const zkl_lock *lock;
    zkl_lock_state state;
} wanted_state;

static bool is_in_state(void *arg) {
    const wanted_state *wanted = arg;
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    int status = zkl_lock_info(wanted->lock, &information);
    zkl_testing_insist(status == ZKL_OK, "zkl_testing_wait_for_state", zkl_strerror(status));
    return information.state == wanted->state;
}

int zkl_testing_wait_for_state(const zkl_lock *lock, zkl_lock_state state, int64_t within_ms) {
    static const char function[] = "zkl_testing_wait_for_state";
    (void)zkl_testing_ensemble(function);
    zkl_testing_insist(lock != NULL, function, "lock must not be NULL");
    wanted_state wanted = { lock, state };
    return zkl_testing_wait(is_in_state, &wanted, zkl_testing_moment_after(function, within_ms));
}

/* ---- Tasks -------------------------------------------------------------------------- */

static void *run_task(void *arg) {
    zkl_testing_task *task = arg;
    task->run(task->arg);
    simulation.running_tasks--;
    return NULL;
}

zkl_testing_task *zkl_testing_start(void (*run)(void *arg), void *arg) {
    (void)zkl_testing_ensemble("zkl_testing_start");
    zkl_testing_insist(run != NULL, "zkl_testing_start", "run must not be NULL");
    zkl_testing_task *task = zkl_world_allocate(sizeof(*task));
    task->run = run;
    task->arg = arg;
    task->task = zkl_task_start(run_task, task);
    simulation.running_tasks++;
    return task;
}

void zkl_testing_join(zkl_testing_task *task) {
    static const char function[] = "zkl_testing_join";
    (void)zkl_testing_ensemble(function);
    zkl_testing_insist(task != NULL, function, "task must not be NULL");
    zkl_testing_insist(task->task != zkl_task_current(), function, "a task cannot wait for itself");
    while (!zkl_task_has_ended(task->task)) {
        zkl_world_wait_on(task->task, INT64_MAX);
    }
}

int zkl_testing_has_ended(const zkl_testing_task *task) {
    (void)zkl_testing_ensemble("zkl_testing_has_ended");
    zkl_testing_insist(task != NULL, "zkl_testing_has_ended", "task must not be NULL");
    return zkl_task_has_ended(task->task);
}

bool zkl_testing_tasks_have_ended(void) {
    return simulation.running_tasks == 0;
}

/* ---- Processes ---------------------------------------------------------------------- */

zkl_testing_process *zkl_testing_process_make(void) {
    (void)zkl_testing_ensemble("zkl_testing_process_make");
    return (zkl_testing_process *)zkl_process_begin(0);
}

void zkl_testing_process_enter(zkl_testing_process *process) {
    (void)zkl_testing_ensemble("zkl_testing_process_enter");
    (void)zkl_process_enter(process != NULL ? (zkl_process *)process : zkl_process_first());
}

void zkl_testing_pause(zkl_testing_process *given, int64_t ms) {
    static const char function[] = "zkl_testing_pause";
    (void)zkl_testing_ensemble(function);
    zkl_process *process = given != NULL ? (zkl_process *)given : zkl_process_current();
    int64_t until_us = zkl_testing_moment_after(function, ms);
    zkl_testing_trace("FAULT", "process %" PRIu32 " is paused for %" PRId64 " ms",
                      zkl_process_number(process), ms);
    zkl_process_pause(process, until_us);
    if (process == zkl_process_current()) {
        zkl_testing_sleep(ms);
    }
}
