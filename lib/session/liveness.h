/*
 * Watches over a session while it has work. In each third of the session's timeout it sends a small
 * read. This costs nothing, because libzookeeper then sends no ping. The answer tells how old news
 * may be. Where a lease is asked for, two small writes are committed in each third too.
 *
 * All of it runs with the client's mutex held.
 */
#pragma once

#include "recipe/lease.h"
#include "session/sender.h"
#include "session/timers.h"

/** All its times are those of zkl_sender_passed_ms. Embed it. The first seven fields are the
 * caller's to fill. */
typedef struct zkl_liveness {
    zkl_sender *sender;
    zkl_timers *timers;
    const char *lock_root;             /* the probes and writes are about it */
    bool (*has_work)(const void *arg); /* the probes go on for as long as it has */
    /* Nothing has been answered for long. Gives the session up for another; false: it does not. */
    bool (*abandon)(void *arg);
    void (*tell)(void *arg, zkl_event_kind news); /* each request: LEASE_..., or PROBE */
    void *arg;
    zkl_lease lease;
    bool lease_runs;       /* as the requests have been told */
    bool lease_ample;      /* and that it is long enough for a grant */
    bool awake;            /* the probes go on */
    int64_t connecting_ms; /* when the session was asked for; its owner sets it */
    int64_t connected_ms;  /* when its connection was made */
    int64_t disconnected_ms;
    int64_t write_not_before_ms; /* one has just failed */
    int64_t answered_ms; /* when the last request answered on it was sent; INT64_MIN: none */
    bool may_be_over;    /* it was silent for long, and no write was committed since */
    zkl_timer probe_timer;
    zkl_timer write_timer;
    zkl_timer end_timer; /* of the lease */
    zkl_sent *probe;     /* under way; NULL: none */
    zkl_sent *write;     /* likewise, the latest, */
    int64_t write_sent_ms;
} zkl_liveness;

/** lease_tick_ms: the servers' tick; 0: no lease. */
void zkl_liveness_begin(zkl_liveness *liveness, int32_t lease_tick_ms);

/** What happens to the session. */
void zkl_liveness_connected(zkl_liveness *liveness, bool is_new_session, int32_t timeout_ms);
void zkl_liveness_disconnected(zkl_liveness *liveness);
void zkl_liveness_session_ended(zkl_liveness *liveness);

/** On a new connection, once the requests know of it. */
void zkl_liveness_probe_now(zkl_liveness *liveness);

/** The session has work: the probes begin, and go on until it has none. */
void zkl_liveness_wake(zkl_liveness *liveness);

/**
 * Whether this answer to a write says that the leader has decided it, and the servers have
 * committed what it decided: its changes, or its failure as an error. It is one rule for all that
 * rests on a committed write (docs/internals/protocol.md, "What counts as committed"):
 * - OK, NO_NODE and NOT_EMPTY: only the leader can say so, as it looks at what is committed.
 * - A transaction whose single operations have results: no server screens it, whatever the results.
 * - Nothing else. A refusal may come from the server that we are connected to: it can check rights
 *   by itself (`enableEagerACLCheck`), throttle, and turn away a session that it does not know.
 */
bool zkl_is_committed(const zkl_reply *reply);

/** A request of this session came back. False: the servers did not answer it. */
bool zkl_liveness_answered(zkl_liveness *liveness, const zkl_reply *reply, int64_t sent_ms,
                           bool was_write);

/** Sends a write that changes nothing, and is committed whatever our rights are: a transaction that
 *  only checks the lock root, which need not be there. As zkl_send. */
zkl_outcome zkl_liveness_write_nothing(const zkl_liveness *liveness, int tag,
                                       zkl_reply_callback *replied, void *arg,
                                       zkl_sent **under_way);

/** Tells the requests if the lease has run out, or nearly. The timer is late in a process that was
 *  stopped, so this is called before anything is granted or told. */
void zkl_liveness_check_lease(zkl_liveness *liveness);

/** How many milliseconds the lease has left; 0: it does not run, -1: none is kept. */
int64_t zkl_liveness_lease_left(const zkl_liveness *liveness);

/** Whether the session cannot have expired since the servers sent what is heard now: a request that
 *  was sent shortly ago has been answered, and answers and events come in the order in which they
 *  were sent. */
bool zkl_liveness_is_fresh(const zkl_liveness *liveness);

/** Whether that is so, and the lease, where one is kept, is long enough for a grant: what a client
 *  must know to grant its own node once more. */
bool zkl_liveness_may_grant(const zkl_liveness *liveness);

/** Sends a committed write, unless one is under way that was sent not long ago. What is sent after
 *  it is not answered by a server that lags, and does not know yet that the session is over. Not
 *  OK: why it could not be sent. */
zkl_outcome zkl_liveness_settle(zkl_liveness *liveness);

/** A session that holds nothing is given up after as many timeouts without an answer on a
 *  connection that seems to stand. */
#define ZKL_TIMEOUTS_OF_SILENCE_MAX 3

/** Whether no answer has come for so long that the session may have expired. */
bool zkl_liveness_is_silent(const zkl_liveness *liveness);
