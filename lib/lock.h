/* A lock handle, as the files that make up its functions see it. */
#ifndef ZKLOCK_LOCK_H
#define ZKLOCK_LOCK_H

#include "call.h"
#include "lock_news.h"
#include "zookeeper/request_runner.h"

typedef enum lock_state {
    LOCK_IDLE,
    LOCK_ACQUIRING, /* a call waits for the verdict */
    LOCK_HELD,
    LOCK_LOST,     /* was granted, then lost; until released */
    LOCK_RELEASING /* a call waits for the node to be gone */
} lock_state;

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
    zkl_calls calls;
    zkl_lock_call *pending;               /* the one that waits for the verdict, or the end */
    struct zkl_commit *commits;           /* transactions under way that its node guards */
    const struct zkl_lock_search *search; /* of a layer; NULL: none */
    bool changes;                         /* a call waits for another mode of what is held: */
    zkl_lock_call *change_call;
    bool changed_over; /* it is decided: */
    int change_status;
    int change_end; /* what was held is so no more, and why; ZKL_OK: it is, as far as is known */
    zkl_request_runner *upgrade; /* the writer's request, until it takes the reader's place */
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

/* ---- For the calls --------------------------------------------------------------------- */

/** Who acquires, or has, for others to read. */
void zkl_lock_write_owner(const zkl_lock *lock, char text[ZKL_OWNER_MAX + 1]);
/** Of what is held. */
void zkl_lock_fill_grant(const zkl_lock *lock, zkl_grant *grant);
/** Room for one, that the application has passed in; NULL is fine. */
int zkl_lock_check_grant(const zkl_grant *grant);
/** Into that room, if the call has obtained one. Gives the status back. */
int zkl_lock_hand_over(const zkl_lock_call *call, int status, zkl_grant *grant);
/** Whether it becomes a reader, soon: a downgrade goes on, whether anybody waits for it or not. */
bool zkl_lock_is_downgrading(const zkl_lock *lock);
/** What is held is so no more, and why: whoever waits for another mode of it is told. */
void zkl_lock_end_change(zkl_lock *lock, int status);
/** The same, by a release: what waits for the other mode leaves the queue at once. Not inside of a
 *  request's step. */
void zkl_lock_withdraw_change(zkl_lock *lock);

/** Ends the acquire that waits, if one does, as zkl_lock_cancel. With the mutex held. */
void zkl_lock_call_off(zkl_lock *lock);

/** ZKL_OK: it is held, as far as is known here; ZKL_CLOSED, ZKL_LOST or ZKL_NOT_HELD. */
int zkl_lock_check_held(const zkl_lock *lock);
/** Makes sure that the end of a lease, or of the time for which the lock may be
 *  held, is known: timers may be late, above all when this process was stopped. */
void zkl_lock_look_at_clock(const zkl_lock *lock);
/** Whether it was granted, and not yet released: held or lost. */
bool zkl_lock_is_granted(const zkl_lock *lock);
/** Whether it was granted to that one. */
bool zkl_lock_is_owner(const zkl_lock *lock, zkl_lock_owner owner);

#endif
