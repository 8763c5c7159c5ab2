/* A lock handle, as the files that make up its functions see it. */
#ifndef ZKLOCK_LOCK_H
#define ZKLOCK_LOCK_H

#include "client.h"
#include "lock_news.h"
#include "zookeeper/request_runner.h"

typedef enum lock_state {
    LOCK_IDLE,
    LOCK_ACQUIRING, /* a thread waits for the verdict */
    LOCK_HELD,
    LOCK_LOST,     /* was granted, then lost; until released */
    LOCK_RELEASING /* a thread waits for the node to be gone */
} lock_state;

/* The fields of the second part belong to the client's mutex; the first never change. */
struct zkl_lock {
    zkl_client *client;
    char *resource;
    char *path;
    bool fail_on_session_expiry;
    bool reentrant;
    int64_t max_hold_ms;
    char *owner_text; /* NULL: the thread that acquires */
    uint64_t id;
    zkl_lock_teller *teller; /* NULL: nobody is to be told */

    lock_state state;
    zkl_request_runner *runner; /* of the request under way; NULL when it has ended */
    bool decided;
    int verdict;
    bool lost; /* after the grant */
    int lost_reason;
    zkl_lock_message *last_news; /* for the news of a loss */
    uint64_t owner;              /* the thread that holds it */
    uint32_t holds;
    zkl_mode mode; /* of the grant, like what follows */
    int64_t token;
    int64_t granted_ms;
    int ended;      /* how its request did: ZKL_OK by a server's word, ZKL_CLOSED with its client,
                       ZKL_PENDING with a session that was given up before the servers end it */
    size_t threads; /* inside a blocking call on this handle */
    bool closing;
    pthread_cond_t changed;
};

/** What its request tells, with the mutex held. */
void zkl_lock_on_decided(void *arg, int status);
void zkl_lock_on_lost(void *arg, int status);
void zkl_lock_on_connection(void *arg, bool connected);
void zkl_lock_on_ended(void *arg);
void zkl_lock_on_revoke_requested(void *arg);

/** Hands an event to its request, if it has one. */
void zkl_lock_feed(zkl_lock *lock, zkl_event_kind kind, int status);
/** The request goes on without us until its node is gone. */
void zkl_lock_let_go(zkl_lock *lock);

/** Around a blocking call: close waits for it. */
void zkl_lock_enter(zkl_lock *lock);
void zkl_lock_leave(zkl_lock *lock);

/** Not NULL, and of this process. Before the client's mutex is taken. */
int zkl_lock_check_handle(const zkl_lock *lock);
/** Makes sure that the end of a lease, or of the time for which the lock may be
 *  held, is known: timers may be late, above all when this process was stopped. */
void zkl_lock_look_at_clock(const zkl_lock *lock);
/** Whether it was granted, and not yet released: held or lost. */
bool zkl_lock_is_granted(const zkl_lock *lock);
/** Whether the calling thread is the one that it was granted to. */
bool zkl_lock_is_owner(const zkl_lock *lock);

/* ---- For the trace of simulations ------------------------------------------------ */

/** Hears what the applications of all handles are told, with the client's mutex held. */
typedef struct zkl_lock_listener {
    /* A grant is SUSPECT, HELD again, or LOST for a reason; with or without a state callback. */
    void (*told)(const zkl_lock *lock, zkl_lock_state state, int reason);
    /* By a function that waited or could have; ZKL_OK of an acquire is a grant. */
    void (*returned)(const zkl_lock *lock, const char *function, int status);
} zkl_lock_listener;

/** NULL: nobody listens, as at the beginning. While no handle is open. */
void zkl_lock_listen(const zkl_lock_listener *whose);
/** Gives the status back. */
int zkl_lock_note_returned(const zkl_lock *lock, const char *function, int status);

#endif
