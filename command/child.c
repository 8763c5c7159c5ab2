#include "child.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exit_status.h"
#include "hold.h"
#include "say.h"

enum { NUMBER_SIZE = 24 };

void child_find_terminal(child *self) {
    bool is_terminal = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0;
    pid_t owner = is_terminal ? tcgetpgrp(STDIN_FILENO) : -1;
    bool is_given = self->pid != 0 && self->terminal >= 0 && owner == self->pid;
    self->front_group = getpgrp();
    self->terminal = owner == self->front_group || is_given ? STDIN_FILENO : -1;
}

/* Passes the terminal from one group to another, if the one has it. SIGTTOU is blocked in this
 * process, and in its child until it executes, so that neither is stopped because it is in the
 * background. */
static void pass_terminal(const child *self, pid_t from, pid_t to) {
    if (self->terminal >= 0 && tcgetpgrp(self->terminal) == from) {
        tcsetpgrp(self->terminal, to);
    }
}

void child_give_terminal(const child *self) {
    pass_terminal(self, self->front_group, self->pid);
}

void child_take_terminal(const child *self) {
    pass_terminal(self, self->pid, self->front_group);
}

/* Tells whether somebody will let us continue once we are stopped: our parent is a shell with job
 * control, in a group of its own. */
static bool has_job_control(void) {
    pid_t parent = getppid();
    return getsid(parent) == getsid(0) && getpgid(parent) != getpgrp();
}

void child_stop_with(const child *self) {
    child_take_terminal(self);
    if (has_job_control()) {
        raise(SIGSTOP);
    } else if (self->terminal >= 0) {
        kill(0, SIGTSTP);
    }
}

static void set_environment(const job *what, const message *grant) {
    char number[NUMBER_SIZE];
    setenv("ZKLOCK_RESOURCE", what->resources[0], 1);
    setenv("ZKLOCK_NODE", grant->node, 1);
    setenv("ZKLOCK_OWNER", what->owner, 1);
    snprintf(number, sizeof(number), "%" PRId64, grant->token);
    setenv("ZKLOCK_TOKEN", number, 1);
    if (grant->slot >= 0) {
        snprintf(number, sizeof(number), "%" PRId32, grant->slot);
        setenv("ZKLOCK_SLOT", number, 1);
    } else {
        unsetenv("ZKLOCK_SLOT");
    }
}

/* Executes the command in a group of its own, which the holder knows before anything can start in
 * it. */
static void child_execute(const child *self, const job *what, const message *grant,
                          const channel *link, pid_t front, const signals_found *found) {
    child own = *self;
    own.pid = getpid();
    setpgid(0, 0);
    link->shared->group = own.pid;
    child_give_terminal(&own);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != front) { /* the front had died before PR_SET_PDEATHSIG */
        _exit(EXIT_LOCK_LOST);
    }
    signals_restore(found);
    if (what->holds_only) {
        _exit(hold_until_end(grant));
    }
    set_environment(what, grant);
    execvp(what->command[0], what->command);
    int why = errno;
    say("%s: %s", what->command[0], strerror(why));
    _exit(why == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT_EXECUTE);
}

bool child_start(child *self, const job *what, const message *grant, const channel *link,
                 const signals_found *found) {
    pid_t front = getpid();
    pid_t pid = fork();
    if (pid < 0) {
        return false;
    }
    if (pid == 0) {
        child_execute(self, what, grant, link, front, found);
    }
    setpgid(pid, pid); /* both processes do it, as either may be first */
    self->pid = pid;
    link->shared->group = pid;
    return true;
}

void child_run_on_lost_command(const child *self, const job *what, const signals_found *found) {
    char pid[NUMBER_SIZE];
    pid_t runner = fork();
    if (runner > 0) {
        setpgid(runner, self->pid); /* both processes do it, as either may be first */
    } else if (runner == 0) {
        setpgid(0, self->pid);
        snprintf(pid, sizeof(pid), "%d", (int)self->pid);
        setenv("ZKLOCK_PID", pid, 1);
        setenv("ZKLOCK_RESOURCE", what->resources[0], 1);
        signals_restore(found);
        execl("/bin/sh", "sh", "-c", what->on_lost_command, (char *)NULL);
        _exit(EXIT_NOT_FOUND);
    }
}

int child_exit_status(int wait_status) {
    return WIFSIGNALED(wait_status) ? EXIT_BY_SIGNAL + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
}
