/*
 * zklock: several locks at once, all or none.
 *
 * A multi-lock takes any set of resources, each in its own mode, within one deadline.
 * All its nodes are made by one ZooKeeper transaction. So whatever order callers name
 * resources in, they cannot wait for one another in a circle: each waits only for
 * nodes that an earlier transaction has made (docs/internals/protocol.md, "Multi-lock"). What
 * is acquired one after the other, or all at once but by single requests, deadlocks
 * when two callers name two resources the other way round.
 *
 * While it waits for one of them, it keeps others waiting for all of them, as every
 * lock of several things does: keep the sets small.
 *
 * Everything else is as with zkl_lock: what you must know before you bet data on it,
 * the conventions, and what a status means, is in zklock.h.
 */
#ifndef ZKLOCK_MULTI_LOCK_H
#define ZKLOCK_MULTI_LOCK_H

#include "zklock/zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most resources of one multi-lock. */
#define ZKL_MULTI_LOCK_MEMBERS_MAX 64

/** One contender for a set of resources. One acquire, hold or release at a time. */
typedef struct zkl_multi_lock zkl_multi_lock;

/** One of the resources; see ZKL_MULTI_LOCK_MEMBER_INIT. */
typedef struct zkl_multi_lock_member {
    size_t struct_size;
    const char *resource; /* as for zkl_lock_open; copied */
    zkl_mode mode;
    int32_t permits; /* with ZKL_PERMIT: of the semaphore; else 0 */
} zkl_multi_lock_member;

#define ZKL_MULTI_LOCK_MEMBER_INIT                                                                 \
    { sizeof(zkl_multi_lock_member), NULL, ZKL_EXCLUSIVE, 0 }

/** A change in the state of what a multi-lock holds. Valid during the callback only. */
typedef struct zkl_multi_lock_news {
    size_t struct_size; /* of the library's struct; later versions append */
    zkl_multi_lock *multi_lock;
    zkl_lock_state state; /* as in zkl_lock_news: SUSPECT; HELD again; REVOKE_REQUESTED; LOST, the
                             last one of a grant */
    int reason;           /* LOST: as in zkl_lock_news; else ZKL_OK */
    int64_t token;        /* of the grant that it is about */
    const char *resource; /* LOST: the first that was lost, as the application named it, and
                             REVOKE_REQUESTED: the one that is asked for; else "". It is there until
                             the handle is closed */
} zkl_multi_lock_news;

/**
 * Receives the changes in the state of what a multi-lock holds. The rules are those of
 * zkl_lock_state_callback. All are in one session, so SUSPECT and HELD are about all; a session
 * that ends takes all with it. LOST comes once, with the first that is lost: what was done under
 * the grant as a whole is over then, though the others are kept until they are released.
 * REVOKE_REQUESTED comes once for each resource.
 */
typedef void zkl_multi_lock_state_callback(void *arg, const zkl_multi_lock_news *news);

typedef struct zkl_multi_lock_options {
    size_t struct_size;
    /** As in zkl_lock_options: 1 to fail when the session expires during an acquire. */
    int32_t fail_on_session_expiry;
    int32_t reserved; /* must be 0 */
    /** 0: no limit. Else as in zkl_lock_options, from the grant of all on. */
    int64_t max_hold_ms;
    /** As in zkl_lock_options. */
    const char *resource_class;
    /** NULL: nobody is told; zkl_multi_lock_check tells as well. */
    zkl_multi_lock_state_callback *state_callback;
    void *state_arg;
    /** As in zkl_lock_options. */
    const char *owner;
} zkl_multi_lock_options;

#define ZKL_MULTI_LOCK_OPTIONS_INIT                                                                \
    { sizeof(zkl_multi_lock_options), 0, 0, 0, NULL, NULL, NULL, NULL }

/** What an acquire obtained. */
typedef struct zkl_multi_lock_grant {
    size_t struct_size; /* see ZKL_MULTI_LOCK_GRANT_INIT */
    /** The fencing token, the same one for all resources: the nodes are of one transaction. */
    int64_t token;
    int64_t waited_ms;
} zkl_multi_lock_grant;

#define ZKL_MULTI_LOCK_GRANT_INIT                                                                  \
    { sizeof(zkl_multi_lock_grant), 0, 0 }

/**
 * Opens a contender for a set of resources. No I/O.
 *
 * members, count  1 to ZKL_MULTI_LOCK_MEMBERS_MAX resources, no two of them the same one.
 * options         NULL for ZKL_MULTI_LOCK_OPTIONS_INIT.
 * multi_lock      receives the handle on ZKL_OK, else NULL. Close it with
 *                 zkl_multi_lock_close.
 *
 * Does not block. Returns ZKL_OK, ZKL_INVALID_ARGUMENT (also: a resource is named twice) or
 * ZKL_SYSTEM (no thread for the state callback).
 */
ZKL_CHECKED_API int zkl_multi_lock_open(zkl_client *client, const zkl_multi_lock_member *members,
                                        size_t count, const zkl_multi_lock_options *options,
                                        zkl_multi_lock **multi_lock);

/**
 * Acquires all, or none.
 *
 * timeout_ms  ZKL_FOREVER, one deadline over all that it takes, or 0 to try: ZKL_BUSY if any
 *             of them is not free.
 * grant       receives the grant on ZKL_OK; may be NULL.
 *
 * When the node of one of them is lost before all are granted (the session expired, somebody
 * deleted it), all are given up, and it joins all queues again at their tails.
 *
 * Blocks. Returns what zkl_lock_acquire does (but for the statuses of reentrant handles), and
 * ZKL_SEQUENCE_EXHAUSTED also from a try that has just begun a resource anew (the next one finds it
 * so); of a semaphore ZKL_PERMITS_DIFFER; ZKL_INVALID_ARGUMENT also of semaphores of many permits,
 * or of many members with long names (see `permits` of zkl_lock_options). On every status but
 * ZKL_OK none is held, and nodes that were made are deleted in the background.
 */
ZKL_CHECKED_API int zkl_multi_lock_acquire(zkl_multi_lock *multi_lock, int64_t timeout_ms,
                                           zkl_multi_lock_grant *grant);

/**
 * Ends the acquire that waits, from any thread: it is told ZKL_CANCELLED. Whichever of grant,
 * cancel and timeout comes first wins. Does not block; may be called from a callback. Returns
 * ZKL_OK or ZKL_NOT_WAITING.
 */
ZKL_API int zkl_multi_lock_cancel(zkl_multi_lock *multi_lock);

/**
 * Tells, as zkl_lock_check does, whether all are held: ZKL_LOST when one of them is lost; the
 * others are kept until they are released.
 */
ZKL_CHECKED_API int zkl_multi_lock_check(zkl_multi_lock *multi_lock, int64_t *lease_left_ms);

/**
 * Releases all, as zkl_lock_release does: on ZKL_OK, ZKL_PENDING, ZKL_LOST (one of them had been
 * lost) and ZKL_CLOSED none is held; on any other status nothing has changed.
 */
ZKL_API int zkl_multi_lock_release(zkl_multi_lock *multi_lock, int64_t timeout_ms);

/**
 * Closes a handle: cancels an acquire, releases what is held as zkl_multi_lock_release(multi_lock,
 * 0) does, and frees the handle. NULL is fine. Does not block, except for a call of another thread
 * on this handle to return, and for its callbacks, if one is just running in another thread. From
 * inside a callback it is fine as well. Callbacks of asynchronous calls that are still owed come
 * later, as with zkl_lock_close. In a forked child it does nothing.
 */
ZKL_API void zkl_multi_lock_close(zkl_multi_lock *multi_lock);

/* ---- Asynchronous calls ------------------------------------------------- */

/**
 * How an acquire ended.
 *
 * status  what zkl_multi_lock_acquire would have returned.
 * grant   on ZKL_OK, and valid during the callback only: copy it. All are held from the beginning
 *         of this callback on. NULL on any other status.
 */
typedef void zkl_multi_lock_acquire_callback(void *arg, int status,
                                             const zkl_multi_lock_grant *grant);

/**
 * Acquires all, or none, without waiting for it. The rules are those of zkl_lock_acquire_async:
 * when it returns ZKL_OK its callback comes exactly once, whatever happens; when the handle is
 * closed before, it comes after that, with ZKL_CANCELLED: so `arg` must live until then. When it
 * returns anything else, never. A request takes the memory of one of each resource.
 *
 * callback  not NULL.
 *
 * Does not block; any thread, a callback as well. Returns ZKL_OK: the callback will be called, with
 * what zkl_multi_lock_acquire returns once it has begun. Or it was not begun: ZKL_ALREADY_HELD,
 * ZKL_HANDLE_IN_USE (also while the handle is being closed), ZKL_TOO_MANY_REQUESTS,
 * ZKL_LEASE_IMPOSSIBLE, ZKL_AUTH_FAILED or ZKL_SYSTEM (also: no random numbers).
 */
ZKL_CHECKED_API int zkl_multi_lock_acquire_async(zkl_multi_lock *multi_lock, int64_t timeout_ms,
                                                 zkl_multi_lock_acquire_callback *callback,
                                                 void *arg);

/**
 * Releases all without waiting for the nodes to be gone. The rules are those of
 * zkl_lock_release_async. The handle no longer holds any from the moment of the call.
 *
 * timeout_ms  as in zkl_lock_release; with 0 the callback comes as soon as it can.
 * callback    NULL: nobody is told, and timeout_ms is of no account. Such a call takes no memory,
 *             and the handle can acquire again at once; else it can when the callback begins.
 *
 * Does not block; any thread, a callback as well. Returns ZKL_OK: the callback will be called, with
 * ZKL_OK, ZKL_PENDING, ZKL_LOST or ZKL_CLOSED, each as zkl_multi_lock_release returns it. Or
 * nothing has happened: ZKL_NOT_HELD or ZKL_HANDLE_IN_USE.
 */
ZKL_API int zkl_multi_lock_release_async(zkl_multi_lock *multi_lock, int64_t timeout_ms,
                                         zkl_release_callback *callback, void *arg);

#ifdef __cplusplus
}
#endif

#endif
