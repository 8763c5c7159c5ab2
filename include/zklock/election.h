/*
 * Leader election: of all candidates of a resource at most one leads, and the others wait for
 * their turn. It is the exclusive lock of zklock.h in other words, and everything that is said
 * there of a lock, its fencing token and its loss is true of it:
 *
 *     to campaign    to acquire the lock: first come, first elected
 *     to lead        to hold it
 *     the term       the fencing token: greater for each leader than for all before it
 *     to resign      to release it
 *
 * What you must know
 * ------------------
 * 1. There can be a moment at which two processes each believe that they lead: one that stood
 *    still, or was cut off, and the next. Ask zkl_lock_check before each act, and hand
 *    the term to whatever is acted upon, which refuses terms lower than the highest that it has
 *    seen (docs/guarantees.md).
 * 2. Without a lease (lease_tick_ms of the client) the next leader can be elected before
 *    this one knows that it has lost: the servers end the session of a process that is cut off
 *    without being able to tell it. Until then zkl_lock_check says ZKL_SUSPECT there. With
 *    a lease the loss is known here, by the clock of this machine, before anybody else is
 *    elected; the callback is told then too, but when it runs is up to the machine.
 * 3. A leader that has lost is no candidate any more, until it has resigned (which says that it
 *    has stopped its work) and campaigns again. Nothing begins a second term behind its back.
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

/** This candidate leads. term: the fencing token. */
typedef void zkl_elected_callback(void *arg, int64_t term);

/** It leads no more. reason: ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED or ZKL_NODE_DELETED. */
typedef void zkl_leadership_lost_callback(void *arg, int64_t term, int reason);

/** Somebody asks the leader to resign, with zkl_node_revoke of administration.h or with Curator's
 *  Revoker. It leads as before: what it does about that is its own affair. (A term that another
 *  thread has resigned meanwhile may be followed by the next already: compare the term with the
 *  token of zkl_lock_info before you resign.) */
typedef void zkl_resignation_asked_callback(void *arg, int64_t term);

/**
 * The callbacks come from where the client's callbacks come from, one at a time and in order:
 * its own thread, or zkl_client_dispatch. In them every call that does not block is fine, also
 * zkl_election_resign with a timeout of 0 and zkl_election_close.
 *
 * - elected comes exactly once for each term, however it was campaigned for, unless the term was
 *   resigned, or the election or the client closed, before the callback's turn came: then never.
 *   It may come before zkl_election_campaign has returned, but not before the callback of
 *   zkl_election_campaign_async.
 * - lost comes exactly once for each term that elected was told of and that was lost, after
 *   elected, and also where zkl_election_resign has said ZKL_LOST meanwhile. It never comes for
 *   a term that was resigned with any other status.
 * - resignation_asked comes at most once for each term, between elected and its end.
 * - So each elected is followed by one end: lost, a zkl_election_resign of yours, or a close.
 * - All may come late, as other callbacks come first: zkl_lock_check tells how it is.
 * - None comes for want of a connection alone: zkl_lock_check then says ZKL_SUSPECT.
 * - None begins once zkl_election_close has returned.
 */
typedef struct zkl_election_options {
    size_t struct_size;
    /** What observers are told of it as the leader, say an address. It is the line note= of its
     *  node's data. At most ZKL_NOTE_MAX bytes of UTF-8 without control characters. NULL:
     *  "". */
    const char *candidate;
    /** NULL: not told. */
    zkl_elected_callback *elected;
    zkl_leadership_lost_callback *lost;
    zkl_resignation_asked_callback *resignation_asked;
    void *arg; /* of all */
    /** As in zkl_lock_options. */
    const char *resource_class;
} zkl_election_options;

#define ZKL_ELECTION_OPTIONS_INIT                                                                  \
    { sizeof(zkl_election_options), NULL, NULL, NULL, NULL, NULL, NULL }

/**
 * Opens a candidate. No I/O: it does not campaign yet.
 *
 * resource  as in zkl_lock_open. Candidates queue with the nodes of exclusive locks, so that
 *           whoever locks the resource takes part as well.
 * options   NULL for ZKL_ELECTION_OPTIONS_INIT.
 * election  receives the handle on ZKL_OK, else NULL. Close it with zkl_election_close.
 *
 * Does not block. Returns ZKL_OK or ZKL_SYSTEM (no thread for the callbacks).
 */
ZKL_CHECKED_API int zkl_election_open(zkl_client *client, const char *resource,
                                      const zkl_election_options *options, zkl_election **election);

/**
 * Campaigns: waits until this candidate leads. When the session expires meanwhile, it queues
 * again, at the tail, within the same deadline.
 *
 * timeout_ms  ZKL_FOREVER, or the deadline; 0: leads at once or not at all, as a try.
 * term        receives the term on ZKL_OK, else 0; may be NULL.
 *
 * Blocks. Returns what zkl_lock_acquire does, with its meaning: ZKL_OK (this candidate leads),
 * ZKL_BUSY, ZKL_TIMEOUT, ZKL_CANCELLED, ZKL_DISCONNECTED, ZKL_SESSION_EXPIRED,
 * ZKL_LEASE_ENDED, ZKL_NODE_DELETED, ZKL_ALREADY_HELD (it leads; or it has led and lost: call
 * zkl_election_resign first), ZKL_HANDLE_IN_USE, ZKL_TOO_MANY_REQUESTS, ZKL_LEASE_IMPOSSIBLE,
 * ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED, ZKL_AUTH_FAILED, ZKL_SERVER_REFUSED or
 * ZKL_SEQUENCE_EXHAUSTED. On every status but ZKL_OK it does not lead, and elected is not
 * told.
 *
 * With three of them nothing is wrong but that this campaign is over: ZKL_SESSION_EXPIRED,
 * ZKL_LEASE_ENDED and ZKL_NODE_DELETED say that it was elected, and lost the term before this call
 * could tell it. Campaign again, at once and without zkl_election_resign, as there is no term to
 * end. (Of a try, ZKL_SESSION_EXPIRED says that the servers could not be asked: as good a reason.)
 */
ZKL_CHECKED_API int zkl_election_campaign(zkl_election *election, int64_t timeout_ms,
                                          int64_t *term);

/** How a campaign ended: what zkl_election_campaign returns, and the term, or 0. A candidate for
 * good campaigns again, in this callback, on ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED and
 * ZKL_NODE_DELETED: see there. */
typedef void zkl_campaign_callback(void *arg, int status, int64_t term);

/**
 * Campaigns without waiting. The rules are those of zkl_lock_acquire_async: when it returns
 * ZKL_OK its callback comes exactly once, whatever happens, before elected of the same term; when
 * the election is closed before, it comes after that, with ZKL_CANCELLED: so `arg` must live until
 * then. When it returns anything else, never.
 *
 * callback  not NULL.
 *
 * Does not block; may be called from a callback. Returns ZKL_OK, or as zkl_lock_acquire_async
 * does: ZKL_ALREADY_HELD, ZKL_HANDLE_IN_USE, ZKL_TOO_MANY_REQUESTS, ZKL_LEASE_IMPOSSIBLE or
 * ZKL_AUTH_FAILED.
 */
ZKL_CHECKED_API int zkl_election_campaign_async(zkl_election *election, int64_t timeout_ms,
                                                zkl_campaign_callback *callback, void *arg);

/**
 * The lock underneath, which the term is a grant of:
 *
 *     zkl_lock_check       tells from local knowledge whether this candidate leads: ZKL_OK,
 * ZKL_LOST until zkl_election_resign, and so on zkl_lock_info        the same, with the term as its
 * token zkl_lock_cancel      ends the campaign that waits: it says ZKL_CANCELLED zkl_lock_verify
 * asks the servers zkl_transaction_begin  writes to ZooKeeper as long as this candidate leads, and
 * not after
 *
 * Do not acquire, release, change or close it. It lives as long as the election. NULL for NULL, and
 * for an election that is closed. Does not block.
 */
ZKL_API zkl_lock *zkl_election_lock(const zkl_election *election);

/**
 * Resigns: says that this candidate has stopped its work. The next one is elected. To be called
 * after a loss too, before it campaigns again.
 *
 * timeout_ms  how long to wait until the servers have confirmed it: ZKL_FOREVER, or >= 0; 0 does
 *             not wait.
 *
 * Returns what zkl_lock_release does: ZKL_OK, ZKL_PENDING (it has resigned, but that is not yet
 * confirmed; it goes on), ZKL_LOST (it had lost before; it can campaign again), ZKL_NOT_HELD (it
 * does not lead), ZKL_HANDLE_IN_USE (it campaigns: zkl_lock_cancel) or
 * ZKL_IN_CALLBACK (only with a timeout other than 0).
 */
ZKL_API int zkl_election_resign(zkl_election *election, int64_t timeout_ms);

/**
 * Resigns without waiting for the confirmation. The rules are those of zkl_lock_release_async: this
 * candidate does not lead from the moment of the call on; when it returns ZKL_OK its
 * callback comes exactly once, whatever happens; when the election is closed before, it comes after
 * that, with ZKL_PENDING where it is not yet confirmed: so `arg` must live until then. When it
 * returns anything else, never, and nothing has happened.
 *
 * timeout_ms  as in zkl_election_resign; with 0 the callback comes as soon as it can.
 * callback    told what zkl_election_resign would have returned. NULL: nobody is told, and
 *             timeout_ms is of no account. Such a call takes no memory, and the election can
 *             campaign again at once; else it can when the callback begins.
 *
 * Does not block; any thread, a callback as well. Returns ZKL_OK: the callback will be called, with
 * ZKL_OK, ZKL_PENDING, ZKL_LOST or ZKL_CLOSED. Or nothing has happened: ZKL_NOT_HELD
 * or ZKL_HANDLE_IN_USE.
 */
ZKL_API int zkl_election_resign_async(zkl_election *election, int64_t timeout_ms,
                                      zkl_status_callback *callback, void *arg);

/**
 * Ends a campaign, resigns as with a timeout of 0, and frees the handle. NULL is fine. Does not
 * block, except for a call of another thread on this handle to return, and for its callbacks, if
 * one is just running in another thread. From inside of one it is fine as well. In a forked child
 * it does nothing.
 */
ZKL_API void zkl_election_close(zkl_election *election);

/* ---- Observers ---------------------------------------------------------- */

/** So long at most, and half as long at least, an observer pauses between two looks while nobody
 *  leads, or it was refused. */
#define ZKL_LEADER_PAUSE_MS 1000

/** Follows who leads, without being a candidate. */
typedef struct zkl_observer zkl_observer;

/** Who leads: whoever is first in the queue, by the word of the servers. One that is first and
 * holds for reading, or a permit, does so with others: then nobody leads. Valid during the callback
 * only. */
typedef struct zkl_leader {
    size_t struct_size;    /* of the library's struct; later versions append */
    int status;            /* ZKL_OK; or it cannot be seen: ZKL_NO_PERMISSION or ZKL_SERVER_REFUSED
                              (it looks again), ZKL_AUTH_FAILED or ZKL_CLOSED (the client is being
                              closed; either is the last call) */
    int64_t term;          /* 0: nobody leads. The leader's own token, which others can check */
    int64_t session_id;    /* of the leader's ZooKeeper session */
    const char *node;      /* full path of the leader's node; "" */
    const char *candidate; /* the leader's text, as it was when it was seen first; "" where there
                              is none, as in the nodes of others, or where somebody has asked for
                              the leader's resignation before: that takes the place of the text */
} zkl_leader;

/**
 * Told who leads as soon as that is known, also that nobody does, and then each change. From where
 * the client's callbacks come from, one at a time; in it every call that does not block is fine,
 * also zkl_observer_close.
 *
 * - Changes that follow each other faster than the callback returns may become one. The last one is
 *   always told.
 * - Never a lower term after a higher one. (After a restore of the ensemble from a backup terms may
 *   begin lower again: then open a new observer.) Nobody can be told once more of a moment before
 *   a leader that was told already, when a new session gets to a server that lags behind; the
 *   leader is then told again.
 * - It is what was so a moment ago. That the leader has stopped its work is not told, only that its
 *   node has gone; and whoever is told as the leader may not yet know it, or wait for its lease.
 * - Without a connection nothing is told; with the next one what has changed. So it goes on in
 *   later sessions of the client too.
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
 * What it costs: for each new leader three reads of each observer, a list among them; while one
 * leads, one watch at the servers, on the leader's node, and no request but the client's own look
 * at its connection, three times in a session timeout. So candidates that come and go wake no
 * observer, and observers wake no candidate. While nobody leads, a list every ZKL_LEADER_PAUSE_MS
 * at most: it takes up to that long to hear of who leads then.
 *
 * Does not block; may be called from a callback. Returns ZKL_OK, ZKL_TOO_MANY_REQUESTS (each
 * counts as a request for what its client can watch), ZKL_AUTH_FAILED or ZKL_SYSTEM (no thread for
 * the callback).
 */
ZKL_CHECKED_API int zkl_election_observe(zkl_client *client, const char *resource,
                                         zkl_leader_callback *callback, void *arg,
                                         zkl_observer **observer);

/**
 * Ends it, and frees the handle. NULL is fine. No callback begins once it has returned. Does not
 * block, except for the callback, if that is just running in another thread; from inside of it it
 * is fine as well. In a forked child it does nothing.
 */
ZKL_API void zkl_observer_close(zkl_observer *observer);

#ifdef __cplusplus
}
#endif

#endif
