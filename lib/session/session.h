/*
 * One ZooKeeper session after another, as the requests see it: the way to the servers, the clock
 * and the timers, the watches and lists, GUIDs, and the state of the session. session_life.h has
 * the functions that change the state. Everything here runs with the client's mutex held.
 */
#pragma once

#include "session/listing.h"
#include "session/liveness.h"
#include "session/sender.h"
#include "session/timers.h"
#include "session/watch_table.h"
#include "telemetry/log.h"
#include "telemetry/recorder.h"
#include "telemetry/telemetry.h"

/** Embed it. The caller fills the fields up to `arg`; what they point to outlives the session. */
typedef struct zkl_session {
    zkl_operations *operations;
    zkl_log *log;               /* NULL: none */
    zkl_metrics *metrics;       /* NULL: nothing is counted */
    zkl_recorder *recorder;     /* NULL: none */
    zkl_timers *timers;         /* the client's */
    const char *identity;       /* first lines of each node's data */
    const char *label;          /* the client's, in the log */
    const char *lock_root;      /* full path; the session's own requests are about it */
    bool container_parents;     /* a resource's own node is made as a container */
    void (*abandon)(void *arg); /* gives this session up for another; may be NULL */
    /* hears that a server says that the session is not there; may be NULL */
    void (*is_denied)(void *arg);
    void *arg;
    uint32_t recorded_number; /* its number in the record */
    bool established;         /* the servers have made this session */
    bool connected;
    /* a server has said so on this connection: the session is over, or at another server */
    bool is_not_there;
    bool unsupported; /* the servers that made it are not Apache ZooKeeper */
    bool auth_failed;
    bool finished; /* no session will follow */
    /* we gave it up, and have not asked for the next yet: the servers have not ended it */
    bool given_up;
    int64_t connected_ms;   /* since when it is connected, if it is */
    int64_t unconnected_ms; /* since when it is not connected, if it is not */
    int64_t left_behind_ms; /* nodes of sessions given up may live for this time of connection */
    uint64_t expired_count;
    int64_t id;
    int32_t timeout_ms;
    zkl_sender sender; /* what goes to the servers goes through it */
    zkl_watch_table watches;
    zkl_listings listings;
    zkl_liveness liveness;
    size_t watched_bytes; /* what requests and leader watches may come to need */
    struct zkl_guarded_write *guarded_writes; /* those that wait to be sent */
    struct zkl_request_runner *runners;
    struct zkl_leader_watch *leader_watches; /* while there is one, the probes go on */
} zkl_session;

/** Writes a fresh textual UUID, of which all bits are random but for version and variant; for a
 *  request whose nodes are to be protected, if they can be. False: no random numbers. */
bool zkl_session_make_guid(zkl_session *session, bool protects, char guid[ZKL_GUID_SIZE]);

/** Returns the pause, or up to half less, at random: requests that failed together do not come back
 *  together. */
int64_t zkl_session_shorten(const zkl_session *session, int64_t pause_ms);

/** Returns a time from now; for a duration of 0 or ZKL_FOREVER INT64_MAX. */
int64_t zkl_session_deadline(const zkl_session *session, int64_t duration_ms);
/** Sets a timer to that time; a duration of 0 or ZKL_FOREVER: it is not set. */
void zkl_session_set_timer(zkl_session *session, zkl_timer *timer, int64_t duration_ms);

int64_t zkl_session_now_ms(const zkl_session *session);

/** Returns how long the servers keep the session at least, whose connection is lost; less than 0:
 *  it may be over. */
int64_t zkl_session_left_ms(const zkl_session *session);

/** Returns how long nodes of a session that we gave up may still be there; 0: none is. The servers
 *  end it at the latest when they have been at work for its timeout: a server whose connection
 *  stays has had no new leader, which would give every session its time anew. INT64_MAX: there is
 *  no connection, so it is not known. */
int64_t zkl_session_left_behind_ms(const zkl_session *session);

/** Returns the facts of the session for telemetry.h. */
zkl_session_facts zkl_session_facts_of(const zkl_session *session);
