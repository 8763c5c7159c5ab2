/*
 * Two processes run a command under a lock.
 *
 * The front is the process that was started: it has the terminal and the signals, and is the parent
 * of the command's child. The holder has the session with the servers. It is a process of its own,
 * and in a process group of its own, so that the lock is kept while the shell stops the front and
 * the child (Ctrl-Z), and so that each of the two ends the child when the other one dies or stops.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <zklock/zklock.h>

typedef enum message_kind {
    /* Of the holder. */
    MESSAGE_CONNECTED, /* from now on something may be left at the servers */
    MESSAGE_GRANTED,
    MESSAGE_LOST,
    MESSAGE_ASKED_FOR, /* by somebody else; it is still held */
    MESSAGE_DONE,      /* nothing is held any more; `status` is what the command is to end with */
    /* Of the front. */
    MESSAGE_CANCEL,
    MESSAGE_ENDED /* the child has ended: release */
} message_kind;

typedef struct message {
    message_kind kind;
    int status; /* LOST: a zkl_status. DONE: EXIT_DONE, or why it was not as it should be */
    int64_t token;
    int32_t slot; /* -1: none */
    char node[ZKL_NODE_PATH_SIZE];
} message;

/** In memory of both processes. Times are of the clock of channel_now_ms. */
typedef struct shared {
    _Atomic int64_t safe_until_ms; /* nobody else can be granted the lock before */
    _Atomic bool is_limited;       /* that is by --max-hold, not by the lease */
    _Atomic int64_t grace_ms;      /* between SIGTERM and SIGKILL */
    _Atomic int64_t margin_ms;     /* how much earlier than safe_until_ms SIGKILL is sent */
    _Atomic pid_t group;           /* of the child; 0: none */
} shared;

typedef struct channel {
    shared *shared;
    int socket;
} channel;

/** Makes both ends. Returns whether the system allowed it; if not, errno says why. */
bool channel_open(channel *front, channel *holder);

/** Never blocks for long: the other end reads, or is dead. */
void channel_send(const channel *self, const message *what);

/** Returns false if nothing has come; *closed is set when nothing can come any more. */
bool channel_receive(const channel *self, message *what, bool *closed);

/** Milliseconds that go on while the machine sleeps, as the lease of the library does. */
int64_t channel_now_ms(void);

/** When SIGKILL is due of a command that is told to end now: after its grace, and a margin before
 *  anybody else can be granted the lock at the latest. */
int64_t channel_kill_at(const channel *self, int64_t now_ms);

/** When the holder sends it if the front has not: between the latest of that and safe_until_ms. */
int64_t channel_last_kill_at(const channel *self);

/** Sends a signal to all processes of the child's group, if there is one. */
void channel_signal_group(const channel *self, int number);
