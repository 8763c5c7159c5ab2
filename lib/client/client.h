/* What the threads, the sessions and the handles of a client share. */
#pragma once

#include <pthread.h>

#include "base/callback_queue.h"
#include "base/handles.h"
#include "base/pool.h"
#include "client/credentials.h"
#include "connection/connection.h"
#include "recipe/connecting.h"
#include "session/session.h"
#include "telemetry/recorder.h"
#include "zklock/zklock.h"

/** Room for a full parent path, with its NUL: chroot, lock root, resource. */
#define ZKL_PARENT_PATH_SIZE (2 * ZKL_ROOT_MAX + ZKL_RESOURCE_MAX + 2)

/** After a reconnect all watches of a session travel in one packet (lz-one-packet), and a server
 *  refuses one that is too large, again and again. So each session watches no
 *  more than this, and a client that needs more opens another. */
#define ZKL_WATCHED_BYTES_MAX ((size_t)512 * 1024)
/** ZooKeeper takes 60 connections from one address by default. */
#define ZKL_SESSIONS_MAX 16

/** One ZooKeeper session of a client (and the next, when it has expired), and
 *  the thread that keeps it connected. */
typedef struct zkl_client_session {
    zkl_client *client;
    zkl_connection *connection;
    zkl_session session;
    zkl_connecting connecting; /* decides what is to be done to be connected */
    zkl_session_news news;     /* the last, which PASS_ON hands to the session */
    int connect_status; /* ZKL_OK, or why its thread could not begin; ZKL_PENDING: not known yet */
    zkl_credential_room shown;
    pthread_cond_t changed; /* wakes its thread */
    char *addresses;        /* where the names led; like what follows used by its thread only */
    /* those of the addresses that the connection has, when the others were silent; NULL: it has
     * all */
    char *rest;
    bool moved;           /* the task that is under way has found other addresses */
    int64_t asked_for_ms; /* when its time to connect began */
    int64_t sought_ms;    /* since when the connection has tried the addresses that it has */
    int64_t looked_up_ms;
    int64_t not_left_before_ms; /* no server is left before, as that has just failed */
    pthread_t thread;
    struct zkl_client_session *next;
} zkl_client_session;

/** A handle, which hears when the client is being closed, with the mutex held. Embed it. */
typedef struct zkl_close_listener {
    struct zkl_close_listener *prev, *next;
} zkl_close_listener;

struct zkl_client {
    zkl_handle open;               /* first */
    pthread_mutex_t mutex;         /* guards the sessions, the requests and the handles */
    pthread_cond_t changed;        /* signals news of a connection, and requests that ended */
    pthread_cond_t timers_changed; /* wakes the timer thread */
    size_t references;             /* the client itself and its lock handles */
    bool closed;
    uint64_t answers; /* counts the answers of servers to requests, lost ones too */
    bool stopping;    /* its sessions are ending */
    char *servers;
    zkl_pool pool; /* holds the strings that follow */
    char *chroot;
    char *lock_root; /* begins with the chroot */
    char *label;
    char *identity;
    zkl_client_options options; /* its other pointers are good while it is being opened */
    zkl_security security;      /* of the options; its texts and files are copies in the pool */
    /* of handles that were given none: with the ACLs of `security` */
    zkl_lock_options lock_defaults;
    uint64_t last_lock_id;    /* counts the handles */
    size_t watched_bytes_max; /* for each session; some tests set less than ZKL_WATCHED_BYTES_MAX */
    zkl_credentials credentials;
    /* NULL: no handle has needed it yet, and it is to have a thread */
    zkl_callback_queue *callbacks;
    zkl_grant granted; /* that of the acquire whose callback runs now */
    zkl_log *log;
    zkl_metrics *metrics;         /* NULL: nothing is counted */
    zkl_recorder *recorder;       /* NULL: nothing is recorded */
    zkl_client_session *sessions; /* the first is always there */
    zkl_close_listener *close_listeners;
    void (*handle_closes)(zkl_close_listener *handle); /* tells each of them; NULL: there is none */
    struct zkl_lender *lenders;                        /* those of handles that share nodes */
    zkl_timers timers;                                 /* those of all sessions */
    pthread_t timer_thread;
    bool timer_thread_runs;
    bool timers_stop; /* tells it to end */
};

/** Keeps the client's memory, for a lock handle. With the mutex held. */
void zkl_client_keep(zkl_client *client);
/** Drops it for one of its keepers, and frees it for the last. Without the mutex. */
void zkl_client_drop(zkl_client *client);

/** Opens the queue of the callbacks of handles if there is none yet, with the mutex held. ZKL_OK,
 *  ZKL_CLOSED, or ZKL_SYSTEM: its thread could not be started. */
int zkl_client_need_callbacks(zkl_client *client);

/** Leaves a message for zkl_error_message that says why no lease can be kept, with the mutex held.
 */
void zkl_client_note_lease_impossible(const zkl_client *client);

/** Returns a session that has room for a request that watches paths of this many bytes, and opens
 *  another one where needed. With the mutex held. ZKL_OK, ZKL_INVALID_ARGUMENT,
 *  ZKL_TOO_MANY_REQUESTS, ZKL_AUTH_FAILED, ZKL_NO_MEMORY or ZKL_SYSTEM. */
int zkl_client_choose_session(zkl_client *client, size_t watched_bytes, zkl_session **session);

/** Writes the full path of a resource that has been checked. */
void zkl_client_resource_path(const zkl_client *client, const char *resource,
                              char path[ZKL_PARENT_PATH_SIZE]);

/* ---- Its sessions: session_threads.c ------------------------------------------------------ */

/** Tells a session's thread of news that have nothing but their kind. With the mutex held. */
void zkl_client_session_tell(zkl_client_session *self, zkl_connecting_event_kind kind);

/** Starts the timers' thread, and makes the first session. ZKL_OK, ZKL_NO_MEMORY or ZKL_SYSTEM:
 *  zkl_sessions_stop is to follow in each case. Without the mutex. */
int zkl_sessions_start(zkl_client *client);
/** Makes another session, which its thread opens. With the mutex held. ZKL_OK, ZKL_NO_MEMORY or
 *  ZKL_SYSTEM. */
int zkl_sessions_add(zkl_client *client, zkl_client_session **result);
/** Tells whether no reply is awaited: those of a connection that breaks are lost at once. With the
 *  mutex held. While the client closes, its condition is signalled when that becomes true. */
bool zkl_sessions_are_idle(const zkl_client *client);
/** Stops all threads and ends all sessions, and with them the requests. Without
 *  the mutex. */
void zkl_sessions_stop(zkl_client *client);
/** Frees the sessions, which have stopped. */
void zkl_sessions_free(zkl_client *client);
