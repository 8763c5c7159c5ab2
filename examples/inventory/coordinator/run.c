#include "run.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../clock.h"
#include "../server.h"
#include "../store.h"
#include "progress.h"

enum { SERVERS_MAX = 32, WATCH_PERIOD_MS = 50, PATH_SIZE = 512, RESOURCE_SIZE = 96 };

struct run {
    struct run_plan plan;
    struct result *result;
    struct progress progress;
    int64_t deadline_ns;
    int timeout_s;
    bool interrupted;
    pid_t servers[SERVERS_MAX]; /* 0: has ended */
    int server_count;
    char directory[PATH_SIZE];
    char database[PATH_SIZE + sizeof("/stock.db")];
    char resource[RESOURCE_SIZE];
};

/* ---- Processes --------------------------------------------------------- */

/* The signals that end the program; children take them as usual. */
static sigset_t ending_signals(void) {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGHUP);
    return signals;
}

void run_block_signals(void) {
    sigset_t signals = ending_signals();
    sigprocmask(SIG_BLOCK, &signals, NULL);
}

/* A child must not outlive a coordinator that is killed. */
static void become_child(pid_t parent) {
    sigset_t signals = ending_signals();
    sigprocmask(SIG_UNBLOCK, &signals, NULL);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(1);
    }
}

/* Forks; in the child, returns 0. No client is ever opened in the parent. */
static pid_t fork_child(void) {
    pid_t parent = getpid();
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        become_child(parent);
    }
    return child;
}

static bool fork_server(struct run *run, int (*serve)(const struct run_plan *, int), int index) {
    pid_t child = fork_child();
    if (child == 0) {
        _exit(serve(&run->plan, index));
    }
    if (child < 0) {
        result_blame(run->result, "start a server: %s", strerror(errno));
        return false;
    }
    run->servers[index] = child;
    run->server_count = index + 1;
    return true;
}

static bool fork_servers(struct run *run) {
    for (int i = 0; i < run->plan.scenario->servers; i++) {
        if (!fork_server(run, server_run, i)) {
            return false;
        }
    }
    return true;
}

/* SIGKILL ends a stopped process too. */
static void kill_servers(struct run *run) {
    for (int i = 0; i < run->server_count; i++) {
        if (run->servers[i] != 0) {
            (void)kill(run->servers[i], SIGKILL);
            (void)waitpid(run->servers[i], NULL, 0);
            run->servers[i] = 0;
        }
    }
}

/* ---- Watching ---------------------------------------------------------- */

static void blame_end(struct run *run, int index, int status) {
    struct board *board = run->plan.board;
    /* Another server may just be writing the reason for which this one ended. */
    if (board->failures != 0 && gate_await(&board->failure_told, 1, WATCH_PERIOD_MS)) {
        result_blame(run->result, "%s", board->failure);
    } else if (WIFSIGNALED(status)) {
        result_blame(run->result, "server %d was killed by signal %d", index + 1, WTERMSIG(status));
    } else {
        result_blame(run->result, "server %d ended with status %d", index + 1, WEXITSTATUS(status));
    }
}

static bool reap_servers(struct run *run) {
    for (int i = 0; i < run->server_count; i++) {
        int status = 0;
        if (run->servers[i] == 0 || waitpid(run->servers[i], &status, WNOHANG) <= 0) {
            continue;
        }
        run->servers[i] = 0;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
            blame_end(run, i, status);
            return false;
        }
    }
    return true;
}

static bool is_interrupted(struct run *run) {
    sigset_t signals = ending_signals();
    struct timespec now = { 0 };
    int signal_number = sigtimedwait(&signals, NULL, &now);
    if (signal_number > 0) {
        run->interrupted = true;
        result_blame(run->result, "interrupted by signal %d", signal_number);
    }
    return run->interrupted;
}

/* Handles everything that can happen meanwhile; false when the run is over before its time. */
static bool watch(struct run *run) {
    progress_show(&run->progress);
    if (is_interrupted(run) || !reap_servers(run)) {
        return false;
    }
    if (clock_now_ns() >= run->deadline_ns) {
        result_blame(run->result, "not complete after %d s: ended", run->timeout_s);
        return false;
    }
    return true;
}

static bool watch_until(struct run *run, struct gate *gate, int count) {
    while (!gate_await(gate, (uint32_t)count, WATCH_PERIOD_MS)) {
        if (!watch(run)) {
            return false;
        }
    }
    return true;
}

static bool all_ended(const struct run *run) {
    for (int i = 0; i < run->server_count; i++) {
        if (run->servers[i] != 0) {
            return false;
        }
    }
    return true;
}

/* Blocks SIGCHLD while it looks, so that the end of a child after the look wakes the wait. */
static bool watch_until_ended(struct run *run) {
    sigset_t child_ended;
    sigset_t before;
    sigemptyset(&child_ended);
    sigaddset(&child_ended, SIGCHLD);
    sigprocmask(SIG_BLOCK, &child_ended, &before);
    bool well = watch(run);
    while (well && !all_ended(run)) {
        struct timespec period = { .tv_nsec = WATCH_PERIOD_MS * NS_PER_MS };
        (void)sigtimedwait(&child_ended, NULL, &period);
        well = watch(run);
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return well;
}

/* ---- The stopped holder ------------------------------------------------ */

static bool stop_process(struct run *run, pid_t process) {
    int status = 0;
    if (kill(process, SIGSTOP) == 0 && waitpid(process, &status, WUNTRACED) == process &&
        WIFSTOPPED(status)) {
        return true;
    }
    result_blame(run->result, "the holder could not be stopped");
    return false;
}

/* Stops the holder after its read, really, with all its threads, and resumes it when its successor
 * has read: its session has expired by then, or the successor would not have been granted. */
static bool pause_holder(struct run *run) {
    struct board *board = run->plan.board;
    pid_t holder = run->servers[0];
    if (!watch_until(run, &board->holder_read, 1) || !stop_process(run, holder)) {
        return false;
    }
    int64_t stopped_ns = clock_now_ns();
    gate_raise(&board->holder_stopped);
    if (!watch_until(run, &board->successor_read, 1)) {
        return false;
    }
    gate_raise(&board->holder_resumed);
    (void)kill(holder, SIGCONT);
    progress_note(&run->progress,
                  "process %ld was stopped for %.1f s as the holder; its session lasts %.1f s",
                  (long)holder, (double)(clock_now_ns() - stopped_ns) / (1000.0 * NS_PER_MS),
                  (double)board->session_timeout_ms / 1000.0);
    return true;
}

/* ---- A run ------------------------------------------------------------- */

static bool name_resource(struct run *run) {
    uint64_t random = 0;
    if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        result_blame(run->result, "get random numbers: %s", strerror(errno));
        return false;
    }
    (void)snprintf(run->resource, sizeof(run->resource), "inventory-%s-%016" PRIx64,
                   run->plan.scenario->name, random);
    run->plan.resource = run->resource;
    return true;
}

static bool make_store(struct run *run) {
    const char *parent = getenv("TMPDIR");
    int length = snprintf(run->directory, sizeof(run->directory), "%s/inventory-XXXXXX",
                          parent != NULL && parent[0] != '\0' ? parent : "/tmp");
    if (length >= (int)sizeof(run->directory) || mkdtemp(run->directory) == NULL) {
        result_blame(run->result, "make a directory %s: %s", run->directory, strerror(errno));
        run->directory[0] = '\0';
        return false;
    }
    (void)snprintf(run->database, sizeof(run->database), "%s/stock.db", run->directory);
    run->plan.database = run->database;
    if (store_create(run->database, run->plan.scenario->stock) != STORE_OK) {
        result_blame(run->result, "make the database %s", run->database);
        return false;
    }
    return true;
}

static void remove_store(const struct run *run) {
    static const char *const suffixes[] = { "", "-wal", "-shm", "-journal" };
    for (size_t i = 0; run->database[0] != '\0' && i < sizeof(suffixes) / sizeof(*suffixes); i++) {
        char path[sizeof(run->database) + sizeof("-journal")];
        (void)snprintf(path, sizeof(path), "%s%s", run->database, suffixes[i]);
        (void)unlink(path);
    }
    if (run->directory[0] != '\0') {
        (void)rmdir(run->directory);
    }
}

static bool prepare(struct run *run) {
    run->plan.board = board_make(run->plan.scenario);
    if (run->plan.board == NULL) {
        result_blame(run->result, "share memory: %s", strerror(errno));
        return false;
    }
    return name_resource(run) && make_store(run);
}

static bool sell(struct run *run) {
    const struct scenario *scenario = run->plan.scenario;
    struct board *board = run->plan.board;
    int threads = scenario->servers * (scenario->workers_per_server + scenario->readers_per_server);
    if (!fork_servers(run) || !watch_until(run, &board->ready, threads)) {
        return false;
    }
    board->started_ns = clock_now_ns();
    gate_raise(&board->start);
    if (scenario->pauses_holder && !pause_holder(run)) {
        return false;
    }
    return watch_until_ended(run);
}

static int audit_queue(const struct run_plan *plan, int index) {
    (void)index;
    return server_audit_queue(plan);
}

static bool audit(struct run *run) {
    if (run->plan.guard == GUARD_NONE) {
        return true;
    }
    run->server_count = 0;
    return fork_server(run, audit_queue, 0) && watch_until_ended(run);
}

bool run_scenario(const struct scenario *scenario, enum guard guard,
                  const struct run_options *options, struct result *result) {
    *result = (struct result){ .scenario = scenario, .guard = guard };
    struct run run = { .plan = { .scenario = scenario, .guard = guard, .hosts = options->hosts },
                       .result = result,
                       .timeout_s = options->timeout_s,
                       .deadline_ns =
                           clock_now_ns() + (int64_t)options->timeout_s * 1000 * NS_PER_MS };
    if (prepare(&run)) {
        progress_begin(&run.progress, &run.plan);
        if (sell(&run) && audit(&run)) {
            result_collect(result, &run.plan);
        }
        kill_servers(&run);
        progress_end(&run.progress, result);
    }
    remove_store(&run);
    board_free(run.plan.board);
    return !run.interrupted;
}

int run_check_hosts(const char *hosts) {
    pid_t child = fork_child();
    if (child == 0) {
        _exit(server_check_hosts(hosts));
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) {
        return 1;
    }
    return WEXITSTATUS(status);
}
