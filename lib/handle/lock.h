/* A lock handle: its parts, and what it is. Everything here runs with the client's mutex held. */
#pragma once

#include "base/pool.h"
#include "handle/lock_callback.h"
#include "recipe/set.h"
#include "session/create_group.h"
#include "session/request_runner.h"

typedef struct zkl_lock_call zkl_lock_call; /* call.h */

/* ---- Its parts ------------------------------------------------------------------------- */

/** The owner of a grant: the thread that waited for it, or the token of an asynchronous call. */
typedef struct zkl_lock_owner {
    uint64_t thread; /* 0: none */
    const void *token;
} zkl_lock_owner;

/** One of its resources. */
typedef struct lock_member {
    zkl_lock *lock;
    const char *resource;
    const char *path;
    zkl_mode mode;              /* the mode of a lock of one resource is that of each acquire */
    unsigned permits;           /* of its semaphore; 0: it is a lock */
    zkl_request_runner *runner; /* of the request under way; NULL when it has ended */
} lock_member;

/** What only the acquire of a set has. */
typedef struct lock_several {
    uint32_t recorded; /* its number in the record */
    zkl_create_group *group;
    zkl_timer turn; /* the next TURN of its set */
} lock_several;

/** The acquire under way, or the last. */
typedef struct lock_attempt {
    int verdict;         /* ZKL_PENDING: there is none yet */
    unsigned why_member; /* the member that `why` is about */
    char *why;           /* explains the verdict to people; NULL: the status says all */
    int64_t began_ms;
    int64_t local_number; /* that of its grant by a loan of its client; 0: nothing was lent to it */
    zkl_set set;
    lock_several *several; /* NULL: there is one resource */
    zkl_session *session;
} lock_attempt;

/** The last grant. */
typedef struct lock_grant {
    uint64_t number;      /* counts the grants; an upgrade does not count */
    zkl_lock_owner owner; /* the one that holds or acquires it */
    uint32_t holds;
    zkl_mode mode;
    int64_t token;
    int64_t granted_ms;
    int lost_reason;
    /* how its requests ended: ZKL_OK by a server's word, ZKL_CLOSED with their client, ZKL_PENDING
     * with a session that was given up before the servers end it */
    int end_status;
} lock_grant;

/** A change of the mode, under way or the last. */
typedef struct lock_change {
    zkl_lock_call *call; /* the call that waits for it; NULL: none is under way */
    int verdict;         /* ZKL_PENDING: there is none yet */
    /* ZKL_OK: the lock is held, as far as is known; else the status of calls that need it */
    int held_status;
    zkl_request_runner *upgrade; /* the writer's request, until it takes the reader's place */
} lock_change;

/** The events for which its state callback is yet to run: see lock_events.h. */
typedef struct zkl_lock_events {
    zkl_lock_callbacks owed;
    struct zkl_lock_message *for_grant, *for_loss; /* allocated in advance */
} zkl_lock_events;

/** Where the grants of a handle come from: requests of its own (lock_requests.c), or a node that
 *  its client lends it (loan.c). What a source reports becomes an event of the handle's set. */
typedef struct zkl_lock_source {
    /* Starts the attempt. `*begun`: how many of its members have begun, and so are counted; it
     * counts them also where a later one could not begin. */
    int (*start)(zkl_lock *lock, size_t *begun);
    /* Fails what waits, because its time is over. */
    void (*time_out)(zkl_lock *lock);
    /* Gives back what the handle holds; else calls its attempt off. */
    void (*leave)(zkl_lock *lock);
    /* Ends the wait because the client is being closed. NULL: the client sends the requests away
     * itself. */
    void (*close)(zkl_lock *lock);
    /* Returns when what has just been granted was, by the clock of the log. */
    int64_t (*granted_ms)(const zkl_lock *lock);
    const char *keeps_mode; /* why the mode of what is held cannot be changed; NULL: it can */
} zkl_lock_source;

/** What only a handle has that shares its nodes with others of its client: lender.h. */
typedef struct zkl_borrower {
    zkl_lock *lock;
    struct zkl_lender *lender;
    struct zkl_loan *loan; /* the loan that it holds or waits for; NULL: none */
    bool holds;            /* it holds the loan; false: it waits */
    struct zkl_borrower *prev, *next;
} zkl_borrower;

/* The first part never changes; the client's mutex guards the second. */
struct zkl_lock {
    zkl_handle open; /* first */
    zkl_client *client;
    zkl_request_origin *origin; /* what its requests have in common */
    unsigned count;             /* of its members */
    bool is_set;                /* opened with a mode for each of them */
    /* IDLE; ACQUIRING: a call waits for the verdict; HELD; LOST: the grant, or one resource of a
     * set, was lost, until the release; RELEASING: a call waits for the deletion of the nodes.
     * Never SUSPECT. */
    zkl_lock_state state : 8;

    const zkl_lock_source *source; /* where the attempt gets its grant */
    lock_attempt attempt;
    lock_grant grant;
    lock_change change;
    zkl_lock_events *events; /* NULL: there is no state callback */
    zkl_lock_callbacks calls;
    zkl_lock_call *pending; /* the call that waits for the verdict, or for the end of the release */
    zkl_transaction *commits;       /* under way */
    struct zkl_lock_search *search; /* the search of a layer that it belongs to; NULL: none */
    zkl_close_listener close_listener;
    struct zkl_borrower *borrower; /* NULL: it always makes a node of its own */
    lock_member members[];
};

/* ---- What it is ------------------------------------------------------------------------ */

/** Returns ZKL_OK if the lock is held, as far as is known; else ZKL_CLOSED, ZKL_LOST or
 *  ZKL_NOT_HELD. */
int zkl_lock_check_held(const zkl_lock *lock);
/** Notes the end of a lease, or of max_hold_ms, if it has passed: timers may be late, above all
 * when the process was stopped. */
void zkl_lock_look_at_clock(const zkl_lock *lock);
/** Tells whether the lock was granted and is not yet released: it is held, or lost. */
bool zkl_lock_is_granted(const zkl_lock *lock);
/** Tells whether the handle is reentrant, and its grant belongs to another owner. */
bool zkl_lock_is_of_other(const zkl_lock *lock, zkl_lock_owner owner);
/** Tells whether an acquire waits for its verdict. */
bool zkl_lock_waits(const zkl_lock *lock);
/** Tells whether a downgrade is under way. It goes on even if no call waits for it. */
bool zkl_lock_is_downgrading(const zkl_lock *lock);
/** Tells whether all requests of the handle have ended. */
bool zkl_lock_has_ended(const zkl_lock *lock);

/** Fills in the grant that is held. NULL: nobody asks for it. */
void zkl_lock_fill_grant(const zkl_lock *lock, zkl_grant *grant);
/** Returns the facts of a member for telemetry.h. Its request may have ended, or belong to a loan.
 *  is_granted: they tell how long the grant took, and how long it has been held; else how long the
 *  member has waited. */
zkl_request_facts zkl_lock_facts(const lock_member *member, bool is_granted);
/** Logs and counts that an acquire could not begin for the members from `first` on. */
void zkl_lock_note_not_begun(const zkl_lock *lock, size_t first, int status);

/* ---- An attempt: lock_attempt.c ------------------------------------------------------------- */

/** Begins an attempt. ZKL_OK: its verdict will come, or has come already. */
int zkl_lock_begin_attempt(zkl_lock *lock, bool only_try);
/** Ends the acquire because its time is over: its verdict comes soon, if it has none. */
void zkl_lock_time_out(zkl_lock *lock);
/** Cancels the acquire that waits, if there is one. */
void zkl_lock_call_off(zkl_lock *lock);
/** Begins the hold: an acquire that was granted returns, and the lock is held from now on. */
void zkl_lock_begin_hold(zkl_lock *lock);
/** Puts the writer's request, which was granted, in the place of the reader's, which is
 *  released. */
void zkl_lock_take_writer(zkl_lock *lock);
/** Ends the calls that need the lock, because it is no longer held: a change of its mode, and
 *  commits and verifications that were not sent. Their status is ZKL_CLOSED if the client is
 *  closed, else this one. */
void zkl_lock_end_calls(zkl_lock *lock, int status);

/** Takes news of a member from its source. `arg`: the member. */
void zkl_lock_on_news(void *arg, zkl_request_news news, int status);
/** Fails the acquire that waits, for its source, where no request has failed. */
void zkl_lock_fail(zkl_lock *lock, int status);

/* ---- Requests of its own: lock_requests.c --------------------------------------------------- */

extern const zkl_lock_source zkl_lock_requests;

/** Starts a request of a member, as zkl_request_runner_start does. The caller fills in those
 *  options that are not the same for all requests of the handle. */
int zkl_lock_start_request(const lock_member *member, zkl_session *session,
                           const zkl_request_options *wanted, zkl_run_options *options,
                           zkl_request_runner **runner);
/** Lets a request leave, which continues on its own: *runner is NULL then. It may be NULL
 *  before. */
void zkl_lock_dismiss(zkl_request_runner **runner);
/** Leaves the requests to themselves until their nodes are gone. */
void zkl_lock_let_go(zkl_lock *lock);

/* ---- The end ----------------------------------------------------------------------------------
 */

/** Ends an acquire that waits, at once, because the client is being closed. */
void zkl_lock_client_closes(zkl_close_listener *listener);
