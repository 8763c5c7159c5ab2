#include "handle/lock.h"

#include "session/explanation.h"

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

/* Fills in field after field, and does not zero the whole first: the path's room is more than the
 * rest. */
void zkl_lock_fill_grant(const zkl_lock *lock, zkl_grant *grant) {
    const zkl_request_runner *runner = lock->members[0].runner;
    if (grant == NULL) {
        return;
    }
    grant->struct_size = sizeof(*grant);
    grant->token = lock->grant.token;
    grant->mode = lock->grant.mode;
    grant->stripe = 0;
    grant->waited_ms = lock->grant.granted_ms - lock->attempt.began_ms;
    grant->local_number = lock->attempt.local_number;
    grant->node[0] = '\0';
    if (runner != NULL) {
        zkl_request_runner_node_path(runner, grant->node);
    }
}

zkl_request_facts zkl_lock_facts(const lock_member *member, bool is_granted) {
    const zkl_lock *lock = member->lock;
    const zkl_request_runner *runner = member->runner;
    const zkl_session *session =
        runner != NULL ? runner->sender.session : &lock->client->sessions->session;
    const zkl_run_options options = { .origin = lock->origin,
                                      .resource = member->resource,
                                      .parent_path = member->path,
                                      .began_ms = lock->attempt.began_ms };
    return zkl_request_facts_make(session, &options, member->mode,
                                  runner != NULL ? &runner->request : NULL,
                                  is_granted ? lock->grant.granted_ms : -1);
}

void zkl_lock_note_not_begun(const zkl_lock *lock, size_t first, int status) {
    for (size_t i = first; i < lock->count; i++) {
        zkl_request_facts facts = zkl_lock_facts(&lock->members[i], false);
        facts.record.waited_ms = 0;
        zkl_telemetry_decided(facts, status, "");
    }
}
