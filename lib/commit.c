#include "commit.h"

#include <stdlib.h>

#include <utlist.h>

#include "zookeeper/guarded_write.h"

/* It may outlive whoever waits for it, as its reply must be taken in. */
typedef struct zkl_commit {
    zkl_guarded_write write;
    zkl_lock *lock; /* NULL: nobody waits any longer */
    zkl_commit_call *call;
    struct zkl_commit *prev, *next; /* of the lock */
} zkl_commit;

/* ---- The end ---------------------------------------------------------------- */

static void tell(zkl_commit_call *call, const zkl_commit_result *result) {
    call->commit = NULL;
    call->status = result->status;
    call->ended(call, result);
    if (call->commit == NULL) {
        zkl_call_over(&call->call);
    }
}

static void end(zkl_commit *commit, const zkl_commit_result *result) {
    if (commit->lock != NULL) {
        DL_DELETE(commit->lock->commits, commit);
        tell(commit->call, result);
    }
    free(commit);
}

/* The servers have decided against it. */
static zkl_commit_result result_of_failure(const zkl_reply *reply) {
    bool guard = reply->failed == 0;
    zkl_commit_result result = { .status = ZKL_OPERATION_FAILED };
    if (guard) {
        result.status = reply->outcome == ZKL_OUTCOME_NO_NODE ? ZKL_LOST : reply->status;
    } else {
        result.failed = reply->failed;
        result.failed_status = reply->status;
    }
    return result;
}

/* The end of a session answers for what was sent and got no reply: that may be applied. */
static zkl_commit_result result_of(const zkl_reply *reply) {
    switch (reply->outcome) {
    case ZKL_OUTCOME_OK:
        return (zkl_commit_result){ .status = ZKL_OK, .results = reply->results };
    case ZKL_OUTCOME_UNKNOWN:
    case ZKL_OUTCOME_SESSION_OVER:
        return (zkl_commit_result){ .status = ZKL_UNKNOWN };
    default:
        break;
    }
    return reply->results != NULL ? result_of_failure(reply)
                                  : (zkl_commit_result){ .status = ZKL_SERVER_REFUSED };
}

/* The request has a look at its node as well, and tells of the loss, rather than at the next
 * probe. */
static void on_ended(void *arg, const zkl_reply *reply) {
    zkl_commit *commit = arg;
    zkl_commit_result result = result_of(reply);
    if (result.status == ZKL_LOST && commit->lock != NULL) {
        zkl_lock_feed(commit->lock, ZKL_EVENT_PROBE, ZKL_OK);
    }
    end(commit, &result);
}

void zkl_commits_end(zkl_lock *lock, int status) {
    zkl_commit *next = NULL;
    for (zkl_commit *commit = lock->commits; commit != NULL; commit = next) {
        next = commit->next;
        if (zkl_guarded_write_withdraw(&commit->write)) {
            end(commit, &(zkl_commit_result){ .status = status });
        }
    }
}

/* ---- The beginning ---------------------------------------------------------- */

/* An upgrade begins another grant, which is no help to what was begun under the one before. */
static void find_node(zkl_commit_call *call) {
    const zkl_lock *lock = call->call.lock;
    if (call->token == 0 || call->token == lock->token) {
        zkl_request_runner_node_path(lock->runner, call->node, sizeof(call->node));
    }
}

static bool prepare(void *arg) {
    zkl_commit_call *call = ((zkl_commit *)arg)->call;
    if (zkl_lock_is_downgrading(call->call.lock)) {
        return false;
    }
    find_node(call);
    call->operations[0] = (zkl_multi_operation){ .kind = ZKL_MULTI_CHECK,
                                                 .path = call->node,
                                                 .version = ZKL_ANY_VERSION };
    return true;
}

int zkl_commit_begin(zkl_commit_call *call) {
    zkl_lock *lock = call->call.lock;
    zkl_commit *commit = calloc(1, sizeof(*commit));
    if (commit == NULL) {
        return ZKL_NO_MEMORY;
    }
    commit->lock = lock;
    commit->call = call;
    commit->write.operations = call->operations;
    commit->write.count = call->count;
    commit->write.prepare = prepare;
    commit->write.ended = on_ended;
    commit->write.arg = commit;
    call->commit = commit;
    find_node(call);
    DL_APPEND(lock->commits, commit);
    zkl_guarded_write_start(&commit->write, lock->runner->session);
    return ZKL_OK;
}

int zkl_commit_end(zkl_commit_call *call) {
    zkl_commit *commit = call->commit;
    if (commit == NULL) {
        return call->status;
    }
    DL_DELETE(call->call.lock->commits, commit);
    commit->lock = NULL;
    call->commit = NULL;
    call->status = ZKL_UNKNOWN;
    if (zkl_guarded_write_withdraw(&commit->write)) {
        free(commit);
        call->status = call->call.lock->calls.closing ? ZKL_CANCELLED : ZKL_TIMEOUT;
    }
    return call->status;
}

void zkl_commit_expire(zkl_lock_call *call) {
    (void)zkl_commit_end((zkl_commit_call *)call);
}
