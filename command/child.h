/* The command's child: a process group of its own, and the terminal, if it is ours to give. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

#include "channel.h"
#include "job.h"

typedef struct child {
    pid_t pid;    /* and its group; 0: none runs */
    int terminal; /* a descriptor; -1: the terminal is not given to it */
} child;

/** Whether the shell has given us the terminal for us alone: not in the background, and not in the
 *  middle of a pipeline, whose other members need it. Returns a descriptor of it, or -1. */
int child_terminal(void);

/** Starts the command, with the signals as this process found them. Returns false if the system
 *  refused a process; errno says why. */
bool child_start(child *self, const job *what, const message *grant, const channel *link,
                 const sigset_t *signals_found);

/** What a shell would end with. */
int child_exit_status(int wait_status);

/** Gives the terminal to the child's group, or takes it back. */
void child_give_terminal(const child *self);
void child_take_terminal(const child *self);
