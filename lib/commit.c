#include "commit.h"

#include <stdlib.h>

#include <utlist.h>

#include "threads.h"
#include "zookeeper/guarded_write.h"

struct zkl_commit {
    zkl_guarded_write write;
    zkl_lock *lock; /* NULL: the caller has left */
    zkl_commit_callback *done;
    void *arg;
    zkl_commit *prev, *next; /* of the lock */
};

zkl_multi_operation zkl_commit_guard(const char *node) {
    return (
        zkl_multi_operation){ .kind = ZKL_MULTI_CHECK, .path = node, .version = ZKL_ANY_VERSION };
}

int zkl_commit_check_held(const zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    zkl_lock_look_at_clock(lock);
    if (lock->state == LOCK_LOST) {
        return ZKL_LOST;
    }
    return lock->state == LOCK_HELD ? ZKL_OK : ZKL_NOT_HELD;
}

/* ---- The end ---------------------------------------------------------------- */

static void end(zkl_commit *commit, const zkl_commit_result *result) {
    if (commit->lock != NULL) {
        DL_DELETE(commit->lock->commits, commit);
        commit->done(commit->arg, result);
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

zkl_commit *zkl_commit_begin(zkl_lock *lock, const zkl_multi_operation *operations, size_t count,
                             zkl_commit_callback *done, void *arg) {
    zkl_commit *commit = calloc(1, sizeof(*commit));
    if (commit == NULL) {
        return NULL;
    }
    commit->lock = lock;
    commit->done = done;
    commit->arg = arg;
    commit->write.operations = operations;
    commit->write.count = count;
    commit->write.ended = on_ended;
    commit->write.arg = commit;
    DL_APPEND(lock->commits, commit);
    zkl_guarded_write_start(&commit->write, lock->runner->session);
    return commit;
}

bool zkl_commit_leave(zkl_commit *commit) {
    DL_DELETE(commit->lock->commits, commit);
    commit->lock = NULL;
    bool unsent = zkl_guarded_write_withdraw(&commit->write);
    if (unsent) {
        free(commit);
    }
    return unsent;
}

/* ---- Waiting ---------------------------------------------------------------- */

typedef struct waiter {
    zkl_lock *lock;
    zkl_commit_callback *done;
    void *arg;
    bool ended;
    int status;
} waiter;

static void wake(void *arg, const zkl_commit_result *result) {
    waiter *self = arg;
    self->ended = true;
    self->status = result->status;
    self->done(self->arg, result);
    zkl_condition_broadcast(&self->lock->changed);
}

int zkl_commit_and_wait(zkl_lock *lock, const zkl_multi_operation *operations, size_t count,
                        int64_t timeout_ms, zkl_commit_callback *done, void *arg) {
    waiter self = { .lock = lock, .done = done, .arg = arg };
    int64_t start = zkl_clock_ms();
    zkl_commit *commit = zkl_commit_begin(lock, operations, count, wake, &self);
    if (commit == NULL) {
        return ZKL_NO_MEMORY;
    }
    while (!self.ended && !lock->closing) {
        int64_t passed = zkl_clock_ms() - start;
        int64_t left = timeout_ms == ZKL_FOREVER ? INT64_MAX : timeout_ms - passed;
        if (left <= 0) {
            break;
        }
        zkl_condition_wait(&lock->changed, &lock->client->mutex, left);
    }
    if (self.ended) {
        return self.status;
    }
    if (!zkl_commit_leave(commit)) {
        return ZKL_UNKNOWN;
    }
    return lock->closing ? ZKL_CANCELLED : ZKL_TIMEOUT;
}
