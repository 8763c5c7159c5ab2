/*
 * One ZooKeeper session after another, as the requests see it: it hands them
 * news of the connection, keeps their watches and timers, and gives them new
 * GUIDs when a session has expired. All of it runs with the client's mutex
 * held; opening and closing the real thing is the client's work.
 */
#ifndef ZKLOCK_ZOOKEEPER_SESSION_H
#define ZKLOCK_ZOOKEEPER_SESSION_H

#include "session/listing.h"
#include "session/liveness.h"
#include "session/sender.h"
#include "session/timers.h"
#include "session/watch_table.h"
#include "telemetry/log.h"
#include "telemetry/recorder.h"
#include "telemetry/telemetry.h"

typedef struct zkl_request_runner zkl_request_runner;

/** Uses the session without a request; embed it. While there is one, the probes go on. */
typedef struct zkl_session_follower {
    void *arg;
    void (*connected)(void *arg); /* the session has a new connection, and may be a new one */
    void (*finished)(void *arg, int status); /* no session will follow; it follows no more */
    size_t watched_bytes;                    /* that it may come to need for its watches */
    struct zkl_session_follower *prev, *next;
} zkl_session_follower;

/** Strings and objects stay the caller's, and outlive the session. */
typedef struct zkl_session_options {
    zkl_operations *operations;
    zkl_log *log;           /* NULL: none */
    zkl_metrics *metrics;   /* NULL: nothing is counted */
    zkl_recorder *recorder; /* NULL: none */
    const char *identity;   /* first lines of each node's data */
    const char *label;      /* who we are, in the log */
    const char *lock_root;  /* full path; the session's own requests are about it */
    int32_t lease_tick_ms;  /* of the servers; 0: no lease is kept */
    bool container_parents; /* a resource's own node is made as a container */
} zkl_session_options;

struct zkl_session {
    zkl_operations *operations;
    zkl_sender sender; /* what goes to the servers goes through it */
    zkl_log *log;
    zkl_metrics *metrics;
    zkl_recorder *recorder;
    uint64_t recorded_number; /* in the record */
    const char *identity;
    const char *label;
    const char *lock_root;
    bool container_parents;
    void (*request_ended)(void *arg); /* whenever a request's node is gone; may be NULL */
    void *request_ended_arg;
    void (*abandon)(void *arg); /* give this session up for another; may be NULL */
    void *abandon_arg;
    bool established; /* the servers have made this session */
    bool connected;
    bool auth_failed;
    bool finished; /* no session will follow */
    bool given_up; /* by us, until the next is asked for: the servers have not ended it yet */
    int64_t connected_ms;   /* since when, where it is */
    int64_t unconnected_ms; /* since when, where it is not */
    int64_t left_behind_ms; /* so long may nodes of sessions given up live with connected servers */
    uint64_t expired_count;
    int64_t id;
    int32_t timeout_ms;
    zkl_watch_table watches;
    zkl_listings listings;
    zkl_timers timers;
    zkl_liveness liveness;
    size_t watched_bytes; /* that requests and followers may come to need for their watches */
    struct zkl_guarded_write *guarded_writes; /* that wait to be sent */
    zkl_request_runner *runners;
    size_t runner_count;
    zkl_session_follower *followers;
};

void zkl_session_begin(zkl_session *session, const zkl_session_options *options);
void zkl_session_destroy(zkl_session *session);

/** The next session is about to be asked for. */
void zkl_session_connecting(zkl_session *session);

/** News from the operations. */
void zkl_session_on_news(zkl_session *session, const zkl_session_news *news);
void zkl_session_on_watch_fired(zkl_session *session, uint64_t watch_id, bool deleted);

/** We end the session, as it does not answer: for the requests it has expired, but
 *  that their nodes are gone is not known. */
void zkl_session_give_up(zkl_session *session);

/** How long nodes of a session that we gave up may still be there; 0: none is. The servers end it
 *  at the latest when they have been at work for its timeout: a server whose connection
 *  stays has had no new leader, who would give every session its time anew. INT64_MAX: there is
 *  no connection, so nobody knows. */
int64_t zkl_session_left_behind_ms(const zkl_session *session);

/** The session is over for good and no other will follow: requests that are
 *  left give `status` as their verdict and end. */
void zkl_session_finish(zkl_session *session, int status);

/** Writes a fresh textual UUID (version 4). False: no random numbers. */
bool zkl_session_make_guid(zkl_session *session, char guid[ZKL_GUID_SIZE]);

/** The pause, or up to half less, at random: so that who failed together does not come back so. */
int64_t zkl_session_shorten(const zkl_session *session, int64_t pause_ms);

void zkl_session_follow(zkl_session *session, zkl_session_follower *follower);
void zkl_session_unfollow(zkl_session *session, zkl_session_follower *follower);

/** Hands an event to every request. */
void zkl_session_feed_all(zkl_session *session, const zkl_event *event);

/** Sets or moves a timer. */
void zkl_session_set_timer(zkl_session *session, zkl_timer *timer, int64_t deadline_ms);

/** So long from then on; 0 or ZKL_FOREVER: never. */
void zkl_session_set_timer_after(zkl_session *session, zkl_timer *timer, int64_t from_ms,
                                 int64_t duration_ms);

int64_t zkl_session_now_ms(const zkl_session *session);

/** For telemetry.h. */
zkl_session_facts zkl_session_facts_of(const zkl_session *session);

#endif
