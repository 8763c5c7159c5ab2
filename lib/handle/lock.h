/* A lock handle: its parts, and what it is. All with the client's mutex held. */
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
    zkl_timer turn; /* for which it has asked */
} lock_several;

/** The acquire under way, or the last. */
typedef struct lock_attempt {
    int verdict;         /* ZKL_PENDING: there is none yet */
    unsigned why_member; /* whose is what follows */
    char *why;           /* of the verdict, for people; NULL: the status says all */
    int64_t began_ms;
    int64_t local_number; /* of what its client has lent it; 0: it was lent nothing */
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
    int ended; /* how its requests did: ZKL_OK by a server's word, ZKL_CLOSED with their client,
                  ZKL_PENDING with a session that was given up before the servers end it */
} lock_grant;

/** A change of the mode, under way or the last. */
typedef struct lock_change {
    zkl_lock_call *call; /* that waits for it; NULL: none is under way */
    int verdict;         /* ZKL_PENDING: there is none yet */
    int end;             /* why the lock is no longer held; ZKL_OK: it is, as far as is known */
    zkl_request_runner *upgrade; /* the writer's request, until it takes the reader's place */
} lock_change;

/** What its state callback is yet to be told: see lock_events.h. */
typedef struct zkl_lock_events {
    zkl_lock_callbacks owed;
    struct zkl_lock_message *for_grant, *for_loss; /* allocated in advance */
} zkl_lock_events;

/** Where the grants of a handle come from: requests of its own (lock_requests.c), or a node that
 * its client lends it (loan.c). What these tell are events of its set. */
typedef struct zkl_lock_source {
    /* Of the attempt. How many of its members have begun, and so are counted, is told also where
     * one could not. */
    int (*start)(zkl_lock *lock, size_t *begun);
    /* The time to wait is over: what waits fails. */
    void (*time_out)(zkl_lock *lock);
    /* Gives back what it holds; else calls it off. */
    void (*leave)(zkl_lock *lock);
    /* The client is being closed while it waits. NULL: the client sends it away. */
    void (*close)(zkl_lock *lock);
    /* When what has just been granted was, by the clock that the log knows. */
    int64_t (*granted_ms)(const zkl_lock *lock);
    const char *keeps_mode; /* why the mode of what is held stays; NULL: it can be changed */
} zkl_lock_source;

/** What a handle has that shares nodes with others of its client: lender.h. */
typedef struct zkl_borrower {
    zkl_lock *lock;
    struct zkl_lender *lender;
    struct zkl_loan *loan; /* in which it takes part; NULL: none */
    bool holds;            /* and does not only wait */
    struct zkl_borrower *prev, *next;
} zkl_borrower;

/* The first part never changes; the client's mutex guards the second. */
struct zkl_lock {
    zkl_handle open; /* first */
    zkl_client *client;
    zkl_request_origin *origin; /* of its requests */
    unsigned count;             /* of its members */
    bool is_set;                /* opened with a mode for each of them */
    /* IDLE; ACQUIRING: a call waits for the verdict; HELD; LOST: the grant, or one resource of a
     * set, was lost, until the release; RELEASING: a call waits for the deletion of the nodes.
     * Never SUSPECT. */
    zkl_lock_state state : 8;

    const zkl_lock_source *source; /* of the attempt */
    lock_attempt attempt;
    lock_grant grant;
    lock_change change;
    zkl_lock_events *events; /* NULL: there is no state callback */
    zkl_lock_callbacks calls;
    zkl_lock_call *pending;         /* waits for the verdict, or the end of the release */
    zkl_transaction *commits;       /* under way */
    struct zkl_lock_search *search; /* of a layer; NULL: none */
    zkl_close_listener close_listener;
    struct zkl_borrower *borrower; /* NULL: it always makes a node of its own */
    lock_member members[];
};

/* ---- What it is ------------------------------------------------------------------------ */

/** ZKL_OK: it is held, as far as is known; else ZKL_CLOSED, ZKL_LOST or ZKL_NOT_HELD. */
int zkl_lock_check_held(const zkl_lock *lock);
/** Notes the end of a lease, or of max_hold_ms, if it has passed: timers may be late, above all
 * when the process was stopped. */
void zkl_lock_look_at_clock(const zkl_lock *lock);
/** Held or lost: granted, and not yet released. */
bool zkl_lock_is_granted(const zkl_lock *lock);
/** Whether it is reentrant and belongs to another owner. */
bool zkl_lock_is_of_other(const zkl_lock *lock, zkl_lock_owner owner);
/** Whether an acquire waits for its verdict. */
bool zkl_lock_waits(const zkl_lock *lock);
/** Whether a downgrade is under way. It goes on even if no call waits for it. */
bool zkl_lock_is_downgrading(const zkl_lock *lock);
/** Whether none of its requests is under way. */
bool zkl_lock_has_ended(const zkl_lock *lock);

/** Fills in the grant that is held. NULL: nobody asks for it. */
void zkl_lock_fill_grant(const zkl_lock *lock, zkl_grant *grant);
/** What telemetry.h is told of a member, whose request may have ended, or not be its own. Of what
 *  was granted how long that took, and how long it was held; else how long it has waited. */
zkl_request_facts zkl_lock_facts(const lock_member *member, bool is_granted);
/** Logs and counts that an acquire could not begin for the members from `first` on. */
void zkl_lock_note_not_begun(const zkl_lock *lock, size_t first, int status);

/* ---- An attempt: lock_attempt.c ------------------------------------------------------------- */

/** ZKL_OK: its verdict will come, or has come already. */
int zkl_lock_begin_attempt(zkl_lock *lock, bool only_try);
/** The time of the acquire is over: its verdict comes soon, if it has none. */
void zkl_lock_time_out(zkl_lock *lock);
/** Cancels the acquire that waits, if there is one. */
void zkl_lock_call_off(zkl_lock *lock);
/** The acquire that was granted returns: the lock is held from now on. */
void zkl_lock_begin_hold(zkl_lock *lock);
/** The writer's request was granted, and takes the place of the reader's, which is released. */
void zkl_lock_take_writer(zkl_lock *lock);
/** The lock is no longer held: a change of its mode that waits ends, and commits and verifications
 *  that were not sent, with ZKL_CLOSED if the client is closed, else with this status. */
void zkl_lock_end_calls(zkl_lock *lock, int status);

/** For its source: what a member is told. `arg`: the member. */
void zkl_lock_on_news(void *arg, zkl_request_news news, int status);
/** The same: the acquire that waits has failed, without any request to blame. */
void zkl_lock_fail(zkl_lock *lock, int status);

/* ---- Requests of its own: lock_requests.c --------------------------------------------------- */

extern const zkl_lock_source zkl_lock_requests;

/** Starts a request of a member. The caller fills in of the options what is not the same for all
 *  requests of the handle. As zkl_request_runner_start. */
int zkl_lock_start_request(const lock_member *member, zkl_session *session,
                           const zkl_request_options *wanted, zkl_run_options *options,
                           zkl_request_runner **runner);
/** One request leaves, and continues on its own: *runner is NULL then. It may be NULL. */
void zkl_lock_dismiss(zkl_request_runner **runner);
/** The requests continue on their own until their nodes are gone. */
void zkl_lock_let_go(zkl_lock *lock);

/* ---- The end ----------------------------------------------------------------------------------
 */

/** The client is being closed: an acquire that waits ends at once. */
void zkl_lock_client_closes(zkl_close_listener *listener);
