/*
 * A desk at which a lock handle is tried over scripted operations: the test
 * plays ZooKeeper. The client is a real one but for its service: sessions
 * without threads and without a server, whose timers fire when the test says so
 * (lock_desk.c stands in for session_threads.c at link time). Blocking calls are made by
 * the desk's contender, one thread from beginning to end; the test waits for
 * its requests, never for a time.
 */
#pragma once

#include "base/error_message.h"
#include "client/client.h"
#include "session/session_life.h"
#include "support/fake_operations.h"
#include "support/unit.h"

enum { DESK_SESSION_ID = 77, DESK_SESSION_TIMEOUT_MS = 10000, DESK_TOKEN = 4711 };

/** The node by which desk_hold holds the lock, after "#1-". */
#define DESK_NODE "lock-0000000003"

typedef struct lock_desk lock_desk;
/** A call that the contender makes; what it returns is desk_join's. */
typedef int desk_task(lock_desk *desk);

struct lock_desk {
    fake_operations fake;
    zkl_client *client;    /* NULL: closed */
    zkl_lock *lock;        /* on "stock"; NULL: closed */
    pthread_cond_t called; /* the fake was asked for something */
    zkl_mode mode;         /* of desk_acquire */
    int64_t timeout_ms;    /* of the task */
    zkl_grant grant;

    pthread_t contender;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    desk_task *task; /* under way */
    bool leaving;
    int status;
    char message[ZKL_MESSAGE_SIZE]; /* that the task has left */
};

typedef struct desk_options {
    const zkl_lock_options *lock; /* NULL: the defaults */
    int32_t lease_tick_ms;
    zkl_log_callback *log_callback;
    void *log_arg;
    zkl_log_level log_level; /* 0: the default */
    bool metrics;
} desk_options;

/** One desk at a time. */
lock_desk *desk_open(const zkl_lock_options *options);
lock_desk *desk_open_with(const desk_options *options);
/** The client has not had a connection yet. */
lock_desk *desk_open_offline(const zkl_lock_options *options);
/** Closes what is still open. */
void desk_close(lock_desk *desk);
/** Closes the client, and leaves the handle. */
int desk_close_client(lock_desk *desk);

/** Takes and leaves the client's mutex. */
void desk_enter(lock_desk *desk);
void desk_leave(lock_desk *desk);
/** Enters once so many requests wait for an answer. */
void desk_enter_at_calls(lock_desk *desk, size_t calls);

/** News of the connection of the client's first session. */
void desk_tell(lock_desk *desk, zkl_session_state state);
/** The session expires, and with it all requests under way. */
void desk_expire(lock_desk *desk);
/** The clock goes on, and timers fire. */
void desk_pass(lock_desk *desk, int64_t ms);
/** The clock goes on, and no timer fires: as in a process that was stopped. */
void desk_stand_still(lock_desk *desk, int64_t ms);

void desk_begin(lock_desk *desk, desk_task *task, int64_t timeout_ms);
int desk_join(lock_desk *desk); /* and what zkl_error_message says then */
/** Both, for calls that do not wait for the test. */
int desk_do(lock_desk *desk, desk_task *task, int64_t timeout_ms);

desk_task desk_acquire;
desk_task desk_release;

/** Answers to the oldest create and list, with the mutex held. */
void desk_answer_create(lock_desk *desk, const char *rest, int64_t zxid);
void desk_answer_list(lock_desk *desk, const char *own_rest, const char *other);
/** Both, so that the lock is granted by DESK_NODE. */
void desk_grant(lock_desk *desk);
/** The contender acquires the lock. */
void desk_hold(lock_desk *desk);
void desk_answer_remove(lock_desk *desk);

/** What was asked since the last time, without the mutex. */
#define DESK_HEARD(desk, expected)                                                                 \
    do {                                                                                           \
        desk_enter(desk);                                                                          \
        FAKE_HEARD(&(desk)->fake, (expected));                                                     \
        desk_leave(desk);                                                                          \
    } while (0)
void desk_forget_heard(lock_desk *desk);
