/*
 * Transactions that the nodes of a held lock guard: they are applied only if all those nodes exist.
 * A verification is one without operations.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/error_message.h"
#include "base/handles.h"
#include "base/pool.h"
#include "base/threads.h"
#include "base/validation.h"
#include "handle/call.h"
#include "handle/lender.h"
#include "recipe/node_name.h"
#include "recipe/request_common.h"
#include "session/explanation.h"
#include "session/guarded_write.h"

struct zkl_transaction {
    zkl_handle open; /* first; not of a verification */
    zkl_lock *lock;
    int64_t token; /* of the grant under which it was begun, as is the next */
    int64_t local_number;
    zkl_loan *loan; /* which lends the lock no further before the write is decided; NULL: none */
    bool verifies;  /* it is that of zkl_lock_verify, and has nothing but guards */
    bool was_unwatched; /* a check of it has passed while not all its nodes were watched */
    /* First the guards, each of which checks a node of the lock. After the commit the paths of the
     * others are those that creates made, without the chroot. */
    zkl_multi_operation *operations;
    size_t count;
    size_t guards;
    zkl_pool copies; /* of paths and data */
    size_t bytes;
    bool over;               /* applied, or perhaps applied */
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
    char nodes[][ZKL_NODE_PATH_SIZE]; /* that the guards check */
};

/* ---- Building ----------------------------------------------------------------- */

static int check_handle(const zkl_transaction *transaction) {
    ZKL_TRY(zkl_handle_check("transaction", transaction));
    ZKL_TRY(zkl_handle_check("lock", transaction->lock));
    if (atomic_load(&transaction->outstanding)) {
        zkl_error_note("transaction", "", "it belongs to the commit that is outstanding");
        return ZKL_HANDLE_IN_USE;
    }
    return ZKL_OK;
}

static int check_room(const zkl_transaction *transaction, size_t bytes) {
    ZKL_TRY(zkl_validate_range("number of operations",
                               (int64_t)(transaction->count - transaction->guards) + 1, 1,
                               ZKL_TRANSACTION_OPERATIONS_MAX));
    if (bytes > ZKL_TRANSACTION_BYTES_MAX - transaction->bytes) {
        return zkl_refuse("transaction", "", "paths and data exceed ZKL_TRANSACTION_BYTES_MAX");
    }
    return ZKL_OK;
}

static bool grow(zkl_transaction *transaction, size_t more) {
    size_t size = (transaction->count + more) * sizeof(*transaction->operations);
    zkl_multi_operation *operations = realloc(transaction->operations, size);
    if (operations != NULL) {
        transaction->operations = operations;
    }
    return operations != NULL;
}

/* The path begins with the chroot then. */
static bool copy(zkl_transaction *transaction, zkl_multi_operation *operation) {
    const char *data = zkl_pool_copy(&transaction->copies, operation->data, operation->size);
    operation->data = operation->size > 0 ? data : NULL;
    operation->path = zkl_pool_print(&transaction->copies, "%s%s",
                                     transaction->lock->client->chroot, operation->path);
    return data != NULL && operation->path != NULL;
}

static int check_may_be_set(const char *path) {
    return zkl_node_name_is_protected(strrchr(path, '/') + 1)
               ? zkl_refuse("path", path, "is that of a protected node, whose data nobody may set")
               : ZKL_OK;
}

static int add(zkl_transaction *transaction, zkl_multi_operation operation) {
    zkl_error_clear();
    ZKL_TRY(check_handle(transaction));
    ZKL_TRY(zkl_validate_path("path", operation.path, ZKL_TRANSACTION_PATH_MAX));
    ZKL_TRY(operation.kind == ZKL_MULTI_SET ? check_may_be_set(operation.path) : ZKL_OK);
    if (operation.size > 0) {
        ZKL_TRY(zkl_validate_pointer("data", operation.data));
    }
    ZKL_TRY(zkl_validate_range("version", operation.version, ZKL_ANY_VERSION, INT32_MAX));
    size_t fixed = strlen(transaction->lock->client->chroot) + strlen(operation.path) +
                   ZKL_TRANSACTION_OVERHEAD;
    size_t bytes = operation.size < SIZE_MAX - fixed ? operation.size + fixed : SIZE_MAX;
    ZKL_TRY(check_room(transaction, bytes));
    if (!grow(transaction, 1) || !copy(transaction, &operation)) {
        return ZKL_NO_MEMORY;
    }
    transaction->operations[transaction->count++] = operation;
    transaction->bytes += bytes;
    return ZKL_OK;
}

int zkl_transaction_create(zkl_transaction *transaction, const char *path, const void *data,
                           size_t size, int flags) {
    zkl_error_clear();
    ZKL_TRY(zkl_validate_range("flags", flags, 0, ZKL_CREATE_EPHEMERAL | ZKL_CREATE_SEQUENTIAL));
    return add(transaction,
               (zkl_multi_operation){
                   .kind = (zkl_multi_kind)flags, .path = path, .data = data, .size = size });
}

int zkl_transaction_set(zkl_transaction *transaction, const char *path, const void *data,
                        size_t size, int32_t version) {
    return add(
        transaction,
        (zkl_multi_operation){
            .kind = ZKL_MULTI_SET, .path = path, .data = data, .size = size, .version = version });
}

int zkl_transaction_delete(zkl_transaction *transaction, const char *path, int32_t version) {
    return add(transaction,
               (zkl_multi_operation){ .kind = ZKL_MULTI_REMOVE, .path = path, .version = version });
}

int zkl_transaction_check(zkl_transaction *transaction, const char *path, int32_t version) {
    return add(transaction,
               (zkl_multi_operation){ .kind = ZKL_MULTI_CHECK, .path = path, .version = version });
}

/* ---- Its beginning and end ------------------------------------------------------- */

static void free_transaction(zkl_transaction *transaction) {
    zkl_pool_free(&transaction->copies);
    free(transaction->operations);
    free(transaction);
}

/* The bytes of each guard of a set but the first, for which there is always room. */
enum { GUARD_BYTES = ZKL_NODE_PATH_SIZE + ZKL_TRANSACTION_OVERHEAD };

static int make_transaction(zkl_lock *lock, zkl_transaction **result) {
    zkl_transaction *transaction =
        calloc(1, sizeof(*transaction) + lock->count * sizeof(transaction->nodes[0]));
    if (transaction == NULL || !grow(transaction, lock->count)) {
        free(transaction);
        return ZKL_NO_MEMORY;
    }
    transaction->lock = lock;
    transaction->token = lock->grant.token;
    transaction->local_number = zkl_lock_local_number(lock);
    transaction->count = transaction->guards = lock->count;
    transaction->bytes = ((size_t)lock->count - 1) * GUARD_BYTES;
    for (size_t i = 0; i < lock->count; i++) {
        transaction->operations[i] = (zkl_multi_operation){ .kind = ZKL_MULTI_CHECK,
                                                            .path = transaction->nodes[i],
                                                            .version = ZKL_ANY_VERSION };
    }
    atomic_init(&transaction->outstanding, false);
    atomic_init(&transaction->keepers, 1);
    *result = transaction;
    return ZKL_OK;
}

int zkl_transaction_begin(zkl_lock *lock, zkl_transaction **result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("transaction", result));
    *result = NULL;
    ZKL_TRY(zkl_handle_check("lock", lock));
    ZKL_WITH_MUTEX(&lock->client->mutex);
    ZKL_TRY(zkl_lock_check_held(lock));
    ZKL_TRY(make_transaction(lock, result));
    zkl_handle_open("transaction", &(*result)->open);
    return ZKL_OK;
}

static void drop(zkl_transaction *transaction) {
    if (atomic_fetch_sub(&transaction->keepers, 1) == 1) {
        free_transaction(transaction);
    }
}

void zkl_transaction_free(zkl_transaction *transaction) {
    if (zkl_handle_is_open("transaction", transaction)) {
        zkl_handle_close(&transaction->open);
        drop(transaction);
    }
}

/* ---- The beginning of a write ---------------------------------------------------- */

static bool is_of_same_grant(const zkl_transaction *transaction) {
    const zkl_lock *lock = transaction->lock;
    return transaction->token == lock->grant.token &&
           transaction->local_number == zkl_lock_local_number(lock);
}

/* A transaction keeps the nodes of the grant that it was begun under: an upgrade begins another. */
static void find_nodes(zkl_transaction *transaction) {
    const zkl_lock *lock = transaction->lock;
    if (transaction->verifies || is_of_same_grant(transaction)) {
        for (size_t i = 0; i < transaction->guards; i++) {
            zkl_request_runner_node_path(lock->members[i].runner, transaction->nodes[i]);
        }
    }
}

/* The request checks its node now, and not only at the next probe, and reports the loss: perhaps at
 * once, as others of the session may watch that path. The loss withdraws what was not sent. */
static void look_for_node(zkl_lock *lock, size_t number) {
    zkl_request_runner *runner = lock->members[number].runner;
    if (runner != NULL) {
        zkl_request_runner_feed(runner, &(zkl_event){ .kind = ZKL_EVENT_PROBE });
    }
}

/* During a downgrade nothing is sent, because it is not known which node the lock has. A check
 * knows a node by its name alone: the look before it, or the watch since the last one, tells
 * whether it is ours. */
static bool prepare(void *arg) {
    zkl_transaction *transaction = arg;
    if (zkl_lock_is_downgrading(transaction->lock)) {
        return false;
    }
    for (size_t i = 0; transaction->verifies && i < transaction->guards; i++) {
        look_for_node(transaction->lock, i);
    }
    if (!transaction->write.waits) {
        return false;
    }
    find_nodes(transaction);
    return true;
}

static void on_ended(void *arg, const zkl_reply *reply);

/* It may be over at once. */
static void start_write(zkl_lock_call *call) {
    zkl_transaction *transaction = call->transaction;
    transaction->call = call;
    transaction->write = (zkl_guarded_write){ .operations = transaction->operations,
                                              .count = transaction->count,
                                              .acl = call->lock->origin->options->parent_acl,
                                              .prepare = prepare,
                                              .ended = on_ended,
                                              .arg = transaction };
    find_nodes(transaction);
    transaction->loan = transaction->verifies ? NULL : zkl_loan_begin_write(call->lock);
    DL_APPEND(call->lock->commits, transaction);
    zkl_guarded_write_start(&transaction->write, call->lock->members[0].runner->sender.session);
}

/* ---- The end of a write ---------------------------------------------------------- */

/* Something has happened to a node, and its request looks again whether it is ours. */
static bool is_looked_at(const zkl_lock *lock) {
    bool any = false;
    for (size_t i = 0; i < lock->count; i++) {
        any |= zkl_request_awaits(&lock->members[i].runner->request, ZKL_ACTION_WATCH_OWN);
    }
    return any;
}

/* As ours. A check that passes proves nothing of a node that is not: it may be another of its name.
 */
static bool is_watched(const zkl_lock *lock) {
    bool all = true;
    for (size_t i = 0; i < lock->count; i++) {
        const zkl_request_runner *runner = lock->members[i].runner;
        all &= runner != NULL && runner->request.own.watched;
    }
    return all;
}

/* A verification writes nothing, so it can be repeated: when the reply was lost with the
 * connection, the next connection is asked. The loss of the connection is known before the loss of
 * the reply. Where a node is not watched the request looks at it, or could not; or an upgrade has
 * just brought it: it is looked at once more, and not without end where the servers turn that away.
 */
static bool may_verify_again(zkl_transaction *transaction) {
    const zkl_lock *lock = transaction->lock;
    if (!transaction->verifies || lock->calls.closing || zkl_lock_check_held(lock) != ZKL_OK) {
        return false;
    }
    if (transaction->status == ZKL_SUSPECT) {
        bool is_first = !transaction->was_unwatched;
        transaction->was_unwatched = true;
        return is_first || is_looked_at(lock);
    }
    return transaction->status == ZKL_UNKNOWN &&
           !lock->members[0].runner->sender.session->connected;
}

/* Its call does not wait for it any more. */
static zkl_lock_call *detach(zkl_transaction *transaction, int status) {
    zkl_lock_call *call = transaction->call;
    DL_DELETE(transaction->lock->commits, transaction);
    transaction->call = NULL;
    transaction->status = status;
    return call;
}

static void tell_loan(zkl_transaction *transaction, bool is_lost) {
    zkl_loan *loan = transaction->loan;
    transaction->loan = NULL;
    zkl_loan_end_write(loan, is_lost);
}

/* It is not to be sent any more. False: it has been. */
static bool withdraw(zkl_transaction *transaction) {
    bool is_withdrawn = zkl_guarded_write_withdraw(&transaction->write);
    if (is_withdrawn) {
        tell_loan(transaction, false);
    }
    return is_withdrawn;
}

static void end_write(zkl_transaction *transaction, int status) {
    zkl_lock_call *call = detach(transaction, status);
    if (may_verify_again(transaction)) {
        start_write(call);
    } else {
        zkl_call_over(call);
    }
}

/* A session that ended without a reply leaves it unknown as well: the write may be applied. */
static int status_of(const zkl_transaction *transaction, const zkl_reply *reply) {
    switch (reply->outcome) {
    case ZKL_OUTCOME_OK:
        return ZKL_OK;
    case ZKL_OUTCOME_UNKNOWN:
    case ZKL_OUTCOME_SESSION_OVER:
        return ZKL_UNKNOWN;
    default:
        break;
    }
    if (reply->results == NULL) {
        return ZKL_SERVER_REFUSED;
    }
    if (reply->failed >= transaction->guards) {
        return ZKL_OPERATION_FAILED;
    }
    return reply->outcome == ZKL_OUTCOME_NO_NODE ? ZKL_LOST : reply->status;
}

/* Without memory for a path that path is left out: the write has been done. */
static void keep_results(zkl_transaction *transaction, const zkl_multi_result *results) {
    size_t chroot_length = strlen(transaction->lock->client->chroot);
    for (size_t i = transaction->guards; i < transaction->count; i++) {
        const char *made = results[i].path;
        transaction->operations[i].path =
            made != NULL ? zkl_pool_copy_text(&transaction->copies, made + chroot_length) : NULL;
    }
}

static void read_reply(zkl_transaction *transaction, const zkl_reply *reply) {
    int status = status_of(transaction, reply);
    int held = transaction->verifies ? zkl_lock_check_held(transaction->lock) : ZKL_OK;
    if (held == ZKL_LOST) {
        status = ZKL_LOST; /* by what was answered before */
    } else if (transaction->verifies && status == ZKL_OK && !is_watched(transaction->lock)) {
        status = held == ZKL_OK ? ZKL_SUSPECT : held;
    } else if (status == ZKL_OK) {
        keep_results(transaction, reply->results);
    } else if (status == ZKL_LOST) {
        look_for_node(transaction->lock, reply->failed);
    } else if (status == ZKL_OPERATION_FAILED) {
        transaction->result.failed_operation = (int)(reply->failed - transaction->guards);
        transaction->result.failed_status = reply->status;
    }
    end_write(transaction, status);
}

static void on_ended(void *arg, const zkl_reply *reply) {
    zkl_transaction *transaction = arg;
    tell_loan(transaction,
              reply->outcome == ZKL_OUTCOME_UNKNOWN || reply->outcome == ZKL_OUTCOME_SESSION_OVER);
    if (transaction->call != NULL) {
        read_reply(transaction, reply);
    } else {
        drop(transaction);
    }
}

void zkl_commits_end(zkl_lock *lock, int status) {
    zkl_transaction *transaction = NULL;
    zkl_transaction *next = NULL;
    DL_FOREACH_SAFE(lock->commits, transaction, next) {
        if (withdraw(transaction)) {
            end_write(transaction, status);
        }
    }
}

/* ---- What the calls have in common ------------------------------------------------ */

static void explain(const zkl_lock_call *call, int status) {
    const lock_member *member = &call->lock->members[0];
    zkl_explanation why =
        zkl_explain_connection(member->runner != NULL ? member->runner->sender.session : NULL,
                               "the connection was lost or silent");
    zkl_error_note("resource", member->resource, "%s: %s",
                   status == ZKL_TIMEOUT ? "nothing was sent" : "there was no reply", why.text);
}

/* If it was not over: ZKL_UNKNOWN if it was sent; else ZKL_TIMEOUT, or ZKL_CANCELLED when the
 * handle is being closed. */
static int end_wait(zkl_lock_call *call) {
    zkl_transaction *transaction = call->transaction;
    if (transaction->call != NULL && withdraw(transaction)) {
        (void)detach(transaction, call->lock->calls.closing ? ZKL_CANCELLED : ZKL_TIMEOUT);
    } else if (transaction->call != NULL) {
        (void)atomic_fetch_add(&transaction->keepers, 1);
        (void)detach(transaction, ZKL_UNKNOWN);
    }
    if (transaction->status == ZKL_TIMEOUT || transaction->status == ZKL_UNKNOWN) {
        explain(call, transaction->status);
    }
    return transaction->status;
}

/* ---- Verify ------------------------------------------------------------------------ */

static int begin_verify(zkl_lock_call *call) {
    ZKL_TRY(zkl_lock_check_held(call->lock));
    ZKL_TRY(make_transaction(call->lock, &call->transaction));
    call->transaction->verifies = true;
    start_write(call);
    return ZKL_OK;
}

static int end_verify(zkl_lock_call *call) {
    int status = end_wait(call);
    drop(call->transaction);
    return status == ZKL_UNKNOWN || status == ZKL_TIMEOUT ? ZKL_SUSPECT : status;
}

static const zkl_lock_call_kind verify = {
    .shortest_ms = 1, .begin = begin_verify, .end = end_verify, .room = sizeof(zkl_timer)
};

int zkl_lock_verify(zkl_lock *lock, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call = zkl_call_of_thread(lock, &verify, __func__, timeout_ms);
    return zkl_call_wait(&call, true);
}

int zkl_lock_verify_async(zkl_lock *lock, int64_t timeout_ms, zkl_status_callback *callback,
                          void *arg) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call = zkl_call_of_callback(lock, &verify, __func__, timeout_ms, NULL, arg);
    call.application.ended = callback;
    return zkl_call_start(&call);
}

/* ---- Commit ------------------------------------------------------------------------ */

/* A later grant does not do: what was read under the earlier one may have changed since. A
 * downgrade keeps the token. */
static int begin(zkl_lock_call *call) {
    zkl_transaction *transaction = call->transaction;
    if (transaction->over) {
        return zkl_refuse("transaction", "", "it was committed already");
    }
    ZKL_TRY(zkl_lock_check_held(call->lock));
    if (!is_of_same_grant(transaction)) {
        return ZKL_LOST;
    }
    if (call->application.committed != NULL) {
        atomic_store(&transaction->outstanding, true);
        (void)atomic_fetch_add(&transaction->keepers, 1);
    }
    start_write(call);
    return ZKL_OK;
}

static int end(zkl_lock_call *call) {
    int status = end_wait(call);
    call->transaction->over = status == ZKL_OK || status == ZKL_UNKNOWN;
    return status;
}

/* In the callback the transaction belongs to the application again, which may commit it again. */
static void tell(const zkl_lock_call *call) {
    zkl_transaction *transaction = call->transaction;
    const zkl_transaction_result result = transaction->result;
    atomic_store(&transaction->outstanding, false);
    call->application.committed(call->arg, call->status, transaction, &result);
    drop(transaction);
}

static const zkl_lock_call_kind kind = {
    .shortest_ms = 1, .begin = begin, .end = end, .tell = tell, .room = sizeof(zkl_timer)
};

static const zkl_transaction_result none_failed = { .failed_operation = -1 };

int zkl_transaction_commit(zkl_transaction *transaction, int64_t timeout_ms,
                           zkl_transaction_result *result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_struct_size("zkl_transaction_result", result, sizeof(*result)));
    if (result != NULL) {
        zkl_struct_fill(result, &none_failed);
    }
    ZKL_TRY(check_handle(transaction));
    zkl_lock_call call = zkl_call_of_thread(transaction->lock, &kind, __func__, timeout_ms);
    call.transaction = transaction;
    transaction->result = none_failed;
    int status = zkl_call_wait(&call, true);
    if (result != NULL) {
        zkl_struct_fill(result, &transaction->result);
    }
    return status;
}

int zkl_transaction_commit_async(zkl_transaction *transaction, int64_t timeout_ms,
                                 zkl_transaction_callback *callback, void *arg) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(check_handle(transaction));
    zkl_lock_call call =
        zkl_call_of_callback(transaction->lock, &kind, __func__, timeout_ms, NULL, arg);
    call.transaction = transaction;
    call.application.committed = callback;
    transaction->result = none_failed;
    return zkl_call_start(&call);
}

const char *zkl_transaction_created_path(const zkl_transaction *transaction, int operation) {
    const char *path = NULL;
    if (transaction != NULL && transaction->over && transaction->status == ZKL_OK &&
        operation >= 0 && (size_t)operation < transaction->count - transaction->guards) {
        path = transaction->operations[transaction->guards + (size_t)operation].path;
    }
    return path != NULL ? path : "";
}
