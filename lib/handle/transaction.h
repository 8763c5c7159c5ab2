/*
 * Transactions that the nodes of a held lock guard: they are applied only if all those nodes exist.
 * A verification is one without operations. transaction.c builds them, commit.c sends them.
 */
#pragma once

#include <stdatomic.h>

#include "handle/call.h"
#include "session/guarded_write.h"

struct zkl_transaction {
    zkl_handle open; /* first; not of a verification */
    zkl_lock *lock;
    int64_t token; /* that of the grant under which it was begun */
    int64_t local_number;
    struct zkl_loan
        *loan;     /* lends the lock to no other handle before the write is decided; NULL: none */
    bool verifies; /* it is that of zkl_lock_verify, and has only guards */
    bool was_unwatched; /* a check of it has passed while not all its nodes were watched */
    /* First the guards, each of which checks a node of the lock. After the commit the paths of the
     * others are those that creates made, without the chroot. */
    zkl_multi_operation *operations;
    size_t count;
    size_t guards;
    zkl_pool copies; /* the copies of paths and data */
    size_t bytes;
    bool over;               /* its commit was applied, or perhaps was */
    atomic_bool outstanding; /* it belongs to an asynchronous commit */
    /* The application, or a verification; an asynchronous commit until its callback has returned;
     * a write that was sent and outlives its call. */
    atomic_uint keepers;
    zkl_guarded_write write;
    zkl_lock_call *call; /* waits for the end of the write; NULL: none does */
    /* Once the write is over: ZKL_OK; ZKL_LOST, ZKL_NOT_HELD or ZKL_CLOSED: the lock is no longer
     * held; ZKL_OPERATION_FAILED: see `result`; ZKL_UNKNOWN: the reply was lost; ZKL_NO_PERMISSION
     * or ZKL_SERVER_REFUSED. It was applied with ZKL_OK, perhaps with ZKL_UNKNOWN, else not. */
    int status;
    zkl_transaction_result result;
    zkl_transaction *prev, *next;     /* of those of the lock that a call waits for */
    char nodes[][ZKL_NODE_PATH_SIZE]; /* the paths that the guards check */
};

/** Makes a transaction of the grant that is held, with the client's mutex held. ZKL_OK or
 *  ZKL_NO_MEMORY. */
int zkl_transaction_make(zkl_lock *lock, zkl_transaction **result);
/** Drops it for one of its keepers, and frees it for the last. */
void zkl_transaction_drop(zkl_transaction *transaction);
/** Checks whether the application may use it now: ZKL_OK, ZKL_INVALID_ARGUMENT or
 *  ZKL_HANDLE_IN_USE. */
int zkl_transaction_check_handle(const zkl_transaction *transaction);
