/*
 * The lease of a session: a local time before which the servers cannot expire it, and so cannot
 * grant to anybody else what its nodes hold.
 *
 * "Send time of the last answered request + timeout" is no such time. A server tells the leader
 * which sessions it has heard from only in its answers to the leader's pings; one that is cut off
 * from its leader goes on answering reads while the leader expires the session. What proves it, on
 * one connection:
 *
 *     a request is answered                        the probe; the server has noted it
 *     a write, sent at least a tick after that,    the leader has sent the server a ping
 *         is committed and answered                meanwhile, which it got before this answer
 *     a write, sent after that answer,             the server's answer to that ping
 *         is committed and answered                reached the leader before this write
 *
 * Then the leader has heard of the probe, and expires the session no earlier than the timeout after
 * the probe was sent. A margin covers the difference of the clocks' rates. Any request that the
 * leader has committed counts as a write, even if it ended in an error: see zkl_is_committed. A new
 * session needs no proof: it cannot expire before its timeout has passed since we began to connect.
 *
 * The proof does not hold with observers behind observers, nor with local sessions.
 *
 * This is as pure as the rest of the recipe: the caller passes the time in.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** With fewer of the servers' ticks in a session timeout, one slow answer can let the lease run
 *  out. */
#define ZKL_LEASE_TICKS_MIN 5

typedef enum zkl_lease_stage {
    ZKL_LEASE_NOTHING,     /* waits for the answer to a probe */
    ZKL_LEASE_PROBED,      /* waits for the first committed write */
    ZKL_LEASE_FIRST_WRITE, /* waits for the second committed write */
} zkl_lease_stage;

/** A request that the server has answered. There is none if sent_ms is INT64_MIN. */
typedef struct zkl_lease_probe {
    int64_t sent_ms;
    int64_t answered_ms;
} zkl_lease_probe;

/** Read its fields freely; only this module writes them. */
typedef struct zkl_lease {
    int32_t tick_ms; /* the servers' tickTime; 0: no lease is kept */
    int32_t timeout_ms;
    int64_t period_ms; /* between two probes */
    int64_t margin_ms;
    int64_t ends_ms; /* INT64_MIN: this session has had no lease */
    zkl_lease_stage stage;
    zkl_lease_probe probe;      /* that of the proof under way, or of the last proof */
    zkl_lease_probe next_probe; /* a later one, answered while that proof is under way */
    int64_t write_answered_ms;  /* when the first write was answered */
    int64_t probe_due_ms; /* what is sent from then on begins a proof; INT64_MAX: none is due */
} zkl_lease;

/** Prepares a lease that no session has yet. */
void zkl_lease_begin(zkl_lease *lease, int32_t tick_ms);

/** Returns how long to wait between two probes of a session with this timeout. */
int64_t zkl_lease_probe_period(int32_t timeout_ms);

/** Begins the lease of a new session, with the timeout that the servers agreed to. It began no
 *  earlier than begun_ms. */
void zkl_lease_new_session(zkl_lease *lease, int32_t timeout_ms, int64_t begun_ms);

/** Takes the new timeout that a new connection has given the same session. The old connection was
 *  lost no earlier than lost_ms. */
void zkl_lease_timeout_changed(zkl_lease *lease, int32_t timeout_ms, int64_t lost_ms);

/** Discards the proof under way: there is a new connection, or the probing has paused. The lease
 *  that was earned stands. */
void zkl_lease_gather_anew(zkl_lease *lease);

/** Says that a period is over: what is sent from now on begins a proof, once it is answered. */
void zkl_lease_probe_due(zkl_lease *lease, int64_t now_ms);

/** Takes note that the server has answered a request of this connection. True: the lease lasts
 *  longer now. */
bool zkl_lease_answered(zkl_lease *lease, int64_t sent_ms, int64_t answered_ms, bool was_write);

/** Returns when a write is needed, unless one is under way; INT64_MAX: none is needed. */
int64_t zkl_lease_write_due(const zkl_lease *lease);

/** Tells whether the lease runs at this time. */
bool zkl_lease_runs(const zkl_lease *lease, int64_t now_ms);

/** Tells whether the lease runs long enough to be extended before it ends, if all is well. A grant
 *  on a shorter one would be lost for no reason. */
bool zkl_lease_is_ample(const zkl_lease *lease, int64_t now_ms);

/** Tells whether a lease can be kept at all, with this timeout and tick. */
bool zkl_lease_is_possible(const zkl_lease *lease);
