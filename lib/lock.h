/* A lock handle, as the files that make up its functions see it. */
#ifndef ZKLOCK_LOCK_H
#define ZKLOCK_LOCK_H

#include "client.h"
#include "lock_async.h"
#include "lock_news.h"
#include "zookeeper/request_runner.h"

typedef enum lock_state {
    LOCK_IDLE,
    LOCK_ACQUIRING, /* a thread, or a callback, waits for the verdict */
    LOCK_HELD,
    LOCK_LOST,     /* was granted, then lost; until released */
    LOCK_RELEASING /* a thread, or a callback, waits for the node to be gone */
} lock_state;

/** Who acquired: a thread that waited for it, or who says so in an asynchronous call. */
typedef struct zkl_lock_owner {
    uint64_t thread; /* 0: none */
    const void *token;
} zkl_lock_owner;

/* The fields of the second part belong to the client's mutex; the first never change. */
struct zkl_lock {
    zkl_handle open; /* first */
    zkl_client *client;
    char *resource;
    char *path;
    bool fail_on_session_expiry;
    bool reentrant;
    int64_t max_hold_ms;
    unsigned permits;     /* of the semaphore; 0: a lock */
    unsigned max_waiting; /* 0: any number */
    bool tell_contended;
    bool tell_granted; /* HELD at the grant as well: exactly once, before all else of it */
    char *owner_text;  /* NULL: the thread that acquires */
    uint64_t id;
    zkl_lock_teller *teller; /* NULL: nobody is to be told */
    int64_t try_within_ms;   /* how long a try may take; 0, ZKL_FOREVER: until it is answered */
    char *note;              /* in its nodes' data; NULL: none */
    zkl_class_metrics *metrics;

    lock_state state;
    zkl_request_runner *runner; /* of the request under way; NULL when it has ended */
    bool decided;
    int verdict;
    char *why; /* of the verdict, for people; NULL: there is no more to say */
    bool lost; /* after the grant */
    int lost_reason;
    zkl_lock_message *first_news; /* for the news of a grant */
    zkl_lock_message *last_news;  /* and of its loss */
    zkl_lock_owner owner;         /* that holds it, or acquires it */
    uint64_t grants;              /* so many so far; an upgrade is none */
    uint32_t holds;
    zkl_mode mode; /* of the grant, like what follows */
    int64_t token;
    int64_t granted_ms;
    int ended; /* how its request did: ZKL_OK by a server's word, ZKL_CLOSED with its client,
                  ZKL_PENDING with a session that was given up before the servers end it */
    zkl_completion *completions;  /* of asynchronous calls, until they are told */
    zkl_lock_completion *pending; /* the one that waits for the verdict, or the end */
    size_t threads; /* inside a blocking call on this handle, or a callback of one of its calls */
    struct zkl_commit *commits; /* transactions under way that its node guards */
    const bool *called_off;     /* no acquire begins while it is true; NULL: never */
    bool closing;
    bool changes;      /* a thread, or a callback, waits for another mode of what is held */
    bool changed_over; /* it is decided: */
    int change_status;
    int change_end; /* what was held is so no more, and why; ZKL_OK: it is, as far as is known */
    zkl_lock_completion *change_pending; /* the callback; NULL: a thread */
    zkl_request_runner *upgrade; /* the writer's request, until it takes the reader's place */
    pthread_cond_t changed;
};

/** What its request tells, with the mutex held. */
void zkl_lock_on_decided(void *arg, int status);
void zkl_lock_on_lost(void *arg, int status);
void zkl_lock_on_connection(void *arg, bool connected);
void zkl_lock_on_downgraded(void *arg, int status);
void zkl_lock_on_ended(void *arg);
void zkl_lock_on_revoke_requested(void *arg);
void zkl_lock_on_contended(void *arg);
/** All of these. */
zkl_request_owner zkl_lock_as_request_owner(zkl_lock *lock);

/** Hands an event to its request, if it has one. */
void zkl_lock_feed(zkl_lock *lock, zkl_event_kind kind, int status);
/** The request goes on without us until its node is gone. */
void zkl_lock_let_go(zkl_lock *lock);

/* ---- Acquire and release, in two parts: in between a thread waits, or nobody does -- */

/** The arguments. */
int zkl_lock_check_acquire(const zkl_lock *lock, zkl_mode mode, int64_t timeout_ms);
int zkl_lock_check_release(const zkl_lock *lock, int64_t timeout_ms);

/** Whether it is the owner of a reentrant handle who comes again. */
bool zkl_lock_is_acquired_again(const zkl_lock *lock, zkl_lock_owner owner);
int zkl_lock_acquire_again(zkl_lock *lock, zkl_mode mode, zkl_grant *grant);
/** Whether the handle can begin an acquire now. */
int zkl_lock_check_idle(const zkl_lock *lock);
/** ZKL_OK: it will be decided, or is. */
int zkl_lock_begin_acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, zkl_lock_owner owner);
/** Once it is decided: what the caller is to be told, and if it holds the lock. */
int zkl_lock_end_acquire(zkl_lock *lock, zkl_grant *grant);

/** Who acquires, or has, for others to read. */
void zkl_lock_write_owner(const zkl_lock *lock, char text[ZKL_OWNER_MAX + 1]);
/** NULL is fine. */
void zkl_lock_fill_grant(const zkl_lock *lock, zkl_grant *grant);
/** Of a hold that was acquired once more, and did not wait. */
void zkl_lock_fill_grant_again(const zkl_lock *lock, zkl_grant *grant);
/** Whether it becomes a reader, soon: a downgrade goes on, whether anybody waits for it or not. */
bool zkl_lock_is_downgrading(const zkl_lock *lock);
/** What is held is so no more, and why: whoever waits for another mode of it is told. */
void zkl_lock_end_change(zkl_lock *lock, int status);
/** The same, by a release: what waits for the other mode leaves the queue at once. Not inside of a
 *  request's step. */
void zkl_lock_withdraw_change(zkl_lock *lock);

/** ZKL_OK, ZKL_LOST, or it is refused. */
int zkl_lock_begin_release(zkl_lock *lock, zkl_lock_owner owner, bool *goes_on);
/** Of one that goes on: whether the node is gone. It is not waited for any longer. */
int zkl_lock_end_release(zkl_lock *lock);

/** The calling thread, as an owner. */
zkl_lock_owner zkl_lock_owner_is_thread(void);

/** Ends the acquire that waits, if one does, as zkl_lock_cancel. With the mutex held. */
void zkl_lock_call_off(zkl_lock *lock);

/** Around a blocking call: close waits for it. */
void zkl_lock_enter(zkl_lock *lock);
void zkl_lock_leave(zkl_lock *lock);

/** Not NULL, and of this process. Before the client's mutex is taken. */
int zkl_lock_check_handle(const zkl_lock *lock);
/** ZKL_OK: it is held, as far as is known here; ZKL_CLOSED, ZKL_LOST or ZKL_NOT_HELD. */
int zkl_lock_check_held(const zkl_lock *lock);
/** Makes sure that the end of a lease, or of the time for which the lock may be
 *  held, is known: timers may be late, above all when this process was stopped. */
void zkl_lock_look_at_clock(const zkl_lock *lock);
/** Whether it was granted, and not yet released: held or lost. */
bool zkl_lock_is_granted(const zkl_lock *lock);
/** Whether it was granted to that one. */
bool zkl_lock_is_owner(const zkl_lock *lock, zkl_lock_owner owner);

/* ---- For the trace of simulations ------------------------------------------------ */

/** Hears what the applications of all handles are told, with the client's mutex held. */
typedef struct zkl_lock_listener {
    /* A grant is SUSPECT, HELD again, or LOST for a reason; with or without a state callback. */
    void (*told)(const zkl_lock *lock, zkl_lock_state state, int reason);
    /* By a function that waited or could have; ZKL_OK of an acquire is a grant. Of an asynchronous
     * call: what its callback is told. */
    void (*returned)(const zkl_lock *lock, const char *function, int status);
} zkl_lock_listener;

/** NULL: nobody listens, as at the beginning. While no handle is open. */
void zkl_lock_listen(const zkl_lock_listener *whose);
/** Gives the status back. */
int zkl_lock_note_returned(const zkl_lock *lock, const char *function, int status);

#endif
