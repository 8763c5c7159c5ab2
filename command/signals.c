#include "signals.h"

#include <stddef.h>
#include <sys/signalfd.h>

static bool is_ignored(int number) {
    struct sigaction found;
    return sigaction(number, NULL, &found) == 0 && found.sa_handler == SIG_IGN;
}

int signals_take(signals_found *found) {
    const int taken[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP };
    sigset_t blocked;
    sigset_t read_set;
    found->children_ignored = is_ignored(SIGCHLD);
    signal(SIGCHLD, SIG_DFL);
    sigemptyset(&read_set);
    sigaddset(&read_set, SIGCHLD);
    sigaddset(&read_set, SIGCONT);
    for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
        if (!is_ignored(taken[i])) {
            sigaddset(&read_set, taken[i]);
        }
    }
    blocked = read_set;
    sigaddset(&blocked, SIGTTOU);
    sigaddset(&blocked, SIGPIPE);
    sigprocmask(SIG_BLOCK, &blocked, &found->blocked);
    return signalfd(-1, &read_set, SFD_CLOEXEC | SFD_NONBLOCK);
}

void signals_restore(const signals_found *found) {
    if (found->children_ignored) {
        signal(SIGCHLD, SIG_IGN);
    }
    sigprocmask(SIG_SETMASK, &found->blocked, NULL);
}

void signals_end_as_interrupted(void) {
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    signal(SIGINT, SIG_DFL);
    kill(0, SIGINT);
    sigprocmask(SIG_UNBLOCK, &interrupt, NULL);
}
