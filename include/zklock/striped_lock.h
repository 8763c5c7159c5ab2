/*
 * zklock: a lock of several stripes, for one resource that is in great demand.
 *
 * A resource with N stripes lets N holders in at once, each with a part of it: for
 * example the stock of a hot product divided into N portions, each with its own
 * counter. A contender acquires the stripe of a key (equal keys have the same stripe),
 * any free stripe, or all of them (to count or redivide the whole). Each stripe is a
 * lock of its own. Its node is a child of the resource's node, named by its number with
 * four digits: stripe-0000, stripe-0001 and so on. All stripes together are a set
 * (zkl_lock_open_set), so contenders for all do not wait for each other in a circle.
 * administration.h reports and accepts stripe 3 of "hot" as "hot/stripe-0003".
 *
 * Everything else is as with zkl_lock: the caveats, the conventions and the meaning of
 * each status are in zklock.h.
 */
#ifndef ZKLOCK_STRIPED_LOCK_H
#define ZKLOCK_STRIPED_LOCK_H

#include "zklock/zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most stripes of a resource, and so most concurrent holders. */
#define ZKL_STRIPES_MAX ZKL_LOCK_MEMBERS_MAX
/** The node of a stripe below its resource, as a format of printf for its number (an int). */
#define ZKL_STRIPE_NODE "stripe-%04d"

/** For the parameter `stripe`: all of them, or none (see zkl_lock_open_set). */
#define ZKL_ALL_STRIPES (-1)
/** Any free one: tries one after the other, beginning with one drawn at random, and if all are
 *  taken, waits for that first one. It skips stripes whose queue is full, or whose sequence numbers
 *  are used up. */
#define ZKL_ANY_STRIPE (-2)

/** One contender for the stripes of a resource. One acquire, hold or release at a time. */
typedef struct zkl_striped_lock zkl_striped_lock;

/**
 * The stripe of a key: the same for all versions and machines (64-bit FNV-1a of its bytes,
 * modulo the number of stripes). stripes: >= 1; for any other number it returns 0. Any thread;
 * does not block.
 */
ZKL_API int32_t zkl_stripe_of_key(const void *key, size_t size, int32_t stripes);

/**
 * Opens a contender for the stripes of a resource. No I/O.
 *
 * resource      as for zkl_lock_open. The path of a stripe, <lock_root>/<resource>/stripe-0000, has
 *               at most ZKL_RESOURCE_MAX bytes.
 * stripes       1 to ZKL_STRIPES_MAX. All contenders of the resource must use the same number: a
 *               contender opened with fewer stripes does not exclude users of the remaining ones.
 * options       NULL for ZKL_LOCK_OPTIONS_INIT. You may set fail_on_session_expiry, max_hold_ms,
 *               max_waiting (for each stripe; ignored when acquiring all), resource_class and
 *               owner. The others must keep their initial values.
 * striped_lock  receives the handle on ZKL_OK, else NULL. Close it with zkl_striped_lock_close.
 *
 * Does not block. Returns ZKL_OK or ZKL_INVALID_ARGUMENT (also if another option is set).
 */
ZKL_CHECKED_API int zkl_striped_lock_open(zkl_client *client, const char *resource, int32_t stripes,
                                          const zkl_lock_options *options,
                                          zkl_striped_lock **striped_lock);

/**
 * Acquires one stripe, any free one or all.
 *
 * stripe  a number from 0 on, for example of zkl_stripe_of_key with the number of stripes that the
 *         handle was opened with; ZKL_ANY_STRIPE or ZKL_ALL_STRIPES.
 * grant   receives the grant on ZKL_OK; may be NULL. Its `stripe` is the one that was acquired, or
 *         ZKL_ALL_STRIPES; `node` is then the first one's. `waited_ms` includes the time for all
 *         stripes that were tried.
 *
 * mode and timeout_ms are as in zkl_lock_acquire(). zkl_striped_lock_held() returns the lock that
 * holds what was acquired.
 *
 * Blocks until granted, cancelled or past the deadline. The statuses are as in zkl_lock_acquire():
 * ZKL_OK, ZKL_BUSY, ZKL_TIMEOUT, ZKL_CANCELLED (by zkl_striped_lock_cancel or a close),
 * ZKL_DISCONNECTED, ZKL_SESSION_EXPIRED, ZKL_LEASE_ENDED, ZKL_HOLD_LIMIT, ZKL_NODE_DELETED,
 * ZKL_ALREADY_HELD (a stripe is held, or was lost and not released since), ZKL_HANDLE_IN_USE,
 * ZKL_QUEUE_FULL, ZKL_TOO_MANY_REQUESTS, ZKL_USED_DIFFERENTLY, ZKL_SEQUENCE_EXHAUSTED,
 * ZKL_LEASE_IMPOSSIBLE, ZKL_SERVER_REFUSED, ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED, ZKL_AUTH_FAILED
 * or ZKL_SYSTEM (no random numbers).
 */
ZKL_CHECKED_API int zkl_striped_lock_acquire(zkl_striped_lock *striped_lock, int32_t stripe,
                                             zkl_mode mode, int64_t timeout_ms, zkl_grant *grant);

/**
 * Ends the waiting acquire, from any thread: it returns ZKL_CANCELLED, or its callback receives it.
 * Whichever of grant, cancel and timeout comes first wins. Does not block; may be called from a
 * callback. Returns ZKL_OK or ZKL_NOT_WAITING.
 */
ZKL_API int zkl_striped_lock_cancel(zkl_striped_lock *striped_lock);

/**
 * Returns the lock of the stripe that was acquired last, or the set of all of them. Use it for
 * whatever you do with a held lock:
 *
 *     zkl_lock_release, zkl_lock_release_async   the striped lock can acquire again afterwards
 *     zkl_lock_check, zkl_lock_info              is it held?
 *     zkl_lock_verify, zkl_transaction_begin     ask the servers; write while it is held
 *
 * Do not acquire, cancel, change or close it. It lives as long as the striped lock. Before the
 * first acquire it holds nothing (ZKL_NOT_HELD). NULL if the striped lock is not open. Does not
 * block.
 */
ZKL_API zkl_lock *zkl_striped_lock_held(zkl_striped_lock *striped_lock);

/**
 * Closes a handle: ends an acquire that waits, which returns ZKL_CANCELLED, and releases what is
 * held as zkl_lock_release() does with a timeout of 0. No other thread may begin a call on the
 * handle any more. Waits only for an acquire, or a callback of one of the handle's calls, that is
 * running in another thread. NULL is allowed. May be called from a callback. Callbacks of
 * asynchronous calls that are still owed come later, as with zkl_lock_close. In a forked child it
 * does nothing.
 */
ZKL_API void zkl_striped_lock_close(zkl_striped_lock *striped_lock);

/* ---- Asynchronous calls ------------------------------------------------- */

/**
 * Acquires one stripe, any free one or all, without blocking. Its stripe, mode and timeout_ms are
 * as in zkl_striped_lock_acquire(). The rules are as in zkl_lock_acquire_async(): if it returns
 * ZKL_OK its callback comes exactly once, whatever happens. If the handle is closed first, the
 * callback comes later, with ZKL_CANCELLED: so `arg` must live until then. If it returns anything
 * else, the callback never comes.
 *
 * With ZKL_ANY_STRIPE the next stripe is tried on the thread that runs the client's callbacks. With
 * ZKL_DISPATCH_CALLER each failed try counts as one callback of zkl_client_dispatch.
 *
 * callback  not NULL.
 *
 * Does not block; any thread, also in a callback. Returns ZKL_OK: the callback will be called, with
 * what the blocking call returns once it has begun. Or it was not begun: ZKL_ALREADY_HELD (a stripe
 * is held, or was lost and not released since), ZKL_HANDLE_IN_USE (also while the handle is being
 * closed), ZKL_TOO_MANY_REQUESTS, ZKL_LEASE_IMPOSSIBLE, ZKL_AUTH_FAILED or ZKL_SYSTEM (no thread
 * for the callback, or no random numbers).
 */
ZKL_CHECKED_API int zkl_striped_lock_acquire_async(zkl_striped_lock *striped_lock, int32_t stripe,
                                                   zkl_mode mode, int64_t timeout_ms,
                                                   zkl_acquire_callback *callback, void *arg);

#ifdef __cplusplus
}
#endif

#endif
