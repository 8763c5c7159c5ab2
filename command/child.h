/* The command's child: a process group of its own, and the terminal, if it is ours to give. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "channel.h"
#include "job.h"

/** How the signals of this process were when it was started. */
typedef struct signals_found {
    sigset_t blocked;
    bool children_ignored; /* SIGCHLD */
} signals_found;

typedef struct child {
    pid_t pid;         /* and its group; 0: none runs */
    int terminal;      /* a descriptor; -1: the terminal is not given to it */
    pid_t front_group; /* from which it is given */
} child;

/** Whether the terminal is ours to give: not in the background, and not in the middle of a
 *  pipeline, whose other members need it. Again whenever a shell lets us go on. */
void child_find_terminal(child *self);

/** In a process that is about to execute: the signals as this process found them. */
void child_restore_signals(const signals_found *found);

/** Starts the command, with the signals as this process found them. Returns false if the system
 *  refused a process; errno says why. */
bool child_start(child *self, const job *what, const message *grant, const channel *link,
                 const signals_found *found);

/** What a shell would end with. */
int child_exit_status(int wait_status);

/** Gives the terminal to the child's group, if the front's has it; takes it back, if the child's
 * has it. (A shell may have moved both to the background meanwhile.) */
void child_give_terminal(const child *self);
void child_take_terminal(const child *self);
