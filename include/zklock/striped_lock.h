/*
 * zklock: a lock of several stripes, for one resource that is in great demand.
 *
 * A resource with N stripes lets N holders in at once, each with a part of it: the
 * stock of a hot product divided into N portions, each with its own counter. One
 * acquires the stripe of a key (all who come with the same key meet at the same
 * stripe), any stripe that is free, or all of them (to count the whole, or to divide
 * it anew). Each stripe is a lock of its own, whose node below the resource's is named by its
 * number with four digits: stripe-0000, stripe-0001 and so on. All of them together are a
 * set, so that those who want all do not wait for each other in a circle.
 * administration.h tells and takes stripe 3 of "hot" as "hot/stripe-0003".
 *
 * Everything else is as with zkl_lock: what you must know before you bet data on it,
 * the conventions, and what a status means, is in zklock.h.
 */
#ifndef ZKLOCK_STRIPED_LOCK_H
#define ZKLOCK_STRIPED_LOCK_H

#include "zklock/zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most stripes of a resource: so many can be held at once. */
#define ZKL_STRIPES_MAX ZKL_LOCK_MEMBERS_MAX

/** As the stripe of an acquire: all of them, or none (see zkl_lock_open_set). */
#define ZKL_ALL_STRIPES (-1)
/** Whichever is free. It tries one after the other, from one that is drawn at random, and when all
 *  are taken it waits for that one. One whose queue is full, or whose sequence numbers are used up,
 *  is passed over. */
#define ZKL_ANY_STRIPE (-2)

/** One contender. One acquire, hold or release at a time. */
typedef struct zkl_striped_lock zkl_striped_lock;

/**
 * The stripe of a key: the same for all versions and machines (64-bit FNV-1a of its bytes,
 * modulo the number of stripes). Any thread; does not block. stripes: >= 1, else it is 0.
 */
ZKL_API int32_t zkl_stripe_of_key(const void *key, size_t size, int32_t stripes);

/**
 * Opens a contender. No I/O.
 *
 * resource      as for zkl_lock_open; at most ZKL_RESOURCE_MAX bytes with "/stripe-0000" behind it.
 * stripes       1 to ZKL_STRIPES_MAX. All contenders of the resource must say the same number:
 *               who says less does not exclude those who use the others.
 * options       NULL for ZKL_LOCK_OPTIONS_INIT. Of these fail_on_session_expiry, max_hold_ms,
 *               max_waiting (of each stripe; not of who acquires all), resource_class and owner;
 *               the others must be as there.
 * striped_lock  receives the handle on ZKL_OK, else NULL. Close it with zkl_striped_lock_close.
 *
 * Does not block. Returns what zkl_lock_open does.
 */
ZKL_CHECKED_API int zkl_striped_lock_open(zkl_client *client, const char *resource, int32_t stripes,
                                          const zkl_lock_options *options,
                                          zkl_striped_lock **striped_lock);

/**
 * Acquires a stripe, any stripe, or all.
 *
 * stripe  from 0 on, as zkl_stripe_of_key gives it for the number of stripes that the handle was
 *         opened with; ZKL_ANY_STRIPE or ZKL_ALL_STRIPES.
 * grant   receives the grant on ZKL_OK; may be NULL. `stripe` is the one that was acquired, or
 *         ZKL_ALL_STRIPES, of which `node` is that of the first. `waited_ms` is over all that were
 *         tried.
 *
 * mode, timeout_ms and the statuses are as in zkl_lock_acquire(). What was acquired is held by
 * zkl_striped_lock_held().
 */
ZKL_CHECKED_API int zkl_striped_lock_acquire(zkl_striped_lock *striped_lock, int32_t stripe,
                                             zkl_mode mode, int64_t timeout_ms, zkl_grant *grant);

/**
 * Ends the acquire that waits, from any thread: it is told ZKL_CANCELLED. Whichever of grant,
 * cancel and timeout comes first wins. Does not block; may be called from a callback. Returns
 * ZKL_OK or ZKL_NOT_WAITING.
 */
ZKL_API int zkl_striped_lock_cancel(zkl_striped_lock *striped_lock);

/**
 * The lock of the stripe that was acquired last, or the set of all of them, to verify that it is
 * held (zkl_lock_verify), to write to ZooKeeper as long as it is (zkl_transaction_begin), and all
 * else that is done with a lock that is held. Do not acquire, change or close it. It lives as long
 * as the striped lock. Does not block.
 */
ZKL_API zkl_lock *zkl_striped_lock_held(zkl_striped_lock *striped_lock);

/** Tells, as zkl_lock_check does, whether what was acquired is held. */
ZKL_CHECKED_API int zkl_striped_lock_check(zkl_striped_lock *striped_lock, int64_t *lease_left_ms);

/** Releases what is held, as zkl_lock_release does. */
ZKL_API int zkl_striped_lock_release(zkl_striped_lock *striped_lock, int64_t timeout_ms);

/**
 * Closes a handle, which no other thread may use any more, but for a callback of one of its calls
 * that is just running: that is waited for. Ends an asynchronous acquire, and releases what is held
 * as zkl_striped_lock_release(striped_lock, 0) does. NULL is fine. From inside a callback it is
 * fine as well. Callbacks of asynchronous calls that are still owed come later, as with
 * zkl_lock_close. In a forked child it does nothing.
 */
ZKL_API void zkl_striped_lock_close(zkl_striped_lock *striped_lock);

/* ---- Asynchronous calls ------------------------------------------------- */

/**
 * Acquires a stripe, any stripe, or all, without waiting for it. stripe, mode and timeout_ms are as
 * in zkl_striped_lock_acquire(). The rules are those of zkl_lock_acquire_async: when it returns
 * ZKL_OK its callback comes exactly once, whatever happens; when the handle is closed before, it
 * comes after that, with ZKL_CANCELLED: so `arg` must live until then. When it returns anything
 * else, never.
 *
 * With ZKL_ANY_STRIPE it asks for the next stripe from where the client's callbacks come from: with
 * ZKL_DISPATCH_CALLER each try that fails is a turn of zkl_client_dispatch, and counted there.
 *
 * callback  not NULL.
 *
 * Does not block; any thread, a callback as well. Returns ZKL_OK: the callback will be called,
 * with what the call that waits returns once it has begun. Or it was not begun: ZKL_ALREADY_HELD,
 * ZKL_HANDLE_IN_USE (also while the handle is being closed), ZKL_TOO_MANY_REQUESTS,
 * ZKL_LEASE_IMPOSSIBLE, ZKL_AUTH_FAILED or ZKL_SYSTEM (also: no random numbers).
 */
ZKL_CHECKED_API int zkl_striped_lock_acquire_async(zkl_striped_lock *striped_lock, int32_t stripe,
                                                   zkl_mode mode, int64_t timeout_ms,
                                                   zkl_acquire_callback *callback, void *arg);

/**
 * Releases what is held without waiting for the nodes to be gone: see zkl_lock_release_async, of
 * which the rules, timeout_ms, callback and the statuses are (but for those of reentrant handles).
 *
 * Does not block; any thread, a callback as well.
 */
ZKL_API int zkl_striped_lock_release_async(zkl_striped_lock *striped_lock, int64_t timeout_ms,
                                           zkl_release_callback *callback, void *arg);

#ifdef __cplusplus
}
#endif

#endif
