/*
 * simulation --from SEED --seeds N [--seconds S] [--workers W] [--brief]
 * simulation --seed S [--trace]
 *
 * Runs simulations, one for each seed, in as many processes as are asked for.
 * The first that goes wrong ends it: its plan is made smaller for as long as it
 * still goes wrong, and then run once more with a trace; --brief: it is only named. See
 * tests/simulation/run.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "oracle.h"
#include "plan.h"
#include "played_back.h"
#include "simulation.h"
#include "trace.h"

enum { WORKERS_MAX = 64, PROGRESS_EVERY_S = 15, VIOLATION_SIZE = 600, TRIAL_LIMIT_S = 120 };

typedef struct options {
    uint64_t from;
    uint64_t seeds;
    int64_t seconds; /* 0: no limit */
    int workers;
    bool one; /* --seed */
    bool brief;
    bool trace;
} options;

/* What the workers share. A seed is noted before it is run, so that it is known if the worker dies.
 */
typedef struct worker {
    _Atomic uint64_t seed;
    _Atomic uint64_t done;
    _Atomic bool failed;
    char violation[VIOLATION_SIZE];
    simulation_counts counts;
} worker;

static worker *workers;

/* ---- The command line ----------------------------------------------------------------- */

static void usage(void) {
    fputs("usage: simulation [--from SEED] --seeds N [--seconds S] [--workers W] [--brief]\n"
          "       simulation --seed S [--trace]\n",
          stderr);
    exit(2);
}

static uint64_t number(const char *option, const char *text) {
    char *end = NULL;
    unsigned long long value = text != NULL ? strtoull(text, &end, 10) : 0;
    if (text == NULL || end == text || *end != '\0' || text[0] == '-') {
        fprintf(stderr, "simulation: %s %s: must be a whole number\n", option,
                text != NULL ? text : "");
        exit(2);
    }
    return value;
}

static options parse(char **arguments) {
    options its = { .from = 1, .workers = 1 };
    for (char **next = arguments; *next != NULL; next++) {
        const char *option = *next;
        if (strcmp(option, "--trace") == 0) {
            its.trace = true;
            continue;
        }
        if (strcmp(option, "--brief") == 0) {
            its.brief = true;
            continue;
        }
        uint64_t value = number(option, next[1]);
        next++;
        if (strcmp(option, "--from") == 0) {
            its.from = value;
        } else if (strcmp(option, "--seeds") == 0) {
            its.seeds = value;
        } else if (strcmp(option, "--seconds") == 0) {
            its.seconds = (int64_t)value;
        } else if (strcmp(option, "--workers") == 0 && value >= 1 && value <= WORKERS_MAX) {
            its.workers = (int)value;
        } else if (strcmp(option, "--seed") == 0) {
            its.one = true;
            its.from = value;
        } else {
            usage();
        }
    }
    if (!its.one && its.seeds == 0) {
        its.seeds = its.seconds > 0 ? UINT64_MAX : 0;
    }
    if (!its.one && its.seeds == 0) {
        usage();
    }
    return its;
}

/* ---- One run -------------------------------------------------------------------------------- */

static void judge_record(const char *difference) {
    if (difference != NULL) {
        oracle_violated("a client's record does not play back: %s", difference);
    }
}

static bool has_allocation_faults(const run_plan *plan) {
    for (size_t i = 0; i < plan->fault_count; i++) {
        if (plan->faults[i].kind == PLAN_ALLOCATION && !plan->faults[i].left_out) {
            return true;
        }
    }
    return false;
}

/* Playing back allocates as the library does: not where that is made to fail. */
static const char *run_plan_once(const run_plan *plan, simulation_counts *counts) {
    played_back_begin(has_allocation_faults(plan) ? NULL : judge_record);
    return simulation_run(plan, counts);
}

/* ---- In a process of its own ------------------------------------------------------------------
 */

/* How a trial ended. Rules are told apart by the addresses of their texts, which a child shares. */
typedef struct outcome {
    int status; /* of its process; 0: it went well */
    const char *rule;
} outcome;

static const char **last_rule; /* shared with the children */

static bool is_same(const outcome *one, const outcome *other) {
    return one->status == other->status && one->rule == other->rule;
}

/* A run may crash, hang, or leave tasks behind. */
static outcome try_plan(const run_plan *plan, FILE *trace) {
    fflush(NULL);
    *last_rule = NULL;
    pid_t child = fork();
    if (child == 0) {
        alarm(TRIAL_LIMIT_S);
        trace_to(trace);
        if (trace == NULL) {
            (void)!freopen("/dev/null", "w", stderr);
        }
        const char *violation = run_plan_once(plan, NULL);
        if (trace != NULL) {
            fflush(trace);
        }
        *last_rule = oracle_violated_rule();
        _exit(violation != NULL);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("simulation");
        exit(1);
    }
    return (outcome){ status, status != 0 && WIFEXITED(status) ? *last_rule : NULL };
}

/* Leaves parts out, one after the other, for as long as it goes wrong in the same way. */
static void make_smaller(run_plan *plan, const outcome *wrong) {
    bool smaller = true;
    while (smaller) {
        smaller = false;
        for (size_t part = 0; part < plan_part_count(plan); part++) {
            run_plan trial = *plan;
            if (!plan_leave_out(&trial, part, true)) {
                continue;
            }
            outcome its = try_plan(&trial, NULL);
            if (is_same(&its, wrong)) {
                *plan = trial;
                smaller = true;
            }
        }
    }
}

static void explain(uint64_t seed) {
    run_plan plan;
    plan_draw(&plan, seed);
    outcome wrong = try_plan(&plan, NULL);
    if (wrong.status == 0) {
        printf("seed %" PRIu64 " alone goes well: the worker had a past\n", seed);
        return;
    }
    printf("made as small as it goes:\n");
    make_smaller(&plan, &wrong);
    plan_print(&plan, stdout);
    (void)try_plan(&plan, stdout);
}

static int run_one(const options *its) {
    run_plan plan;
    plan_draw(&plan, its->from);
    if (its->trace) {
        plan_print(&plan, stdout);
        trace_to(stdout);
    }
    const char *violation = run_plan_once(&plan, NULL);
    printf("seed %" PRIu64 ": %s\n", its->from, violation != NULL ? violation : "fine");
    return violation != NULL;
}

/* ---- Workers -------------------------------------------------------------------------------- */

static int64_t now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec;
}

static void work(worker *self, const options *its, int number_of_it, int64_t until_s) {
    for (uint64_t i = (uint64_t)number_of_it; i < its->seeds; i += (uint64_t)its->workers) {
        if (now_s() >= until_s) {
            break;
        }
        self->seed = its->from + i;
        run_plan plan;
        plan_draw(&plan, self->seed);
        alarm(TRIAL_LIMIT_S);
        const char *violation = run_plan_once(&plan, &self->counts);
        if (violation != NULL) {
            snprintf(self->violation, sizeof(self->violation), "%s", violation);
            self->failed = true;
            _exit(1);
        }
        self->done++;
    }
    exit(0); /* not _exit: there leaks are looked for, where a sanitizer does that */
}

static uint64_t count_done(const options *its) {
    uint64_t done = 0;
    for (int i = 0; i < its->workers; i++) {
        done += workers[i].done;
    }
    return done;
}

static void stop_workers(const options *its, const pid_t *pids) {
    for (int i = 0; i < its->workers; i++) {
        if (pids[i] > 0) {
            kill(pids[i], SIGKILL);
            waitpid(pids[i], NULL, 0);
        }
    }
}

static int report_failure(const options *its, const worker *failed, int status) {
    if (failed->failed) {
        printf("\nseed %" PRIu64 " goes wrong: %s\n", failed->seed, failed->violation);
    } else {
        printf("\nseed %" PRIu64 " ends its process: status %d, signal %d\n", failed->seed,
               WIFEXITED(status) ? WEXITSTATUS(status) : -1,
               WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    }
    if (its->brief) {
        return 1;
    }
    explain(failed->seed);
    printf("again: tests/simulation/run --seed %" PRIu64 " --trace\n", failed->seed);
    return 1;
}

static void report_progress(const options *its, int64_t began_s) {
    int64_t seconds = now_s() - began_s;
    uint64_t done = count_done(its);
    printf("%" PRIu64 " seeds in %" PRId64 " s, %" PRIu64 " a second\n", done, seconds,
           seconds > 0 ? done / (uint64_t)seconds : done);
    fflush(stdout);
}

static int report_counts(const options *its) {
    simulation_counts sum = { 0 };
    for (int i = 0; i < its->workers; i++) {
        simulation_counts_add(&sum, &workers[i].counts);
    }
    simulation_counts_print(&sum, stdout);
    const char *wrong = simulation_counts_judge(&sum);
    if (wrong != NULL) {
        printf("seeds from %" PRIu64 " together: %s\n", its->from, wrong);
    }
    return wrong != NULL;
}

static int run_many(const options *its) {
    int64_t began_s = now_s();
    int64_t until_s = its->seconds > 0 ? began_s + its->seconds : INT64_MAX;
    pid_t pids[WORKERS_MAX] = { 0 };
    fflush(NULL);
    for (int i = 0; i < its->workers; i++) {
        pids[i] = fork();
        if (pids[i] < 0) {
            perror("simulation");
            stop_workers(its, pids);
            return 1;
        }
        if (pids[i] == 0) {
            work(&workers[i], its, i, until_s);
        }
    }
    int64_t told_s = began_s;
    for (int left = its->workers; left > 0;) {
        int status = 0;
        pid_t ended = waitpid(-1, &status, WNOHANG);
        if (ended > 0) {
            left--;
            int which = 0;
            while (pids[which] != ended) {
                which++;
            }
            pids[which] = 0;
            if (status != 0) {
                stop_workers(its, pids);
                return report_failure(its, &workers[which], status);
            }
        } else {
            usleep(20000);
        }
        if (now_s() - told_s >= PROGRESS_EVERY_S) {
            told_s = now_s();
            report_progress(its, began_s);
        }
    }
    report_progress(its, began_s);
    if (its->seconds == 0 && count_done(its) != its->seeds) {
        printf("not all seeds were run\n");
        return 1;
    }
    return report_counts(its);
}

static void *share(size_t size) {
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("simulation");
        exit(1);
    }
    return memory;
}

int main(int count, char **arguments) {
    (void)count;
    options its = parse(arguments + 1);
    if (its.one) {
        return run_one(&its);
    }
    workers = share(sizeof(worker) * WORKERS_MAX);
    last_rule = share(sizeof(*last_rule));
    return run_many(&its);
}
