#include "support/death.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OUTPUT_SIZE = 65536 };

static void run_child(void (*function)(void), int output) {
    const struct rlimit no_core = { 0, 0 };
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)signal(SIGABRT, SIG_DFL);
    (void)dup2(output, STDERR_FILENO);
    function();
    _exit(0);
}

static void read_all(int from, char text[OUTPUT_SIZE]) {
    size_t used = 0;
    ssize_t got = 0;
    while (used < OUTPUT_SIZE - 1 && (got = read(from, text + used, OUTPUT_SIZE - 1 - used)) > 0) {
        used += (size_t)got;
    }
    text[used] = '\0';
}

void death_expect(void (*function)(void), const char *words, const char *file, int line) {
    int ends[2] = { -1, -1 };
    static char text[OUTPUT_SIZE];
    unit_check(pipe(ends) == 0, file, line, "a pipe");
    pid_t child = fork();
    if (child == 0) {
        run_child(function, ends[1]);
    }
    close(ends[1]);
    read_all(ends[0], text);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    unit_check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT, file, line,
               "it ends by abort (wait status %d): %s", status, text);
    unit_check(strstr(text, words) != NULL, file, line, "it says '%s', not: %s", words, text);
}
