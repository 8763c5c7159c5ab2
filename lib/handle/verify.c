#include "base/error_message.h"
#include "handle/commit.h"

/* Nothing is written, so it can be repeated: when the reply was lost with the connection, the next
 * connection is asked. The loss of the connection is known before the loss of the reply. */
static void on_answer(zkl_commit_call *self, const zkl_multi_result *results) {
    (void)results;
    const zkl_lock *lock = self->call.lock;
    bool again = self->status == ZKL_UNKNOWN && !lock->calls.closing &&
                 zkl_lock_check_held(lock) == ZKL_OK &&
                 !lock->members[0].runner->session->connected;
    int status = again ? zkl_commit_begin(self) : ZKL_OK;
    self->status = status != ZKL_OK ? status : self->status;
}

/* It has no operations but the guards. */
static int begin(zkl_lock_call *call) {
    zkl_commit_call *self = (zkl_commit_call *)call;
    self->ended = on_answer;
    ZKL_TRY(zkl_lock_check_held(call->lock));
    return zkl_commit_begin(self);
}

static int end(zkl_lock_call *call) {
    int status = zkl_commit_end((zkl_commit_call *)call);
    return status == ZKL_UNKNOWN || status == ZKL_TIMEOUT ? ZKL_SUSPECT : status;
}

static const zkl_lock_call_kind kind = {
    .shortest_ms = 1, .begin = begin, .end = end, .expire = zkl_commit_expire
};

int zkl_lock_verify(zkl_lock *lock, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    zkl_commit_call self = { .call = zkl_call_of_thread(lock, &kind, __func__, timeout_ms) };
    return zkl_call_wait(&self.call, true);
}

int zkl_lock_verify_async(zkl_lock *lock, int64_t timeout_ms, zkl_status_callback *callback,
                          void *arg) {
    ZKL_BEGIN_CALL;
    zkl_commit_call self = { .call = zkl_call_of_callback(lock, &kind, __func__, timeout_ms, NULL,
                                                          arg) };
    self.call.application.ended = callback;
    return zkl_call_start(&self.call, sizeof(self));
}
