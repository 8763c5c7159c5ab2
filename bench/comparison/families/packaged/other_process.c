/*
 * A lock in another language: a process that the buyer starts, and that speaks lines.
 *
 *   it is started with    HOSTS BUYER TIMEOUT_MS FENCE behind its own command; FENCE 0: nobody
 * needs TOKEN it says               ready, or ready looks: it is asked whether it still holds,
 * before the write acquire PRODUCT MS    granted TOKEN (-1: it has none), busy, or unknown held
 * PRODUCT          yes or no release PRODUCT       released
 *
 * It is in the buyer's process group: a fault meets both.
 */
#include "../../mechanism.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_SIZE = 256 };

static FILE *questions;
static FILE *answers;
static bool looks;

static void fail(const char *what) {
    perror(what);
    exit(2);
}

/* The command's words are split by the shell. */
static void run_command(const lock_settings *settings) {
    char timeout_ms[32];
    (void)snprintf(timeout_ms, sizeof timeout_ms, "%" PRId64, settings->timeout_ms);
    execl("/bin/sh", "sh", "-c", "exec $COMPARISON_LOCK \"$@\"", "lock", settings->servers,
          settings->buyer, timeout_ms, settings->fence != 0 ? "1" : "0", (char *)NULL);
    fail("sh");
}

static void open_lock(const lock_settings *settings) {
    int down[2];
    int up[2];
    if (pipe(down) != 0 || pipe(up) != 0) {
        fail("pipe");
    }
    pid_t child = fork();
    if (child == 0) {
        dup2(down[0], STDIN_FILENO);
        dup2(up[1], STDOUT_FILENO);
        close(down[1]);
        close(up[0]);
        run_command(settings);
    }
    close(down[0]);
    close(up[1]);
    questions = fdopen(down[1], "w");
    answers = fdopen(up[0], "r");
    if (child < 0 || questions == NULL || answers == NULL) {
        fail("a lock in another language");
    }
    char line[LINE_SIZE];
    if (fgets(line, sizeof line, answers) == NULL || strncmp(line, "ready", 5) != 0) {
        (void)fprintf(stderr, "buyer: the lock in another language does not get ready\n");
        exit(2);
    }
    looks = strcmp(line, "ready looks\n") == 0;
}

__attribute__((format(printf, 2, 3))) static bool ask(char *line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    (void)vfprintf(questions, format, arguments);
    va_end(arguments);
    return fflush(questions) == 0 && fgets(line, LINE_SIZE, answers) != NULL;
}

static lock_answer acquire(const char *product, int64_t wait_ms, int64_t *token) {
    char line[LINE_SIZE];
    if (!ask(line, "acquire %s %" PRId64 "\n", product, wait_ms)) {
        exit(1); /* its process has ended: there is no lock any more */
    }
    if (sscanf(line, "granted %" SCNd64, token) == 1) {
        return LOCK_GRANTED;
    }
    return strcmp(line, "busy\n") == 0 ? LOCK_BUSY : LOCK_UNKNOWN;
}

static bool still_held(const char *product) {
    char line[LINE_SIZE];
    return !looks || (ask(line, "held %s\n", product) && strcmp(line, "yes\n") == 0);
}

static void release(const char *product) {
    char line[LINE_SIZE];
    (void)ask(line, "release %s\n", product);
}

const mechanism the_mechanism = {
    .open = open_lock, .acquire = acquire, .release = release, .still_held = still_held
};
