/*
 * Watches over a session while it has work. In each third of the session's timeout it sends a small
 * read. This costs nothing, because libzookeeper then sends no ping. The answer tells how old news
 * may be. Where a lease is asked for, two small writes are committed in each third too.
 *
 * Everything here runs with the client's mutex held.
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
    const char *lock_root;             /* the node that the probes and writes are about */
    bool (*has_work)(const void *arg); /* the probes go on for as long as this is true */
    /* Gives the session up for another, because nothing has been answered for long. False: it does
     * not. */
    bool (*abandon)(void *arg);
    void (*on_news)(void *arg,
                    zkl_event_kind news); /* takes LEASE_... and PROBE, for each request */
    void *arg;
    zkl_lease lease;
    bool lease_runs;       /* the requests have heard that it runs */
    bool lease_ample;      /* they have heard that it is long enough for a grant */
    bool awake;            /* the probes go on */
    int64_t connecting_ms; /* when the session was asked for; its owner sets it */
    int64_t connected_ms;  /* when its connection was made */
    int64_t disconnected_ms;
    int64_t write_not_before_ms; /* the next write goes out no earlier, as one has just failed */
    int64_t answered_ms; /* when the last request answered on it was sent; INT64_MIN: none */
    bool may_be_over;    /* it was silent for long, and no write was committed since */
    zkl_timer probe_timer;
    zkl_timer write_timer;
    zkl_timer end_timer; /* of the lease */
    zkl_sent *probe;     /* the probe under way; NULL: none */
    zkl_sent *write;     /* the latest write under way; NULL: none */
    int64_t write_sent_ms;
} zkl_liveness;

/** Begins without a session. lease_tick_ms: the servers' tick; 0: no lease. */
void zkl_liveness_begin(zkl_liveness *liveness, int32_t lease_tick_ms);

/** Notes what happens to the session. */
void zkl_liveness_connected(zkl_liveness *liveness, bool is_new_session, int32_t timeout_ms);
void zkl_liveness_disconnected(zkl_liveness *liveness);
void zkl_liveness_session_ended(zkl_liveness *liveness);

/** Sends a probe on a new connection, once the requests know of it. */
void zkl_liveness_probe_now(zkl_liveness *liveness);

/** Begins the probes, which go on until the session has no work. */
void zkl_liveness_wake(zkl_liveness *liveness);

/**
 * Tells whether this answer to a write says that the leader has decided it, and the servers have
 * committed what it decided: its changes, or its failure as an error. It is one rule for all that
 * rests on a committed write (docs/internals/protocol.md, "What counts as committed"):
 * - OK, NO_NODE and NOT_EMPTY: only the leader can say so, as it looks at what is committed.
 * - A transaction whose single operations have results: no server screens it, whatever the results.
 * - Nothing else. A refusal may come from the server that we are connected to: it can check rights
 *   by itself (`enableEagerACLCheck`), throttle, and turn away a session that it does not know.
 */
bool zkl_is_committed(const zkl_reply *reply);

/** Notes that a request of this session came back. False: the servers did not answer it. */
bool zkl_liveness_answered(zkl_liveness *liveness, const zkl_reply *reply, int64_t sent_ms,
                           bool was_write);

/** Sends a write that changes nothing, and is committed whatever our rights are: a transaction that
 *  only checks the lock root, which need not be there. Returns as zkl_send. */
zkl_outcome zkl_liveness_write_nothing(const zkl_liveness *liveness, int tag,
                                       zkl_reply_callback *replied, void *arg,
                                       zkl_sent **under_way);

/** Tells the requests if the lease has run out, or nearly. The timer is late in a process that was
 *  stopped, so this is called before anything is granted or reported. */
void zkl_liveness_check_lease(zkl_liveness *liveness);

/** Returns how many milliseconds the lease has left; 0: it does not run, -1: none is kept. */
int64_t zkl_liveness_lease_left(const zkl_liveness *liveness);

/** Tells whether the session cannot have expired since the servers sent what is heard now: a
 *  request that was sent shortly ago has been answered, and answers and events come in the order in
 *  which they were sent. */
bool zkl_liveness_is_fresh(const zkl_liveness *liveness);

/** Tells whether the session is fresh, and the lease, where one is kept, is long enough for a
 *  grant: what a client must know to grant its own node once more. */
bool zkl_liveness_may_grant(const zkl_liveness *liveness);

/** Sends a committed write, unless one is under way that was sent not long ago. What is sent after
 *  it is not answered by a server that lags, and does not know yet that the session is over. Not
 *  OK: why it could not be sent. */
zkl_outcome zkl_liveness_settle(zkl_liveness *liveness);

/** A session that holds nothing is given up after as many timeouts without an answer on a
 *  connection that seems to stand. */
#define ZKL_TIMEOUTS_OF_SILENCE_MAX 3

/** Returns how long ago the servers have heard of the session, at most. */
int64_t zkl_liveness_silence_ms(const zkl_liveness *liveness);

/** Tells whether no answer has come for so long that the session may have expired. */
bool zkl_liveness_is_silent(const zkl_liveness *liveness);
