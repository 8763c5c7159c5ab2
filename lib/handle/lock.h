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
    uint64_t recorded; /* its number in the record */
    zkl_create_group *group;
    zkl_timer turn; /* the next */
} lock_several;

/** The acquire under way, or the last. */
typedef struct lock_attempt {
    int verdict;         /* ZKL_PENDING: there is none yet */
    unsigned why_member; /* whose is what follows */
    char *why;           /* of the verdict, for people; NULL: the status says all */
    int64_t timeout_ms;
    int64_t began_ms;
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
    int64_t waited_ms;
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

/** What a handle has that shares nodes with others of its client: lender.h. */
typedef struct zkl_borrower {
    zkl_lock *lock;
    struct zkl_lender *lender;
    struct zkl_loan *loan; /* in which it takes part; NULL: none */
    bool holds;            /* and does not only wait */
    int64_t number;        /* of its grant within the loan; 0: it was granted none */
    int64_t granted_ms;
    zkl_timer deadline;
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
/** Whether it holds what its client lends, or waits for it. */
bool zkl_lock_borrows(const zkl_lock *lock);
/** The second half of the token of the last grant; 0: it was of a node of its own. */
int64_t zkl_lock_local_number(const zkl_lock *lock);

/** Fills in the grant that is held. NULL: nobody asks for it. */
void zkl_lock_fill_grant(const zkl_lock *lock, zkl_grant *grant);
/** Logs and counts that an acquire could not begin for the members from `first` on. */
void zkl_lock_note_not_begun(const zkl_lock *lock, size_t first, int status);

/* ---- The requests of a handle: lock_attempt.c ---------------------------------------------- */

/** ZKL_OK: its verdict will come, or has come already. */
int zkl_lock_begin_attempt(zkl_lock *lock, int64_t timeout_ms);
/** Starts a request of a member. The caller fills in of the options what is not the same for all
 *  requests of the handle. As zkl_request_runner_start. */
int zkl_lock_start_request(const lock_member *member, zkl_session *session,
                           const zkl_run_start *start, zkl_run_options *options,
                           zkl_request_runner **runner);
/** For a lender: what the request tells that a handle has in common with others. */
void zkl_lock_take_news(zkl_lock *lock, zkl_request_news news, int status);
/** The same: the acquire that waits has failed, without any request to blame. */
void zkl_lock_fail(zkl_lock *lock, int status);
/** The acquire that was granted returns: the lock is held from now on. */
void zkl_lock_begin_hold(zkl_lock *lock);
/** Cancels the acquire that waits, if there is one. */
void zkl_lock_call_off(zkl_lock *lock);
/** Releases the members that were granted, and cancels the others. */
void zkl_lock_leave_queues(zkl_lock *lock);
/** The same for one request, which continues on its own: *runner is NULL then. It may be NULL. */
void zkl_lock_dismiss(zkl_request_runner **runner);
/** The requests continue on their own until their nodes are gone. */
void zkl_lock_let_go(zkl_lock *lock);
/** The lock is no longer held: a change of its mode that waits ends, and commits and verifications
 *  that were not sent, with ZKL_CLOSED if the client is closed, else with this status. */
void zkl_lock_end_calls(zkl_lock *lock, int status);
/** The writer's request was granted, and takes the place of the reader's, which is released. */
void zkl_lock_take_writer(zkl_lock *lock);

/** The client is being closed: an acquire that waits ends at once. */
void zkl_lock_client_closes(zkl_close_listener *listener);
