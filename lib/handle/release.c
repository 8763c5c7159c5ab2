/* Release: by a call, by the close of the handle, or because an acquire has failed. */
#include "base/error_message.h"
#include "handle/call.h"

/* Logs and counts the release of what was lost before. */
static void log_lost_release(const zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        const zkl_request_runner *runner = lock->members[i].runner;
        if (runner == NULL || runner->request.stage != ZKL_STAGE_HELD) {
            zkl_request_facts facts = zkl_lock_facts(&lock->members[i], true);
            facts.node = "";
            facts.record.waited_ms = -1;
            facts.record.token = lock->grant.token;
            zkl_telemetry_lost_released(facts);
        }
    }
}

/* Gives back the lock, also one that was lost: after the end of a lease the node still exists, and
 * of a set the other resources are still held. */
static void give_back(zkl_lock *lock, zkl_lock_state state) {
    lock->state = state;
    lock->grant.end_status = ZKL_OK;
    zkl_lock_dismiss(&lock->change.upgrade);
    zkl_lock_end_calls(lock, ZKL_NOT_HELD); /* a reconnect would send them after the deletion */
    lock->source->leave(lock);
}

void zkl_lock_give_up(zkl_lock *lock) {
    if (lock->state == ZKL_STATE_LOST && !lock->client->closed) {
        log_lost_release(lock);
    }
    give_back(lock, ZKL_STATE_IDLE);
    zkl_lock_let_go(lock);
}

static void begin_to_wait(zkl_lock *lock, zkl_lock_call *call) {
    lock->pending = call;
    give_back(lock, ZKL_STATE_RELEASING);
    if (zkl_lock_has_ended(lock)) {
        zkl_call_over(call);
    }
}

static int begin_release(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    zkl_lock_look_at_clock(lock);
    if (!zkl_lock_is_granted(lock)) {
        return lock->state == ZKL_STATE_IDLE ? ZKL_NOT_HELD : ZKL_HANDLE_IN_USE;
    }
    if (zkl_lock_is_of_other(lock, call->owner)) {
        return ZKL_NOT_OWNER;
    }
    int status = lock->state == ZKL_STATE_HELD ? ZKL_OK : ZKL_LOST;
    if (lock->grant.holds > 1) {
        lock->grant.holds--;
        zkl_call_answer(call, status);
    } else if (call->timeout_ms == 0 || status == ZKL_LOST) {
        zkl_lock_give_up(lock);
        zkl_call_answer(call, status);
    } else {
        begin_to_wait(lock, call);
    }
    return ZKL_OK;
}

static int end_release(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    lock->pending = NULL;
    int status = zkl_lock_has_ended(lock) ? lock->grant.end_status : ZKL_PENDING;
    zkl_lock_let_go(lock);
    lock->state = ZKL_STATE_IDLE;
    return status;
}

static const zkl_lock_call_kind release_kind = { .begin = begin_release,
                                                 .collect_status = end_release };

int zkl_lock_release(zkl_lock *lock, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call = zkl_call_of_thread(lock, &release_kind, __func__, timeout_ms);
    return zkl_call_wait(&call, timeout_ms != 0);
}

/* Releases without a callback, and so needs no memory. */
static int release_in_silence(zkl_lock_call *call) {
    ZKL_TRY(zkl_call_check(call));
    call->timeout_ms = 0;
    int status = zkl_call_wait(call, false);
    return status == ZKL_LOST ? ZKL_OK : status;
}

int zkl_lock_release_async(zkl_lock *lock, int64_t timeout_ms, const void *owner,
                           zkl_release_callback *callback, void *arg) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call =
        zkl_call_of_callback(lock, &release_kind, __func__, timeout_ms, owner, arg);
    call.application.ended = callback;
    return callback != NULL ? zkl_call_start(&call) : release_in_silence(&call);
}
