/*
 * Leader election: at most one of the candidates of a resource leads, and the others wait for their
 * turn. An election is an exclusive lock of zklock.h under other names. Everything that zklock.h
 * says about a lock, its fencing token and its loss is true here:
 *
 *     to campaign    to acquire the lock: first come, first elected
 *     to lead        to hold it
 *     the term       the fencing token: greater for each leader than for all before it
 *     to resign      to release it
 *
 * What you must know
 * ------------------
 * 1. There can be a moment at which two processes each believe that they lead: one that was
 *    stopped or cut off, and the next. Call zkl_lock_check before each act, and pass the term to
 *    whatever you act upon; it must refuse terms lower than the highest it has seen
 *    (docs/guarantees.md).
 * 2. Without a lease (lease_tick_ms of the client) the next leader can be elected before this one
 *    knows that it has lost: the servers end the session of a process that is cut off, and cannot
 *    tell it. Until that process hears of it, its zkl_lock_check returns ZKL_SUSPECT. With a lease
 *    a leader knows of its loss, by the clock of its machine, before anybody else is elected:
 *    zkl_lock_check returns ZKL_LOST from then on. The callback may run a little later.
 * 3. A leader that has lost its term is no longer a candidate. It must resign, which says that it
 *    has stopped its work, and then campaign again. No second term begins on its own.
 *
 * The conventions are those of zklock.h. An election is one candidate: one campaign or one term
 * at a time.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_ELECTION_H
#define ZKLOCK_ELECTION_H

#include "zklock/zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Candidates --------------------------------------------------------- */

/** One candidate for one resource. */
typedef struct zkl_election zkl_election;

/** This candidate now leads. `term` is the fencing token of its grant. */
typedef void zkl_elected_callback(void *arg, int64_t term);

/** This candidate no longer leads. `reason` is ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED or
 *  ZKL_NODE_DELETED. */
typedef void zkl_leadership_lost_callback(void *arg, int64_t term, int reason);

/** Somebody asks the leader to resign: with zkl_node_revoke of administration.h or with Curator's
 *  Revoker. The term goes on unless you resign. Compare `term` with the token of zkl_lock_info
 *  first: another thread may have resigned it and won a new one. */
typedef void zkl_resignation_asked_callback(void *arg, int64_t term);

/**
 * What a candidate is opened with. 0 and NULL are the default of each field.
 *
 * The callbacks run where all callbacks of the client run, one at a time and in order: on its own
 * thread, or in zkl_client_dispatch. They may make any call that does not block, including
 * zkl_election_resign with a timeout of 0 and zkl_election_close.
 *
 * - elected comes exactly once for each term, after a blocking or an asynchronous campaign. If the
 *   term was resigned, or the election or the client closed, before the callback's turn, it never
 *   comes. It may come before zkl_election_campaign has returned, but not before the callback of
 *   zkl_election_campaign_async.
 * - lost comes exactly once for each term that elected reported and that was lost, after elected,
 *   even if zkl_election_resign has returned ZKL_LOST meanwhile. It never comes for a term that was
 *   resigned with any other status.
 * - resignation_asked comes at most once for each term, between elected and its end.
 * - So each elected is followed by one end: lost, a zkl_election_resign of yours, or a close.
 * - All may come late, because other callbacks come first: zkl_lock_check has the current state.
 * - A lost connection alone causes no callback: zkl_lock_check then returns ZKL_SUSPECT.
 * - None begins once zkl_election_close has returned.
 */
typedef struct zkl_election_options {
    size_t struct_size; /* see ZKL_ELECTION_OPTIONS_INIT */
    /** A text for observers, for example an address: they receive it while this candidate leads.
     *  It is stored as the line note= in the data of the candidate's node. At most ZKL_NOTE_MAX
     *  bytes of UTF-8 without control characters. NULL: "". */
    const char *candidate;
    zkl_elected_callback *elected;      /* NULL: the beginning of a term is not reported */
    zkl_leadership_lost_callback *lost; /* NULL: the loss of a term is not reported */
    /** NULL: this candidate is not told, and nobody can ask it to resign, unless the client's nodes
     *  are not protected anyway (see `unprotected` of zkl_security). */
    zkl_resignation_asked_callback *resignation_asked;
    void *arg;                  /* passed to all three */
    const char *resource_class; /* as in zkl_lock_options */
    const char *node_acl;       /* as in zkl_security; NULL: as the client's */
    const char *parent_acl;     /* as in zkl_security; NULL: as the client's */
    /** As in zkl_lock_options: ZKL_NAMING_LEADER_LATCH to elect beside Curator's LeaderLatch (not
     *  with resignation_asked), ZKL_NAMING_KAZOO beside kazoo's Election. Curator's LeaderSelector
     *  is an InterProcessMutex, and needs none. */
    zkl_naming naming;
    int32_t reserved; /* must be 0 */
} zkl_election_options;

#define ZKL_ELECTION_OPTIONS_INIT ZKL_SIZED(zkl_election_options)

/**
 * Opens a candidate. No I/O: it does not campaign yet.
 *
 * resource  as in zkl_lock_open. Candidates queue with the nodes of exclusive locks, so plain locks
 *           of the same resource take part in the election.
 * options   NULL for ZKL_ELECTION_OPTIONS_INIT.
 * election  receives the handle on ZKL_OK, else NULL. Close it with zkl_election_close.
 *
 * Does not block. Returns ZKL_OK or ZKL_SYSTEM (no thread for the callbacks).
 */
ZKL_CHECKED_API int zkl_election_open(zkl_client *client, const char *resource,
                                      const zkl_election_options *options, zkl_election **election);

/**
 * Campaigns and waits until this candidate leads. When the session expires meanwhile, it queues
 * again, at the tail, within the same deadline.
 *
 * timeout_ms  ZKL_FOREVER, or the deadline; 0: leads at once or not at all, as a try.
 * term        receives the term on ZKL_OK, else 0; may be NULL.
 *
 * Blocks until elected, cancelled or past the deadline. The statuses are as in zkl_lock_acquire():
 * ZKL_OK (this candidate leads), ZKL_BUSY, ZKL_TIMEOUT, ZKL_CANCELLED, ZKL_DISCONNECTED,
 * ZKL_SESSION_EXPIRED (elected, but lost before this call returned; from a try also: the servers
 * could not be asked), ZKL_LEASE_ENDED (elected, but lost before this call returned),
 * ZKL_NODE_DELETED (elected, but lost before this call returned), ZKL_ALREADY_HELD (it leads; or it
 * has led and lost: call zkl_election_resign first), ZKL_HANDLE_IN_USE (another campaign or
 * resignation is under way), ZKL_TOO_MANY_REQUESTS, ZKL_LEASE_IMPOSSIBLE, ZKL_NO_PERMISSION,
 * ZKL_QUOTA_EXCEEDED, ZKL_AUTH_FAILED, ZKL_SERVER_REFUSED or ZKL_SEQUENCE_EXHAUSTED. On
 * ZKL_ALREADY_HELD, ZKL_INVALID_ARGUMENT and ZKL_IN_CALLBACK nothing has changed. On every other
 * status but ZKL_OK it does not lead, and elected does not come.
 *
 * After ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED and ZKL_NODE_DELETED campaign again, at once. No
 * resign is needed, because there is no term to end.
 */
ZKL_CHECKED_API int zkl_election_campaign(zkl_election *election, int64_t timeout_ms,
                                          int64_t *term);

/** How a campaign ended: what zkl_election_campaign would have returned, and the term, or 0. To
 *  stay a candidate, campaign again, in this callback, on ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED and
 *  ZKL_NODE_DELETED: see zkl_election_campaign. */
typedef void zkl_campaign_callback(void *arg, int status, int64_t term);

/**
 * Campaigns without blocking. The rules are as in zkl_lock_acquire_async(): if it returns ZKL_OK
 * its callback comes exactly once, whatever happens, before elected of the same term. If the
 * election is closed first, the callback comes later, with ZKL_CANCELLED: so `arg` must live until
 * then. If it returns anything else, the callback never comes.
 *
 * timeout_ms  as in zkl_election_campaign().
 * callback    not NULL.
 *
 * Does not block; any thread, also in a callback. Returns ZKL_OK: the callback will be called, with
 * what zkl_election_campaign returns once it has begun. Or it was not begun: ZKL_ALREADY_HELD (it
 * leads; or it has led and lost: call zkl_election_resign first), ZKL_HANDLE_IN_USE (another
 * campaign or resignation is under way, or the election is being closed), ZKL_TOO_MANY_REQUESTS,
 * ZKL_LEASE_IMPOSSIBLE, ZKL_AUTH_FAILED or ZKL_SYSTEM (no random numbers).
 */
ZKL_CHECKED_API int zkl_election_campaign_async(zkl_election *election, int64_t timeout_ms,
                                                zkl_campaign_callback *callback, void *arg);

/**
 * The lock underneath an election; the term is a grant of it. Use it with
 *
 *     zkl_lock_check         does this candidate lead, as far as is known here? ZKL_LOST until
 *                            zkl_election_resign
 *     zkl_lock_info          the same, with the term as its token
 *     zkl_lock_cancel        ends a waiting campaign, which returns ZKL_CANCELLED
 *     zkl_lock_verify        asks the servers
 *     zkl_transaction_begin  writes to ZooKeeper only while this candidate leads
 *
 * Do not acquire, release, change or close it. It lives as long as the election. NULL for NULL, and
 * for an election that is closed. Does not block.
 */
ZKL_API zkl_lock *zkl_election_lock(const zkl_election *election);

/**
 * Resigns from the term: says that this candidate has stopped its work. The next one is elected.
 * Call it after a loss too, before you campaign again.
 *
 * timeout_ms  how long to wait until the servers have confirmed it: ZKL_FOREVER, or >= 0; 0 does
 *             not wait.
 *
 * Blocks for at most timeout_ms. The statuses are as in zkl_lock_release(): ZKL_OK (it has
 * resigned, and the servers have confirmed it, unless the timeout is 0), ZKL_PENDING (it has
 * resigned, but the servers have not confirmed it yet; it continues), ZKL_LOST (it had lost before;
 * it can campaign again), ZKL_NOT_HELD (it does not lead), ZKL_HANDLE_IN_USE (it campaigns: call
 * zkl_lock_cancel; or another resignation is under way) or ZKL_IN_CALLBACK (only with a timeout
 * other than 0).
 */
ZKL_API int zkl_election_resign(zkl_election *election, int64_t timeout_ms);

/**
 * Resigns without blocking. The rules are as in zkl_lock_release_async(): this candidate no longer
 * leads from the moment of the call. If it returns ZKL_OK its callback comes exactly once, whatever
 * happens. If the election is closed first, the callback comes later, with ZKL_PENDING if it is not
 * yet confirmed: so `arg` must live until then. If it returns anything else, the callback never
 * comes, and nothing has happened.
 *
 * timeout_ms  as in zkl_election_resign(); with 0 the callback comes as soon as possible.
 * callback    receives what zkl_election_resign would have returned. May be NULL: then nothing is
 *             reported, and timeout_ms has no effect. Such a call takes no memory, and the
 *             election can campaign again at once. With a callback it can when the callback begins.
 *
 * Does not block; any thread, also in a callback. Returns ZKL_OK: the callback will be called, with
 * ZKL_OK, ZKL_PENDING, ZKL_LOST or ZKL_CLOSED. Or nothing has happened: ZKL_NOT_HELD (it does not
 * lead) or ZKL_HANDLE_IN_USE (it campaigns: call zkl_lock_cancel; or another resignation is under
 * way).
 */
ZKL_API int zkl_election_resign_async(zkl_election *election, int64_t timeout_ms,
                                      zkl_status_callback *callback, void *arg);

/**
 * Closes a candidate: ends a campaign, resigns as with a timeout of 0, and frees the handle. NULL
 * is allowed. Waits only for a call or callback of this handle that is running in another thread.
 * May be called from a callback. In a forked child it does nothing.
 */
ZKL_API void zkl_election_close(zkl_election *election);

/* ---- Observers ---------------------------------------------------------- */

/** While nobody leads, or its request was refused, an observer polls at intervals between half of
 *  this and this. */
#define ZKL_LEADER_PAUSE_MS 1000

/** Follows who leads, without being a candidate. */
typedef struct zkl_observer zkl_observer;

/** Who leads: the contender that is first in the queue, according to the servers. Nobody leads if
 *  the first contender is a reader, or has a permit, because it shares with others. Valid during
 *  the callback only. */
typedef struct zkl_leader {
    size_t struct_size;    /* of the library's struct; later versions append */
    int status;            /* ZKL_OK; or why the leader cannot be seen: ZKL_NO_PERMISSION or
                              ZKL_SERVER_REFUSED (the observer looks again); ZKL_AUTH_FAILED or
                              ZKL_CLOSED (the client is being closed): this is the last call */
    int64_t term;          /* 0: nobody leads. Otherwise the leader's own token */
    int64_t session_id;    /* of the leader's ZooKeeper session */
    const char *node;      /* full path of the leader's node; "" if nobody leads */
    const char *candidate; /* the leader's text, as first seen. "" if it has none: nodes of other
                              libraries have none, and a request for the leader's resignation
                              overwrites it */
} zkl_leader;

/**
 * Reports who leads, or that nobody does, as soon as that is known, and then each change. It runs
 * where all callbacks of the client run, one at a time. It may make any call that does not block,
 * including zkl_observer_close.
 *
 * - Changes that follow each other faster than the callback returns may be merged. The last one is
 *   always reported.
 * - No server that lags makes it report a lower term after a higher one. So a lower term means that
 *   the servers have lost the higher one (their data was deleted, or restored from an older copy),
 *   or that somebody had made its node by hand. It is who leads now: follow it. But a store that
 *   has seen the higher term refuses this leader until its fence is reset (docs/operations.md says
 *   how to restore servers so that terms continue).
 * - After reconnecting to a lagging server in a new session, an observer may hear "nobody leads"
 *   and then the same leader again.
 * - It is the state of a moment ago. It reports that the leader's node has gone, not that the
 *   leader has stopped its work. A leader that is reported may not know it yet, or may still wait
 *   for its lease.
 * - While there is no connection nothing is reported. After a reconnect it reports what has
 *   changed. It continues in later sessions of the client too.
 */
typedef void zkl_leader_callback(void *arg, const zkl_leader *leader);

/**
 * Observes who leads.
 *
 * resource  as in zkl_lock_open.
 * callback  not NULL.
 * observer  receives the handle on ZKL_OK, else NULL. Close it with zkl_observer_close, before or
 *           after its client.
 *
 * What it costs: for each new leader, each observer makes three reads, one of them a list. While
 * somebody leads, an observer has one watch at the servers, on the leader's node, and makes no
 * request except the client's probe of its connection, three times in a session timeout. So
 * candidates that come and go wake no observer, and observers wake no candidate. While nobody
 * leads, an observer lists after pauses of at most ZKL_LEADER_PAUSE_MS, so a new leader may be
 * reported that much later. A lower term than the last costs a write that changes nothing, and
 * another look.
 *
 * Does not block; may be called from a callback. Returns ZKL_OK, ZKL_TOO_MANY_REQUESTS (an observer
 * counts as a request for what its client can watch), ZKL_AUTH_FAILED or ZKL_SYSTEM (no thread for
 * the callback).
 */
ZKL_CHECKED_API int zkl_election_observe(zkl_client *client, const char *resource,
                                         zkl_leader_callback *callback, void *arg,
                                         zkl_observer **observer);

/**
 * Ends the observation, and frees the handle. NULL is allowed. No callback begins once it has
 * returned. Waits only for a callback that is running in another thread. May be called from the
 * callback. In a forked child it does nothing.
 */
ZKL_API void zkl_observer_close(zkl_observer *observer);

#ifdef __cplusplus
}
#endif

#endif
