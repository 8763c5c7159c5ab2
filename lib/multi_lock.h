/* A multi-lock handle, as the files that make up its functions see it. */
#ifndef ZKLOCK_MULTI_LOCK_INTERNAL_H
#define ZKLOCK_MULTI_LOCK_INTERNAL_H

#include "completion.h"
#include "lock_news.h"
#include "zklock/multi_lock.h"
#include "zookeeper/create_group.h"
#include "zookeeper/request_runner.h"

typedef enum multi_state {
    MULTI_IDLE,
    MULTI_ACQUIRING, /* a thread, or a callback, waits for the verdict */
    MULTI_HELD,
    MULTI_RELEASING /* a thread, or a callback, waits for the nodes to be gone */
} multi_state;

/** One of its resources. */
typedef struct multi_member {
    zkl_multi_lock *multi_lock;
    char *resource;
    char *path;
    zkl_contender_kind kind;
    zkl_request_runner *runner; /* of the attempt under way; NULL: its node is gone */
    bool granted;
} multi_member;

/* The second part belongs to the client's mutex; the first never changes. */
struct zkl_multi_lock {
    zkl_handle open; /* first */
    zkl_client *client;
    bool fail_on_session_expiry;
    int64_t max_hold_ms;
    zkl_class_metrics *metrics;
    zkl_lock_teller *teller; /* NULL: nobody is to be told */
    uint64_t id;
    size_t count;

    multi_state state;
    int64_t timeout_ms; /* of the acquire under way, */
    int64_t began_ms;
    bool has_owner;                     /* whom the application has named */
    char owner_text[ZKL_OWNER_MAX + 1]; /* and whose it is, for others to read */
    int failure; /* of the attempt: of the first member that failed; ZKL_OK: none has */
    char *why;   /* for people; NULL: there is no more to say than that */
    const char *why_resource;
    bool leaves; /* the attempt has failed: when its nodes are gone, it joins again */
    bool decided;
    int verdict;
    int64_t decided_ms;
    const struct zkl_lock_search *search; /* of a layer; NULL: none */
    int lost_reason;                      /* after the grant of all; ZKL_OK: none is lost */
    int64_t token;
    zkl_lock_message *last_news; /* for the news of a loss */
    int ended; /* how its requests did: ZKL_OK by a server's word, ZKL_CLOSED with their client,
                  ZKL_PENDING with a session that was given up before the servers end it */
    zkl_create_group *group;
    zkl_session *session;        /* of its members, and of its timer */
    zkl_timer timer;             /* of its next step, or for the end of a release */
    zkl_completion *completions; /* of asynchronous calls, until they are told */
    zkl_completion *pending;     /* the one that waits for the verdict, or the end */
    size_t threads;              /* inside a blocking call, or a callback of one of its calls */
    bool closing;
    pthread_cond_t changed;
    zkl_multi_lock *prev, *next; /* of the client's */
    multi_member members[];
};

/* ---- Acquire, in two parts: in between a thread waits, or nobody does. With the mutex held --- */

/** Whether the handle can begin an acquire now. */
int zkl_multi_lock_check_idle(const zkl_multi_lock *self);
/** ZKL_OK: it will be decided, or is. `by_thread`: the calling one acquires, and waits. */
int zkl_multi_lock_begin_acquire(zkl_multi_lock *self, int64_t timeout_ms, bool by_thread);
/** Once it is decided: what the caller is to be told, and if it holds the locks. NULL is fine. */
int zkl_multi_lock_end_acquire(zkl_multi_lock *self, zkl_multi_lock_grant *grant);

/** None of its requests could begin from this one on, counted from 0. */
void zkl_multi_lock_note_not_begun(const zkl_multi_lock *self, size_t begun, int status);

/** Ends the acquire that waits, if one does. */
void zkl_multi_lock_call_off(zkl_multi_lock *self);

/** The client is being closed: who waits is told so at once. */
void zkl_multi_locks_client_closes(zkl_multi_lock *all);

/* ---- Release, likewise ------------------------------------------------------------------- */

/** ZKL_OK, ZKL_LOST, or it is refused. */
int zkl_multi_lock_begin_release(zkl_multi_lock *self, bool *goes_on);
bool zkl_multi_lock_has_ended(const zkl_multi_lock *self);
/** So long, from now on, the pending completion waits for the end; ZKL_FOREVER: for ever. */
void zkl_multi_lock_limit_release(zkl_multi_lock *self, int64_t timeout_ms);
/** Of one that goes on: whether the nodes are gone. They are not waited for any longer. */
int zkl_multi_lock_end_release(zkl_multi_lock *self);
/** The handle is closed: releases what it holds, and waits for nothing. */
void zkl_multi_lock_leave_all(zkl_multi_lock *self);

/** Makes sure that the end of a lease, or of the time for which it may be held, is known. */
void zkl_multi_lock_look_at_clock(const zkl_multi_lock *self);

/* ---- Calls --------------------------------------------------------------------------------- */

int zkl_multi_lock_check_call(const zkl_multi_lock *self, int64_t timeout_ms);

/** Around a blocking call: close waits for it. */
void zkl_multi_lock_enter(zkl_multi_lock *self);
void zkl_multi_lock_leave(zkl_multi_lock *self);

#endif
