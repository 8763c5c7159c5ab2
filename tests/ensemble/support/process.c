#include "support/process.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Longer than any command of a contender that can still answer. */
#define ANSWER_WITHIN_MS (3 * PATIENCE_MS)
#define ANSWER_SIZE (ZKL_NODE_PATH_SIZE + 64)

/* Close-on-exec: the next contender must not keep this one's pipe open. */
static void make_pipe(int ends[2]) {
    if (pipe2(ends, O_CLOEXEC) != 0) {
        give_up("no pipe");
    }
}

static void spawn(struct process *process, char *const *arguments) {
    int to[2];
    int from[2];
    make_pipe(to);
    make_pipe(from);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, from[1], STDOUT_FILENO);
    if (posix_spawn(&process->pid, arguments[0], &actions, NULL, arguments, environ) != 0) {
        give_up("cannot start %s", arguments[0]);
    }
    posix_spawn_file_actions_destroy(&actions);
    close(to[0]);
    close(from[1]);
    process->to = to[1];
    process->from = fdopen(from[0], "r");
    if (process->from == NULL) {
        give_up("no stream");
    }
}

static bool readable(struct process *process, int within_ms) {
    struct pollfd answer = { .fd = fileno(process->from), .events = POLLIN };
    return poll(&answer, 1, within_ms) == 1;
}

static void read_answer(struct process *process, char answer[ANSWER_SIZE]) {
    if (!readable(process, ANSWER_WITHIN_MS) || fgets(answer, ANSWER_SIZE, process->from) == NULL) {
        give_up("contender %d does not answer", (int)process->pid);
    }
}

static void be_introduced(struct process *process) {
    char answer[ANSWER_SIZE];
    read_answer(process, answer);
    int status;
    if (sscanf(answer, "%d %" SCNd64 " %" SCNd32, &status, &process->session_id,
               &process->session_timeout_ms) != 3 ||
        status != ZKL_OK) {
        give_up("contender %d answers %s", (int)process->pid, answer);
    }
}

void process_start(struct process *process, const struct process_options *options) {
    char program[] = CONTENDER_PROGRAM;
    char hosts[ZKL_HOSTS_MAX + 1];
    char timeout[16];
    char resource[ZKL_RESOURCE_MAX + 1];
    char fail_on_session_expiry[] = { options->fail_on_session_expiry ? '1' : '0', '\0' };
    char lease_tick[16];
    char permits[16];
    snprintf(hosts, sizeof hosts, "%s", options->hosts);
    snprintf(lease_tick, sizeof lease_tick, "%" PRId32, options->lease_tick_ms);
    snprintf(permits, sizeof permits, "%" PRId32, options->permits);
    snprintf(timeout, sizeof timeout, "%" PRId32, options->session_timeout_ms);
    snprintf(resource, sizeof resource, "%s", options->resource);
    spawn(process, (char *[]){ program, hosts, timeout, resource, fail_on_session_expiry,
                               lease_tick, permits, NULL });
    be_introduced(process);
}

void process_end(struct process *process) {
    close(process->to);
    waitpid(process->pid, NULL, 0);
    fclose(process->from);
}

void process_signal(struct process *process, int signal) {
    if (kill(process->pid, signal) != 0) {
        give_up("cannot signal contender %d", (int)process->pid);
    }
}

void process_tell(struct process *process, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (vdprintf(process->to, format, arguments) < 0) {
        give_up("contender %d is gone", (int)process->pid);
    }
    va_end(arguments);
}

int process_answer_grant(struct process *process, zkl_grant *grant) {
    char answer[ANSWER_SIZE];
    read_answer(process, answer);
    int status;
    *grant = (zkl_grant)ZKL_GRANT_INIT;
    _Static_assert(ZKL_NODE_PATH_SIZE == 1152, "the width in the format below");
    if (sscanf(answer, "%d %" SCNd64 " %1151s", &status, &grant->token, grant->node) < 1) {
        give_up("contender %d answers %s", (int)process->pid, answer);
    }
    return status;
}

int process_answer(struct process *process) {
    zkl_grant none;
    return process_answer_grant(process, &none);
}

bool process_has_answered(struct process *process) {
    return readable(process, 0);
}

int process_acquire(struct process *process, zkl_mode mode, int64_t timeout_ms, zkl_grant *grant) {
    process_tell(process, "acquire %d %" PRId64 "\n", (int)mode, timeout_ms);
    return process_answer_grant(process, grant);
}

int process_release(struct process *process) {
    process_tell(process, "release\n");
    return process_answer(process);
}

int process_check(struct process *process) {
    process_tell(process, "check\n");
    return process_answer(process);
}
