#include "coordinator.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "teller.h"

enum { LOOK_EVERY_MS = 2, ENDED = 0 };

struct coordinator {
    const struct bank *bank;
    struct board *board;
    pid_t processes[PROCESSES_MAX]; /* ENDED: it is not running */
    int next_victim;
};

static void coordinator_start(struct coordinator *self, int index) {
    pid_t parent = getpid();
    atomic_store(&self->board->holders[index], 0);
    self->processes[index] = fork();
    if (self->processes[index] == -1) {
        board_fail(self->board, "fork: %s", strerror(errno));
        self->processes[index] = ENDED;
    } else if (self->processes[index] == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* so no child outlives the coordinator */
        _exit(getppid() == parent ? teller_run(self->bank, self->board, index) : EXIT_FAILURE);
    }
}

static void kill_one(struct coordinator *self, int index) {
    (void)kill(self->processes[index], SIGKILL);
    (void)waitpid(self->processes[index], NULL, 0);
    self->processes[index] = ENDED;
}

/* Kills a process that holds locks, and starts it again. False: none holds any. */
static bool kill_a_holder(struct coordinator *self) {
    for (int i = 0; i < self->bank->processes; i++) {
        int index = (self->next_victim + i) % self->bank->processes;
        bool holds = atomic_load(&self->board->holders[index]) > 0;
        if (self->processes[index] != ENDED && holds) {
            kill_one(self, index);
            coordinator_start(self, index);
            self->next_victim = index + 1;
            return true;
        }
    }
    return false;
}

/* Tells whether the next kill is due: kills are spread evenly over the first half of the work. */
static bool is_kill_due(const struct coordinator *self, int kills) {
    int decided = atomic_load(&self->board->decided);
    return kills < self->bank->kills &&
           decided >= (kills + 1) * bank_transfers(self->bank) / (self->bank->kills + 1) / 2;
}

static void coordinator_collect(struct coordinator *self) {
    for (int i = 0; i < self->bank->processes; i++) {
        int how = 0;
        if (self->processes[i] == ENDED || waitpid(self->processes[i], &how, WNOHANG) == 0) {
            continue;
        }
        self->processes[i] = ENDED;
        if (!WIFEXITED(how) || WEXITSTATUS(how) != EXIT_SUCCESS) {
            board_fail(self->board, "process %d has failed", i);
        }
    }
}

static bool all_ended(const struct coordinator *self) {
    for (int i = 0; i < self->bank->processes; i++) {
        if (self->processes[i] != ENDED) {
            return false;
        }
    }
    return true;
}

static void end_the_stuck(struct coordinator *self) {
    for (int i = 0; i < self->bank->processes; i++) {
        if (self->processes[i] != ENDED) {
            board_fail(self->board, "process %d has not finished within %d s", i,
                       self->bank->timeout_s);
            kill_one(self, i);
        }
    }
}

void coordinator_run(const struct bank *bank, struct board *board, struct course *course) {
    struct coordinator self = { .bank = bank, .board = board };
    int64_t began_ms = clock_now_ms();
    *course = (struct course){ .kills = 0 };
    for (int i = 0; i < bank->processes; i++) {
        coordinator_start(&self, i);
    }
    while (!all_ended(&self) && clock_now_ms() - began_ms < (int64_t)bank->timeout_s * 1000) {
        clock_pause_ms(LOOK_EVERY_MS);
        if (is_kill_due(&self, course->kills) && kill_a_holder(&self)) {
            course->kills++;
        }
        coordinator_collect(&self);
    }
    course->took_ms = clock_now_ms() - began_ms;
    course->all_ended = all_ended(&self);
    end_the_stuck(&self);
}
