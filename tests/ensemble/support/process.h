/*
 * A contender in a process of its own: the program contender.c, which reads one command a line from
 * a pipe and answers each with one line. One command at a time.
 */
#pragma once

#include "support/contender.h"
#include "support/test.h"

#include <stdio.h>
#include <sys/types.h>

struct process {
    pid_t pid;
    int to;
    FILE *from;
    int64_t session_id;
    int32_t session_timeout_ms; /* as negotiated */
};

struct process_options {
    const char *hosts;
    const char *resource;
    int32_t session_timeout_ms;
    int fail_on_session_expiry;
    int32_t lease_tick_ms; /* 0: no lease */
    int32_t permits;       /* 0: a lock */
};

/** Ends the program where the contender cannot open its client. */
void process_start(struct process *process, const struct process_options *options);
/** The client is closed first, unless it was killed; returns when it is gone. */
void process_end(struct process *process);
/** SIGKILL, SIGSTOP or SIGCONT; after the first, process_end is still due. */
void process_signal(struct process *process, int signal);

/** Sends a command; its answer comes later. */
void process_tell(struct process *process, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/** Waits for the next answer: a status. */
int process_answer(struct process *process);
/** The same for an acquire, which gives the grant as well. */
int process_answer_grant(struct process *process, zkl_grant *grant);
/** Whether there is an answer to be read. */
bool process_has_answered(struct process *process);

int process_acquire(struct process *process, zkl_mode mode, int64_t timeout_ms, zkl_grant *grant);
int process_release(struct process *process);
int process_check(struct process *process);
