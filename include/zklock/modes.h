/*
 * zklock: the modes of a lock, and changes from one to the other while it is held.
 *
 * zkl_lock_downgrade_async and zkl_lock_try_upgrade_async are in asynchronous.h.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_MODES_H
#define ZKLOCK_MODES_H

#include "zklock/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How a lock is held, and whom it waits for. */
typedef enum zkl_mode {
    ZKL_EXCLUSIVE = 0, /* waits for every earlier request. Curator's read/write lock does
                          not see it: see caveat 8 of zklock.h. For a handle with the option
                          `permits`: one permit, which waits while at least `permits` earlier
                          requests exist; no other mode is allowed there */
    ZKL_READ = 1,      /* waits for earlier requests other than readers */
    ZKL_WRITE = 2,     /* waits for every earlier request, and can be downgraded: the writer beside
                          ZKL_READ. Its node has the name of a writer of Curator's read/write lock;
                          otherwise it is as ZKL_EXCLUSIVE */
    ZKL_AS_OPENED = 3, /* for sets, and only for sets: each resource in the mode that it
                          was opened with */
    ZKL_OTHER_MODE = 4 /* in queues only (administration.h): of another library; counts as
                          exclusive */
} zkl_mode;

/** The name of a mode. Returns a static string, for example "read"; "unknown" for ZKL_OTHER_MODE
 *  and any other number. Does not block. */
ZKL_API const char *zkl_lock_mode_name(int mode);

/**
 * Downgrades a write lock (ZKL_WRITE) to a read lock: waiting readers come in, a waiting writer
 * does not. One transaction replaces the writer's node by a reader's in the same place of the
 * queue, so there is no moment without either. The fencing token stays.
 *
 * timeout_ms  how long to wait for the servers' answer: ZKL_FOREVER, or >= 0.
 *
 * Blocks until the servers have answered, or until the deadline. Returns ZKL_OK (held for reading,
 * now or before); ZKL_PENDING (no answer in time: it continues, and zkl_lock_info shows the mode);
 * ZKL_LOST; ZKL_NOT_HELD (also if released meanwhile); ZKL_INVALID_ARGUMENT (also if held with
 * ZKL_EXCLUSIVE, or as a permit); ZKL_NOT_OWNER (a reentrant handle that another thread acquired);
 * ZKL_HANDLE_IN_USE (another change is under way); ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED and
 * ZKL_SERVER_REFUSED (still held for writing).
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

#ifdef __cplusplus
}
#endif

#endif
