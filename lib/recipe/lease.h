/*
 * The lease of a session: a local time before which the servers cannot expire
 * it, and so cannot grant to anybody else what its nodes hold.
 *
 * "Send time of the last answered request + timeout" is no such time. A server
 * tells the leader which sessions it has heard from only in its answers to the
 * leader's pings; one that is cut off from its leader goes on answering reads
 * while the leader expires the session. What proves it, on one connection:
 *
 *     a request is answered                        the probe; the server has noted it
 *     a write, sent at least a tick after that,    the leader has sent the server a ping
 *         is committed and answered                meanwhile, which it got before this answer
 *     a write, sent after that answer,             the server's answer to that ping
 *         is committed and answered                reached the leader before this write
 *
 * Then the leader has heard of the probe, and expires the session no earlier
 * than the timeout after the probe was sent. A margin covers the difference of
 * the clocks' rates. Anything will do as a write that the leader has committed,
 * be it as an error: see zkl_is_committed. A new session needs no proof: it
 * cannot expire before its timeout has passed since we began to connect.
 *
 * It does not hold with observers behind observers, nor with local sessions.
 *
 * Pure like the rest of the recipe: the caller tells the time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/** With fewer of the servers' ticks in a session timeout a slow answer is enough
 *  for the lease to run out. */
#define ZKL_LEASE_TICKS_MIN 5

typedef enum zkl_lease_stage {
    ZKL_LEASE_NOTHING,     /* waits for a probe */
    ZKL_LEASE_PROBED,      /* waits for the first write */
    ZKL_LEASE_FIRST_WRITE, /* waits for the second */
} zkl_lease_stage;

/** A request that the server has answered; sent_ms is INT64_MIN: there is none. */
typedef struct zkl_lease_probe {
    int64_t sent_ms;
    int64_t answered_ms;
} zkl_lease_probe;

/** Read its fields freely; only this module writes them. */
typedef struct zkl_lease {
    int32_t tick_ms; /* of the servers; 0: no lease is kept */
    int32_t timeout_ms;
    int64_t period_ms; /* between two probes */
    int64_t margin_ms;
    int64_t ends_ms; /* INT64_MIN: there has been none in this session */
    zkl_lease_stage stage;
    zkl_lease_probe probe;      /* of the proof under way, or of the last */
    zkl_lease_probe next_probe; /* answered while that proof is under way */
    int64_t write_answered_ms;  /* the first */
} zkl_lease;

void zkl_lease_begin(zkl_lease *lease, int32_t tick_ms);

/** How often a session of this timeout is to be probed. */
int64_t zkl_lease_probe_period(int32_t timeout_ms);

/** A new session, with what the servers agreed to; begun no earlier than that. */
void zkl_lease_new_session(zkl_lease *lease, int32_t timeout_ms, int64_t begun_ms);

/** A new connection of the same session, whose timeout is another from now on; the
 *  old connection was lost no earlier than that. */
void zkl_lease_timeout_changed(zkl_lease *lease, int32_t timeout_ms, int64_t lost_ms);

/** What has been gathered so far proves nothing any more: there is a new
 *  connection, or a pause in the probing. What was earned stands. */
void zkl_lease_gather_anew(zkl_lease *lease);

/** A request of this connection was answered by the server. True: the lease
 *  lasts longer now. */
bool zkl_lease_answered(zkl_lease *lease, int64_t sent_ms, int64_t answered_ms, bool was_write);

/** When a write is needed, unless one is under way; INT64_MAX: none is. */
int64_t zkl_lease_write_due(const zkl_lease *lease);

/** Whether it runs at this time. */
bool zkl_lease_runs(const zkl_lease *lease, int64_t now_ms);

/** Whether it runs for so long that it will be extended before it ends, if all is
 *  well: a grant on less would be lost for no reason. */
bool zkl_lease_is_ample(const zkl_lease *lease, int64_t now_ms);

/** Whether a lease can be kept at all, with this timeout and tick. */
bool zkl_lease_is_possible(const zkl_lease *lease);
