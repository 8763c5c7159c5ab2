/*
 * zklock: handles of one client that share a place in the queue, so that a lock passes between them
 * without asking the servers. It is for `lending` of zkl_lock_options.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_LENDING_H
#define ZKLOCK_LENDING_H

#include "zklock/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Largest hand_offs. */
#define ZKL_HAND_OFFS_MAX 1000000

/**
 * Lets handles of one client share a place in the queue.
 *
 * Handles of one client with the same resource and the same values of hand_offs, hand_off_ms,
 * retain_ms, fail_on_session_expiry, revocable, node_acl and parent_acl share one place in the
 * queue for each mode: the client keeps the node, and lends it to one of them after the other
 * (to readers together; one that cannot share it at once, as after a reconnect, makes another
 * node). A grant that passes from handle to handle asks nothing of the servers. hand_offs or
 * retain_ms must be set.
 *
 * This departs from strict FIFO. Once the client has heard that somebody else waits, it passes the
 * lock on at most hand_offs times more; then its place goes to the tail. So somebody of another
 * client is overtaken, for each place of such a client before it, by at most hand_offs grants, and
 * by those that began while the news was on its way.
 *
 * THE FENCING TOKEN OF SUCH A GRANT IS A PAIR: token and local_number of zkl_grant, compared in
 * this order. All these handles have the same token: a store that compares it alone lets a stalled
 * thread write after its own successor. It needs two columns (docs/guarantees.md).
 *
 * What else is different: a release returns at once, whatever its timeout. The lock is not passed
 * on before a transaction of its holder is answered; if the reply is lost, the node is given up.
 * Downgrades and upgrades return ZKL_INVALID_ARGUMENT. A try returns ZKL_BUSY, without asking the
 * servers, while another of these handles holds the lock or waits. zkl_lock_acquire for reading
 * with max_hold_ms makes a node of its own. The option `owner` is not stored in the node, and
 * zkl_deadlocks_find finds no circle through it. Not for permits, nor with max_waiting or note, nor
 * for sets and striped locks: ZKL_INVALID_ARGUMENT.
 *
 * Rule: docs/internals/lending.md.
 */
typedef struct zkl_lending {
    size_t struct_size; /* see ZKL_LENDING_INIT */
    /** How often the lock is passed on at most, once somebody else waits; up to
     *  ZKL_HAND_OFFS_MAX. */
    int32_t hand_offs;
    /** Of several handles that wait for one place, those with a higher value come first; among
     *  equals the first to come. */
    int32_t priority;
    /** 0: no limit. Otherwise the lock is not passed on any more when this time has passed since
     *  somebody else may have begun to wait. It does not interrupt a holder. */
    int64_t hand_off_ms;
    /** 0: the node is deleted when no handle holds the lock or waits for it. Otherwise it stays for
     *  this long, as long as nobody else comes, and the next acquire asks nothing of the servers.
     *  Somebody of another client who comes ends this at once; a try of zklock that finds such a
     *  node is ZKL_BUSY, but the next one is not. Only for a client with lease_tick_ms, whose lease
     *  goes on while the node stays (two small writes in each third of the session timeout). */
    int64_t retain_ms;
} zkl_lending;

#define ZKL_LENDING_INIT ZKL_SIZED(zkl_lending)

#ifdef __cplusplus
}
#endif

#endif
