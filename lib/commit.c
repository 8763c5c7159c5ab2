#include "commit.h"

#include <stdlib.h>

#include <utlist.h>

#include "threads.h"
#include "zookeeper/guarded_write.h"

/* It may outlive whoever waits for it, as its reply must be taken in. */
typedef struct zkl_commit {
    zkl_guarded_write write;
    zkl_lock *lock; /* NULL: nobody waits any longer */
    zkl_commit_wait *wait;
    struct zkl_commit *prev, *next; /* of the lock */
} zkl_commit;

/* ---- The end ---------------------------------------------------------------- */

static void tell(zkl_commit_wait *wait, const zkl_commit_result *result) {
    wait->commit = NULL;
    wait->status = result->status;
    wait->ended(wait, result);
    if (wait->commit == NULL) {
        zkl_lock_tell_waiter(wait->lock, wait->completion);
    }
}

static void end(zkl_commit *commit, const zkl_commit_result *result) {
    if (commit->lock != NULL) {
        DL_DELETE(commit->lock->commits, commit);
        tell(commit->wait, result);
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
static void find_node(zkl_commit_wait *wait) {
    const zkl_lock *lock = wait->lock;
    if (wait->token == 0 || wait->token == lock->token) {
        zkl_request_runner_node_path(lock->runner, wait->node, sizeof(wait->node));
    }
}

static bool prepare(void *arg) {
    zkl_commit_wait *wait = ((zkl_commit *)arg)->wait;
    if (zkl_lock_is_downgrading(wait->lock)) {
        return false;
    }
    find_node(wait);
    wait->operations[0] = (zkl_multi_operation){ .kind = ZKL_MULTI_CHECK,
                                                 .path = wait->node,
                                                 .version = ZKL_ANY_VERSION };
    return true;
}

int zkl_commit_begin(zkl_commit_wait *wait) {
    zkl_lock *lock = wait->lock;
    zkl_commit *commit = calloc(1, sizeof(*commit));
    if (commit == NULL) {
        return ZKL_NO_MEMORY;
    }
    commit->lock = lock;
    commit->wait = wait;
    commit->write.operations = wait->operations;
    commit->write.count = wait->count;
    commit->write.prepare = prepare;
    commit->write.ended = on_ended;
    commit->write.arg = commit;
    wait->commit = commit;
    find_node(wait);
    DL_APPEND(lock->commits, commit);
    zkl_guarded_write_start(&commit->write, lock->runner->session);
    return ZKL_OK;
}

/* ---- Waiting ---------------------------------------------------------------- */

void zkl_commit_wait_for(const zkl_commit_wait *wait, int64_t timeout_ms) {
    zkl_lock *lock = wait->lock;
    int64_t start = zkl_clock_ms();
    while (wait->commit != NULL && !lock->closing) {
        int64_t passed = zkl_clock_ms() - start;
        int64_t left = timeout_ms == ZKL_FOREVER ? INT64_MAX : timeout_ms - passed;
        if (left <= 0) {
            break;
        }
        zkl_condition_wait(&lock->changed, &lock->client->mutex, left);
    }
}

/* Nothing is sent behind its deadline, though the callback may be late. */
static void on_limit(void *arg) {
    zkl_commit_wait *wait = arg;
    (void)zkl_commit_end(wait);
    zkl_lock_completion_post(wait->completion);
}

void zkl_commit_leave_to_callback(zkl_commit_wait *wait, int64_t timeout_ms) {
    if (wait->commit == NULL) {
        zkl_lock_completion_post(wait->completion);
    } else {
        zkl_lock_completion_limit(wait->completion, timeout_ms, on_limit, wait);
    }
}

int zkl_commit_end(zkl_commit_wait *wait) {
    zkl_commit *commit = wait->commit;
    if (commit == NULL) {
        return wait->status;
    }
    DL_DELETE(wait->lock->commits, commit);
    commit->lock = NULL;
    wait->commit = NULL;
    wait->status = ZKL_UNKNOWN;
    if (zkl_guarded_write_withdraw(&commit->write)) {
        free(commit);
        wait->status = wait->lock->closing ? ZKL_CANCELLED : ZKL_TIMEOUT;
    }
    return wait->status;
}
