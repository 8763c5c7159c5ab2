/*
 * A lock handle over scripted operations: the test answers as ZooKeeper would. The client is a real
 * one, but its sessions have no threads and no server, and its timers fire when the test says so
 * (lock_desk.c stands in for session_threads.c at link time). The desk's contender, one thread from
 * beginning to end, makes the blocking calls; the test waits for its requests, never for a time. A
 * contender that hangs fails the test.
 */
#pragma once

#include "base/error_message.h"
#include "client/client.h"
#include "session/session_life.h"
#include "support/fake_operations.h"
#include "support/unit.h"

enum { DESK_SESSION_ID = 77, DESK_SESSION_TIMEOUT_MS = 10000, DESK_TOKEN = 4711 };

/** The node with which desk_hold holds the lock, after "#1-". */
#define DESK_NODE "lock-0000000003"

typedef struct lock_desk lock_desk;
/** A call that the contender makes. desk_join returns its status. */
typedef int desk_task(lock_desk *desk);

struct lock_desk {
    fake_operations fake;
    zkl_client *client;    /* NULL: closed */
    zkl_lock *lock;        /* on "stock"; NULL: closed */
    pthread_cond_t called; /* signalled when the fake was asked for something */
    zkl_mode mode;         /* that of desk_acquire */
    int64_t timeout_ms;    /* that of the task */
    zkl_grant grant;

    pthread_t contender;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    desk_task *task; /* the one under way; NULL: none is */
    bool leaving;
    int status;
    char message[ZKL_MESSAGE_SIZE]; /* the message that the task's call has left */
};

typedef struct desk_options {
    const zkl_lock_options *lock; /* NULL: the defaults */
    int32_t lease_tick_ms;
    zkl_log_callback *log_callback;
    void *log_arg;
    zkl_log_level log_level; /* 0: the default */
    bool metrics;
} desk_options;

/** Opens a desk, one at a time, whose client is connected. */
lock_desk *desk_open(const zkl_lock_options *options);
lock_desk *desk_open_with(const desk_options *options);
/** Opens a desk whose client has had no connection yet. */
lock_desk *desk_open_offline(const zkl_lock_options *options);
/** Closes what is still open. */
void desk_close(lock_desk *desk);
/** Closes the client, and leaves the handle. */
int desk_close_client(lock_desk *desk);

/** Locks, or unlocks, the client's mutex. */
void desk_enter(lock_desk *desk);
void desk_leave(lock_desk *desk);
/** Waits until so many requests wait for an answer, and locks the mutex. */
void desk_enter_at_calls(lock_desk *desk, size_t calls);

/** Reports a new state of the client's first session. */
void desk_tell(lock_desk *desk, zkl_session_state state);
/** Lets the session expire, and answers all requests under way so. */
void desk_expire(lock_desk *desk);
/** Moves the clock on, and fires the timers that are due. */
void desk_pass(lock_desk *desk, int64_t ms);
/** Moves the clock on without firing timers, as if the process had been stopped. */
void desk_stand_still(lock_desk *desk, int64_t ms);

/** Lets the contender make a call. */
void desk_begin(lock_desk *desk, desk_task *task, int64_t timeout_ms);
/** Waits for that call; zkl_error_message then returns its message. */
int desk_join(lock_desk *desk);
/** Begins a call and joins it, if it does not wait for the test. */
int desk_do(lock_desk *desk, desk_task *task, int64_t timeout_ms);

desk_task desk_acquire;
desk_task desk_release;

/** Answers the oldest create, or list. The caller holds the mutex. */
void desk_answer_create(lock_desk *desk, const char *rest, int64_t zxid);
void desk_answer_list(lock_desk *desk, const char *own_rest, const char *other);
/** Answers both, so that the lock is granted with DESK_NODE. */
void desk_grant(lock_desk *desk);
/** Lets the contender acquire the lock. */
void desk_hold(lock_desk *desk);
void desk_answer_remove(lock_desk *desk);

/** Compares what was asked for since the last time. The caller must not hold the mutex. */
#define DESK_HEARD(desk, expected)                                                                 \
    do {                                                                                           \
        desk_enter(desk);                                                                          \
        FAKE_HEARD(&(desk)->fake, (expected));                                                     \
        desk_leave(desk);                                                                          \
    } while (0)
void desk_forget_heard(lock_desk *desk);
