#include "handle/commit.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/error_message.h"
#include "session/explanation.h"
#include "session/guarded_write.h"

/* It outlives its call when that ends before the reply comes. */
typedef struct zkl_commit {
    zkl_guarded_write write;
    zkl_commit_call *call;          /* NULL: it has ended */
    struct zkl_commit *prev, *next; /* of the lock */
    size_t guards;
    char (*nodes)[ZKL_NODE_PATH_SIZE]; /* of the guards */
    zkl_multi_operation
        operations[]; /* first the guards, each of which checks a node of the lock */
} zkl_commit;

/* ---- The end ---------------------------------------------------------------- */

static void end(zkl_commit *commit, int status, const zkl_multi_result *results) {
    zkl_commit_call *call = commit->call;
    if (call != NULL) {
        DL_DELETE(call->call.lock->commits, commit);
        call->commit = NULL;
        call->status = status;
        call->ended(call, results);
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
    end(commit, status, status == ZKL_OK ? reply->results + commit->guards : NULL);
}

void zkl_commits_end(zkl_lock *lock, int status) {
    zkl_commit *commit = NULL;
    zkl_commit *next = NULL;
    DL_FOREACH_SAFE(lock->commits, commit, next) {
        if (zkl_guarded_write_withdraw(&commit->write)) {
            end(commit, status, NULL);
        }
    }
}

/* ---- The beginning ---------------------------------------------------------- */

/* A transaction that was begun under an earlier grant keeps the nodes of that one: an upgrade
 * begins another. */
static void find_nodes(zkl_commit *commit) {
    const zkl_lock *lock = commit->call->call.lock;
    int64_t token = commit->call->token;
    for (size_t i = 0; i < commit->guards && (token == 0 || token == lock->grant.token); i++) {
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

static zkl_commit *make(zkl_commit_call *call) {
    size_t guards = call->call.lock->count;
    size_t count = guards + call->count;
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
    if (call->count > 0) {
        memcpy(commit->operations + guards, call->operations,
               call->count * sizeof(zkl_multi_operation));
    }
    commit->write = (zkl_guarded_write){ .operations = commit->operations,
                                         .count = count,
                                         .prepare = prepare,
                                         .ended = on_ended,
                                         .arg = commit };
    return commit;
}

int zkl_commit_begin(zkl_commit_call *call) {
    zkl_lock *lock = call->call.lock;
    zkl_commit *commit = make(call);
    if (commit == NULL) {
        return ZKL_NO_MEMORY;
    }
    call->commit = commit;
    find_nodes(commit);
    DL_APPEND(lock->commits, commit);
    zkl_guarded_write_start(&commit->write, lock->members[0].runner->session);
    return ZKL_OK;
}

static void abandon(zkl_commit_call *call) {
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

void zkl_commit_expire(zkl_lock_call *call) {
    abandon((zkl_commit_call *)call);
}

static void explain(const zkl_commit_call *call) {
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

int zkl_commit_end(zkl_commit_call *call) {
    abandon(call);
    if (call->status == ZKL_TIMEOUT || call->status == ZKL_UNKNOWN) {
        explain(call);
    }
    return call->status;
}
