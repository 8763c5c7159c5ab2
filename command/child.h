/* The command's child. It has a process group of its own, and the terminal, if that is ours to
 * give. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "channel.h"
#include "job.h"

/** How the signals of this process were set when it was started. */
typedef struct signals_found {
    sigset_t blocked;
    bool children_ignored; /* SIGCHLD was ignored */
} signals_found;

typedef struct child {
    pid_t pid;         /* its process id, and its group's; 0: no child runs */
    int terminal;      /* the descriptor of the terminal; -1: the child does not get it */
    pid_t front_group; /* the group that gives the terminal away */
} child;

/** Finds out whether the terminal is ours to give: not in the background, nor in the middle of a
 *  pipeline, whose other members need it. It is called again whenever a shell lets us continue. */
void child_find_terminal(child *self);

/** Sets the signals as this process found them, in a process that is about to execute. */
void child_restore_signals(const signals_found *found);

/** Starts the command, with the signals as this process found them. False: the system refused a
 *  process, and errno says why. */
bool child_start(child *self, const job *what, const message *grant, const channel *link,
                 const signals_found *found);

/** Returns the exit status that a shell would give. */
int child_exit_status(int wait_status);

/** Gives the terminal to the child's group, if the front's group has it. (A shell may have moved
 *  both to the background meanwhile.) */
void child_give_terminal(const child *self);
/** Takes the terminal back, if the child's group has it. */
void child_take_terminal(const child *self);
