/*
 * zklock: calls that do not block. docs/asynchronous.md has examples.
 *
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
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_ASYNCHRONOUS_H
#define ZKLOCK_ASYNCHRONOUS_H

#include "zklock/base.h"
#include "zklock/modes.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Which thread runs the callbacks of a client and of its handles. (The log callback always has a
 *  thread of its own.) */
typedef enum zkl_dispatch {
    ZKL_DISPATCH_THREAD = 0, /* a thread of the client, started when it is needed */
    ZKL_DISPATCH_CALLER = 1  /* the application, in zkl_client_dispatch: no thread is started */
} zkl_dispatch;

/**
 * How an acquire ended.
 *
 * status  what zkl_lock_acquire would have returned.
 * grant   on ZKL_OK, and valid during the callback only: copy it. The lock is held from the
 *         beginning of this callback on. NULL on any other status.
 */
typedef void zkl_acquire_callback(void *arg, int status, const zkl_grant *grant);

/** How a call ended. `status` is what the blocking call would have returned. */
typedef void zkl_status_callback(void *arg, int status);
/** How a release ended: as zkl_status_callback. */
typedef zkl_status_callback zkl_release_callback;

/**
 * Acquires the lock without blocking. mode, timeout_ms and the statuses are as in
 * zkl_lock_acquire().
 *
 * owner     ignored by a handle that is not reentrant.
 * callback  not NULL.
 *
 * Does not block; any thread, also in a callback. Returns ZKL_OK: the callback will be called,
 * with ZKL_OK, ZKL_BUSY, ZKL_TIMEOUT, ZKL_CANCELLED, ZKL_CLOSED, ZKL_DISCONNECTED,
 * ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED, ZKL_HOLD_LIMIT, ZKL_NODE_DELETED, ZKL_LEASE_IMPOSSIBLE,
 * ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED, ZKL_AUTH_FAILED, ZKL_SERVER_REFUSED,
 * ZKL_SEQUENCE_EXHAUSTED, ZKL_USED_DIFFERENTLY, ZKL_QUEUE_FULL, ZKL_NO_MEMORY, ZKL_SYSTEM and
 * ZKL_LOST (a further hold of a reentrant handle, if the grant was lost or released before the
 * callback began). Or it was not begun: ZKL_ALREADY_HELD, ZKL_HANDLE_IN_USE (also while the handle
 * is being closed), ZKL_LOST, ZKL_TOO_MANY_REQUESTS, ZKL_LEASE_IMPOSSIBLE, ZKL_AUTH_FAILED or
 * ZKL_SYSTEM (no thread for the callback, or no random numbers).
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
 * Upgrades a read lock to a write lock without blocking, as a try. The statuses are as in
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
 * ZKL_NOT_OWNER, ZKL_HANDLE_IN_USE, ZKL_LEASE_IMPOSSIBLE or ZKL_SYSTEM (no thread for the callback,
 * or no random numbers).
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
 * ZKL_OK: the callback will be called, with ZKL_OK, ZKL_LOST, ZKL_SUSPECT (not known; also if the
 * handle was closed after it was sent), ZKL_NOT_HELD (released meanwhile), ZKL_NO_PERMISSION,
 * ZKL_SERVER_REFUSED, ZKL_NO_MEMORY, ZKL_CLOSED or ZKL_CANCELLED (the handle was closed before it
 * was sent). Or it was not begun: ZKL_LOST or ZKL_NOT_HELD.
 */
ZKL_CHECKED_API int zkl_lock_verify_async(zkl_lock *lock, int64_t timeout_ms,
                                          zkl_status_callback *callback, void *arg);

/**
 * Returns a descriptor for the application's own loop (epoll, poll, libuv, libev), for a client
 * that was opened with ZKL_DISPATCH_CALLER. It is readable while callbacks are pending: poll it for
 * POLLIN, level-triggered or edge-triggered, and call zkl_client_dispatch when it is readable. Do
 * not read, write or close it. A client has one such descriptor, and zkl_client_close closes it:
 * take it out of the loop before that. So does exec. A forked child must not use it.
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
 * Does not block, unless a callback does. Returns ZKL_OK, ZKL_INVALID_ARGUMENT (also if the client
 * was not opened with ZKL_DISPATCH_CALLER) or ZKL_IN_CALLBACK.
 */
ZKL_API int zkl_client_dispatch(zkl_client *client, size_t *count);

#ifdef __cplusplus
}
#endif

#endif
