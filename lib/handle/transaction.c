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
#include "base/threads.h"
#include "base/validation.h"
#include "handle/call.h"
#include "session/explanation.h"
#include "session/guarded_write.h"

struct zkl_transaction {
    zkl_handle open; /* first */
    zkl_lock *lock;
    int64_t token; /* of the grant under which it was begun */
    /* Their paths and data are copies; after the commit the paths are those that creates made,
     * without the chroot. */
    zkl_multi_operation *operations;
    size_t count;
    size_t bytes;
    bool over;               /* applied, or perhaps applied */
    size_t applied;          /* how many operations were applied */
    atomic_bool outstanding; /* it belongs to an asynchronous commit */
    atomic_uint keepers; /* the application, and such a commit until its callback has returned */
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
    ZKL_TRY(zkl_validate_range("number of operations", (int64_t)transaction->count + 1, 1,
                               ZKL_TRANSACTION_OPERATIONS_MAX));
    if (bytes > ZKL_TRANSACTION_BYTES_MAX - transaction->bytes) {
        return zkl_refuse("transaction", "", "paths and data exceed ZKL_TRANSACTION_BYTES_MAX");
    }
    return ZKL_OK;
}

static bool grow(zkl_transaction *transaction) {
    size_t size = (transaction->count + 1) * sizeof(*transaction->operations);
    zkl_multi_operation *operations = realloc(transaction->operations, size);
    if (operations != NULL) {
        transaction->operations = operations;
    }
    return operations != NULL;
}

/* One allocation, which is freed by its path: the path with the chroot, then the data. */
static bool copy_strings(zkl_multi_operation *operation, const char *chroot) {
    size_t chroot_length = strlen(chroot);
    size_t path_size = strlen(operation->path) + 1;
    char *copy = malloc(chroot_length + path_size + operation->size);
    if (copy == NULL) {
        return false;
    }
    snprintf(copy, chroot_length + path_size, "%s%s", chroot, operation->path);
    char *data = copy + chroot_length + path_size;
    if (operation->size > 0) {
        memcpy(data, operation->data, operation->size);
    }
    operation->path = copy;
    operation->data = operation->size > 0 ? data : NULL;
    return true;
}

static int add(zkl_transaction *transaction, zkl_multi_operation operation) {
    zkl_error_clear();
    ZKL_TRY(check_handle(transaction));
    ZKL_TRY(zkl_validate_node_path(operation.path));
    if (operation.size > 0) {
        ZKL_TRY(zkl_validate_pointer("data", operation.data));
    }
    ZKL_TRY(zkl_validate_range("version", operation.version, ZKL_ANY_VERSION, INT32_MAX));
    const char *chroot = transaction->lock->client->chroot;
    size_t fixed = strlen(chroot) + strlen(operation.path) + ZKL_TRANSACTION_OVERHEAD;
    size_t bytes = operation.size < SIZE_MAX - fixed ? operation.size + fixed : SIZE_MAX;
    ZKL_TRY(check_room(transaction, bytes));
    if (!grow(transaction) || !copy_strings(&operation, chroot)) {
        return ZKL_NO_MEMORY;
    }
    transaction->operations[transaction->count++] = operation;
    transaction->bytes += bytes;
    return ZKL_OK;
}

int zkl_transaction_create(zkl_transaction *transaction, const char *path, const void *data,
                           size_t size, int flags) {
    static const zkl_multi_kind kinds[] = {
        [ZKL_CREATE_PERSISTENT] = ZKL_MULTI_CREATE_PERSISTENT,
        [ZKL_CREATE_EPHEMERAL] = ZKL_MULTI_CREATE_EPHEMERAL,
        [ZKL_CREATE_SEQUENTIAL] = ZKL_MULTI_CREATE_PERSISTENT_SEQUENTIAL,
        [ZKL_CREATE_EPHEMERAL | ZKL_CREATE_SEQUENTIAL] = ZKL_MULTI_CREATE_EPHEMERAL_SEQUENTIAL,
    };
    zkl_error_clear();
    ZKL_TRY(zkl_validate_range("flags", flags, 0, ZKL_CREATE_EPHEMERAL | ZKL_CREATE_SEQUENTIAL));
    return add(transaction, (zkl_multi_operation){
                                .kind = kinds[flags], .path = path, .data = data, .size = size });
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
    for (size_t i = 0; i < transaction->count; i++) {
        free((char *)transaction->operations[i].path);
    }
    free(transaction->operations);
    free(transaction);
}

/* The bytes of each guard of a set but the first, for which there is always room. */
enum { GUARD_BYTES = ZKL_NODE_PATH_SIZE + ZKL_TRANSACTION_OVERHEAD };

static zkl_transaction *make_transaction(zkl_lock *lock) {
    zkl_transaction *transaction = calloc(1, sizeof(*transaction));
    if (transaction != NULL) {
        transaction->lock = lock;
        transaction->token = lock->grant.token;
        transaction->bytes = (lock->count - 1) * GUARD_BYTES;
        atomic_init(&transaction->outstanding, false);
        atomic_init(&transaction->keepers, 1);
        zkl_handle_open(&transaction->open);
    }
    return transaction;
}

int zkl_transaction_begin(zkl_lock *lock, zkl_transaction **result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("transaction", result));
    *result = NULL;
    ZKL_TRY(zkl_handle_check("lock", lock));
    ZKL_WITH_MUTEX(&lock->client->mutex);
    ZKL_TRY(zkl_lock_check_held(lock));
    *result = make_transaction(lock);
    return zkl_made(*result);
}

static void drop(zkl_transaction *transaction) {
    if (atomic_fetch_sub(&transaction->keepers, 1) == 1) {
        free_transaction(transaction);
    }
}

void zkl_transaction_free(zkl_transaction *transaction) {
    if (zkl_handle_is_open(transaction)) {
        zkl_handle_close(&transaction->open);
        drop(transaction);
    }
}

/* The call of a commit or a verification. */
typedef struct commit_call {
    zkl_lock_call call;           /* first */
    zkl_transaction *transaction; /* NULL: it verifies */
    struct zkl_commit *commit;    /* under way; NULL: over, or never begun */
    /* Once it is over: ZKL_OK; ZKL_LOST, ZKL_NOT_HELD or ZKL_CLOSED: the lock is no longer held;
     * ZKL_OPERATION_FAILED: see `result`; ZKL_UNKNOWN: the reply was lost; ZKL_NO_PERMISSION or
     * ZKL_SERVER_REFUSED. It was applied with ZKL_OK, perhaps with ZKL_UNKNOWN, else not. */
    int status;
    zkl_transaction_result result;
} commit_call;

/* It outlives its call when that ends before the reply comes. */
typedef struct zkl_commit {
    zkl_guarded_write write;
    commit_call *call;              /* NULL: it has ended */
    struct zkl_commit *prev, *next; /* of the lock */
    size_t guards;
    char (*nodes)[ZKL_NODE_PATH_SIZE]; /* of the guards */
    zkl_multi_operation
        operations[]; /* first the guards, each of which checks a node of the lock */
} zkl_commit;

static int begin_commit(commit_call *call);

/* ---- The end of a commit --------------------------------------------------------- */

/* Without memory for a path that path is left out: the write has been done. */
static void keep_results(zkl_transaction *transaction, const zkl_multi_result *results) {
    size_t chroot_length = strlen(transaction->lock->client->chroot);
    transaction->applied = transaction->count;
    for (size_t i = 0; i < transaction->count; i++) {
        const char *made = results[i].path;
        free((char *)transaction->operations[i].path);
        transaction->operations[i].path = made != NULL ? strdup(made + chroot_length) : NULL;
    }
}

/* A verification writes nothing, so it can be repeated: when the reply was lost with the
 * connection, the next connection is asked. The loss of the connection is known before the loss of
 * the reply. */
static void verify_again(commit_call *call) {
    const zkl_lock *lock = call->call.lock;
    if (call->status == ZKL_UNKNOWN && !lock->calls.closing &&
        zkl_lock_check_held(lock) == ZKL_OK && !lock->members[0].runner->session->connected) {
        int status = begin_commit(call);
        call->status = status != ZKL_OK ? status : call->status;
    }
}

static void end_commit(zkl_commit *commit, int status, const zkl_multi_result *results) {
    commit_call *call = commit->call;
    if (call != NULL) {
        DL_DELETE(call->call.lock->commits, commit);
        call->commit = NULL;
        call->status = status;
        if (call->transaction == NULL) {
            verify_again(call);
        } else if (results != NULL) {
            keep_results(call->transaction, results);
        }
        if (call->commit == NULL) {
            zkl_call_over(&call->call);
        }
    }
    free(commit);
}

/* A session that ended without a reply leaves it unknown as well: the write may be applied. */
static int status_of(const zkl_commit *commit, const zkl_reply *reply) {
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
    if (reply->failed >= commit->guards) {
        return ZKL_OPERATION_FAILED;
    }
    return reply->outcome == ZKL_OUTCOME_NO_NODE ? ZKL_LOST : reply->status;
}

/* The request checks its node now, and not only at the next probe, and reports the loss. */
static void look_for_node(zkl_lock *lock, size_t number) {
    zkl_request_runner *runner = lock->members[number].runner;
    if (runner != NULL) {
        zkl_request_runner_feed(runner, &(zkl_event){ .kind = ZKL_EVENT_PROBE });
    }
}

static void on_ended(void *arg, const zkl_reply *reply) {
    zkl_commit *commit = arg;
    int status = status_of(commit, reply);
    if (commit->call != NULL && status == ZKL_LOST) {
        look_for_node(commit->call->call.lock, reply->failed);
    }
    if (commit->call != NULL && status == ZKL_OPERATION_FAILED) {
        commit->call->result.failed_operation = (int)(reply->failed - commit->guards);
        commit->call->result.failed_status = reply->status;
    }
    end_commit(commit, status, status == ZKL_OK ? reply->results + commit->guards : NULL);
}

void zkl_commits_end(zkl_lock *lock, int status) {
    zkl_commit *commit = NULL;
    zkl_commit *next = NULL;
    DL_FOREACH_SAFE(lock->commits, commit, next) {
        if (zkl_guarded_write_withdraw(&commit->write)) {
            end_commit(commit, status, NULL);
        }
    }
}

/* ---- The beginning of a commit --------------------------------------------------- */

/* A transaction that was begun under an earlier grant keeps the nodes of that one: an upgrade
 * begins another. */
static void find_nodes(zkl_commit *commit) {
    const zkl_lock *lock = commit->call->call.lock;
    const zkl_transaction *transaction = commit->call->transaction;
    if (transaction != NULL && transaction->token != lock->grant.token) {
        return;
    }
    for (size_t i = 0; i < commit->guards; i++) {
        zkl_request_runner_node_path(lock->members[i].runner, commit->nodes[i]);
    }
}

static bool prepare(void *arg) {
    zkl_commit *commit = arg;
    if (zkl_lock_is_downgrading(commit->call->call.lock)) {
        return false;
    }
    find_nodes(commit);
    return true;
}

static zkl_commit *make_commit(commit_call *call) {
    size_t guards = call->call.lock->count;
    size_t count = guards + (call->transaction != NULL ? call->transaction->count : 0);
    size_t size = sizeof(zkl_commit) + count * sizeof(zkl_multi_operation);
    zkl_commit *commit = calloc(1, size + guards * ZKL_NODE_PATH_SIZE);
    if (commit == NULL) {
        return NULL;
    }
    commit->call = call;
    commit->guards = guards;
    commit->nodes = (char(*)[ZKL_NODE_PATH_SIZE])((char *)commit + size);
    for (size_t i = 0; i < guards; i++) {
        commit->operations[i] = (zkl_multi_operation){ .kind = ZKL_MULTI_CHECK,
                                                       .path = commit->nodes[i],
                                                       .version = ZKL_ANY_VERSION };
    }
    if (count > guards) {
        memcpy(commit->operations + guards, call->transaction->operations,
               (count - guards) * sizeof(zkl_multi_operation));
    }
    commit->write = (zkl_guarded_write){ .operations = commit->operations,
                                         .count = count,
                                         .prepare = prepare,
                                         .ended = on_ended,
                                         .arg = commit };
    return commit;
}

/* It may be over at once. During a downgrade nothing is sent, because it is not known which node
 * the lock has. */
static int begin_commit(commit_call *call) {
    zkl_lock *lock = call->call.lock;
    zkl_commit *commit = make_commit(call);
    ZKL_TRY(zkl_made(commit));
    call->commit = commit;
    find_nodes(commit);
    DL_APPEND(lock->commits, commit);
    zkl_guarded_write_start(&commit->write, lock->members[0].runner->session);
    return ZKL_OK;
}

/* ---- What the calls have in common ------------------------------------------------ */

static void abandon(commit_call *call) {
    zkl_commit *commit = call->commit;
    if (commit == NULL) {
        return;
    }
    DL_DELETE(call->call.lock->commits, commit);
    commit->call = NULL;
    call->commit = NULL;
    call->status = ZKL_UNKNOWN;
    if (zkl_guarded_write_withdraw(&commit->write)) {
        free(commit);
        call->status = call->call.lock->calls.closing ? ZKL_CANCELLED : ZKL_TIMEOUT;
    }
}

/* Its time has passed: nothing is sent after the deadline, even if its callback runs late. */
static void expire(zkl_lock_call *call) {
    abandon((commit_call *)call);
}

static void explain(const commit_call *call) {
    const lock_member *member = &call->call.lock->members[0];
    const zkl_session *session = member->runner != NULL ? member->runner->session : NULL;
    zkl_explanation why = { "the connection was lost or silent" };
    if (session != NULL && !session->connected) {
        why = zkl_explain_connection(session);
    }
    zkl_error_note("resource", member->resource, "%s: %s",
                   call->status == ZKL_TIMEOUT ? "nothing was sent" : "there was no reply",
                   why.text);
}

/* If it was not over: ZKL_UNKNOWN if it was sent; else ZKL_TIMEOUT, or ZKL_CANCELLED when the
 * handle is being closed. */
static int end_wait(commit_call *call) {
    abandon(call);
    if (call->status == ZKL_TIMEOUT || call->status == ZKL_UNKNOWN) {
        explain(call);
    }
    return call->status;
}

/* ---- Verify ------------------------------------------------------------------------ */

static int begin_verify(zkl_lock_call *call) {
    ZKL_TRY(zkl_lock_check_held(call->lock));
    return begin_commit((commit_call *)call);
}

static int end_verify(zkl_lock_call *call) {
    int status = end_wait((commit_call *)call);
    return status == ZKL_UNKNOWN || status == ZKL_TIMEOUT ? ZKL_SUSPECT : status;
}

static const zkl_lock_call_kind verify = {
    .shortest_ms = 1, .begin = begin_verify, .end = end_verify, .expire = expire
};

int zkl_lock_verify(zkl_lock *lock, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    commit_call self = { .call = zkl_call_of_thread(lock, &verify, __func__, timeout_ms) };
    return zkl_call_wait(&self.call, true);
}

int zkl_lock_verify_async(zkl_lock *lock, int64_t timeout_ms, zkl_status_callback *callback,
                          void *arg) {
    ZKL_BEGIN_CALL;
    commit_call self = { .call =
                             zkl_call_of_callback(lock, &verify, __func__, timeout_ms, NULL, arg) };
    self.call.application.ended = callback;
    return zkl_call_start(&self.call, sizeof(self));
}

/* ---- Commit ------------------------------------------------------------------------ */

/* A later grant does not do: what was read under the earlier one may have changed since. A
 * downgrade keeps the token. */
static int begin(zkl_lock_call *call) {
    zkl_transaction *transaction = ((commit_call *)call)->transaction;
    if (transaction->over) {
        return zkl_refuse("transaction", "", "it was committed already");
    }
    ZKL_TRY(zkl_lock_check_held(call->lock));
    if (transaction->token != call->lock->grant.token) {
        return ZKL_LOST;
    }
    ZKL_TRY(begin_commit((commit_call *)call));
    if (call->application.committed != NULL) {
        atomic_store(&transaction->outstanding, true);
        (void)atomic_fetch_add(&transaction->keepers, 1);
    }
    return ZKL_OK;
}

static int end(zkl_lock_call *call) {
    int status = end_wait((commit_call *)call);
    ((commit_call *)call)->transaction->over = status == ZKL_OK || status == ZKL_UNKNOWN;
    return status;
}

/* In the callback the transaction belongs to the application again. */
static void tell(const zkl_lock_call *call) {
    const commit_call *self = (const commit_call *)call;
    zkl_transaction *transaction = self->transaction;
    atomic_store(&transaction->outstanding, false);
    call->application.committed(call->arg, call->status, transaction, &self->result);
    drop(transaction);
}

static const zkl_lock_call_kind kind = {
    .shortest_ms = 1, .begin = begin, .end = end, .expire = expire, .tell = tell
};

int zkl_transaction_commit(zkl_transaction *transaction, int64_t timeout_ms,
                           zkl_transaction_result *result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(check_handle(transaction));
    ZKL_TRY(zkl_validate_struct_size("zkl_transaction_result", result, sizeof(*result)));
    commit_call self = { zkl_call_of_thread(transaction->lock, &kind, __func__, timeout_ms),
                         .transaction = transaction, .result = ZKL_TRANSACTION_RESULT_INIT };
    int status = zkl_call_wait(&self.call, true);
    if (result != NULL) {
        zkl_struct_fill(result, &self.result);
    }
    return status;
}

int zkl_transaction_commit_async(zkl_transaction *transaction, int64_t timeout_ms,
                                 zkl_transaction_callback *callback, void *arg) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(check_handle(transaction));
    commit_call self = { zkl_call_of_callback(transaction->lock, &kind, __func__, timeout_ms, NULL,
                                              arg),
                         .transaction = transaction, .result = ZKL_TRANSACTION_RESULT_INIT };
    self.call.application.committed = callback;
    return zkl_call_start(&self.call, sizeof(self));
}

const char *zkl_transaction_created_path(const zkl_transaction *transaction, int operation) {
    bool is_one = transaction != NULL && operation >= 0 && (size_t)operation < transaction->applied;
    const char *path = is_one ? transaction->operations[operation].path : NULL;
    return path != NULL ? path : "";
}
