/*
 * zklock: writes to ZooKeeper that are applied only while the lock is held.
 *
 * Copyright 2026 the zklock authors. Licensed under the Apache License 2.0.
 */
#ifndef ZKLOCK_TRANSACTIONS_H
#define ZKLOCK_TRANSACTIONS_H

#include "zklock/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Most operations of a transaction (zkl_transaction_begin). */
#define ZKL_TRANSACTION_OPERATIONS_MAX 1000
/** Longest path of an operation, in bytes. */
#define ZKL_TRANSACTION_PATH_MAX 1024
/** Most bytes of a transaction. Each operation counts its data, its path with the chroot, and
 *  ZKL_TRANSACTION_OVERHEAD. Servers accept requests of 1,048,575 bytes, unless they are
 *  configured otherwise (jute.maxbuffer). */
#define ZKL_TRANSACTION_BYTES_MAX 1000000
/** What each operation counts beside its data and path, in bytes. */
#define ZKL_TRANSACTION_OVERHEAD 64

/**
 * Your own writes to ZooKeeper, carried out in one transaction (its multi) together with a check of
 * the lock's node: all of them, while the lock is held, or none. No pause of this process, however
 * long, can make them late: the servers refuse them once the next holder could have been granted
 * the lock.
 *
 * The check is by the name of the node. Somebody who deletes the node and makes another under its
 * name, which takes the right to do both, lets a transaction of the former holder pass, until that
 * holder is told that it has lost the lock. zkl_lock_verify tells such a node from ours.
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
 *  session. A sequential node gets ten digits after its name: the next number of its parent. A
 *  persistent node is neither. */
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
 * Add an operation to a transaction: create a node (with the parent_acl of the lock), set a node's
 * data, delete a node, or check that it exists. Operations are carried out in the order in which
 * they were added, and each sees the effects of those before it.
 *
 * path     absolute, below the chroot of the client's host list; at most ZKL_TRANSACTION_PATH_MAX
 *          bytes of names that ZooKeeper accepts. The parent of a created node must exist. If it
 *          may be missing, commit its create before, alone: that may fail with ZKL_NODE_EXISTS.
 * data     any bytes, copied; may be NULL if size is 0.
 * flags    ZKL_CREATE_PERSISTENT, or a combination of the others.
 * version  that the node must have, or ZKL_ANY_VERSION.
 *
 * No I/O; these do not block, and may be called from a callback. Any thread, one at a time. Each
 * returns ZKL_OK, ZKL_INVALID_ARGUMENT (also beyond ZKL_TRANSACTION_OPERATIONS_MAX or
 * ZKL_TRANSACTION_BYTES_MAX) or ZKL_HANDLE_IN_USE (zkl_transaction_commit_async
 * has it).
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
    int failed_operation; /* from 0, in the order of addition; -1: none */
    int failed_status;    /* why it failed: ZKL_NO_NODE, ZKL_NODE_EXISTS, ZKL_BAD_VERSION,
                             ZKL_NOT_EMPTY, ZKL_NO_PERMISSION, ZKL_QUOTA_EXCEEDED or
                             ZKL_SERVER_REFUSED (such as a child of an ephemeral node); else
                             ZKL_OK */
} zkl_transaction_result;

#define ZKL_TRANSACTION_RESULT_INIT ZKL_SIZED(zkl_transaction_result)

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
 *   ZKL_NO_PERMISSION     the servers do not let the client read the lock's own node
 *   ZKL_CANCELLED         the handle is being closed
 *   ZKL_INVALID_ARGUMENT  also if it was committed already
 *   ZKL_HANDLE_IN_USE     zkl_transaction_commit_async has it
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
 * Commits a transaction without blocking. The rules of asynchronous.h apply; timeout_ms and
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
 * The path of a node that a committed transaction created, below the chroot, with its number if it
 * is sequential. operation: counted from 0 in the order of addition. "" if that operation is not a
 * create, or the transaction was not committed with ZKL_OK (or there was no memory for the path).
 * The string lives as long as the transaction. Does not block.
 */
ZKL_API const char *zkl_transaction_created_path(const zkl_transaction *transaction, int operation);

/** Frees a transaction, committed or not. One that is outstanding is freed once its callback has
 *  returned. NULL is allowed. Does not block. */
ZKL_API void zkl_transaction_free(zkl_transaction *transaction);

#ifdef __cplusplus
}
#endif

#endif
