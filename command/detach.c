#include "detach.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static pid_t front_of_signals; /* where the handler passes signals on to */

/* Passes a signal on to the front. Others know this process by the node's data, and may signal it
 * to end the command. */
static void pass_on(int number) {
    if (getppid() == front_of_signals) {
        kill(front_of_signals, number);
    }
}

static void on_request_to_end(void (*handler)(int number)) {
    struct sigaction action = { .sa_handler = handler, .sa_flags = SA_RESTART };
    const int numbers[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        sigaction(numbers[i], &action, NULL);
    }
}

static void prepare_process(pid_t front) {
    front_of_signals = front;
    setpgid(0, 0);
    on_request_to_end(pass_on);
    struct sigaction ignoring = { .sa_handler = SIG_IGN };
    const int ignored[] = { SIGTSTP, SIGTTIN, SIGTTOU, SIGPIPE, SIGUSR1, SIGUSR2 };
    for (size_t i = 0; i < sizeof(ignored) / sizeof(ignored[0]); i++) {
        sigaction(ignored[i], &ignoring, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Puts /dev/null in the place of a descriptor: a reader of the command's output waits until its
 * last writer has closed, which must not be us. */
static void leave_file(int descriptor) {
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) { /* not `descriptor` itself, which main has kept in use */
        dup2(nowhere, descriptor);
        close(nowhere);
    }
}

/* Closes all descriptors that the front was started with: somebody may wait for the end of a pipe,
 * or for a flock. */
static void leave_other_files(int kept) {
    (void)close_range(STDERR_FILENO + 1, (unsigned)kept - 1, 0);
    (void)close_range((unsigned)kept + 1, UINT_MAX, 0);
}

void detach_begin(pid_t front, int kept) {
    prepare_process(front);
    leave_file(STDIN_FILENO);
    leave_file(STDOUT_FILENO);
    leave_other_files(kept);
}

void detach_complete(void) {
    leave_file(STDERR_FILENO);
    on_request_to_end(SIG_DFL);
}
