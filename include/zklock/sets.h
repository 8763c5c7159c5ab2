/*
 * zklock: a lock of several resources at once, without deadlocks.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_SETS_H
#define ZKLOCK_SETS_H

#include "zklock/base.h"
#include "zklock/modes.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most resources of a set (zkl_lock_open_set). */
#define ZKL_LOCK_MEMBERS_MAX 64

/** One resource of a set. */
typedef struct zkl_lock_member {
    size_t struct_size;   /* see ZKL_LOCK_MEMBER_INIT */
    const char *resource; /* as for zkl_lock_open */
    zkl_mode mode;        /* in which the set acquires it; not ZKL_AS_OPENED */
    int32_t permits;      /* as in zkl_lock_options; other than 0 only with ZKL_EXCLUSIVE */
} zkl_lock_member;

#define ZKL_LOCK_MEMBER_INIT ZKL_SIZED(zkl_lock_member)

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
 * - If a node is lost before all are granted (the session expired, somebody deleted it), or the
 *   lease ends while some are granted and others awaited, all are given up, and join all queues
 *   again at their tails. (A try returns the reason.) If one is lost later, the set is ZKL_LOST.
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

#ifdef __cplusplus
}
#endif

#endif
