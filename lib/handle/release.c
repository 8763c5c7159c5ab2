#include "handle/release.h"

#include "base/error_message.h"
#include "base/try.h"
#include "handle/change.h"
#include "handle/commit.h"
#include "handle/lock_attempt.h"

static void release_members(zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->members[i].runner != NULL) {
            zkl_request_runner_feed(lock->members[i].runner,
                                    &(zkl_event){ .kind = ZKL_EVENT_RELEASED });
        }
    }
}

static void tell_lost_released(const zkl_lock *lock, const lock_member *member) {
    zkl_request_facts facts =
        zkl_client_request_facts(lock->client, lock->metrics, member->resource);
    if (member->runner != NULL) {
        facts.session_id = member->runner->session->id;
    }
    facts.waited_ms = -1;
    facts.held_ms = zkl_session_now_ms(&lock->client->sessions->session) - lock->grant.granted_ms;
    facts.token = lock->grant.token;
    zkl_telemetry_lost_released(facts);
}

/* What was lost before is given back, and the holder knows. */
static void tell_lost(const zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        const lock_member *member = &lock->members[i];
        if (member->runner == NULL || member->runner->request.stage != ZKL_STAGE_HELD) {
            tell_lost_released(lock, member);
        }
    }
}

/* After the end of a lease there is a node left; of a set the others are still held. */
static int release_lost(zkl_lock *lock) {
    tell_lost(lock);
    lock->state = LOCK_IDLE;
    release_members(lock);
    zkl_lock_let_go(lock);
    return ZKL_LOST;
}

static int end_release(zkl_lock *lock) {
    lock->pending = NULL;
    int status = zkl_lock_has_ended(lock) ? lock->grant.ended : ZKL_PENDING;
    zkl_lock_let_go(lock);
    lock->state = LOCK_IDLE;
    return status;
}

static int begin_release(zkl_lock *lock, zkl_lock_call *call) {
    lock->state = LOCK_RELEASING;
    lock->grant.ended = ZKL_OK;
    lock->pending = call->timeout_ms != 0 ? call : NULL;
    zkl_lock_withdraw_change(lock);
    zkl_commits_end(lock, ZKL_NOT_HELD); /* a reconnect would send them behind the deletion */
    release_members(lock);
    if (call->timeout_ms == 0) {
        (void)end_release(lock); /* whatever it is so far */
        zkl_call_answer(call, ZKL_OK);
    } else if (zkl_lock_has_ended(lock)) {
        zkl_call_over(call);
    }
    return ZKL_OK;
}

static int begin(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    zkl_lock_look_at_clock(lock);
    bool granted = zkl_lock_is_granted(lock);
    if (granted && zkl_lock_is_of_other(lock, call->owner)) {
        return ZKL_NOT_OWNER;
    }
    if (granted && lock->grant.holds > 1) {
        lock->grant.holds--;
        zkl_call_answer(call, lock->state == LOCK_HELD ? ZKL_OK : ZKL_LOST);
        return ZKL_OK;
    }
    switch (lock->state) {
    case LOCK_HELD:
        return begin_release(lock, call);
    case LOCK_LOST:
        zkl_call_answer(call, release_lost(lock));
        return ZKL_OK;
    case LOCK_IDLE:
        return ZKL_NOT_HELD;
    case LOCK_ACQUIRING:
    case LOCK_RELEASING:
        break;
    }
    return ZKL_HANDLE_IN_USE;
}

static int end(zkl_lock_call *call) {
    return end_release(call->lock);
}

static const zkl_lock_call_kind kind = { .begin = begin, .end = end, .tell = zkl_call_tell_status };

int zkl_lock_release(zkl_lock *lock, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call = zkl_call_of_thread(lock, &kind, __func__, timeout_ms);
    return zkl_call_wait(&call, timeout_ms != 0);
}

/* Nobody is to be told, so it takes no memory. */
static int release_in_silence(zkl_lock_call *call) {
    ZKL_TRY(zkl_call_check(call));
    call->timeout_ms = 0;
    int status = zkl_call_wait(call, false);
    return status == ZKL_LOST ? ZKL_OK : status;
}

int zkl_lock_release_async(zkl_lock *lock, int64_t timeout_ms, const void *owner,
                           zkl_release_callback *callback, void *arg) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call = zkl_call_of_callback(lock, &kind, __func__, timeout_ms, owner, arg);
    call.application.ended = callback;
    return callback != NULL ? zkl_call_start(&call, sizeof(call)) : release_in_silence(&call);
}

void zkl_lock_release_at_close(zkl_lock *lock) {
    if (lock->state == LOCK_LOST && !lock->client->closed) {
        tell_lost(lock);
    }
    if (zkl_lock_is_granted(lock)) {
        release_members(lock);
    }
    zkl_lock_let_go(lock);
    lock->state = LOCK_IDLE; /* a callback that is just running may still look */
}
