#include "handle/lock.h"

void zkl_lock_look_at_clock(const zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->members[i].runner != NULL) {
            zkl_liveness_check_lease(&lock->members[i].runner->sender.session->liveness);
            zkl_request_runner_check_hold(lock->members[i].runner);
        }
    }
}

int zkl_lock_check_held(const zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    zkl_lock_look_at_clock(lock);
    if (lock->state == ZKL_STATE_LOST) {
        return ZKL_LOST;
    }
    return lock->state == ZKL_STATE_HELD ? ZKL_OK : ZKL_NOT_HELD;
}

bool zkl_lock_is_granted(const zkl_lock *lock) {
    return lock->state == ZKL_STATE_HELD || lock->state == ZKL_STATE_LOST;
}

bool zkl_lock_is_of_other(const zkl_lock *lock, zkl_lock_owner owner) {
    const zkl_lock_owner *its = &lock->grant.owner;
    return lock->origin->options->reentrant != 0 &&
           (its->thread != owner.thread || its->token != owner.token);
}

bool zkl_lock_waits(const zkl_lock *lock) {
    return lock->state == ZKL_STATE_ACQUIRING && lock->attempt.verdict == ZKL_PENDING;
}

bool zkl_lock_is_downgrading(const zkl_lock *lock) {
    const zkl_request_runner *runner = lock->members[0].runner;
    return runner != NULL && runner->request.downgrade.wanted;
}

bool zkl_lock_has_ended(const zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->members[i].runner != NULL) {
            return false;
        }
    }
    return true;
}

/* ---- For others to read ----------------------------------------------------------------- */

bool zkl_lock_borrows(const zkl_lock *lock) {
    return lock->borrower != NULL && lock->borrower->loan != NULL;
}

int64_t zkl_lock_local_number(const zkl_lock *lock) {
    return lock->borrower != NULL ? lock->borrower->number : 0;
}

/* Not all of it is zeroed first: the path's room is more than the rest. */
void zkl_lock_fill_grant(const zkl_lock *lock, zkl_grant *grant) {
    const zkl_request_runner *runner = lock->members[0].runner;
    if (grant == NULL) {
        return;
    }
    grant->struct_size = sizeof(*grant);
    grant->token = lock->grant.token;
    grant->mode = lock->grant.mode;
    grant->stripe = 0;
    grant->waited_ms = lock->grant.waited_ms;
    grant->local_number = zkl_lock_local_number(lock);
    grant->node[0] = '\0';
    if (runner != NULL) {
        zkl_request_runner_node_path(runner, grant->node);
    }
}

void zkl_lock_note_not_begun(const zkl_lock *lock, size_t first, int status) {
    for (size_t i = first; i < lock->count; i++) {
        zkl_telemetry_decided(zkl_client_request_facts(lock->client, lock->origin->metrics,
                                                       lock->members[i].resource),
                              status, "");
    }
}
