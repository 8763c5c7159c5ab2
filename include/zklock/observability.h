/*
 * zklock: what a client does, for people: its log, its record and its metrics.
 * docs/observability.md has the events and the numbers.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_OBSERVABILITY_H
#define ZKLOCK_OBSERVABILITY_H

#include "zklock/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Smallest and largest recorded_events, other than 0 and ZKL_NONE. */
#define ZKL_RECORDED_EVENTS_MIN 64
#define ZKL_RECORDED_EVENTS_MAX 65536
/** How many events a client records whose options say 0. */
#define ZKL_RECORDED_EVENTS_DEFAULT 1024
/** Longest resource class, in bytes without the NUL. */
#define ZKL_RESOURCE_CLASS_MAX 64
/** Most resource classes that one client counts separately, besides the one
 *  without a name. Requests of all others count as ZKL_RESOURCE_CLASS_OVERFLOW. */
#define ZKL_RESOURCE_CLASSES_MAX 32
#define ZKL_RESOURCE_CLASS_OVERFLOW "_overflow"

/* ---- Log ----------------------------------------------------------------- */

/** How important a log record is. */
typedef enum zkl_log_level {
    ZKL_LOG_ERROR = 1, /* a lock was lost, the servers refused the client, or new credentials
                          cannot be shown; also libzookeeper's errors */
    ZKL_LOG_WARN = 2,  /* a connection, a session or a place in a queue was lost, or an operator
                          should look at something; also libzookeeper's warnings */
    ZKL_LOG_INFO = 3,  /* a session is connected, an acquire has ended, or a lock was released */
    ZKL_LOG_DEBUG = 4  /* an acquire begins, or waits; also libzookeeper's information */
} zkl_log_level;

/** Every log event, with its name, from this one list. docs/observability.md says when each is
 *  logged, and which fields it has. */
#define ZKL_LOG_EVENT_LIST(X)                                                                      \
    X(ZKL_LOG_CONNECTED, "connected")                                                              \
    X(ZKL_LOG_DISCONNECTED, "disconnected")                                                        \
    X(ZKL_LOG_SESSION_EXPIRED, "session_expired")                                                  \
    X(ZKL_LOG_AUTH_FAILED, "auth_failed")                                                          \
    X(ZKL_LOG_BEGIN, "begin")                                                                      \
    X(ZKL_LOG_QUEUED, "queued")                                                                    \
    X(ZKL_LOG_ACQUIRED, "acquired")                                                                \
    X(ZKL_LOG_NOT_ACQUIRED, "not_acquired")                                                        \
    X(ZKL_LOG_REJOINED, "rejoined")                                                                \
    X(ZKL_LOG_RELEASED, "released")                                                                \
    X(ZKL_LOG_LOST, "lost")                                                                        \
    X(ZKL_LOG_NOT_DELETED, "not_deleted")                                                          \
    X(ZKL_LOG_UNKNOWN_CHILD, "unknown_child")                                                      \
    X(ZKL_LOG_SHORT_SESSION, "short_session")                                                      \
    X(ZKL_LOG_UNSUPPORTED_SERVERS, "unsupported_servers")                                          \
    X(ZKL_LOG_DROPPED, "dropped")                                                                  \
    X(ZKL_LOG_ZOOKEEPER, "zookeeper")                                                              \
    X(ZKL_LOG_CREDENTIALS_REFUSED, "credentials_refused")                                          \
    X(ZKL_LOG_SESSION_MOVED, "session_moved")

typedef enum zkl_log_event {
#define ZKL_LOG_EVENT_ENUM(name, text) name,
    ZKL_LOG_EVENT_LIST(ZKL_LOG_EVENT_ENUM)
#undef ZKL_LOG_EVENT_ENUM
} zkl_log_event;

/** The name of a log event. Returns a static string, for example "acquired"; "unknown" for any
 *  other number. Does not block. */
ZKL_API const char *zkl_log_event_name(int event);

/**
 * One log record. All strings are valid during the callback only, and are
 * empty rather than NULL where they do not apply.
 */
typedef struct zkl_log_record {
    size_t struct_size;   /* of the library's struct; later versions append */
    zkl_log_level level;  /* always the same for an event, except for ZKL_LOG_ZOOKEEPER */
    zkl_log_event event;  /* what happened, and so which of the fields below apply */
    const char *resource; /* as the application named it */
    const char *owner;    /* the client's identity label */
    const char *node;     /* the contender's own node, a full path */
    const char *behind;   /* QUEUED, UNKNOWN_CHILD: the name of the node in its way */
    const char *message;  /* ZOOKEEPER: libzookeeper's line; else a detail */
    int status;           /* the reason, where there is one; else ZKL_OK */
    int64_t waited_ms;    /* since acquire was called; -1: does not apply */
    int64_t held_ms;      /* since the grant; -1: does not apply */
    int64_t session_id;   /* of the ZooKeeper session; 0 before there is one */
    int64_t token;        /* of the grant; 0 where held_ms is -1 */
    /** The option `owner` of the lock's handle; empty if it has none, and for a lent lock. */
    const char *lock_owner;
} zkl_log_record;

/**
 * Receives log records. Runs on a thread of its own, one call at a time and in order, never under
 * a lock of the library. So it may be slow: when more than 1,024 records wait for it, further ones
 * are dropped, and a ZKL_LOG_DROPPED says how many. It must not call a blocking zklock function:
 * that returns ZKL_IN_CALLBACK. No call begins after zkl_client_close returned.
 *
 * libzookeeper's own lines do not name their session, so each client with a log callback receives
 * all such lines of the process. Its information counts as ZKL_LOG_DEBUG; its warnings and errors
 * keep their level. There can be dozens in a second while no server answers: unless log_level is
 * ZKL_LOG_DEBUG, one in ten seconds is passed on, with the number of those before it; and one that
 * comes while the client is connected waits for ZKL_LOG_DISCONNECTED, or for the next record or
 * line after a second. Its lines may take half of the 1,024 places.
 */
typedef void zkl_log_callback(void *arg, const zkl_log_record *record);

/* ---- Record -------------------------------------------------------------- */

/**
 * Writes the client's record to a file: the last events of its requests, what the requests
 * did about each, and the changes of its sessions, one line each. People can read it, and
 * `tests/simulation/run --replay FILE` in zklock's source tree plays it back step by step.
 * Call it when a lock was lost, granted or not granted for no reason that you can see. It
 * needs no connection.
 *
 * An event is an answer of the servers, a watch that fires, a change of the connection, a timer, or
 * a call; an acquire and release without contention are five events. Memory for `recorded_events`
 * of zkl_client_options, of the usual size, 128 bytes, is allocated when the client is opened: 128
 * KB by default, 32 KB at least. An event takes about 350 instructions; text is made of it only
 * when the record is written.
 *
 * The file contains the names of resources and of their nodes, the client's label,
 * session ids and times; never a node's data, a password or a credential. Only
 * its owner can read it.
 *
 * path  of the file, at most ZKL_FILE_NAME_MAX bytes. An existing file is replaced
 *       once everything has been written, and stays otherwise.
 *
 * Any thread, also in a callback. It does not keep the client open: it must have
 * returned before zkl_client_close is called; callbacks of the client may call it
 * until zkl_client_close returns. While it runs it takes as much memory as the record
 * may have, and it blocks for the disk. Locks and news from the servers wait only while
 * the record is copied in memory: 128 KB by default; 8 MB, a few milliseconds, with
 * ZKL_RECORDED_EVENTS_MAX. Returns ZKL_OK, ZKL_SYSTEM (the file could not be written;
 * zkl_error_message says why) or ZKL_INVALID_ARGUMENT (also if recorded_events is ZKL_NONE).
 */
ZKL_API int zkl_client_write_record(zkl_client *client, const char *path);

/* ---- Metrics ------------------------------------------------------------- */

/**
 * Writes what the client has counted since it was opened, as NUL-terminated text in the
 * exposition format 0.0.4 of Prometheus (Content-Type: text/plain; version=0.0.4):
 * acquires by result, releases, losses by reason, waiting and held times, requests to
 * ZooKeeper and more, listed in docs/observability.md. Each series has the label client,
 * with the client's label; series about locks also have resource_class, see
 * zkl_lock_options. It asks no server.
 *
 * The format requires one group for each metric, so the texts of two clients are two
 * pages: one appended to the other is not valid.
 *
 * buffer  may be NULL if size is 0.
 * size    of the buffer, in bytes. The text takes about 7 KB, and 5 KB more for each resource
 *         class.
 * length  receives the length of the text without its NUL, on ZKL_OK and on
 *         ZKL_BUFFER_TOO_SMALL. On the latter the buffer is unchanged, and size must be at
 *         least *length + 1. The text can be longer the next time, so leave some room.
 *
 * Any thread, also in a callback; it must have returned before zkl_client_close is
 * called. Does not block; locks and news from the servers wait while the numbers are copied.
 * Returns ZKL_OK, ZKL_BUFFER_TOO_SMALL or ZKL_INVALID_ARGUMENT (also if metrics is 0). On all but
 * ZKL_OK and ZKL_BUFFER_TOO_SMALL *length is 0.
 *
 * Rule: Prometheus, "Exposition formats", "Text-based format".
 */
ZKL_API int zkl_client_metrics(zkl_client *client, char *buffer, size_t size, size_t *length);

#ifdef __cplusplus
}
#endif

#endif
