/*
 * Two processes run a command under a lock.
 *
 * The front is the process that was started: it has the terminal and the signals, and is the parent
 * of the command's child. The holder has the session with the servers. It is a process of its own,
 * and in a process group of its own, so that it keeps the lock while the shell stops the front and
 * the child (Ctrl-Z), and so that either process ends the child when the other one dies or stops.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <zklock/zklock.h>

typedef enum message_kind {
    /* From the holder. */
    MESSAGE_CONNECTED, /* from now on the servers may have something of ours */
    MESSAGE_GRANTED,
    MESSAGE_LOST,
    MESSAGE_ASKED_FOR, /* somebody else has asked for the lock; it is still held */
    MESSAGE_DONE,      /* nothing is held any more */
    /* From the front. */
    MESSAGE_CANCEL,
    MESSAGE_ENDED /* the child has ended: release the lock */
} message_kind;

typedef struct message {
    message_kind kind;
    int status; /* LOST: a zkl_status. DONE: EXIT_DONE, or the exit status of what failed. ENDED:
                   that of the child */
    int64_t token;
    int32_t slot; /* -1: there is no semaphore */
    char node[ZKL_NODE_PATH_SIZE];
} message;

/** Memory that both processes share. Moments are those of channel_now_ms. */
typedef struct shared {
    _Atomic int64_t safe_until_ms; /* nobody else can be granted the lock before then */
    _Atomic bool is_limited;       /* --max-hold sets that moment, not the lease */
    _Atomic int64_t grace_ms;      /* between SIGTERM and SIGKILL; 0 with --on-lost kill */
    _Atomic int64_t margin_ms;     /* how much earlier than safe_until_ms SIGKILL is sent */
    _Atomic pid_t group;           /* the child's process group; 0: there is none */
} shared;

typedef struct channel {
    shared *shared;
    int socket;
} channel;

/** Makes both ends. False: the system refused it, and errno says why. */
bool channel_open(channel *front, channel *holder);

/** Sends a message. Never blocks for long: the other end reads, or is dead. */
void channel_send(const channel *self, const message *what);

/** Receives a message. False: none has come. *closed is set when none can come any more. */
bool channel_receive(const channel *self, message *what, bool *closed);

/** Returns milliseconds that go on while the machine sleeps, as the library's lease does. */
int64_t channel_now_ms(void);

/** Returns when the front sends SIGKILL to a command that gets SIGTERM now: after its grace, but no
 *  later than a margin before anybody else can be granted the lock. */
int64_t channel_kill_at(const channel *self, int64_t now_ms);

/** Returns when the holder sends SIGKILL if the front has not: between the latest moment of
 *  channel_kill_at and safe_until_ms. */
int64_t channel_last_kill_at(const channel *self);

/** Sends a signal to all processes of the child's group, if there is one. */
void channel_signal_group(const channel *self, int number);
