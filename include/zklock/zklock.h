/*
 * zklock: distributed locks in C on Apache ZooKeeper.
 *
 * ZooKeeper in a few words
 * ------------------------
 * An ensemble is a group of servers, mostly three or five, that agree on a tree of small nodes. A
 * node has a path, data, a version and children. Each change is a transaction with a number, the
 * zxid; the czxid of a node is the number of the transaction that made it. A client has a session
 * with the ensemble. When the servers have not heard from the client for the session timeout, they
 * expire the session and delete its ephemeral nodes. The servers count time in ticks (tickTime,
 * 2,000 ms by default). A watch asks the servers to report once when a node changes or goes.
 *
 * A resource is a node. Each contender for it makes an ephemeral child with a sequence number; the
 * children in the order of their numbers are the queue. A contender whose child has no conflicting
 * child before it is granted the lock; the others watch the child before them.
 *
 * What you must know before you bet data on it
 * --------------------------------------------
 * 1. A distributed lock is not a mutex. The holder is a process on a machine that may stop
 *    (SIGSTOP, swap, a moved virtual machine) for longer than its session lasts. The lock then
 *    passes on, and the stopped process wakes up believing that it still holds it. No lock service
 *    can prevent this. What helps is the fencing token of each grant: hand it to the store that the
 *    lock protects, claim the row with it BEFORE the first read, and let every write require that
 *    very token (docs/guarantees.md has the SQL).
 * 2. The lock is tied to the client's ZooKeeper session. While the client is disconnected,
 *    zkl_lock_check() returns ZKL_SUSPECT: another client may be granted the lock as soon as the
 *    servers expire the session. When the session is known to have expired, the grant is ZKL_LOST
 *    for ever. A client that keeps a lease (lease_tick_ms) knows until when nobody else can have
 *    been granted the lock, whatever happens to its connection. Anybody who can connect to the
 *    servers can end any session, a closed one too: then only the token helps (docs/security.md).
 * 3. A zkl_lock is one contender, not a mutex that threads share. Each thread that competes opens
 *    its own handle; handles of one client exclude one another just as those of different machines
 *    do.
 * 4. A timeout or a cancel ends the wait at once. The contender's node is deleted in the
 *    background, with retries, until a server has confirmed it or the session has ended.
 * 5. After fork() the child must not use any handle of the parent: every call on one returns
 *    ZKL_FORKED there, and touches nothing. It may open a client of its own.
 * 6. pthread_cancel() does not take effect inside a zklock call, nor in a callback that
 *    zkl_client_dispatch runs: it would leave the client's mutex locked. The thread ends when the
 *    call returns. To make a waiting acquire return, cancel it (zkl_lock_cancel,
 *    zkl_striped_lock_cancel) or give it a deadline. Do not use PTHREAD_CANCEL_ASYNCHRONOUS.
 * 7. Programs that the process executes (exec) do not inherit a client's connections, event
 *    descriptor or files. They do inherit a connection that is just being made, and for each
 *    session the two ends of one of libzookeeper's pipes (docs/operations.md).
 * 8. zklock sees all locks of Curator and kazoo on the same node. Those libraries do not see all
 *    of zklock's locks. A lock that does not see a holder is granted beside it:
 *
 *      waits for a holder with              ZKL_EXCLUSIVE  ZKL_WRITE  ZKL_READ  a permit
 *      Curator InterProcessMutex            yes            NO         NO        NO
 *      Curator InterProcessReadWriteLock
 *        readLock                           NO             yes        shares    NO
 *        writeLock                          NO             yes        yes       NO
 *      kazoo Lock, ReadLock, WriteLock      NO             NO         NO        NO
 *        extra_lock_patterns=("lock-",)     yes            NO         NO        NO
 *        ...("lock-", "__READ__",
 *            "__WRIT__")                    yes            yes        yes       NO
 *
 *    So share a resource with Curator's mutex by ZKL_EXCLUSIVE, with its read/write lock by
 *    ZKL_READ and ZKL_WRITE, and with kazoo only if every kazoo contender has these patterns.
 *
 * Conventions
 * -----------
 * - Functions return ZKL_OK (0) or a negative zkl_status. zkl_strerror() returns the text of a
 *   status; zkl_error_message() adds the details: which input was wrong, how many requests were in
 *   the way, what the servers refused.
 * - Every duration is in milliseconds and its name ends in _ms.
 * - A struct that a program passes in begins with struct_size and is initialised with its _INIT
 *   macro. So a program that is built today runs with a later library, which reads and fills only
 *   the fields that the program knows.
 * - Strings passed in are copied. Only handles, and results that have a _free function, must be
 *   freed.
 * - A call on a handle that is closed, was never opened, or is of another kind returns
 *   ZKL_INVALID_ARGUMENT, with a message, unless a newer handle has the same address; a function
 *   that returns no status does nothing. This finds mistakes; it does not make it safe to close a
 *   handle that another thread is about to use.
 * - Unless stated otherwise, any thread may call any function at any time.
 * - A zklock callback must not make a call that blocks: such a call returns ZKL_IN_CALLBACK. It
 * must return: no exception of C++ may leave it, nor longjmp() or pthread_exit().
 * - A signal handler may call zkl_strerror(), zkl_version() and the functions that end in _name,
 * and nothing else: the others take mutexes and memory. Let it write to a pipe or an eventfd, and
 * let a thread that reads from that call zklock.
 * - dlclose() does not unload the shared library: its threads, and OpenSSL, run its code for as
 * long as the process lives. If you link the static one into a shared library of your own, link
 * that with -z nodelete, or close all clients before it is unloaded.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_ZKLOCK_H
#define ZKLOCK_ZKLOCK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ZKL_API __attribute__((visibility("default")))
/* For functions whose status says whether the caller has what it asked for: the compiler warns if
 * a program ignores it (gcc even behind a cast to void). */
#define ZKL_CHECKED_API ZKL_API __attribute__((warn_unused_result))
#else
#define ZKL_API
#define ZKL_CHECKED_API ZKL_API
#endif

#define ZKL_VERSION_MAJOR 0
#define ZKL_VERSION_MINOR 1
#define ZKL_VERSION_PATCH 0

/* ---- Limits ------------------------------------------------------------ */

/** Longest resource name or absolute resource path, in bytes without the NUL. */
#define ZKL_RESOURCE_MAX 512
/** Longest lock root and longest chroot, each, in bytes without the NUL. */
#define ZKL_ROOT_MAX 256
/** Longest host list, in bytes without the NUL. */
#define ZKL_HOSTS_MAX 4096
/** Longest identity label, in bytes without the NUL. */
#define ZKL_LABEL_MAX 128
/** Longest name of a lock's owner, in bytes without the NUL. */
#define ZKL_OWNER_MAX 128
/** What the name of an owner begins with that locks of several sessions share. */
#define ZKL_OWNER_SHARED "shared:"
/** Longest note in a lock's node, in bytes without the NUL. */
#define ZKL_NOTE_MAX 256
/** Room for the full path of a lock's node, with its NUL. */
#define ZKL_NODE_PATH_SIZE 1152
/** Shortest and longest session timeout that a client can ask for. The servers clamp it to their
 *  own limits (2 to 20 ticks by default). A shorter one would not leave libzookeeper the time to
 *  connect. */
#define ZKL_SESSION_TIMEOUT_MIN_MS 100
#define ZKL_SESSION_TIMEOUT_MAX_MS 3600000
/** Longest lease_tick_ms. */
#define ZKL_LEASE_TICK_MAX_MS 60000
/** Smallest and largest recorded_events, other than 0. */
#define ZKL_RECORDED_EVENTS_MIN 64
#define ZKL_RECORDED_EVENTS_MAX 65536
/** Longest name of a file or directory, in bytes without the NUL. */
#define ZKL_FILE_NAME_MAX 1024
/** Longest resource class, in bytes without the NUL. */
#define ZKL_RESOURCE_CLASS_MAX 64
/** Most resource classes that one client counts separately, besides the one
 *  without a name. Requests of all others count as ZKL_RESOURCE_CLASS_OVERFLOW. */
#define ZKL_RESOURCE_CLASSES_MAX 32
#define ZKL_RESOURCE_CLASS_OVERFLOW "_overflow"
/** How often the owner of a reentrant handle can acquire it without a release. */
#define ZKL_HOLDS_MAX 65535
/** Most permits of a semaphore. A request that waits for a permit watches as many nodes as the
 *  semaphore has permits. */
#define ZKL_PERMITS_MAX 1000
/** Most resources of a set (zkl_lock_open_set). */
#define ZKL_LOCK_MEMBERS_MAX 64
/** Longest ACL, in bytes without the NUL, and its most entries. */
#define ZKL_ACL_MAX 1024
#define ZKL_ACL_ENTRIES_MAX 16
/** Most credentials of a client; longest scheme and longest secret of one, in bytes. */
#define ZKL_CREDENTIALS_MAX 16
#define ZKL_SCHEME_MAX 31
#define ZKL_SECRET_MAX 4096
/** Largest max_waiting. */
#define ZKL_WAITING_MAX 1000000
/** Largest local_hand_offs. */
#define ZKL_LOCAL_HAND_OFFS_MAX 1000000

/** Most operations of a transaction (zkl_transaction_begin), and longest path of one in bytes. */
#define ZKL_TRANSACTION_OPERATIONS_MAX 1000
#define ZKL_TRANSACTION_PATH_MAX 1024
/** Most bytes of a transaction. Each operation counts its data, its path with the chroot, and
 *  ZKL_TRANSACTION_OVERHEAD. Servers accept requests of 1,048,575 bytes, unless they are
 *  configured otherwise (jute.maxbuffer). */
#define ZKL_TRANSACTION_BYTES_MAX 1000000
#define ZKL_TRANSACTION_OVERHEAD 64

/* ---- Status ------------------------------------------------------------ */

/**
 * Every status, with its text, from this one list: X(name, value, text). They are grouped by what a
 * program does about them (docs/statuses.md).
 *
 * Every function that returns a status can return ZKL_INVALID_ARGUMENT, ZKL_FORKED, ZKL_CLOSED,
 * ZKL_NO_MEMORY and ZKL_SYSTEM, and every function that blocks also ZKL_IN_CALLBACK. Functions name
 * these only where they mean more than here. After ZKL_INVALID_ARGUMENT nothing has happened, and
 * zkl_error_message() names the input and the rule.
 */
#define ZKL_STATUS_LIST(X)                                                                         \
    X(ZKL_OK, 0, "success")                                                                        \
    /* Not granted: wait, or give up. */                                                           \
    X(ZKL_BUSY, -1, "the lock is held or awaited by another contender")                            \
    X(ZKL_TIMEOUT, -2, "the deadline passed before the operation was complete")                    \
    X(ZKL_CANCELLED, -3, "the wait was cancelled, or its handle closed")                           \
    X(ZKL_QUEUE_FULL, -4, "more others wait for the resource than max_waiting allows")             \
    X(ZKL_TOO_MANY_REQUESTS, -5, "the client has as many requests as its sessions can watch for")  \
    X(ZKL_SEQUENCE_EXHAUSTED, -6, "the resource's sequence numbers are used up")                   \
    /* What was held is lost, or may be: stop; release it, and acquire again. */                   \
    X(ZKL_LOST, -7, "the lock was lost")                                                           \
    X(ZKL_SUSPECT, -8, "the lock may be lost: ZooKeeper is not reachable, or does not answer")     \
    X(ZKL_SESSION_EXPIRED, -9, "the ZooKeeper session expired")                                    \
    X(ZKL_LEASE_ENDED, -10, "the lease ran out before it could be extended")                       \
    X(ZKL_HOLD_LIMIT, -11, "the lock was held for longer than max_hold_ms")                        \
    X(ZKL_NODE_DELETED, -12, "the lock's node was deleted by somebody else")                       \
    /* Not known yet: PENDING continues on its own; after UNKNOWN look before you repeat it. */    \
    X(ZKL_PENDING, -13, "not confirmed by the servers in time: it continues in the background")    \
    X(ZKL_UNKNOWN, -14, "the reply was lost: what was asked for may have been applied, or not")    \
    /* A node is not as it was expected: nothing was applied. */                                   \
    X(ZKL_OPERATION_FAILED, -15, "an operation of the transaction failed: nothing was applied")    \
    X(ZKL_NO_NODE, -16, "the node, or the parent of the node, does not exist")                     \
    X(ZKL_NODE_EXISTS, -17, "the node exists already")                                             \
    X(ZKL_BAD_VERSION, -18, "the node is of another version")                                      \
    X(ZKL_NOT_EMPTY, -19, "the node has children")                                                 \
    /* The handle is not in a state that allows this call. */                                      \
    X(ZKL_NOT_HELD, -20, "this handle holds no lock")                                              \
    X(ZKL_ALREADY_HELD, -21, "this handle holds the lock already")                                 \
    X(ZKL_NOT_OWNER, -22, "another owner holds the lock through this reentrant handle")            \
    X(ZKL_HANDLE_IN_USE, -23, "another call on this handle is under way")                          \
    X(ZKL_NOT_WAITING, -24, "no acquire is waiting on this handle")                                \
    /* A mistake of the program: correct it. */                                                    \
    X(ZKL_INVALID_ARGUMENT, -25, "an argument is wrong: zkl_error_message() tells which, and why") \
    X(ZKL_BUFFER_TOO_SMALL, -26, "the buffer is too small for the text")                           \
    X(ZKL_IN_CALLBACK, -27, "a blocking call was made from a zklock callback")                     \
    X(ZKL_FORKED, -28, "the handle belongs to the process that forked this one")                   \
    X(ZKL_CLOSED, -29, "the client is closed")                                                     \
    /* The servers, or the configuration of the clients: for an operator. */                       \
    X(ZKL_DISCONNECTED, -30, "there is no connection to ZooKeeper")                                \
    X(ZKL_AUTH_FAILED, -31, "ZooKeeper refused the client's authentication")                       \
    X(ZKL_NO_PERMISSION, -32, "ZooKeeper refused the request: no permission on the path")          \
    X(ZKL_QUOTA_EXCEEDED, -33, "ZooKeeper refused the request: it would exceed a quota")           \
    X(ZKL_SERVER_REFUSED, -34, "ZooKeeper refused the request")                                    \
    X(ZKL_LEASE_IMPOSSIBLE, -35, "the session timeout is too short for a lease at this tick")      \
    X(ZKL_PERMITS_DIFFER, -36, "an earlier request has another number of permits, or none")        \
    /* This machine. */                                                                            \
    X(ZKL_NO_MEMORY, -37, "out of memory")                                                         \
    X(ZKL_SYSTEM, -38, "the operating system refused a thread, random numbers or a file")          \
    X(ZKL_UNSUPPORTED, -39, "libzookeeper was built without what is asked for, TLS or SASL")

typedef enum zkl_status {
#define ZKL_STATUS_ENUM(name, value, text) name = (value),
    ZKL_STATUS_LIST(ZKL_STATUS_ENUM)
#undef ZKL_STATUS_ENUM
} zkl_status;

/**
 * The text of a status. Never NULL; "unknown status" for any other number.
 * The string is static. Any thread; does not block.
 */
ZKL_API const char *zkl_strerror(int status);

/** The name of a status, for example "ZKL_TIMEOUT"; "unknown" for any other number. As
 *  zkl_strerror. */
ZKL_API const char *zkl_status_name(int status);

/**
 * Details of this thread's last zklock call, in addition to its status. For wrong input: the input
 * and the rule. For an acquire that failed, for example:
 *
 *     ZKL_TIMEOUT         resource "backup": behind 1 request for 10000 ms
 *     ZKL_DISCONNECTED    resource "backup": not connected for 9200 ms; last: 127.0.0.1:2181:
 *                         Connection refused
 *     ZKL_NO_PERMISSION   resource "backup": the servers refused to create a node below
 *                         /locks/backup
 *
 * In the callback of an asynchronous call it is what the blocking call would have left. In every
 * other callback it is empty at first. The text is for people, and may change.
 *
 * Never NULL; the empty string if zkl_strerror says everything. The string is valid until this
 * thread's next call that takes a handle or hosts; void close and free functions do not change it.
 * Any thread; does not block.
 */
ZKL_API const char *zkl_error_message(void);

/** The version of the linked library, for example "0.1.0". Static. */
ZKL_API const char *zkl_version(void);

/* ---- Log --------------------------------------------------------------- */

typedef enum zkl_log_level {
    ZKL_LOG_ERROR = 1,
    ZKL_LOG_WARN = 2,
    ZKL_LOG_INFO = 3,
    ZKL_LOG_DEBUG = 4
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

/** The name of a log event, for example "acquired". Static, never NULL. */
ZKL_API const char *zkl_log_event_name(int event);

/**
 * One log record. All strings are valid during the callback only, and are
 * empty rather than NULL where they do not apply.
 */
typedef struct zkl_log_record {
    size_t struct_size; /* of the library's struct; later versions append */
    zkl_log_level level;
    zkl_log_event event;
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

/* ---- Client: a ZooKeeper session ---------------------------------------- */

/**
 * A client: a ZooKeeper session (a new one takes its place when it expires),
 * the threads that serve it, and the requests that run on it. Share it freely
 * among threads; a process needs only one per ensemble.
 *
 * A session cannot watch any number of nodes: a client with more than about
 * 2,500 requests at once (the names of the resources count) opens further
 * sessions, up to 16, and keeps them until it is closed.
 */
typedef struct zkl_client zkl_client;

/** A secret that shows the servers who a client is (zkCli's addauth). */
typedef struct zkl_credential {
    size_t struct_size; /* see ZKL_CREDENTIAL_INIT */
    const char *scheme; /* "digest", or another that the servers know */
    const void *secret; /* digest: "user:password" */
    size_t size;        /* of the secret, in bytes */
} zkl_credential;

#define ZKL_CREDENTIAL_INIT                                                                        \
    { sizeof(zkl_credential), "digest", NULL, 0 }

/**
 * Gives a client its credentials, one after the other, whenever it opens a session: for secrets
 * that change, or that the program does not want to keep. It may block; the session waits for it.
 * It runs on the session's thread; a client with several sessions may call it on several threads at
 * a time. zkl_client_set_credentials may call it twice for each session, from index 0 on: to look
 * at the credentials, and to show them.
 *
 * index       0 at first, then 1 and so on.
 * credential  to be filled in. What it points to must stay as it is until the same thread calls
 *             again, or zkl_client_close returns. A wrong one is treated as if the servers had
 *             refused it.
 *
 * Returns 1, or 0: there are no more.
 */
typedef int zkl_credential_callback(void *arg, size_t index, zkl_credential *credential);

/** ACLs of the nodes that zklock creates, in the syntax of ZooKeeper's command line: entries
 *  "scheme:id:permissions" with commas between them. The permissions are letters: c (create
 *  children), d (delete children), r (read), w (write), a (set the ACL). docs/security.md has the
 *  permissions that each feature needs. */
#define ZKL_ACL_OPEN "world:anyone:cdrwa"
/** For clients that have shown one of the creator's credentials. */
#define ZKL_ACL_AUTHENTICATED "auth::cdrwa"

/** Which thread runs the callbacks of a client and of its handles. (The log callback always has a
 *  thread of its own.) */
typedef enum zkl_dispatch {
    ZKL_DISPATCH_THREAD = 0, /* a thread of the client, started when it is needed */
    ZKL_DISPATCH_CALLER = 1  /* the application, in zkl_client_dispatch: no thread is started */
} zkl_dispatch;

typedef struct zkl_client_options {
    size_t struct_size;
    /** Requested from the servers, which may change it; see zkl_client_info. A crashed
     *  holder's lock passes on after this long. From ZKL_SESSION_TIMEOUT_MIN_MS
     *  to ZKL_SESSION_TIMEOUT_MAX_MS. */
    int32_t session_timeout_ms;
    /** How long zkl_client_open waits for the first connection. >= 1. The addresses of the servers
     *  share it: one that does not answer is left early enough for the others. */
    int32_t connect_timeout_ms;
    /** The node above all resources that are given by a name: an absolute path of at most
     *  ZKL_ROOT_MAX bytes. Made when needed, below the chroot (see zkl_client_open). */
    const char *lock_root;
    /** Who this client is, for people: stored in each node beside host, process id and
     *  time, and given in log records. NULL: the program's name. At most
     *  ZKL_LABEL_MAX bytes of UTF-8 without control characters. */
    const char *label;
    /** NULL: silent. */
    zkl_log_callback *log_callback;
    void *log_arg;
    /** Events of a higher (less important) level are not logged. */
    zkl_log_level log_level;
    /**
     * 0: no lease. Otherwise the tickTime of the servers in milliseconds (as in their
     * configuration; a larger value is safe, a smaller one is not), up to
     * ZKL_LEASE_TICK_MAX_MS. The client then keeps a lease on its session: a local time
     * before which the servers cannot expire it. A lock is granted only while a lease
     * runs, zkl_lock_check returns how much of it is left, and a lock is ZKL_LOST when
     * it has run out, even if nothing else is known.
     *
     * It costs two small committed writes in each third of the session timeout, while the client
     * holds or awaits locks. Creates and deletes of its own take the place of these writes. If the
     * client has held no lock for a while, it must earn a lease first: its next acquire takes up
     * to one tick longer, and a try waits for up to two thirds of the session timeout before it
     * gives up. The session timeout should be at least five ticks (otherwise a warning is
     * logged), and must be more than three and a half. Do not use a lease if the servers are
     * configured with observers behind observers, or with local sessions. The lease stays true
     * while clocks differ in rate by at most a thousandth, and while nobody else ends or shortens
     * the session, which whoever can connect to the servers can (docs/security.md, "Sessions are
     * no secret"). Rule: docs/internals/protocol.md, "Lease".
     *
     * How much of the lease is left in calm operation, and the longest disconnection that it
     * survives; each from the worst moment to the best (measured on simulated servers with a
     * tick of 2 s, under 50 seeds):
     *
     *     session timeout    lease left         survives
     *      5 ticks, 10 s     1.1 to  4.4 s      none to  2.0 s
     *      6 ticks, 12 s     1.7 to  5.7 s      none to  3.2 s
     *     10 ticks, 20 s     4.2 to 10.9 s      1.7  to  8.3 s
     *     20 ticks, 40 s    10.5 to 23.8 s      7.3  to 20.0 s
     *
     * If the connection dies silently (packets dropped, no reset), the lease runs out at all of
     * these timeouts.
     */
    int32_t lease_tick_ms;
    /**
     * How many events the client keeps in memory, to show later what led to a loss or a
     * grant (zkl_client_write_record). Memory for this many events of the usual size,
     * 256 bytes, is allocated when the client is opened; the default is 1,024 events, 256 KB.
     * An event is an answer of the servers, a watch that fires, a change of the connection,
     * a timer, or a call; an acquire and release without contention are five events. An
     * event takes about 0.2 microseconds, and one with a list of more than 16 waiters 0.03
     * more for each name (measured on a virtual machine of 2026). 0: no events are kept;
     * otherwise from ZKL_RECORDED_EVENTS_MIN to ZKL_RECORDED_EVENTS_MAX.
     */
    int32_t recorded_events;
    /** If the library detects that its own state is corrupt, it writes the record to
     *  this directory as zklock-PID-NUMBER-CLOCK.record, names the file on stderr, and
     *  aborts the program, because it must not continue to grant locks. (SIGALRM ends
     *  the program if writing takes longer than 5 s.) NULL: the directory that TMPDIR
     *  names, or /tmp. At most ZKL_FILE_NAME_MAX bytes. */
    const char *record_directory;
    /** Which thread runs the state callbacks, and those of calls that end in _async. */
    zkl_dispatch dispatch;
    /** 1: the client counts its acquires, losses, waits and so on, for zkl_client_metrics. This
     *  takes 18 KB of memory; docs/observability.md has the cost in time. 0: it does not. */
    int32_t metrics;
    /**
     * 1: if the node of a resource (the parent of its contenders' nodes) is missing, it is made as
     * a container: the servers delete it some time after its last contender has gone (by default
     * they look once a minute). Use it for names that are used once, for example one per job. The
     * lock root and the nodes above it stay persistent, as does a resource's node that exists
     * already. Needs servers from 3.5 on. A request that finds the node gone recreates it (two
     * extra round trips). Queue numbers restart at 0; fencing tokens keep rising.
     * 0: a persistent node, which stays.
     */
    int32_t container_parents;
    /** How many `credentials` there are; at most ZKL_CREDENTIALS_MAX. */
    int32_t credential_count;
    /** Who the client is: shown to the servers when a session is opened, before anything else. The
     *  secrets are copied, and the copies are wiped when the client is closed. (libzookeeper keeps
     *  copies of its own, and sends them at each connection.) They are in no log, record or error
     *  message. If the servers refuse one, the client is at an end: ZKL_AUTH_FAILED. */
    const zkl_credential *credentials;
    /** Gives the credentials in place of `credentials`; NULL: those. */
    zkl_credential_callback *credential_callback;
    void *credential_arg;
    /** ACL of the nodes of locks; NULL: ZKL_ACL_OPEN, as Curator's default. Whoever waits must be
     *  able to read the nodes before its own. At most ZKL_ACL_MAX bytes, ZKL_ACL_ENTRIES_MAX
     *  entries. */
    const char *node_acl;
    /** ACL of the nodes of resources, and of those above them, if they are missing and this client
     *  creates them; and of nodes that transactions create. Contenders need the permissions to
     *  create, delete and read there. NULL: ZKL_ACL_OPEN. */
    const char *parent_acl;
    /**
     * TLS. A file in PEM with the authorities (CAs) that the servers' certificates must come from;
     * no others are trusted, those of the system neither. NULL: no TLS. All servers of the host
     * list must be given with their secure port. The other tls_ options mean nothing without it,
     * and are refused.
     *
     * The files are read by zkl_client_open, and again at each connection, so that they can be
     * renewed (by a rename) while the client is open; while one of them is missing or wrong, the
     * client goes on with what it read before. If they are wrong at first:
     * ZKL_INVALID_ARGUMENT, and zkl_error_message names the file. TLS needs a libzookeeper that was
     * built with OpenSSL, which those of Debian are not: ZKL_UNSUPPORTED (docs/security.md says how
     * to get one). Not together with SASL, which libzookeeper has no function for.
     */
    const char *tls_ca_file;
    /** Files in PEM: the certificate of this client, followed by those between it and its
     *  authority, and its private key. libzookeeper 3.9 requires both, even if the servers ask for
     *  none. A key that everybody may read is refused. */
    const char *tls_certificate_file;
    const char *tls_key_file;
    /** NULL: the key is not encrypted. Copied, and wiped when the client is closed. */
    const char *tls_key_password;
    /** A server's certificate must be for one of these names: host names, and addresses (IPv6 in
     *  brackets), with commas between them. They are looked for in its subjectAltName only. NULL:
     * for one of the hosts of the host list. "*": any certificate of the authorities will do, those
     * of other machines too. */
    const char *tls_server_names;
    /** SASL: the mechanism, for example "DIGEST-MD5" (Cyrus SASL chooses if there are several,
     *  with spaces between them). NULL: no login. The other sasl_ options mean nothing without it,
     *  and are refused. If the servers refuse the login the client is at an end: ZKL_AUTH_FAILED.
     *  It needs a libzookeeper that was built with Cyrus SASL: ZKL_UNSUPPORTED. */
    const char *sasl_mechanism;
    const char *sasl_user;
    /** Copied, and wiped when the client is closed. At most ZKL_SECRET_MAX bytes. */
    const char *sasl_password;
    /** In place of sasl_password: a file whose first line is the password, read at each login. One
     *  that everybody may read is refused. */
    const char *sasl_password_file;
    /** What the servers call themselves. NULL: "zookeeper". */
    const char *sasl_service;
    /** NULL: "zk-sasl-md5", which ZooKeeper's servers want for DIGEST-MD5. For Kerberos (GSSAPI,
     *  not tested) the host name of the servers. */
    const char *sasl_host;
    /**
     * 0: the nodes of this client's locks are protected. Each session shows the servers a digest of
     * its own, which nobody else knows, after `credentials`; it alone may set the data and the ACL
     * of these nodes, whatever node_acl allows others. (Everybody keeps the other permissions.) So
     * nobody can ask for such a lock: see `revocable` of zkl_lock_options. The names of protected
     * nodes say that they are; docs/security.md has what follows.
     *
     * Nodes are not protected, and nothing else changes, if the servers refuse the scheme digest
     * (the session opens again without it), and if node_acl or parent_acl here has the scheme auth
     * while the client has identities that zklock does not know: a TLS certificate, a SASL login,
     * or credentials that are no digests in plain ASCII.
     *
     * 1: no such digest is shown, and a change of others' protected nodes is not taken for a
     * release. Use it for servers that hash digests by anything but SHA-1 (digestAlg), for those
     * with skipACL, where nothing is protected, and where somebody may create nodes in a queue who
     * may not delete there: such a client could feign a release.
     */
    int32_t unprotected;
    int32_t reserved; /* 0 */
} zkl_client_options;

#define ZKL_CLIENT_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(zkl_client_options), 10000, 15000, "/locks", NULL, NULL, NULL, ZKL_LOG_INFO, 0,     \
            1024, NULL, ZKL_DISPATCH_THREAD, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL,    \
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0                             \
    }

/**
 * Opens a client and waits until it has a ZooKeeper session.
 *
 * hosts    "host:port[,host:port...][/chroot]", IPv6 addresses in brackets, no spaces. The chroot
 *          is a path that comes once, after the last server. It is put before every path that the
 *          client uses, and created if it is missing.
 * options  NULL for ZKL_CLIENT_OPTIONS_INIT.
 * client   receives the handle on ZKL_OK, else NULL. Close it with
 *          zkl_client_close.
 *
 * Blocks for at most connect_timeout_ms (and name resolution). Returns ZKL_OK,
 * ZKL_DISCONNECTED (no session in time, or no host could be resolved; zkl_error_message says why
 * the latest attempt failed), ZKL_AUTH_FAILED (zkl_error_message says what they refused),
 * ZKL_LEASE_IMPOSSIBLE (the servers granted no more than about three and a half ticks) or
 * ZKL_UNSUPPORTED. On any status but ZKL_OK nothing is left running.
 */
ZKL_CHECKED_API int zkl_client_open(const char *hosts, const zkl_client_options *options,
                                    zkl_client **client);

/**
 * Gives an open client another list of servers, of the same ensemble. Its sessions, locks and
 * requests stay. The old servers must still know them: add the new servers to the ensemble first,
 * then change the lists, then take the old ones out.
 *
 * hosts  as in zkl_client_open, with the same chroot. It is copied.
 *
 * Returns at once; the change happens in the background: names are looked up, and a connection to a
 * server that is not in the new list is closed and another one made, as after a disconnection
 * (locks are ZKL_SUSPECT meanwhile, and a try may end with ZKL_SERVER_REFUSED). A connection to a
 * server that stays is mostly kept, but where the list has grown some clients move, so that the new
 * servers get their share. Until one of the names can be resolved the client stays where it is.
 * Servers are told apart by their addresses: a change of ports alone takes effect with the next
 * session.
 *
 * May be called from any thread, in callbacks too; of two calls the later list counts. Does not
 * block. Returns ZKL_OK, or ZKL_INVALID_ARGUMENT (as in zkl_client_open; or another chroot) and
 * ZKL_CLOSED: then nothing has changed.
 */
ZKL_CHECKED_API int zkl_client_set_hosts(zkl_client *client, const char *hosts);

/**
 * Gives an open client other credentials, in place of those that it shows. Its sessions, locks,
 * requests and places in queues stay.
 *
 * credentials  as in zkl_client_options; they are copied, and the copies of the old ones wiped.
 *              NULL if count is 0. A client with a credential_callback takes none: that is called
 *              again, from index 0 on.
 * count        0: the client shows none, or those of its callback.
 *
 * Returns at once; the change happens in the background. Each session connects again with a new
 * handle of libzookeeper, as after a disconnection (locks are ZKL_SUSPECT meanwhile, and a try may
 * end with ZKL_SERVER_REFUSED). It shows the new credentials only, and has their permissions from
 * then on. It also logs in again with SASL, and reads the files of TLS again. If the servers refuse
 * one, the client is at an end, with all its locks: ZKL_AUTH_FAILED, as in zkl_client_open. To be
 * safe, open another client with them first.
 *
 * A client whose nodes are protected, and whose node_acl or parent_acl has the scheme auth, takes
 * only digests in plain ASCII (see `unprotected` in zkl_client_options): others are refused. If its
 * credential_callback gives others, the session goes on with those that it shows, and the log
 * reports ZKL_LOG_CREDENTIALS_REFUSED.
 *
 * The nodes of locks keep the ACL that they were made with: the new credentials must have the
 * permissions to delete them (docs/security.md).
 *
 * May be called from any thread, in callbacks too; of two calls the later one counts. Does not
 * block. Returns ZKL_OK, or ZKL_INVALID_ARGUMENT, ZKL_NO_MEMORY and ZKL_CLOSED: then nothing has
 * changed.
 */
ZKL_CHECKED_API int zkl_client_set_credentials(zkl_client *client,
                                               const zkl_credential *credentials, int32_t count);

/**
 * Closes a client: waiting acquires return ZKL_CLOSED, held locks are released,
 * and the session is ended, which deletes every node of the client. NULL is
 * allowed.
 *
 * timeout_ms  how long to wait for the servers to confirm the deletion of the client's
 *             nodes; 0 does not wait for it. Nodes that they refuse to delete are not waited for:
 *             they go with the session. In total the call takes up to timeout_ms, plus
 *             5 s for answers that are still to come (1 s if none comes), plus 5 s to end the
 *             session if the servers do not answer. (Without the wait for answers the machine
 *             would reset the connection, and the end of the session would be lost.) The call
 *             also waits for a name that is being resolved, and for callbacks that are still
 *             owed; with ZKL_DISPATCH_CALLER it runs them itself.
 *
 * Lock handles must still be closed; every other call on them returns ZKL_CLOSED. Do not use the
 * client handle again.
 *
 * Returns ZKL_OK: the servers confirmed that all nodes of this client are gone.
 * ZKL_PENDING: that is not confirmed, so a node may be left. You need not do anything: it goes with
 * its session, at once if the servers heard of the session's end, otherwise after the session
 * timeout. (If the client gave a session up because it did not answer, and opened another, that
 * session may live as long; its nodes are known to be gone when the client has been connected for
 * two session timeouts since.)
 * On ZKL_INVALID_ARGUMENT (timeout_ms < 0), ZKL_IN_CALLBACK and ZKL_FORKED the client is left
 * open. Call it once, from one thread: a second call returns ZKL_CLOSED, or ZKL_INVALID_ARGUMENT
 * once the last lock handle of the client is closed too.
 */
ZKL_API int zkl_client_close(zkl_client *client, int64_t timeout_ms);

typedef struct zkl_client_information {
    size_t struct_size;         /* see ZKL_CLIENT_INFORMATION_INIT */
    int connected;              /* 1 or 0, at this moment; 1: all its sessions are connected */
    int unsupported_servers;    /* 1: they are not Apache ZooKeeper (docs/servers.md) */
    int64_t session_id;         /* of the current session; of several, the first one's */
    int32_t session_timeout_ms; /* as negotiated with the servers */
    uint64_t sessions_expired;  /* how many sessions this client has lost */
    uint32_t sessions;          /* how many it has now */
    uint64_t pending_deletions; /* nodes whose deletion is not yet confirmed */
    const char *lock_root;      /* below the chroot; valid until the client is closed */
} zkl_client_information;

#define ZKL_CLIENT_INFORMATION_INIT                                                                \
    { sizeof(zkl_client_information), 0, 0, 0, 0, 0, 0, 0, NULL }

/** Describes the client's session. Does not block. Returns ZKL_OK. */
ZKL_API int zkl_client_info(zkl_client *client, zkl_client_information *information);

/**
 * Writes the client's record to a file: the last events of its requests, what the requests
 * did about each, and the changes of its sessions, one line each. People can read it, and
 * `tests/simulation/run --replay FILE` in zklock's source tree plays it back step by step.
 * Call it when a lock was lost, granted or not granted for no reason that you can see. It
 * needs no connection.
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
 * the record is copied in memory: 256 KB by default; 16 MB, a few milliseconds, with
 * ZKL_RECORDED_EVENTS_MAX. Returns ZKL_OK, ZKL_SYSTEM (the file could not be written;
 * zkl_error_message says why) or ZKL_INVALID_ARGUMENT (also if recorded_events is 0).
 */
ZKL_API int zkl_client_write_record(zkl_client *client, const char *path);

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
 * called. Locks and news from the servers wait only while the numbers are copied.
 * Returns ZKL_OK, ZKL_BUFFER_TOO_SMALL or ZKL_INVALID_ARGUMENT (also if metrics is 0). On all but
 * the first two *length is 0.
 *
 * Rule: Prometheus, "Exposition formats", "Text-based format".
 */
ZKL_API int zkl_client_metrics(zkl_client *client, char *buffer, size_t size, size_t *length);

/* ---- Lock: one contender ----------------------------------------------- */

/** One contender for one resource, or for a set of resources (zkl_lock_open_set). One acquire, hold
 *  or release at a time. */
typedef struct zkl_lock zkl_lock;

typedef enum zkl_mode {
    ZKL_EXCLUSIVE = 0, /* waits for every earlier request. Curator's read/write lock does
                          not see it: see 8. above. For a handle with the option `permits`:
                          one permit, which waits while at least `permits` earlier
                          requests exist; no other mode is allowed there */
    ZKL_READ = 1,      /* waits for earlier requests other than readers */
    ZKL_WRITE = 2,     /* waits for every earlier request. Its node has the name of a
                          writer of Curator's read/write lock; otherwise it is as
                          ZKL_EXCLUSIVE. It can be downgraded */
    ZKL_AS_OPENED = 3  /* for sets, and only for sets: each resource in the mode that it
                          was opened with */
} zkl_mode;

/** The name of a mode, for example "read". Static, never NULL. */
ZKL_API const char *zkl_lock_mode_name(int mode);

/** Wait without a deadline. */
#define ZKL_FOREVER (-1)

/** What a handle is doing. HELD, SUSPECT and LOST are the states of a grant. */
typedef enum zkl_lock_state {
    ZKL_STATE_IDLE = 0,
    ZKL_STATE_ACQUIRING = 1,
    ZKL_STATE_HELD = 2,
    ZKL_STATE_SUSPECT = 3,   /* held, as far as is known, but without a connection or an answer */
    ZKL_STATE_LOST = 4,      /* was held, and is lost; stays so until it is released */
    ZKL_STATE_RELEASING = 5, /* a thread waits in zkl_lock_release, or its callback is owed */
    /* In state callbacks only: still held, and ... see zkl_lock_state_callback. */
    ZKL_STATE_REVOKE_REQUESTED = 6, /* ... somebody asks for it */
    ZKL_STATE_CONTENDED = 7         /* ... somebody waits for it */
} zkl_lock_state;

/** The name of a state, for example "held". Static, never NULL. */
ZKL_API const char *zkl_lock_state_name(int state);

/** A change in the state of a lock that is held. Valid during the callback only. */
typedef struct zkl_lock_event {
    size_t struct_size; /* of the library's struct; later versions append */
    zkl_lock *lock;
    zkl_lock_state state; /* HELD, with tell_granted; SUSPECT; HELD again; REVOKE_REQUESTED;
                             CONTENDED; LOST, the last one of a grant */
    int reason;           /* LOST: ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED, ZKL_HOLD_LIMIT or
                             ZKL_NODE_DELETED; else ZKL_OK */
    int64_t token;        /* of the grant that it is about */
    const char *resource; /* which it is about, as the application named it; "" for all of a set.
                             Valid until the handle is closed */
    int64_t local_number; /* as in zkl_grant */
} zkl_lock_event;

/**
 * Receives the changes in the state of a lock that is held: in order, one call at a time, on the
 * client's thread for callbacks (which all its handles share; the log has another), or in
 * zkl_client_dispatch. No lock of the library is held, so it may be slow, but then the callbacks of
 * other handles wait. It must not call a blocking zklock function: that returns ZKL_IN_CALLBACK. It
 * may call zkl_lock_check, zkl_lock_release with a timeout of 0, zkl_lock_cancel and
 * zkl_lock_close. When the servers merely stop answering, zkl_lock_check returns ZKL_SUSPECT but
 * this callback is not called.
 *
 * REVOKE_REQUESTED: someone has asked for this lock, which is `revocable`, with zkl_node_revoke of
 * administration.h or with Curator's Revoker. It is still held; whether to release it is up to you.
 * It comes once for each grant: at once if the client watches the lock's node already, and
 * otherwise (for a grant that did not have to wait) within a third of the session timeout. A lock
 * that was downgraded or upgraded has another node, so it can be asked for again.
 *
 * CONTENDED: somebody waits behind this holder. The lock is still held; finish soon, or not, as you
 * like. It comes only for handles with the option tell_contended, and at most once for each grant:
 * the first time that the queue has a request which must wait for this one. For exclusive and write
 * holders that is any later request; for readers, a later request that is not a reader; for permit
 * holders (all of them), a later request that finds no permit free or is for a plain lock. If such
 * a request exists at the grant already, CONTENDED comes just after the grant. When it comes, the
 * waiter may already have left. A disconnected client reports it when it is connected again. A
 * downgrade is no new grant: from then on the holder counts as a reader, if CONTENDED has not come
 * yet. An upgrade is a new grant, with its own token. For a reentrant handle it comes once for all
 * of its holds.
 *
 * For a set, REVOKE_REQUESTED and CONTENDED come for each resource separately. SUSPECT and HELD are
 * about all, because all are in one session. LOST comes once, with the first resource that is lost;
 * the others are kept until they are released.
 *
 * Callbacks may come before zkl_lock_acquire has returned in its own thread, and after the lock was
 * released (see token); never after zkl_lock_close returned. LOST, and the HELD of tell_granted,
 * are always reported; the others may be omitted when memory is short. If callbacks are slow, a
 * connection that comes and goes leaves at most two callbacks of a handle pending. The last one has
 * the current state.
 */
typedef void zkl_lock_state_callback(void *arg, const zkl_lock_event *event);

typedef struct zkl_lock_options {
    size_t struct_size;
    /** If the session expires during an acquire: 0: join the queue again, at its
     *  tail, in the next session and within the same deadline. 1: return
     *  ZKL_SESSION_EXPIRED. */
    int fail_on_session_expiry;
    /** 1: the thread that holds the lock may acquire it again through this
     *  handle, at once and without a request, and must release it as often. A
     *  lock held for writing (or exclusively) may be acquired again in any mode;
     *  one held for reading only for reading. A semaphore's handle has one
     *  permit, however often it is acquired. Asynchronous calls name an owner in
     *  place of the thread. 0: the second acquire returns ZKL_ALREADY_HELD. */
    int reentrant;
    /** 0: no limit. Otherwise a lock that is held for longer is ZKL_LOST, with the
     *  reason ZKL_HOLD_LIMIT, and its node is deleted, so that others can proceed. */
    int64_t max_hold_ms;
    /** NULL: no callback; zkl_lock_check returns the state too. */
    zkl_lock_state_callback *state_callback;
    void *state_arg;
    /** 0: a lock. Otherwise a semaphore with this many permits, at most ZKL_PERMITS_MAX, of
     *  which the handle acquires one, in the mode ZKL_EXCLUSIVE. All users of the resource must
     *  set the same value. An acquire that finds an earlier request with another value, or
     *  for a plain lock, fails with ZKL_PERMITS_DIFFER. (A plain lock behind permits, of a
     *  client that knows nothing of semaphores, waits for them all.) A waiter watches
     *  `permits` nodes, and each session of a client has room for 512 KB of watched paths:
     *  for about two thousand waiters for one of 2 permits, or six for one of 1,000. A
     *  holder counts as any lock. An acquire for which no session has room fails with
     *  ZKL_TOO_MANY_REQUESTS, and one that could never have room with ZKL_INVALID_ARGUMENT. */
    int32_t permits;
    /** 0: no limit. Otherwise an acquire that would have to wait fails with ZKL_QUEUE_FULL,
     *  and writes nothing, if this many others wait already. At most ZKL_WAITING_MAX. (If
     *  several come at once, some may queue, find that they are too many, and leave again.) */
    int32_t max_waiting;
    /** Metrics label. Use one per kind of resource ("stock", not "item-4711"): each label is
     *  a time series that is never dropped. At most ZKL_RESOURCE_CLASS_MAX bytes of UTF-8
     *  without control characters, not beginning with an underscore. A client counts
     *  ZKL_RESOURCE_CLASSES_MAX of them separately. NULL or "": the class without a name. */
    const char *resource_class;
    /** The owner of the lock, for zkl_queue_describe and zkl_deadlocks_find of
     *  administration.h. An owner is a thread or job that may hold one lock while it waits
     *  for another. NULL: the process id and a number, that of the thread that calls
     *  zkl_lock_acquire, or that of the handle for zkl_lock_acquire_async. Set it if one
     *  thread acquires for several jobs, or if one job acquires in several threads or
     *  asynchronously: one value for all locks of a job, another for each job. It counts within
     *  its session, but if it begins with ZKL_OWNER_SHARED it is one owner wherever it occurs,
     *  for a job of several processes: add what nobody else has, as a UUID. With a slash and
     *  more behind that it is a part of the job: while it waits, so does the job; the other
     *  parts do not. At most ZKL_OWNER_MAX bytes of UTF-8 without control characters. */
    const char *owner;
    /** 1: the state callback, which must be set, receives ZKL_STATE_CONTENDED when somebody
     *  begins to wait behind this holder. It is for jobs that may continue while nobody minds, and
     *  for cached locks. From the grant until it finds a waiter, the client watches the children
     *  of the resource, and lists them at the grant and whenever one has come or gone. (All
     *  handles of one session with this option share the watch, and one list at a time.) A grant
     *  costs a list and the removal of the watch. Do not use it for resources with crowds of
     *  short-lived readers or permits: each brings a list. 0: it costs nothing. */
    int32_t tell_contended;
    /** 1: the state callback, which must be set, also receives ZKL_STATE_HELD for each grant:
     *  exactly once, and before all its other callbacks, even if the grant was released or lost
     *  before the callback's turn (see `token`). 0: only what changes later. */
    int32_t tell_granted;
    /** A text for others to read, stored as the line note= in the data of the lock's node.
     *  Observers of election.h receive the note of a leader. At most ZKL_NOTE_MAX bytes of UTF-8
     *  without control characters. NULL: no such line. */
    const char *note;
    /** As in zkl_client_options; NULL: as the client's. */
    const char *node_acl;
    const char *parent_acl;
    /** 1: others can ask for the lock, with zkl_node_revoke of administration.h or with Curator's
     *  Revoker; the state callback, which must be set, receives ZKL_STATE_REVOKE_REQUESTED. They do
     *  so in the data of its nodes, so these are not protected (see `unprotected` of
     *  zkl_client_options). 0: nobody can ask for it, unless the client's nodes are not protected
     *  anyway. */
    int32_t revocable;
    int32_t reserved; /* 0 */
    /**
     * 0, and retain_ms 0: each acquire makes a node of its own. Otherwise handles of one client
     * with the same resource and the same values of local_hand_offs, local_hand_off_ms, retain_ms,
     * fail_on_session_expiry, revocable, node_acl and parent_acl share one place in the queue for
     * each mode: the client keeps the node, and lends it to one of them after the other (readers:
     * together; one who cannot share it at once, as after a reconnect, makes another). A grant that
     * passes from handle to handle asks nothing of the servers.
     *
     * This departs from strict FIFO. Once the client has heard that somebody else waits, it passes
     * the lock on at most local_hand_offs times more (at most ZKL_LOCAL_HAND_OFFS_MAX); then its
     * place goes to the tail. So somebody of another client is overtaken, for each place of such a
     * client before it, by at most local_hand_offs grants, and by those that began while the news
     * was on its way.
     *
     * THE FENCING TOKEN OF SUCH A GRANT IS A PAIR: token and local_number of zkl_grant, compared in
     * this order. All these handles have the same token: a store that compares it alone lets a
     * stalled thread write after its own successor. It needs two columns (docs/guarantees.md).
     *
     * What else is different: a release returns at once, whatever its timeout. The lock is not
     * passed on before a transaction of its holder is answered; if the reply is lost, the node is
     * given up. Downgrades and upgrades return ZKL_INVALID_ARGUMENT. A try returns ZKL_BUSY,
     * without asking the servers, while another of these handles holds the lock or waits.
     * zkl_lock_acquire for reading with max_hold_ms makes a node of its own. The option `owner` is
     * not stored in the node, and zkl_deadlocks_find finds no circle through it. Not for permits,
     * nor with max_waiting or note, nor for sets and striped locks: ZKL_INVALID_ARGUMENT.
     *
     * Rule: docs/internals/lending.md.
     */
    int32_t local_hand_offs;
    /** Of several handles that wait for one place, those with a higher value come first; among
     *  equals the first to come. */
    int32_t local_priority;
    /** 0: no limit. Otherwise the lock is not passed on any more when this time has passed since
     *  somebody else may have begun to wait. It does not interrupt a holder. */
    int64_t local_hand_off_ms;
    /** 0: the node is deleted when no handle holds the lock or waits for it. Otherwise it stays for
     *  this long, as long as nobody else comes, and the next acquire asks nothing of the servers.
     *  Somebody of another client who comes ends this at once; a try of zklock that finds such a
     *  node is ZKL_BUSY, but the next one is not. Only for a client with lease_tick_ms, whose lease
     *  goes on while the node stays (two small writes in each third of the session timeout). */
    int64_t retain_ms;
} zkl_lock_options;

#define ZKL_LOCK_OPTIONS_INIT                                                                      \
    {                                                                                              \
        sizeof(zkl_lock_options), 0, 0, 0, NULL, NULL, 0, 0, NULL, NULL, 0, 0, NULL, NULL, NULL,   \
            0, 0, 0, 0, 0, 0                                                                       \
    }

/** What an acquire obtained. Plain data: copy it freely. */
typedef struct zkl_grant {
    size_t struct_size; /* set it to sizeof(zkl_grant); see ZKL_GRANT_INIT */
    /** The fencing token: of two conflicting grants of a resource, the later
     *  one has the greater token. It is the czxid of the lock's node. (If the
     *  ensemble is restored from a backup, later tokens may be lower.) Readers do not
     *  conflict, nor do holders of permits: do not fence by comparing their tokens. */
    int64_t token;
    zkl_mode mode;
    int32_t stripe; /* of a striped lock (striped_lock.h); else 0 */
    int64_t waited_ms;
    char node[ZKL_NODE_PATH_SIZE]; /* full path of the lock's node; of a set: the first one's */
    /** The second half of the token of a handle with local_hand_offs or retain_ms: of two
     *  conflicting grants with the same token, the later one has the greater number. From 1; 0 for
     *  all other locks, whose token is one number. */
    int64_t local_number;
} zkl_grant;

#define ZKL_GRANT_INIT                                                                             \
    { sizeof(zkl_grant), 0, ZKL_EXCLUSIVE, 0, 0, { 0 }, 0 }

/**
 * Opens a contender for a resource. No I/O.
 *
 * resource  a name (1 to ZKL_RESOURCE_MAX bytes of UTF-8 without '/' and
 *           control characters, not "." or ".."), which becomes the node
 *           <lock_root>/<resource>; or an absolute path of such names, which
 *           is used as it is, below the chroot. Like ZooKeeper, zklock refuses private use
 *           characters, specials, and everything beyond U+FFFF.
 * options   NULL for ZKL_LOCK_OPTIONS_INIT.
 * lock      receives the handle on ZKL_OK, else NULL. Close it with
 *           zkl_lock_close.
 *
 * Does not block. Returns ZKL_OK, ZKL_INVALID_ARGUMENT (also tell_contended or tell_granted
 * without a state_callback) or ZKL_SYSTEM (no thread for the state callback).
 */
ZKL_CHECKED_API int zkl_lock_open(zkl_client *client, const char *resource,
                                  const zkl_lock_options *options, zkl_lock **lock);

/** One resource of a set. */
typedef struct zkl_lock_member {
    size_t struct_size;   /* see ZKL_LOCK_MEMBER_INIT */
    const char *resource; /* as for zkl_lock_open */
    zkl_mode mode;        /* not ZKL_AS_OPENED */
    int32_t permits;      /* with ZKL_EXCLUSIVE: of the semaphore; 0: a lock */
} zkl_lock_member;

#define ZKL_LOCK_MEMBER_INIT                                                                       \
    { sizeof(zkl_lock_member), NULL, ZKL_EXCLUSIVE, 0 }

/**
 * Opens a contender for several resources at once, each in its own mode: it acquires all of them,
 * or none, within one deadline. No I/O.
 *
 * One ZooKeeper transaction makes all nodes. So callers cannot wait for one another in a circle,
 * whatever the order in which they name resources: each waits only for nodes that an earlier
 * transaction has made (docs/internals/protocol.md, "Sets"). Locks that are acquired one after the
 * other, or at once but by single requests, deadlock when two callers use opposite orders. A set
 * that waits for one resource keeps others waiting for all of them: keep sets small.
 *
 * All functions that take a zkl_lock take a set, with these differences:
 * - It is acquired with the mode ZKL_AS_OPENED, which is also the grant's mode. All its resources
 *   have the same token; the grant's node is that of the first.
 * - If a node is lost before all are granted (the session expired, somebody deleted it), all are
 *   given up, and join all queues again at their tails. If one is lost later, the set is ZKL_LOST.
 * - A try returns ZKL_BUSY if any of them is not free.
 * - zkl_lock_verify and transactions check the nodes of all.
 * - zkl_lock_downgrade and zkl_lock_try_upgrade return ZKL_INVALID_ARGUMENT.
 * - The options permits and max_waiting must be 0. max_hold_ms counts from the grant of all.
 *
 * members, count  1 to ZKL_LOCK_MEMBERS_MAX different resources. Copied.
 * options         NULL for ZKL_LOCK_OPTIONS_INIT.
 * lock            as in zkl_lock_open.
 *
 * Does not block. Returns what zkl_lock_open does.
 */
ZKL_CHECKED_API int zkl_lock_open_set(zkl_client *client, const zkl_lock_member *members,
                                      size_t count, const zkl_lock_options *options,
                                      zkl_lock **lock);

/**
 * Acquires the lock.
 *
 * mode        for a set: ZKL_AS_OPENED; for a handle with permits: ZKL_EXCLUSIVE.
 * timeout_ms  ZKL_FOREVER, or one deadline for everything: connecting,
 *             queueing, waiting, retrying. 0 tries: if another contender is
 *             in the way it returns ZKL_BUSY after one read and writes
 *             nothing. (ZKL_BUSY may be stale. A try that finds the way free
 *             must queue to be sure; the loser of two concurrent tries deletes
 *             its node and waits for that reply.)
 * grant       receives the grant on ZKL_OK; may be NULL.
 *
 * Blocks until granted, cancelled or past the deadline. A try blocks for the
 * replies to its own requests, which end with the connection at the latest.
 *
 * On every status but ZKL_OK this call has not acquired the lock, and a node that it made is
 * deleted in the background. Returns ZKL_OK, or
 *   ZKL_BUSY                only a try
 *   ZKL_TIMEOUT             not granted in time: earlier requests were there, or the servers did
 *                           not answer; zkl_error_message says which
 *   ZKL_CANCELLED           by zkl_lock_cancel or a close
 *   ZKL_DISCONNECTED        there was no connection when the deadline passed; for a try: there was
 *                           none, or it was lost before the answer
 *   ZKL_SESSION_EXPIRED     with fail_on_session_expiry, from a try, or if the session expired
 *                           between the grant and the return of this call
 *   ZKL_LEASE_ENDED, ZKL_HOLD_LIMIT, ZKL_NODE_DELETED
 *                           it was granted, and lost before this call could return
 *   ZKL_ALREADY_HELD        also after a loss, until zkl_lock_release; and after ZKL_HOLDS_MAX
 *                           acquires of a reentrant handle
 *   ZKL_HANDLE_IN_USE       another acquire or release of this handle is under way
 *   ZKL_LOST                reentrant handle: the grant that it had was lost; release it as often
 *                           as it was acquired
 *   ZKL_QUEUE_FULL          with max_waiting
 *   ZKL_TOO_MANY_REQUESTS   no session of the client has room for the watches
 *   ZKL_PERMITS_DIFFER      see `permits`
 *   ZKL_SEQUENCE_EXHAUSTED  all 2^31 sequence numbers are used, and the resource could not be reset
 *                           in time (a try: at once), because it is still in use or its node holds
 *                           application data (docs/operations.md)
 *   ZKL_LEASE_IMPOSSIBLE    the servers now grant a shorter session timeout
 *   ZKL_SERVER_REFUSED      the servers take no request now; for a try also: no lease was earned in
 *                           time
 *   ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED, ZKL_AUTH_FAILED
 *   ZKL_INVALID_ARGUMENT    also a mode that this handle cannot be acquired in, writing through a
 *                           reentrant handle that is held for reading, or a semaphore that no
 *                           session could watch
 *   ZKL_SYSTEM              no random numbers
 *
 * Rule: ZooKeeper Recipes, "Locks" and "Shared Locks"; docs/internals/protocol.md.
 */
ZKL_CHECKED_API int zkl_lock_acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms,
                                     zkl_grant *grant);

/**
 * Ends the acquire that waits on this handle, from another thread. That call returns
 * ZKL_CANCELLED, or its callback receives it. Whichever of grant, cancel and timeout comes first
 * wins. Does not block; may be called from a callback. Returns ZKL_OK or ZKL_NOT_WAITING (none
 * waits; perhaps it has just been granted).
 */
ZKL_API int zkl_lock_cancel(zkl_lock *lock);

/**
 * Returns whether the lock is held, from local knowledge and without I/O.
 *
 * lease_left_ms  may be NULL; receives for how long from now nobody else can be
 *                granted the lock (ZKL_OK and ZKL_SUSPECT), 0 if the lock is
 *                not held, or -1 if the client keeps no lease. "May I work for
 *                300 ms more?" is `lease_left_ms >= 300`, with either status.
 *
 * Returns ZKL_OK (held, as far as is known: see the caveats above), ZKL_SUSPECT
 * (disconnected, or no answer has come for two thirds of the session timeout, for
 * example after a stop of this process: stop, or rely on the lease or on the
 * fencing token), ZKL_LOST (final until zkl_lock_release; never ZKL_OK again) or
 * ZKL_NOT_HELD. Does not block; may be called from a callback.
 */
ZKL_CHECKED_API int zkl_lock_check(const zkl_lock *lock, int64_t *lease_left_ms);

/**
 * Asks the servers whether the lock is held: a transaction that only checks its node, which is
 * ordered with all writes. ZKL_OK proves that the lock was held at some moment between call and
 * return; it may be lost just after. (Anything that must happen only while the lock is held belongs
 * in the same transaction: zkl_transaction_begin.) zkl_lock_check costs nothing, but what it knows
 * may be old.
 *
 * timeout_ms  ZKL_FOREVER, or >= 1.
 *
 * Costs a committed write. Blocks until the servers have answered. If the connection breaks, it
 * asks again on the next one, until the deadline. Any thread, not only the one that acquired the
 * lock; several at once are allowed.
 *
 * Returns ZKL_OK (it was held); ZKL_LOST (the servers say that its node is gone, which
 * zkl_lock_check and the state callback will soon report, or the grant was lost before);
 * ZKL_SUSPECT (not known: no answer in time or before the handle was closed, the reply was lost, or
 * the servers would not let it look at its node now); ZKL_NOT_HELD (also if it is released
 * meanwhile); ZKL_NO_PERMISSION; ZKL_SERVER_REFUSED (the servers would not take a request now, or
 * this process had no memory to send it); ZKL_CANCELLED (the handle was closed before it was sent).
 *
 * Rule: docs/guarantees.md, "Verify and guarded transactions".
 */
ZKL_CHECKED_API int zkl_lock_verify(zkl_lock *lock, int64_t timeout_ms);

typedef struct zkl_lock_information {
    size_t struct_size; /* see ZKL_LOCK_INFORMATION_INIT */
    zkl_lock_state state;
    int lost_reason;            /* LOST: as in zkl_lock_event; else ZKL_OK */
    zkl_mode mode;              /* of the grant, as are the next three; else 0 */
    int64_t token;              /* HELD, SUSPECT and LOST */
    uint32_t holds;             /* 1, or how often a reentrant handle was acquired */
    int64_t held_ms;            /* since the grant */
    int64_t lease_left_ms;      /* as in zkl_lock_check */
    uint64_t pending_deletions; /* nodes of this handle that are being deleted, not yet confirmed */
    int64_t position;     /* ACQUIRING: how many requests were before it in the queue (of a set: in
                             the longest queue) when it last listed, in its way or not; there may be
                             fewer now. -1: not known yet, or it does not wait */
    int64_t local_number; /* as in zkl_grant */
} zkl_lock_information;

#define ZKL_LOCK_INFORMATION_INIT                                                                  \
    { sizeof(zkl_lock_information), ZKL_STATE_IDLE, 0, ZKL_EXCLUSIVE, 0, 0, 0, 0, 0, -1, 0 }

/**
 * Describes a handle, without I/O. Does not block; may be called from a callback.
 * Returns ZKL_OK.
 */
ZKL_API int zkl_lock_info(const zkl_lock *lock, zkl_lock_information *information);

/**
 * Releases the lock: deletes its node, with retries, until the servers confirm it or the session
 * ends. On ZKL_OK, ZKL_PENDING, ZKL_LOST and ZKL_CLOSED the handle no longer holds the lock from
 * the moment of the call. (A reentrant handle that was acquired several times: from the last of as
 * many releases.) On any other status nothing has changed: a held lock is still held.
 *
 * timeout_ms  how long to wait for the confirmation: ZKL_FOREVER, or >= 0; 0
 *             queues the deletion and returns at once.
 *
 * Returns
 *   ZKL_OK             deleted, or the servers reported that the session is over, which deletes it;
 *                      with timeout 0: queued
 *   ZKL_PENDING        released, but not confirmed in time or before the handle was closed;
 *                      deletion continues in the background. Or, with any timeout but 0: the
 *                      servers did not answer for so long that the session was given up. They
 *                      delete its nodes when they end it, after its timeout at the latest
 *   ZKL_LOST           the grant had been lost before. The handle can acquire again, and a node
 *                      that is left is deleted in the background
 *   ZKL_CLOSED         the client is closed, or was closed before the deletion was confirmed
 *   ZKL_NOT_HELD
 *   ZKL_NOT_OWNER      a reentrant handle can be released only by the thread that holds it
 *                      (zkl_lock_close can always release it)
 *   ZKL_HANDLE_IN_USE
 *   ZKL_IN_CALLBACK    only with a timeout other than 0
 */
ZKL_API int zkl_lock_release(zkl_lock *lock, int64_t timeout_ms);

/**
 * Downgrades a write lock (ZKL_WRITE) to a read lock: waiting readers come in, a waiting writer
 * does not. One transaction replaces the writer's node by a reader's in the same place of the
 * queue, so there is no moment without either. The fencing token stays.
 *
 * timeout_ms  how long to wait for the servers' answer: ZKL_FOREVER, or >= 0.
 *
 * Blocks. Returns ZKL_OK (held for reading, now or before); ZKL_PENDING (no answer in time: it
 * continues, and zkl_lock_info shows the mode); ZKL_LOST; ZKL_NOT_HELD (also if released
 * meanwhile); ZKL_INVALID_ARGUMENT (also if held with ZKL_EXCLUSIVE, or as a permit); ZKL_NOT_OWNER
 * (reentrant handles); ZKL_HANDLE_IN_USE (another change is under way); ZKL_NO_PERMISSION,
 * ZKL_QUOTA_EXCEEDED and ZKL_SERVER_REFUSED (still held for writing).
 */
ZKL_API int zkl_lock_downgrade(zkl_lock *lock, int64_t timeout_ms);

/**
 * Upgrades a read lock to a write lock, if nobody else holds the resource or waits for it.
 * Otherwise it returns ZKL_BUSY, and the lock is still held for reading. There is no upgrade that
 * waits: two readers that each waited for the other to leave would wait for ever.
 *
 * grant  may be NULL; on ZKL_OK it receives the new grant. Its token is greater than
 *        the reader's, because it is another place in the queue.
 *
 * Blocks as a try does. Returns ZKL_OK (held for writing, now or before); ZKL_BUSY; ZKL_LOST;
 * ZKL_NOT_HELD; ZKL_INVALID_ARGUMENT (also if held with ZKL_EXCLUSIVE, or as a permit);
 * ZKL_NOT_OWNER; ZKL_HANDLE_IN_USE (another change is under way, or continues after ZKL_PENDING);
 * ZKL_DISCONNECTED; ZKL_SESSION_EXPIRED; ZKL_NODE_DELETED (somebody deleted the new node, or the
 * reader's, which will soon be reported as a loss); and what else a try returns when it
 * cannot ask: ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED, ZKL_SERVER_REFUSED, ZKL_SEQUENCE_EXHAUSTED,
 * ZKL_LEASE_IMPOSSIBLE.
 */
ZKL_CHECKED_API int zkl_lock_try_upgrade(zkl_lock *lock, zkl_grant *grant);

/**
 * Closes a handle: cancels an acquire, releases a held lock as zkl_lock_release(lock, 0) does, and
 * frees the handle. NULL is allowed. Waits only for a call or callback of this handle that is
 * running in another thread. May be called from a callback. Callbacks of asynchronous calls that
 * are still owed come later: see "Asynchronous calls". In a forked child it does nothing.
 */
ZKL_API void zkl_lock_close(zkl_lock *lock);

/* ---- Asynchronous calls ------------------------------------------------- */

/*
 * The functions whose names end in _async return at once, and report the result to a callback.
 *
 * - If a call returns ZKL_OK, its callback is called exactly once, whatever happens, even if the
 *   handle or the client is closed. If it returns anything else, the callback is never called: the
 *   call was not begun, and nothing has changed. Each can return ZKL_SYSTEM if there is no thread
 *   for the callbacks.
 * - The callback runs where all callbacks of the client run: on the client's own thread, where it
 *   may begin before the call has returned in the caller's thread; or, with ZKL_DISPATCH_CALLER, in
 *   zkl_client_dispatch. It never runs inside the call itself. Callbacks of one client run one at a
 *   time, in the order of the events that they report: a grant comes before its loss.
 * - A callback may make any call that does not block, including these and zkl_lock_close of any
 *   handle. A call that blocks returns ZKL_IN_CALLBACK.
 * - An asynchronous request takes about 4 KB of memory and no thread: thousands may be outstanding.
 *   Still, one handle is one contender: one acquire or release at a time, and one change of its
 *   mode; but any number of verifications and commits.
 * - `owner` says whose call it is, because it may come from any thread. A reentrant handle may be
 *   acquired again, and must be released, by calls with the same owner as the call that acquired
 *   it. Only the pointer is compared; NULL is an owner like any other. A lock that a thread
 *   acquired with zkl_lock_acquire belongs to that thread, not to any `owner`. Calls of another
 *   owner or thread return ZKL_ALREADY_HELD (acquire) or ZKL_NOT_OWNER (release). Handles that are
 *   not reentrant ignore the owner.
 *
 * Which comes first:
 *
 *     cancel, and the grant        the first one wins: from the grant on, zkl_lock_cancel returns
 *                                  ZKL_NOT_WAITING, even if the callback is still pending
 *     loss, and the callback       loss before the callback begins: the callback receives the
 *                                  reason, as zkl_lock_acquire returns it, the lock was never held,
 *                                  and no state callback comes. Later: a state callback follows
 *     release, and a change,       a change ends with ZKL_NOT_HELD; so does a verification or
 *     verification or commit       commit that has not been sent. This is so even if the handle is
 *                                  acquired again before the callback begins
 *     zkl_lock_close               does not wait for callbacks that have not begun. They come
 *                                  later: an acquire's with ZKL_CANCELLED if it was granted or
 *                                  still waited; a release's with ZKL_PENDING if the node is not
 *                                  known to be gone; a change's with ZKL_NOT_HELD; a verification's
 *                                  or a commit's with ZKL_CANCELLED if it was not sent, otherwise
 *                                  with ZKL_SUSPECT or ZKL_UNKNOWN. So `arg` must live until its
 *                                  callback. (uv_close of libuv has the same rule.) The close
 *                                  does wait for a callback that is running in another thread
 *     zkl_client_close             all callbacks have been called when it returns; acquires
 *                                  receive ZKL_CLOSED, at once
 */

/**
 * How an acquire ended.
 *
 * status  what zkl_lock_acquire would have returned.
 * grant   on ZKL_OK, and valid during the callback only: copy it. The lock is held from the
 *         beginning of this callback on. NULL on any other status.
 */
typedef void zkl_acquire_callback(void *arg, int status, const zkl_grant *grant);

/** How a call ended. status: what the blocking call would have returned. */
typedef void zkl_status_callback(void *arg, int status);
/** The same, for a release. */
typedef zkl_status_callback zkl_release_callback;

/**
 * Acquires the lock without blocking. mode, timeout_ms and the statuses are as in
 * zkl_lock_acquire().
 *
 * owner     ignored by a handle that is not reentrant.
 * callback  not NULL.
 *
 * Does not block; any thread, also in a callback. Returns ZKL_OK: the callback will be called,
 * with ZKL_OK or one of ZKL_BUSY, ZKL_TIMEOUT, ZKL_CANCELLED, ZKL_CLOSED, ZKL_DISCONNECTED,
 * ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED, ZKL_HOLD_LIMIT, ZKL_NODE_DELETED, ZKL_LEASE_IMPOSSIBLE,
 * ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED, ZKL_AUTH_FAILED, ZKL_SERVER_REFUSED,
 * ZKL_SEQUENCE_EXHAUSTED, ZKL_PERMITS_DIFFER, ZKL_QUEUE_FULL, ZKL_NO_MEMORY, ZKL_SYSTEM and
 * ZKL_LOST (a further hold of a reentrant handle, if the grant was lost or released before the
 * callback began). Or it was not begun: ZKL_ALREADY_HELD, ZKL_HANDLE_IN_USE (also while the handle
 * is being closed), ZKL_LOST, ZKL_TOO_MANY_REQUESTS, ZKL_LEASE_IMPOSSIBLE, ZKL_AUTH_FAILED or
 * ZKL_SYSTEM (also if there are no random numbers).
 */
ZKL_CHECKED_API int zkl_lock_acquire_async(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms,
                                           const void *owner, zkl_acquire_callback *callback,
                                           void *arg);

/**
 * Releases the lock without waiting for its node to be gone. The statuses are as in
 * zkl_lock_release(). On ZKL_OK the handle no longer holds the lock from the moment of the call.
 * On any other status nothing has changed (on ZKL_CLOSED the client is closed).
 *
 * timeout_ms  as in zkl_lock_release(); with 0 the callback comes as soon as possible.
 * callback    may be NULL: then nothing is reported, and any valid timeout_ms has the effect of 0.
 *             Such a call takes no memory, and the handle can acquire again at once. With a
 *             callback it can acquire again when the callback begins.
 *
 * Does not block; any thread, also in a callback. Returns ZKL_OK: the callback will be called,
 * with ZKL_OK, ZKL_PENDING, ZKL_LOST or ZKL_CLOSED. Or nothing has happened: ZKL_NOT_HELD,
 * ZKL_NOT_OWNER or ZKL_HANDLE_IN_USE.
 */
ZKL_API int zkl_lock_release_async(zkl_lock *lock, int64_t timeout_ms, const void *owner,
                                   zkl_release_callback *callback, void *arg);

/**
 * Downgrades a write lock to a read lock without blocking. The statuses are as in
 * zkl_lock_downgrade().
 *
 * timeout_ms  as in zkl_lock_downgrade(); with 0 the callback comes as soon as possible.
 * owner       ignored by a handle that is not reentrant.
 * callback    not NULL.
 *
 * The next change of the handle (a downgrade or an upgrade) can begin when the callback does. A
 * release meanwhile ends this one with ZKL_NOT_HELD, even if the handle was acquired again since.
 *
 * Does not block; any thread, also in a callback. Returns ZKL_OK: the callback will be called, with
 * ZKL_OK, ZKL_PENDING, ZKL_LOST, ZKL_NOT_HELD (released, or the handle closed), ZKL_CLOSED,
 * ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED or ZKL_SERVER_REFUSED. Or it was not begun: ZKL_LOST,
 * ZKL_NOT_HELD, ZKL_INVALID_ARGUMENT (also if held in another mode), ZKL_NOT_OWNER or
 * ZKL_HANDLE_IN_USE.
 */
ZKL_API int zkl_lock_downgrade_async(zkl_lock *lock, int64_t timeout_ms, const void *owner,
                                     zkl_status_callback *callback, void *arg);

/**
 * Upgrades a read lock to a write lock, as a try, without blocking. The statuses are as in
 * zkl_lock_try_upgrade().
 *
 * owner     ignored by a handle that is not reentrant.
 * callback  not NULL. On ZKL_OK the lock is held for writing, with the new token, from the
 *           beginning of this callback on. On any other status it is still held for reading, if it
 *           is held.
 *
 * As with zkl_lock_downgrade_async, only one change is under way at a time, and a release meanwhile
 * ends it with ZKL_NOT_HELD; then nothing is left in the queue.
 *
 * Does not block; any thread, also in a callback. Returns ZKL_OK: the callback will be called, with
 * ZKL_OK, ZKL_BUSY, ZKL_LOST, ZKL_NOT_HELD (released, or the handle closed), ZKL_DISCONNECTED,
 * ZKL_SESSION_EXPIRED, ZKL_NODE_DELETED, ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED, ZKL_SERVER_REFUSED,
 * ZKL_SEQUENCE_EXHAUSTED, ZKL_LEASE_IMPOSSIBLE, ZKL_NO_MEMORY, ZKL_SYSTEM or ZKL_CLOSED. Or it was
 * not begun: ZKL_LOST, ZKL_NOT_HELD, ZKL_INVALID_ARGUMENT (also if held in another mode),
 * ZKL_NOT_OWNER, ZKL_HANDLE_IN_USE, ZKL_LEASE_IMPOSSIBLE or ZKL_SYSTEM (also if there are no random
 * numbers).
 */
ZKL_CHECKED_API int zkl_lock_try_upgrade_async(zkl_lock *lock, const void *owner,
                                               zkl_acquire_callback *callback, void *arg);

/**
 * Asks the servers whether the lock is held, without blocking. timeout_ms and the statuses are as
 * in zkl_lock_verify(). ZKL_OK proves that the lock was held at some moment between the call and
 * the beginning of its callback.
 *
 * callback  not NULL.
 *
 * Several may be outstanding on one handle. Does not block; any thread, also in a callback. Returns
 * ZKL_OK: the callback will be called, with ZKL_OK, ZKL_LOST, ZKL_SUSPECT (not known), ZKL_NOT_HELD
 * (released meanwhile), ZKL_NO_PERMISSION, ZKL_SERVER_REFUSED, ZKL_NO_MEMORY, ZKL_CLOSED (the
 * client), or if the handle is closed meanwhile ZKL_CANCELLED or ZKL_SUSPECT. Or it was not
 * begun: ZKL_LOST or ZKL_NOT_HELD.
 */
ZKL_CHECKED_API int zkl_lock_verify_async(zkl_lock *lock, int64_t timeout_ms,
                                          zkl_status_callback *callback, void *arg);

/**
 * Returns a descriptor for the application's own loop (epoll, poll, libuv, libev), for a client
 * that was opened with ZKL_DISPATCH_CALLER. It is readable while callbacks are pending: poll it for
 * POLLIN, level-triggered or edge-triggered, and call zkl_client_dispatch when it is readable. Do
 * not read, write or close it. A client has one such descriptor, and zkl_client_close closes it:
 * take it out of the loop before that. exec closes it too. A forked child must not use it.
 *
 * descriptor  receives it on ZKL_OK, else -1.
 *
 * Does not block. Returns ZKL_OK, ZKL_INVALID_ARGUMENT (also if the client was not opened with
 * ZKL_DISPATCH_CALLER) or ZKL_SYSTEM (the process may open no more descriptors).
 */
ZKL_API int zkl_client_event_descriptor(zkl_client *client, int *descriptor);

/**
 * Runs the callbacks that are pending now, on this thread. Later ones are left for the next call,
 * and keep the descriptor readable. Harmless when nothing is pending.
 *
 * count  receives how many it has run; may be NULL.
 *
 * Any thread, but one at a time: if another thread is in this call for the same client, it runs
 * nothing, sets *count to 0 and returns at once. It does not keep the client open: do not call it
 * once zkl_client_close has begun. The close waits for a running dispatch, and then runs the
 * remaining callbacks itself.
 *
 * Does not block, unless a callback does. Returns ZKL_OK, ZKL_INVALID_ARGUMENT (as above) or
 * ZKL_IN_CALLBACK.
 */
ZKL_API int zkl_client_dispatch(zkl_client *client, size_t *count);

/* ---- Guarded transactions ----------------------------------------------- */

/**
 * Your own writes to ZooKeeper, carried out in one transaction (its multi) together with a check of
 * the lock's node: all of them, while the lock is held, or none. No pause of this process, however
 * long, can make them late: the servers refuse them once the next holder could have been granted
 * the lock.
 *
 * The check is by the name of the node. Somebody who deletes the node and makes another under its
 * name, which takes the right to do both, lets a transaction of the former holder pass, until that
 * is told that it has lost the lock. zkl_lock_verify tells such a node from ours.
 *
 *     zkl_transaction *transaction = NULL;
 *     int status = zkl_transaction_begin(lock, &transaction);
 *     if (status == ZKL_OK) {
 *         (void)zkl_transaction_set(transaction, "/stock/7", "41", 2, ZKL_ANY_VERSION);
 *         (void)zkl_transaction_create(transaction, "/orders/n-", "7", 1, ZKL_CREATE_SEQUENTIAL);
 *         status = zkl_transaction_commit(transaction, 5000, NULL);
 *     }
 *     zkl_transaction_free(transaction);
 *
 * (An addition that fails leaves the transaction unchanged: a real program checks its status.)
 *
 * A transaction belongs to the grant that it was begun under. Any thread may use it, one at a time,
 * before its lock handle is closed: after that only zkl_transaction_free is allowed.
 */
typedef struct zkl_transaction zkl_transaction;

/** Matches every version. (A node's version is 0 at first; each change of its data adds 1.) */
#define ZKL_ANY_VERSION (-1)

/** Flags of a create, to be combined. An ephemeral node is deleted at the end of the client's
 *  session. A sequential node gets ten digits after its name: the next number of its parent. */
enum { ZKL_CREATE_PERSISTENT = 0, ZKL_CREATE_EPHEMERAL = 1, ZKL_CREATE_SEQUENTIAL = 2 };

/**
 * Begins a transaction under the lock's current grant. No I/O; does not block.
 *
 * transaction  receives the handle on ZKL_OK, else NULL. Free it with zkl_transaction_free.
 *
 * Returns ZKL_OK, ZKL_LOST or ZKL_NOT_HELD.
 */
ZKL_API int zkl_transaction_begin(zkl_lock *lock, zkl_transaction **transaction);

/**
 * Add an operation: create a node (with the parent_acl of the lock), set a node's data, delete a
 * node, or check that it exists. Operations are carried out in the order in which they were added,
 * and each sees the effects of those before it.
 *
 * path     absolute, below the chroot of the client's host list; at most ZKL_TRANSACTION_PATH_MAX
 *          bytes of names that ZooKeeper accepts. The parent of a created node must exist.
 * data     any bytes, copied; may be NULL if size is 0.
 * flags    ZKL_CREATE_PERSISTENT, or a combination of the others.
 * version  that the node must have, or ZKL_ANY_VERSION.
 *
 * No I/O; these do not block, and may be called from a callback. Each returns ZKL_OK,
 * ZKL_INVALID_ARGUMENT (also beyond ZKL_TRANSACTION_OPERATIONS_MAX or ZKL_TRANSACTION_BYTES_MAX) or
 * ZKL_HANDLE_IN_USE (see zkl_transaction_commit_async).
 */
ZKL_API int zkl_transaction_create(zkl_transaction *transaction, const char *path, const void *data,
                                   size_t size, int flags);
ZKL_API int zkl_transaction_set(zkl_transaction *transaction, const char *path, const void *data,
                                size_t size, int32_t version);
ZKL_API int zkl_transaction_delete(zkl_transaction *transaction, const char *path, int32_t version);
ZKL_API int zkl_transaction_check(zkl_transaction *transaction, const char *path, int32_t version);

/** Which operation failed, and why. Plain data. */
typedef struct zkl_transaction_result {
    size_t struct_size;   /* see ZKL_TRANSACTION_RESULT_INIT */
    int failed_operation; /* counted from 0 in the order of their addition; -1: none */
    int failed_status;    /* of it: ZKL_NO_NODE, ZKL_NODE_EXISTS, ZKL_BAD_VERSION, ZKL_NOT_EMPTY,
                             ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED or ZKL_SERVER_REFUSED (such as a
                             child of an ephemeral node); else ZKL_OK */
} zkl_transaction_result;

#define ZKL_TRANSACTION_RESULT_INIT                                                                \
    { sizeof(zkl_transaction_result), -1, 0 }

/**
 * Commits a transaction.
 *
 * timeout_ms  ZKL_FOREVER, or >= 1.
 * result      receives which operation failed; may be NULL.
 *
 * Blocks until the servers have answered, or until the deadline. While the client is disconnected,
 * or has heard nothing from the servers for so long that its session may be over (zkl_lock_check
 * returns ZKL_SUSPECT), nothing is sent: it first waits to hear from them.
 *
 * Returns ZKL_OK: everything was applied, while the lock was held.
 * On these nothing was applied, and nothing will be:
 *   ZKL_LOST              the lock is no longer held, according to the servers or to this client;
 *                         or the handle has another grant than the one the transaction was begun
 *                         under (a downgrade keeps its grant)
 *   ZKL_OPERATION_FAILED  an operation could not be carried out: see result. The lock was held
 *   ZKL_TIMEOUT           it could not be sent in time
 *   ZKL_NOT_HELD          the lock was released
 *   ZKL_SERVER_REFUSED    the servers would not take it now, or this process had no memory to send
 *                         it
 *   ZKL_NO_PERMISSION     to read the lock's own node
 *   ZKL_CANCELLED         the handle is being closed
 *   ZKL_INVALID_ARGUMENT  also if it was committed already
 *   ZKL_HANDLE_IN_USE     see zkl_transaction_commit_async
 *   ZKL_CLOSED, ZKL_NO_MEMORY, ZKL_FORKED or ZKL_IN_CALLBACK
 * On this one everything was applied, or nothing was, or everything may still be applied:
 *   ZKL_UNKNOWN           it was sent, and the reply was lost or late. Once you hold the lock
 *                         (again), read what it should have written before you go on
 *
 * After ZKL_OK and ZKL_UNKNOWN it cannot be committed again; after the others it can, while the
 * lock is held.
 *
 * Rule: docs/guarantees.md, "Verify and guarded transactions".
 */
ZKL_CHECKED_API int zkl_transaction_commit(zkl_transaction *transaction, int64_t timeout_ms,
                                           zkl_transaction_result *result);

/**
 * How a commit ended: what zkl_transaction_commit would have returned.
 *
 * transaction  yours again, from the beginning of this callback on: you may ask for the paths it
 *              created, free it, or (unless its lock's handle was closed meanwhile) commit it again
 *              where zkl_transaction_commit allows it. If you have freed it already, it lives until
 *              this callback returns: leave it alone.
 * result       which operation failed; valid during the callback only.
 */
typedef void zkl_transaction_callback(void *arg, int status, zkl_transaction *transaction,
                                      const zkl_transaction_result *result);

/**
 * Commits a transaction without blocking. The rules of "Asynchronous calls" apply; timeout_ms and
 * the statuses are as in zkl_transaction_commit().
 *
 * The transaction belongs to this call from the moment it returns ZKL_OK until its callback begins,
 * even if the lock's handle or the client is closed meanwhile. Until then additions and commits
 * return ZKL_HANDLE_IN_USE. You may call zkl_transaction_free() once, at any time; the memory is
 * released after the callback returns. If this returns any other status, the transaction is
 * unchanged, and still yours.
 *
 * callback  not NULL.
 *
 * Several transactions of one handle may be outstanding. They are sent in the order of their calls,
 * each with its own check of the lock's node.
 *
 * Does not block; any thread, also in a callback. Returns ZKL_OK: the callback will be called, with
 * ZKL_OK, ZKL_LOST, ZKL_OPERATION_FAILED, ZKL_TIMEOUT, ZKL_NOT_HELD, ZKL_SERVER_REFUSED,
 * ZKL_NO_PERMISSION, ZKL_CLOSED, ZKL_CANCELLED (the handle was closed before it was sent) or
 * ZKL_UNKNOWN (also if the handle was closed after it was sent). Or it was not begun: ZKL_LOST,
 * ZKL_NOT_HELD, ZKL_HANDLE_IN_USE (it is outstanding already) or ZKL_INVALID_ARGUMENT (also if it
 * was committed already).
 *
 * Rule: docs/guarantees.md, "Verify and guarded transactions".
 */
ZKL_CHECKED_API int zkl_transaction_commit_async(zkl_transaction *transaction, int64_t timeout_ms,
                                                 zkl_transaction_callback *callback, void *arg);

/**
 * The path, below the chroot, of a node that a committed transaction created, with its number if it
 * is sequential. operation: counted from 0 in the order of addition. "" if that operation is not a
 * create, or the transaction was not committed with ZKL_OK (or there was no memory for the path).
 * The string lives as long as the transaction. Does not block.
 */
ZKL_API const char *zkl_transaction_created_path(const zkl_transaction *transaction, int operation);

/** Frees a transaction, committed or not. One that is outstanding is freed once its callback has
 *  returned. NULL is allowed. Does not block. */
ZKL_API void zkl_transaction_free(zkl_transaction *transaction);

/* ---- Scope helpers ----------------------------------------------------- */

#if defined(__GNUC__)
static inline void zkl_scope_close(zkl_lock **lock) {
    zkl_lock_close(*lock);
}

static inline void zkl_scope_release(zkl_lock **lock) {
    if (*lock != NULL) {
        (void)zkl_lock_release(*lock, 0);
    }
}

/**
 * Closes the handle, and so releases the lock, wherever the scope ends:
 *
 *     ZKL_CLOSE_AT_SCOPE_END zkl_lock *lock = NULL;
 *     int status = zkl_lock_open(client, "stock", NULL, &lock);
 */
#define ZKL_CLOSE_AT_SCOPE_END __attribute__((cleanup(zkl_scope_close)))

/**
 * Releases the lock, and keeps the handle, wherever the scope ends. Declare it once the lock is
 * held:
 *
 *     ZKL_RELEASE_AT_SCOPE_END zkl_lock *held = lock;
 */
#define ZKL_RELEASE_AT_SCOPE_END __attribute__((cleanup(zkl_scope_release), unused))
#endif

#ifdef __cplusplus
}
#endif

#endif
