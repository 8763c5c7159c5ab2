/* The requests of a handle: one for each of its resources, with a node of its own. */
#include "base/error_message.h"
#include "handle/lock_events.h"

static bool has_several(const zkl_lock *lock) {
    return lock->attempt.several != NULL;
}

static size_t watched_bytes(const zkl_lock *lock) {
    size_t bytes = 0;
    for (size_t i = 0; i < lock->count; i++) {
        const lock_member *member = &lock->members[i];
        bytes += zkl_request_runner_watched_bytes(member->path, member->permits,
                                                  lock->origin->options->tell_contended != 0);
    }
    return bytes;
}

int zkl_lock_start_request(const lock_member *member, zkl_session *session,
                           const zkl_request_options *wanted, zkl_run_options *options,
                           zkl_request_runner **runner) {
    const zkl_lock *lock = member->lock;
    options->origin = lock->origin;
    options->resource = member->resource;
    options->parent_path = member->path;
    options->thread = lock->grant.owner.thread;
    return zkl_request_runner_start(session, wanted, options, runner);
}

/* Starts the request of a member. Those of a set join again together, or none does. */
static int start_member(zkl_lock *lock, lock_member *member) {
    const zkl_lock_options *given = lock->origin->options;
    const zkl_request_options wanted = {
        .mode = member->mode,
        .permits = member->permits,
        .max_waiting = (unsigned)given->max_waiting,
        .only_try = lock->attempt.set.only_try,
        .fail_on_session_expiry = has_several(lock) || given->fail_on_session_expiry != 0,
    };
    zkl_run_options options = {
        .group = has_several(lock) ? lock->attempt.several->group : NULL,
        .began_ms = lock->attempt.began_ms,
        .owner = { .arg = member, .on_news = zkl_lock_on_news },
    };
    return zkl_lock_start_request(member, lock->attempt.session, &wanted, &options,
                                  &member->runner);
}

static int start_requests(zkl_lock *lock, size_t *begun) {
    ZKL_TRY(zkl_lock_events_prepare(lock));
    ZKL_TRY(zkl_client_choose_session(lock->client, watched_bytes(lock), &lock->attempt.session));
    if (has_several(lock)) {
        lock->attempt.several->group = zkl_create_group_make(lock->count);
        ZKL_TRY(zkl_made(lock->attempt.several->group));
    }
    for (; *begun < lock->count; (*begun)++) {
        ZKL_TRY(start_member(lock, &lock->members[*begun]));
    }
    return ZKL_OK;
}

static void time_out_requests(zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->members[i].runner != NULL) {
            zkl_request_runner_time_out(lock->members[i].runner);
        }
    }
}

static void leave_requests(zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->members[i].runner != NULL) {
            zkl_request_runner_leave(lock->members[i].runner, ZKL_CANCELLED);
        }
    }
}

static int64_t granted_ms(const zkl_lock *lock) {
    return lock->members[0].runner->sender.granted_ms;
}

const zkl_lock_source zkl_lock_requests = { .start = start_requests,
                                            .time_out = time_out_requests,
                                            .leave = leave_requests,
                                            .granted_ms = granted_ms };

void zkl_lock_dismiss(zkl_request_runner **runner) {
    zkl_request_runner *leaving = *runner;
    *runner = NULL;
    if (leaving != NULL) {
        zkl_request_runner_disown(leaving);
        zkl_request_runner_leave(leaving, ZKL_CANCELLED);
    }
}

void zkl_lock_let_go(zkl_lock *lock) {
    for (size_t i = 0; i < lock->count; i++) {
        if (lock->members[i].runner != NULL) {
            zkl_request_runner_disown(lock->members[i].runner);
            lock->members[i].runner = NULL;
        }
    }
    if (has_several(lock)) {
        zkl_create_group_drop(lock->attempt.several->group);
        lock->attempt.several->group = NULL;
    }
}
