/*
 * zklock: a lock of several stripes, for one resource that is in great demand.
 *
 * A resource with N stripes lets N holders in at once, each with a part of it: the
 * stock of a hot product divided into N portions, each with its own counter. One
 * acquires the stripe of a key (all who come with the same key meet at the same
 * stripe), any stripe that is free, or all of them (to count the whole, or to divide
 * it anew). Each stripe is a lock of its own, whose node below the resource's is named by its
 * number with four digits: stripe-0000, stripe-0001 and so on. All of them together are a
 * multi-lock, so that those who want all do not wait for each other in a circle.
 * administration.h tells and takes stripe 3 of "hot" as "hot/stripe-0003".
 *
 * Everything else is as with zkl_lock: what you must know before you bet data on it,
 * the conventions, and what a status means, is in zklock.h.
 */
#ifndef ZKLOCK_STRIPED_LOCK_H
#define ZKLOCK_STRIPED_LOCK_H

#include "zklock/multi_lock.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most stripes of a resource: so many can be held at once. */
#define ZKL_STRIPES_MAX ZKL_MULTI_LOCK_MEMBERS_MAX
/** As the stripe of a grant: all of them. */
#define ZKL_ALL_STRIPES (-1)

/** One contender. One acquire, hold or release at a time. */
typedef struct zkl_striped_lock zkl_striped_lock;

/** What an acquire obtained. */
typedef struct zkl_stripe_grant {
    size_t struct_size; /* see ZKL_STRIPE_GRANT_INIT */
    /** The fencing token: of two conflicting grants of a stripe the later one has the greater. */
    int64_t token;
    int64_t waited_ms;
    int32_t stripe; /* from 0 on, or ZKL_ALL_STRIPES */
    int32_t reserved;
} zkl_stripe_grant;

#define ZKL_STRIPE_GRANT_INIT                                                                      \
    { sizeof(zkl_stripe_grant), 0, 0, 0, 0 }

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
 * Acquires the stripe of a key. mode, timeout_ms and the statuses are as in zkl_lock_acquire().
 * key: any bytes.
 */
ZKL_CHECKED_API int zkl_striped_lock_acquire_key(zkl_striped_lock *striped_lock, const void *key,
                                                 size_t size, zkl_mode mode, int64_t timeout_ms,
                                                 zkl_stripe_grant *grant);

/**
 * Acquires a stripe, whichever is free: it tries one after the other, from one that is drawn at
 * random, and when all are taken it waits for that one; one whose queue is full, or whose sequence
 * numbers are used up, is passed over. Else as zkl_striped_lock_acquire_key.
 */
ZKL_CHECKED_API int zkl_striped_lock_acquire_any(zkl_striped_lock *striped_lock, zkl_mode mode,
                                                 int64_t timeout_ms, zkl_stripe_grant *grant);

/** Acquires all stripes, or none: see zkl_multi_lock_acquire. */
ZKL_CHECKED_API int zkl_striped_lock_acquire_all(zkl_striped_lock *striped_lock, zkl_mode mode,
                                                 int64_t timeout_ms, zkl_stripe_grant *grant);

/**
 * Ends the acquire that waits, from any thread: it is told ZKL_CANCELLED. Whichever of grant,
 * cancel and timeout comes first wins. Does not block; may be called from a callback. Returns
 * ZKL_OK or ZKL_NOT_WAITING.
 */
ZKL_API int zkl_striped_lock_cancel(zkl_striped_lock *striped_lock);

/** Tells, as zkl_lock_check does, whether what was acquired is held. */
ZKL_CHECKED_API int zkl_striped_lock_check(zkl_striped_lock *striped_lock, int64_t *lease_left_ms);

/** Releases what is held, as zkl_lock_release does; of all, as zkl_multi_lock_release does. */
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
 * How an acquire ended.
 *
 * status  what the call that waits would have returned.
 * grant   on ZKL_OK, and valid during the callback only: copy it. It is held from the beginning
 *         of this callback on. NULL on any other status.
 */
typedef void zkl_striped_lock_acquire_callback(void *arg, int status,
                                               const zkl_stripe_grant *grant);

/**
 * Acquire the stripe of a key (which is not needed once the call has returned), any stripe, or all,
 * without waiting for it. The rules are those of zkl_lock_acquire_async: when it returns ZKL_OK its
 * callback comes exactly once, whatever happens; when the handle is closed before, it comes after
 * that, with ZKL_CANCELLED: so `arg` must live until then. When it returns anything else, never.
 *
 * Where it tries one stripe after the other, it asks for the next one from where the client's
 * callbacks come from: with ZKL_DISPATCH_CALLER each try that fails is a turn of
 * zkl_client_dispatch, and counted there.
 *
 * callback  not NULL.
 *
 * Do not block; any thread, a callback as well. Each returns ZKL_OK: the callback will be called,
 * with what the call that waits returns once it has begun. Or it was not begun: ZKL_ALREADY_HELD,
 * ZKL_HANDLE_IN_USE (also while the handle is being closed), ZKL_CANCELLED (by another thread, at
 * that very moment), ZKL_TOO_MANY_REQUESTS, ZKL_LEASE_IMPOSSIBLE, ZKL_AUTH_FAILED or
 * ZKL_SYSTEM (also: no random numbers).
 */
ZKL_CHECKED_API int zkl_striped_lock_acquire_key_async(zkl_striped_lock *striped_lock,
                                                       const void *key, size_t size, zkl_mode mode,
                                                       int64_t timeout_ms,
                                                       zkl_striped_lock_acquire_callback *callback,
                                                       void *arg);
ZKL_CHECKED_API int zkl_striped_lock_acquire_any_async(zkl_striped_lock *striped_lock,
                                                       zkl_mode mode, int64_t timeout_ms,
                                                       zkl_striped_lock_acquire_callback *callback,
                                                       void *arg);
ZKL_CHECKED_API int zkl_striped_lock_acquire_all_async(zkl_striped_lock *striped_lock,
                                                       zkl_mode mode, int64_t timeout_ms,
                                                       zkl_striped_lock_acquire_callback *callback,
                                                       void *arg);

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
