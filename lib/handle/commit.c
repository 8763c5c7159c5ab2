/* Commits and verifications: the calls, and the guarded writes that they send. */
#include <utlist.h>

#include "base/error_message.h"
#include "base/pool.h"
#include "base/threads.h"
#include "base/validation.h"
#include "handle/loan.h"
#include "handle/transaction.h"
#include "recipe/request_common.h"
#include "session/explanation.h"

/* ---- The beginning of a write ---------------------------------------------------- */

static bool is_of_same_grant(const zkl_transaction *transaction) {
    const zkl_lock *lock = transaction->lock;
    return transaction->token == lock->grant.token &&
           transaction->local_number == lock->attempt.local_number;
}

/* Writes the paths that the guards check. A transaction keeps the nodes of the grant that it was
 * begun under: an upgrade begins another. */
static void find_nodes(zkl_transaction *transaction) {
    const zkl_lock *lock = transaction->lock;
    if (transaction->verifies || is_of_same_grant(transaction)) {
        for (size_t i = 0; i < transaction->guards; i++) {
            zkl_request_runner_node_path(lock->members[i].runner, transaction->nodes[i]);
        }
    }
}

/* Lets the request check its node now, and not only at the next probe. It reports a loss, perhaps
 * at once, as others of the session may watch that path. The loss withdraws what was not sent. */
static void look_for_node(zkl_lock *lock, size_t number) {
    zkl_request_runner *runner = lock->members[number].runner;
    if (runner != NULL) {
        zkl_request_runner_feed(runner, &(zkl_event){ .kind = ZKL_EVENT_PROBE });
    }
}

/* Finds the nodes just before the write is sent. During a downgrade nothing is sent, because it is
 * not known which node the lock has. A check knows a node by its name alone: the look before it, or
 * the watch since the last one, tells whether it is ours. */
static bool prepare_write(void *arg) {
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

static void on_write_ended(void *arg, const zkl_reply *reply);

/* Starts the write of the call, which may be over at once. */
static void start_write(zkl_lock_call *call) {
    zkl_transaction *transaction = call->transaction;
    transaction->call = call;
    transaction->write = (zkl_guarded_write){ .operations = transaction->operations,
                                              .count = transaction->count,
                                              .acl = call->lock->origin->options->parent_acl,
                                              .prepare = prepare_write,
                                              .ended = on_write_ended,
                                              .arg = transaction };
    find_nodes(transaction);
    transaction->loan = transaction->verifies ? NULL : zkl_loan_begin_write(call->lock);
    DL_APPEND(call->lock->commits, transaction);
    zkl_guarded_write_start(&transaction->write, call->lock->members[0].runner->sender.session);
}

/* ---- The end of a write ---------------------------------------------------------- */

/* Tells whether a request looks again whether its node is ours, because something has happened to
 * it. */
static bool is_looked_at(const zkl_lock *lock) {
    bool any = false;
    for (size_t i = 0; i < lock->count; i++) {
        any |= zkl_request_awaits(&lock->members[i].runner->request, ZKL_ACTION_WATCH_OWN);
    }
    return any;
}

/* Tells whether all nodes are watched, and so known to be ours. A check that passes proves nothing
 * of another node: it may be a later one of the same name. */
static bool is_watched(const zkl_lock *lock) {
    bool all = true;
    for (size_t i = 0; i < lock->count; i++) {
        const zkl_request_runner *runner = lock->members[i].runner;
        all &= runner != NULL && runner->request.own.watched;
    }
    return all;
}

/* Tells whether a verification is repeated, as it writes nothing. When the reply was lost with the
 * connection, the next connection is asked; the loss of the connection is known before the loss of
 * the reply. Where a node is not watched, its request looks at it, or could not, or an upgrade has
 * just brought it: the verification is repeated once, and after that only while a request looks. So
 * it comes to an end where the servers turn the look away. */
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

/* Takes its call off the transaction, with this status: the call waits for it no more. */
static zkl_lock_call *detach_call(zkl_transaction *transaction, int status) {
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

/* Keeps the write from being sent. False: it has been. */
static bool withdraw(zkl_transaction *transaction) {
    bool is_withdrawn = zkl_guarded_write_withdraw(&transaction->write);
    if (is_withdrawn) {
        tell_loan(transaction, false);
    }
    return is_withdrawn;
}

static void end_write(zkl_transaction *transaction, int status) {
    zkl_lock_call *call = detach_call(transaction, status);
    if (may_verify_again(transaction)) {
        start_write(call);
    } else {
        zkl_call_over(call);
    }
}

/* Returns what the reply says to the application. A session that ended without a reply leaves it
 * unknown as well: the write may be applied. */
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

/* Keeps the paths that were created. Without memory for a path that path is left out: the write has
 * been done. */
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

static void on_write_ended(void *arg, const zkl_reply *reply) {
    zkl_transaction *transaction = arg;
    tell_loan(transaction,
              reply->outcome == ZKL_OUTCOME_UNKNOWN || reply->outcome == ZKL_OUTCOME_SESSION_OVER);
    if (transaction->call != NULL) {
        read_reply(transaction, reply);
    } else {
        zkl_transaction_drop(transaction);
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

/* Ends the wait of the call, and returns its status. If the write was not over: ZKL_UNKNOWN if it
 * was sent; else ZKL_TIMEOUT, or ZKL_CANCELLED when the handle is being closed. */
static int end_wait(zkl_lock_call *call) {
    zkl_transaction *transaction = call->transaction;
    if (transaction->call != NULL && withdraw(transaction)) {
        (void)detach_call(transaction, call->lock->calls.closing ? ZKL_CANCELLED : ZKL_TIMEOUT);
    } else if (transaction->call != NULL) {
        (void)atomic_fetch_add(&transaction->keepers, 1);
        (void)detach_call(transaction, ZKL_UNKNOWN);
    }
    if (transaction->status == ZKL_TIMEOUT || transaction->status == ZKL_UNKNOWN) {
        explain(call, transaction->status);
    }
    return transaction->status;
}

/* ---- Verify ------------------------------------------------------------------------ */

static int begin_verify(zkl_lock_call *call) {
    ZKL_TRY(zkl_lock_check_held(call->lock));
    ZKL_TRY(zkl_transaction_make(call->lock, &call->transaction));
    call->transaction->verifies = true;
    start_write(call);
    return ZKL_OK;
}

static int end_verify(zkl_lock_call *call) {
    int status = end_wait(call);
    zkl_transaction_drop(call->transaction);
    return status == ZKL_UNKNOWN || status == ZKL_TIMEOUT ? ZKL_SUSPECT : status;
}

static const zkl_lock_call_kind verify = { .shortest_ms = 1,
                                           .begin = begin_verify,
                                           .collect_status = end_verify };

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

/* Begins a commit. A later grant does not do: what was read under the earlier one may have changed
 * since. A downgrade keeps the token. */
static int begin_commit(zkl_lock_call *call) {
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

static int end_commit(zkl_lock_call *call) {
    int status = end_wait(call);
    call->transaction->over = status == ZKL_OK || status == ZKL_UNKNOWN;
    return status;
}

/* Gives the transaction back before the callback, in which the application may commit it again. */
static void call_commit_callback(const zkl_lock_call *call) {
    zkl_transaction *transaction = call->transaction;
    const zkl_transaction_result result = transaction->result;
    atomic_store(&transaction->outstanding, false);
    call->application.committed(call->arg, call->status, transaction, &result);
    zkl_transaction_drop(transaction);
}

static const zkl_lock_call_kind commit_kind = { .shortest_ms = 1,
                                                .begin = begin_commit,
                                                .collect_status = end_commit,
                                                .call_application = call_commit_callback };

static const zkl_transaction_result none_failed = { .failed_operation = -1 };

int zkl_transaction_commit(zkl_transaction *transaction, int64_t timeout_ms,
                           zkl_transaction_result *result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_struct_size("zkl_transaction_result", result, sizeof(*result)));
    if (result != NULL) {
        zkl_struct_fill(result, &none_failed);
    }
    ZKL_TRY(zkl_transaction_check_handle(transaction));
    zkl_lock_call call = zkl_call_of_thread(transaction->lock, &commit_kind, __func__, timeout_ms);
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
    ZKL_TRY(zkl_transaction_check_handle(transaction));
    zkl_lock_call call =
        zkl_call_of_callback(transaction->lock, &commit_kind, __func__, timeout_ms, NULL, arg);
    call.transaction = transaction;
    call.application.committed = callback;
    transaction->result = none_failed;
    return zkl_call_start(&call);
}
