/*
 * zklock: distributed locks in C on Apache ZooKeeper.
 *
 * Most programs need ten functions of this header; docs/start-here.md is a page about them.
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
 * 8. zklock sees all locks of Curator and kazoo on the same node (semaphores are none). Those
 *    libraries do not see all of zklock's locks. A lock that does not see a holder is granted
 *    beside it:
 *
 *      waits for a holder with          EXCLUSIVE  WRITE   READ    permit  KAZOO   its READ  LATCH
 *      Curator's mutex, LeaderSelector  yes        NO      NO      NO      NO      NO        NO
 *        its writer                     NO         yes     yes     NO      NO      NO        NO
 *        its reader                     NO         yes     shares  NO      NO      shares    NO
 *        its LeaderLatch                NO         NO      NO      NO      NO      NO        yes
 *        its semaphores                 NO         NO      NO      refused NO      NO        NO
 *      kazoo, subclass with -lock-      yes        NO      NO      NO      NO      NO        NO
 *        with -__WRIT__                 yes        yes     yes     NO      NO      NO        NO
 *        with -__READ__                 yes        yes     shares  NO      NO      shares    NO
 *      kazoo Lock, Election             NO         NO      NO      NO      yes     NO        NO
 *        WriteLock                      NO         NO      NO      NO      yes     yes       NO
 *        ReadLock                       NO         NO      shares  NO      hangs   shares    NO
 *        extra_lock_patterns "lock-"    yes        NO      NO      NO      yes     NO        NO
 *        and "__READ__", "__WRIT__"     yes        yes     yes     NO      yes     NO        NO
 *          WriteLock                    yes        yes     yes     NO      yes     yes       NO
 *          ReadLock                     hangs      hangs   hangs   NO      hangs   shares    NO
 *        Semaphore                      NO         NO      NO      NO      NO      NO        NO
 *      ZooKeeper's zkr_lock             yes        NO      NO      yes     dies    dies      yes
 *        WriteLock                      hangs      NO      NO      yes     NO      NO        yes
 *        asked again every 100 ms       yes        NO      NO      yes     NO      NO        yes
 *      go-zookeeper's Lock              yes        fails   fails   yes     fails   fails     yes
 *
 *    KAZOO and LATCH: the option `naming`. Curator's mutex: InterProcessMutex, and what is made
 *    of it; its writer and reader: InterProcessReadWriteLock. Who hangs, fails or dies does so by a
 *    defect of its own. So share a resource with Curator's mutex by ZKL_EXCLUSIVE, with its pair by
 *    ZKL_READ and ZKL_WRITE, and with kazoo by a subclass of two lines in Python; or, where nobody
 *    can change the others, by `naming`. docs/interoperability.md has the subclass, what was
 *    measured, and why each NO is one. Semaphores of Curator and kazoo cannot be shared, and
 *    permits are refused beside them.
 *
 * Conventions
 * -----------
 * - Functions return ZKL_OK (0) or a negative zkl_status. zkl_strerror() returns the text of a
 *   status; zkl_error_message() adds the details: which input was wrong, how many requests were in
 *   the way, what the servers refused. The compiler warns if a program ignores a status that says
 *   whether it has what it asked for, as that of zkl_lock_acquire (gcc even behind a cast to void).
 * - Every duration is in milliseconds and its name ends in _ms.
 * - A struct that a program passes in begins with struct_size. Its _INIT macro sets that, and all
 *   else to 0, which is each option's default (ZKL_NONE switches off what is on by default). So a
 *   program that is built today runs with a later library, which reads and fills only the fields
 *   that the program knows.
 * - Strings passed in are copied. Only handles, and results that have a _free function, must be
 *   freed.
 * - A call on a handle that is closed, was never opened, or is of another kind returns
 *   ZKL_INVALID_ARGUMENT, with a message, unless a newer handle has the same address; a function
 *   that returns no status does nothing. This finds mistakes; it does not make it safe to close a
 *   handle that another thread is about to use.
 * - Unless stated otherwise, any thread may call any function at any time.
 * - A zklock callback must not make a call that blocks: such a call returns ZKL_IN_CALLBACK. It
 *   must return: no exception of C++ may leave it, nor longjmp() or pthread_exit().
 * - A signal handler may call zkl_strerror(), zkl_version() and the functions that end in _name,
 *   and nothing else: the others take mutexes and memory. Let it write to a pipe or an eventfd, and
 *   let a thread that reads from that call zklock.
 * - dlclose() does not unload the shared library: its threads, and OpenSSL, run its code for as
 *   long as the process lives. If you link the static one into a shared library of your own, link
 *   that with -z nodelete, or close all clients before it is unloaded.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_ZKLOCK_H
#define ZKLOCK_ZKLOCK_H

#include "zklock/asynchronous.h"  /* calls that return at once, and a loop of your own */
#include "zklock/base.h"          /* constants, handles, limits */
#include "zklock/events.h"        /* what becomes of a held lock, told to a callback */
#include "zklock/lending.h"       /* handles of one client that share a place in the queue */
#include "zklock/modes.h"         /* exclusive, read and write; downgrade and upgrade */
#include "zklock/observability.h" /* log, record and metrics */
#include "zklock/security.h"      /* credentials, ACLs, TLS and SASL */
#include "zklock/sets.h"          /* several resources at once */
#include "zklock/transactions.h"  /* writes that are applied only while the lock is held */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Client: a ZooKeeper session ---------------------------------------- */

/** What a client is opened with. 0 and NULL are the default of each field. */
typedef struct zkl_client_options {
    size_t struct_size; /* see ZKL_CLIENT_OPTIONS_INIT */
    /** Requested from the servers, which may change it; see zkl_client_info. A crashed holder's
     *  lock passes on after this long. From ZKL_SESSION_TIMEOUT_MIN_MS to
     *  ZKL_SESSION_TIMEOUT_MAX_MS; 0: ZKL_SESSION_TIMEOUT_DEFAULT_MS. */
    int32_t session_timeout_ms;
    /** How long zkl_client_open waits for the first connection. The addresses of the servers share
     *  it: one that does not answer is left early enough for the others. 0:
     *  ZKL_CONNECT_TIMEOUT_DEFAULT_MS. */
    int32_t connect_timeout_ms;
    /** The node above all resources that are given by a name: an absolute path of at most
     *  ZKL_ROOT_MAX bytes. Made when needed, below the chroot (see zkl_client_open). NULL:
     *  ZKL_LOCK_ROOT_DEFAULT. */
    const char *lock_root;
    /** Who this client is, for people: stored in each node beside host, process id and time, and
     *  given in log records. At most ZKL_LABEL_MAX bytes of UTF-8 without control characters. NULL:
     *  the program's name. */
    const char *label;
    /** Receives log records (zkl_log_callback). NULL: silent. */
    zkl_log_callback *log_callback;
    void *log_arg; /* passed to it */
    /** Events of a higher (less important) level are not logged. 0: ZKL_LOG_INFO. */
    zkl_log_level log_level;
    /**
     * 0: no lease. Otherwise the tickTime of the servers in milliseconds (as in their
     * configuration; a larger value is safe, a smaller one is not), up to ZKL_LEASE_TICK_MAX_MS.
     * The client then keeps a lease on its session: a local time before which the servers cannot
     * expire it. A lock is granted only while a lease runs, zkl_lock_check returns how much of it
     * is left, and a lock is ZKL_LOST when it has run out, even if nothing else is known.
     *
     * It costs two small committed writes in each third of the session timeout, while the client
     * holds or awaits locks. Creates and deletes of its own take the place of these writes. If the
     * client has held no lock for a while, it must earn a lease first: its next acquire takes up to
     * one tick longer, and a try waits for up to two thirds of the session timeout before it gives
     * up. The session timeout should be at least five ticks (otherwise a warning is logged), and
     * must be more than three and a half. Do not use a lease if the servers are configured with
     * observers behind observers, or with local sessions. The lease stays true while clocks differ
     * in rate by at most a thousandth, and while nobody else ends or shortens the session, which
     * whoever can connect to the servers can (docs/security.md, "Sessions are no secret").
     *
     * docs/guarantees.md, "Lease", has how much of it is left in calm operation, and the longest
     * disconnection that it survives. If the connection dies silently (packets dropped, no reset),
     * it runs out at any session timeout. Rule: docs/internals/protocol.md, "Lease".
     */
    int32_t lease_tick_ms;
    /** How many events the client keeps in memory for zkl_client_write_record, from
     *  ZKL_RECORDED_EVENTS_MIN to ZKL_RECORDED_EVENTS_MAX. 0: ZKL_RECORDED_EVENTS_DEFAULT.
     *  ZKL_NONE: none are kept. observability.h says what they cost. */
    int32_t recorded_events;
    /** Which thread runs the callbacks of the client and of its handles. */
    zkl_dispatch dispatch;
    /** If the library detects that its own state is corrupt, it writes the record to this directory
     *  as zklock-PID-NUMBER-CLOCK.record, names the file on stderr, and aborts the program, because
     *  it must not continue to grant locks. (SIGALRM ends the program if writing takes longer than
     *  5 s.) At most ZKL_FILE_NAME_MAX bytes. NULL: the directory that TMPDIR names, or /tmp. */
    const char *record_directory;
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
    /** Credentials, ACLs, TLS and SASL (security.h); needed during zkl_client_open only. NULL: the
     *  client shows nobody who it is, and its nodes are open to all. */
    const zkl_security *security;
} zkl_client_options;

#define ZKL_CLIENT_OPTIONS_INIT ZKL_SIZED(zkl_client_options)

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
 * the latest attempt failed), ZKL_AUTH_FAILED (zkl_error_message says what the servers refused),
 * ZKL_LEASE_IMPOSSIBLE (the servers granted no more than about three and a half ticks) or
 * ZKL_UNSUPPORTED. On any status but ZKL_OK nothing is left running.
 */
ZKL_CHECKED_API int zkl_client_open(const char *hosts, const zkl_client_options *options,
                                    zkl_client **client);

/**
 * Closes a client: waiting acquires return ZKL_CLOSED, held locks are released,
 * and the session is ended, which deletes every node of the client. NULL is
 * allowed.
 *
 * timeout_ms  how long to wait for the servers to confirm the deletion of the client's
 *             nodes; 0 does not wait for it. Nodes that they refuse to delete are not waited for:
 *             they go with the session. In total the call blocks for up to timeout_ms, plus
 *             5 s for answers that are still to come (1 s if none comes), plus 5 s to end the
 *             session if the servers do not answer. (Without the wait for answers the machine
 *             would reset the connection, and the end of the session would be lost.) The call
 *             also waits for a name that is being resolved, and for callbacks that are still
 *             owed; with ZKL_DISPATCH_CALLER it runs them itself.
 *
 * Lock handles must still be closed; every other call on them returns ZKL_CLOSED. Do not use the
 * client handle again.
 *
 * Blocks for up to timeout_ms and 10 s more. Returns
 *   ZKL_OK       the servers confirmed that all nodes of this client are gone
 *   ZKL_PENDING  that is not confirmed, so a node may be left. You need not do anything: it goes
 *                with its session, at once if the servers heard of the session's end, otherwise
 *                after the session timeout. (If the client gave a session up because it did not
 *                answer, and opened another, that session may live as long; its nodes are known to
 *                be gone when the client has been connected for two session timeouts since.)
 * On ZKL_INVALID_ARGUMENT (timeout_ms < 0), ZKL_IN_CALLBACK and ZKL_FORKED the client is left
 * open. Call it once, from one thread: a second call returns ZKL_CLOSED, or ZKL_INVALID_ARGUMENT
 * once the last lock handle of the client is closed too.
 */
ZKL_API int zkl_client_close(zkl_client *client, int64_t timeout_ms);

/** What zkl_client_info says of a client. */
typedef struct zkl_client_information {
    size_t struct_size;         /* see ZKL_CLIENT_INFORMATION_INIT */
    int connected;              /* 1 or 0, at this moment; 1: all its sessions are connected */
    int unsupported_servers;    /* 1: they are not Apache ZooKeeper (docs/servers.md) */
    int64_t session_id;         /* of the current session; of several, the first one's */
    int32_t session_timeout_ms; /* as negotiated with the servers */
    uint64_t sessions_expired;  /* how many sessions this client has lost */
    uint32_t sessions;          /* how many it has now */
    uint64_t pending_deletions; /* nodes whose deletion is not yet confirmed */
    const char *lock_root;      /* in use, without the chroot; valid until the client is closed */
} zkl_client_information;

#define ZKL_CLIENT_INFORMATION_INIT ZKL_SIZED(zkl_client_information)

/** Describes the client's session. information receives it on ZKL_OK. Does not block. Returns
 *  ZKL_OK. */
ZKL_API int zkl_client_info(zkl_client *client, zkl_client_information *information);

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
 * block. Returns ZKL_OK, ZKL_INVALID_ARGUMENT (as in zkl_client_open; or another chroot) or
 * ZKL_CLOSED. On any status but ZKL_OK nothing has changed.
 */
ZKL_CHECKED_API int zkl_client_set_hosts(zkl_client *client, const char *hosts);

/* ---- Lock: one contender ----------------------------------------------- */

/**
 * Whose names the nodes of a handle have. A library waits only for nodes with the names that it
 * knows, so this decides who waits for the handle: see caveat 8 of zklock.h. The handle itself
 * waits for all names: with ZKL_NAMING_CURATOR whatever they are; with another naming it shares the
 * resource only with contenders of that naming, and fails with ZKL_USED_DIFFERENTLY behind any
 * other, because the library that it is to share with would not see that one.
 */
typedef enum zkl_naming {
    /** Those of Curator's InterProcessMutex (ZKL_EXCLUSIVE) and InterProcessReadWriteLock (ZKL_READ
     *  and ZKL_WRITE). */
    ZKL_NAMING_CURATOR = 0,
    /** Those of kazoo's Lock and WriteLock (ZKL_EXCLUSIVE and ZKL_WRITE, which are alike here) and
     *  ReadLock (ZKL_READ), so that these need no options and no subclass. A writer cannot be
     *  downgraded. Not for permits. */
    ZKL_NAMING_KAZOO = 1,
    /** Those of Curator's LeaderLatch. ZKL_EXCLUSIVE only. Not for permits, and not with
     *  `revocable`. */
    ZKL_NAMING_LEADER_LATCH = 2
} zkl_naming;

/** What a contender is opened with. 0 and NULL are the default of each field. */
typedef struct zkl_lock_options {
    size_t struct_size; /* see ZKL_LOCK_OPTIONS_INIT */
    /** 0: if the session expires during an acquire, it joins the queue again, at its tail, in the
     *  next session and within the same deadline. 1: it returns ZKL_SESSION_EXPIRED. */
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
    /** Receives what becomes of the lock while it is held (events.h). NULL: no callback;
     *  zkl_lock_check returns the state too. */
    zkl_lock_state_callback *state_callback;
    void *state_arg; /* passed to it */
    /** 0: a lock. Otherwise a semaphore with this many permits, at most ZKL_PERMITS_MAX, of
     *  which the handle acquires one, in the mode ZKL_EXCLUSIVE. All users of the resource must
     *  set the same value. An acquire that finds an earlier request with another value, or
     *  for a plain lock, fails with ZKL_USED_DIFFERENTLY. (A plain lock behind permits, of a
     *  client that knows nothing of semaphores, waits for them all.) It also fails so if it finds
     *  a semaphore of Curator or kazoo, which cannot be shared: children of the resource
     *  named "leases" and "locks", or one named by a random UUID without dashes. A waiter watches
     *  `permits` nodes, and each session of a client has room for 512 KB of watched paths:
     *  for about two thousand waiters for one of 2 permits, or six for one of 1,000. A
     *  holder needs as much as that of a lock. An acquire for which no session has room fails with
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
     *  for a job of several processes: add what nobody else has, such as a UUID. With a slash and
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
     *  before the callback's turn (compare its `token`). 0: only what changes later. */
    int32_t tell_granted;
    /** A text for others to read, stored as the line note= in the data of the lock's node.
     *  Observers of election.h receive the note of a leader. At most ZKL_NOTE_MAX bytes of UTF-8
     *  without control characters. NULL: no such line. */
    const char *note;
    const char *node_acl;   /* as in zkl_security; NULL: as the client's */
    const char *parent_acl; /* as in zkl_security; NULL: as the client's */
    /** 1: others can ask for the lock, with zkl_node_revoke of administration.h or with Curator's
     *  Revoker; the state callback, which must be set, receives ZKL_STATE_REVOKE_REQUESTED. They do
     *  so in the data of its nodes, so these are not protected (see `unprotected` of
     *  zkl_security). 0: nobody can ask for it, unless the client's nodes are not protected
     *  anyway. */
    int32_t revocable;
    /** Whose names its nodes have, and so which libraries wait for them. */
    zkl_naming naming;
    /** Handles of this client share one place in the queue (lending.h); needed during zkl_lock_open
     *  only. NULL: each acquire makes a node of its own. */
    const zkl_lending *lending;
} zkl_lock_options;

#define ZKL_LOCK_OPTIONS_INIT ZKL_SIZED(zkl_lock_options)

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

/** What an acquire obtained. Plain data: copy it freely. */
typedef struct zkl_grant {
    size_t struct_size; /* set it to sizeof(zkl_grant); see ZKL_GRANT_INIT */
    /** The fencing token: of two conflicting grants of a resource, the later
     *  one has the greater token. It is the czxid of the lock's node. (If the
     *  ensemble is restored from a backup, later tokens may be lower.) Readers do not
     *  conflict, nor do holders of permits: do not fence by comparing their tokens. */
    int64_t token;
    zkl_mode mode;                 /* how it is held */
    int32_t stripe;                /* which one, of a striped lock (striped_lock.h); else 0 */
    int64_t waited_ms;             /* from the call of the acquire to the grant */
    char node[ZKL_NODE_PATH_SIZE]; /* full path of the lock's node; of a set: the first one's */
    /** The second half of the token of a handle with `lending`: of two conflicting grants with the
     *  same token, the later one has the greater number. From 1; 0 for all other locks, whose token
     *  is one number. */
    int64_t local_number;
} zkl_grant;

#define ZKL_GRANT_INIT ZKL_SIZED(zkl_grant)

/**
 * Acquires the lock.
 *
 * mode        ZKL_EXCLUSIVE, ZKL_READ or ZKL_WRITE (modes.h); for a set ZKL_AS_OPENED; for a handle
 *             with permits ZKL_EXCLUSIVE.
 * timeout_ms  ZKL_FOREVER, or one deadline for everything: connecting,
 *             queueing, waiting, retrying. 0 tries: if another contender is
 *             in the way it returns ZKL_BUSY after one read and writes
 *             nothing. (ZKL_BUSY may be stale: the contender in the way may have
 *             left. It may have been this handle itself, if its last acquire failed,
 *             or it did not wait for the end of its release. A try that finds the way
 *             free must queue to be sure; the loser of two concurrent tries
 *             deletes its node and waits for that reply.)
 * grant       receives the grant on ZKL_OK; may be NULL.
 *
 * Blocks until granted, cancelled or past the deadline. A try blocks for the
 * replies to its own requests, which end with the connection at the latest.
 *
 * On every status but ZKL_OK this call has not acquired the lock, and a node that it made is
 * deleted in the background. Returns
 *   ZKL_OK                  granted: the lock is held
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
 *   ZKL_ALREADY_HELD        this handle holds it, or has lost it and was not released since; or it
 *                           is reentrant, and was acquired ZKL_HOLDS_MAX times
 *   ZKL_HANDLE_IN_USE       another acquire or release of this handle is under way
 *   ZKL_LOST                reentrant handle: the grant that it had was lost; release it as often
 *                           as it was acquired
 *   ZKL_QUEUE_FULL          with max_waiting
 *   ZKL_TOO_MANY_REQUESTS   no session of the client has room for the watches
 *   ZKL_USED_DIFFERENTLY    an earlier request has another number of `permits`, or none, or the
 *                           names of another library (zkl_naming)
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
 * Returns ZKL_OK (held, as far as is known: see caveat 2 of zklock.h), ZKL_SUSPECT
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

/** What zkl_lock_info says of a handle. */
typedef struct zkl_lock_information {
    size_t struct_size;         /* see ZKL_LOCK_INFORMATION_INIT */
    zkl_lock_state state;       /* now; never REVOKE_REQUESTED or CONTENDED */
    int lost_reason;            /* LOST: as in zkl_lock_event; else ZKL_OK */
    zkl_mode mode;              /* of the grant; this and the next three are 0 without one */
    int64_t token;              /* as in zkl_grant */
    uint32_t holds;             /* 1, or how often a reentrant handle was acquired */
    int64_t held_ms;            /* since the grant */
    int64_t lease_left_ms;      /* as in zkl_lock_check */
    uint64_t pending_deletions; /* nodes of this handle that are being deleted, not yet confirmed */
    int64_t position;     /* ACQUIRING: how many requests were before it in the queue (of a set: in
                             the longest queue) when it last listed, in its way or not; there may be
                             fewer now. -1: not known yet, or it does not wait */
    int64_t local_number; /* as in zkl_grant */
} zkl_lock_information;

#define ZKL_LOCK_INFORMATION_INIT ZKL_SIZED(zkl_lock_information)

/**
 * Describes a handle, without I/O. information receives it on ZKL_OK. Does not block; may be called
 * from a callback. Returns ZKL_OK.
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
 * Blocks for at most timeout_ms. Returns
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
 * Closes a handle: cancels an acquire, releases a held lock as zkl_lock_release(lock, 0) does, and
 * frees the handle. NULL is allowed. Waits only for a call or callback of this handle that is
 * running in another thread. May be called from a callback. Callbacks of asynchronous calls that
 * are still owed come later: see asynchronous.h. In a forked child it does nothing.
 */
ZKL_API void zkl_lock_close(zkl_lock *lock);

/* ---- Errors ------------------------------------------------------------ */

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
    X(ZKL_USED_DIFFERENTLY, -36, "the resource is used in another way: permits or names differ")   \
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
 * The text of a status. Returns a static string, never NULL: "unknown status" for any other number.
 * Any thread; does not block.
 */
ZKL_API const char *zkl_strerror(int status);

/** The name of a status. Returns a static string, for example "ZKL_TIMEOUT"; "unknown" for any
 *  other number. Any thread; does not block. */
ZKL_API const char *zkl_status_name(int status);

/**
 * The details of this thread's last zklock call, in addition to its status. For wrong input: the
 * input and the rule. For an acquire that failed, for example:
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
 * Returns the empty string, never NULL, if zkl_strerror says everything. It is valid until this
 * thread's next call that takes a handle or hosts; void close and free functions do not change it.
 * Any thread; does not block.
 */
ZKL_API const char *zkl_error_message(void);

/** The version of the linked library. Returns a static string, for example "0.1.0". Does not
 *  block. */
ZKL_API const char *zkl_version(void);

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
 * Closes the handle wherever the scope ends, and so releases the lock:
 *
 *     ZKL_CLOSE_AT_SCOPE_END zkl_lock *lock = NULL;
 *     int status = zkl_lock_open(client, "stock", NULL, &lock);
 */
#define ZKL_CLOSE_AT_SCOPE_END __attribute__((cleanup(zkl_scope_close)))

/**
 * Releases the lock wherever the scope ends, and keeps the handle. Declare it once the lock is
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
