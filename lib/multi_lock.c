/* The calls that wait, and those that never do. */
#include "multi_lock.h"

#include "callback_queue.h"
#include "input.h"
#include "threads.h"

void zkl_multi_lock_enter(zkl_multi_lock *self) {
    self->threads++;
}

void zkl_multi_lock_leave(zkl_multi_lock *self) {
    self->threads--;
    if (self->closing) {
        zkl_condition_broadcast(&self->changed);
    }
}

static void enter(zkl_multi_lock *self) {
    pthread_mutex_lock(&self->client->mutex);
    zkl_multi_lock_enter(self);
}

static int leave(zkl_multi_lock *self, int status) {
    zkl_multi_lock_leave(self);
    pthread_mutex_unlock(&self->client->mutex);
    return status;
}

int zkl_multi_lock_check_call(const zkl_multi_lock *self, int64_t timeout_ms) {
    int status = zkl_handle_check("multi_lock", self);
    if (status == ZKL_OK) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, ZKL_FOREVER, INT64_MAX);
    }
    return status;
}

/* ---- Acquire ------------------------------------------------------------------------------ */

static int acquire(zkl_multi_lock *self, int64_t timeout_ms, zkl_multi_lock_grant *grant) {
    int status = zkl_multi_lock_check_idle(self);
    if (status == ZKL_OK) {
        status = zkl_multi_lock_begin_acquire(self, timeout_ms, true);
    }
    if (status != ZKL_OK) {
        return status;
    }
    while (!self->decided) {
        zkl_condition_wait(&self->changed, &self->client->mutex, INT64_MAX);
    }
    return zkl_multi_lock_end_acquire(self, grant);
}

int zkl_multi_lock_acquire(zkl_multi_lock *self, int64_t timeout_ms, zkl_multi_lock_grant *grant) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_multi_lock_check_call(self, timeout_ms);
    if (status == ZKL_OK && grant != NULL) {
        status =
            zkl_input_check_struct_size("zkl_multi_lock_grant", grant->struct_size, sizeof(*grant));
    }
    if (status == ZKL_OK && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    if (status != ZKL_OK) {
        return status;
    }
    zkl_multi_lock_grant filled = ZKL_MULTI_LOCK_GRANT_INIT;
    enter(self);
    status = acquire(self, timeout_ms, &filled);
    if (status == ZKL_OK && grant != NULL) {
        zkl_input_fill_struct(grant, &filled);
    }
    if (status == ZKL_LEASE_IMPOSSIBLE) {
        zkl_client_note_lease_impossible(self->client);
    }
    return leave(self, status);
}

int zkl_multi_lock_cancel(zkl_multi_lock *self) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_handle_check("multi_lock", self);
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    if (self->client->closed) {
        status = ZKL_CLOSED;
    } else if (self->state != MULTI_ACQUIRING || self->decided) {
        status = ZKL_NOT_WAITING;
    } else {
        zkl_multi_lock_call_off(self);
    }
    return leave(self, status);
}

/* ---- Check -------------------------------------------------------------------------------- */

static int check_held(zkl_multi_lock *self) {
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    zkl_multi_lock_look_at_clock(self);
    if (self->state != MULTI_HELD) {
        return ZKL_NOT_HELD;
    }
    if (self->lost_reason != ZKL_OK) {
        return ZKL_LOST;
    }
    const zkl_session *session = self->members[0].runner->session;
    bool in_touch = session->connected && !zkl_liveness_is_silent(&session->liveness);
    return in_touch ? ZKL_OK : ZKL_SUSPECT;
}

static int look(zkl_multi_lock *self, int64_t *lease_left_ms) {
    int status = check_held(self);
    *lease_left_ms = self->client->lease_tick_ms == 0 ? -1 : 0;
    bool held = status == ZKL_OK || status == ZKL_SUSPECT;
    if (held && self->client->lease_tick_ms > 0) {
        *lease_left_ms = zkl_liveness_lease_left(&self->members[0].runner->session->liveness);
        if (*lease_left_ms == 0) {
            status = check_held(self); /* it has just ended */
        }
    }
    return status;
}

int zkl_multi_lock_check(zkl_multi_lock *self, int64_t *lease_left_ms) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int64_t left = 0;
    if (lease_left_ms != NULL) {
        *lease_left_ms = 0;
    }
    int status = zkl_handle_check("multi_lock", self);
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    status = look(self, &left);
    if (lease_left_ms != NULL) {
        *lease_left_ms = left;
    }
    return leave(self, status);
}

/* ---- Release ------------------------------------------------------------------------------ */

static void wait_until_gone(zkl_multi_lock *self, int64_t timeout_ms) {
    int64_t start = zkl_clock_ms();
    while (!zkl_multi_lock_has_ended(self) && !self->closing) {
        int64_t passed = zkl_clock_ms() - start;
        int64_t left = timeout_ms == ZKL_FOREVER ? INT64_MAX : timeout_ms - passed;
        if (left <= 0) {
            break;
        }
        zkl_condition_wait(&self->changed, &self->client->mutex, left);
    }
}

static int release(zkl_multi_lock *self, int64_t timeout_ms) {
    bool goes_on = false;
    int status = zkl_multi_lock_begin_release(self, &goes_on);
    if (!goes_on) {
        return status;
    }
    if (timeout_ms == 0) {
        (void)zkl_multi_lock_end_release(self); /* whatever it is so far */
        return ZKL_OK;
    }
    wait_until_gone(self, timeout_ms);
    return zkl_multi_lock_end_release(self);
}

int zkl_multi_lock_release(zkl_multi_lock *self, int64_t timeout_ms) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_multi_lock_check_call(self, timeout_ms);
    if (status == ZKL_OK && timeout_ms != 0 && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    return leave(self, release(self, timeout_ms));
}
