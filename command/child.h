/* The command's child. It has a process group of its own, and the terminal, if that is ours to
 * give. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "channel.h"
#include "job.h"
#include "signals.h"

typedef struct child {
    pid_t pid;         /* its process id, and its group's; 0: no child runs */
    int terminal;      /* the descriptor of the terminal; -1: the child does not get it */
    pid_t front_group; /* the group that gives the terminal away */
} child;

/** Finds out whether the terminal is ours to give: not in the background, nor in the middle of a
 *  pipeline, whose other members need it. It is called again whenever a shell lets us continue. */
void child_find_terminal(child *self);

/** Starts the command, with the signals as this process found them. False: the system refused a
 *  process, and errno says why. */
bool child_start(child *self, const job *what, const message *grant, const channel *link,
                 const signals_found *found);

/** Runs the line of --on-lost in the child's group: it has the same grace, and ends with the group.
 */
void child_run_on_lost_command(const child *self, const job *what, const signals_found *found);

/** Returns the exit status that a shell would give. */
int child_exit_status(int wait_status);

/** Gives the terminal to the child's group, if the front's group has it. (A shell may have moved
 *  both to the background meanwhile.) */
void child_give_terminal(const child *self);
/** Takes the terminal back, if the child's group has it. */
void child_take_terminal(const child *self);
/** Stops this process as the child has stopped, so that the shell sees it. The holder keeps the
 *  lock meanwhile. In a script that has the terminal the whole script stops, as it would without
 *  us. Elsewhere we do not stop, as nobody would let us continue. */
void child_stop_with(const child *self);
