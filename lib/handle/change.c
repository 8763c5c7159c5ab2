/* Changes of the mode of a lock that is held: downgrade and upgrade. */
#include "base/error_message.h"
#include "base/threads.h"
#include "handle/call.h"
#include "handle/lock_events.h"

/* ---- What both have in common ------------------------------------------------------------- */

/* Begins a change of the mode. A call for the mode in which the lock is held already is answered at
 * once. */
static int begin_change(zkl_lock_call *call, zkl_mode from, zkl_mode into) {
    zkl_lock *lock = call->lock;
    ZKL_TRY(zkl_lock_check_held(lock));
    if (zkl_lock_is_of_other(lock, call->owner)) {
        return ZKL_NOT_OWNER;
    }
    if (lock->is_set || lock->source->keeps_mode != NULL) {
        return zkl_refuse("lock", NULL, "%s",
                          lock->is_set ? "is a set: the modes of its resources stay"
                                       : lock->source->keeps_mode);
    }
    if (lock->change.call != NULL || (from == ZKL_READ && zkl_lock_is_downgrading(lock))) {
        return ZKL_HANDLE_IN_USE;
    }
    if (lock->grant.mode == into) {
        zkl_lock_fill_grant(lock, call->granted);
        zkl_call_answer(call, ZKL_OK);
        return ZKL_OK;
    }
    if (lock->grant.mode != from) {
        return zkl_refuse(
            "mode", zkl_lock_mode_name((int)lock->grant.mode), "only what is held for %s",
            from == ZKL_WRITE ? "writing can be downgraded" : "reading can be upgraded");
    }
    if (from == ZKL_WRITE && lock->origin->options->naming != ZKL_NAMING_CURATOR) {
        return zkl_refuse("naming", NULL,
                          "has no downgrade: whoever waits behind its writer may "
                          "take the end of that node for a release");
    }
    lock->change = (lock_change){ .call = call, .verdict = ZKL_PENDING };
    return ZKL_OK;
}

/* Ends a change of the mode. The lock may have been lost or released meanwhile, and the process may
 * have been stopped while it waited, for longer than the lease or the hold limit. */
static int end_change(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    lock->change.call = NULL;
    if (lock->change.held_status != ZKL_OK) {
        return lock->change.held_status;
    }
    ZKL_TRY(zkl_lock_check_held(lock));
    return lock->calls.closing ? ZKL_NOT_HELD : lock->change.verdict;
}

/* ---- Downgrade ---------------------------------------------------------------------------- */

static int begin_downgrade(zkl_lock_call *call) {
    ZKL_TRY(begin_change(call, ZKL_WRITE, ZKL_READ));
    if (call->lock->change.call == call) {
        zkl_request_runner_feed(call->lock->members[0].runner,
                                &(zkl_event){ .kind = ZKL_EVENT_DOWNGRADE });
    }
    return ZKL_OK;
}

static const zkl_lock_call_kind downgrade = { .begin = begin_downgrade,
                                              .collect_status = end_change };

int zkl_lock_downgrade(zkl_lock *lock, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call = zkl_call_of_thread(lock, &downgrade, __func__, timeout_ms);
    return zkl_call_wait(&call, true);
}

int zkl_lock_downgrade_async(zkl_lock *lock, int64_t timeout_ms, const void *owner,
                             zkl_status_callback *callback, void *arg) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call = zkl_call_of_callback(lock, &downgrade, __func__, timeout_ms, owner, arg);
    call.application.ended = callback;
    return zkl_call_start(&call);
}

/* ---- Upgrade -------------------------------------------------------------------------------- */

static void decide_change(zkl_lock *lock, int status) {
    lock->change.verdict = status;
    zkl_call_over(lock->change.call);
}

static void on_upgrade_news(void *arg, zkl_request_news news, int status) {
    zkl_lock *lock = arg;
    lock_change *change = &lock->change;
    if (news == ZKL_REQUEST_DECIDED) {
        if (status == ZKL_OK) {
            zkl_request_runner_hold_from_now(change->upgrade, lock->origin->options->max_hold_ms);
        }
        decide_change(lock, status);
    } else if (news == ZKL_REQUEST_LOST) {
        change->verdict = status;
    } else if (news == ZKL_REQUEST_ENDED) {
        change->upgrade = NULL;
        decide_change(lock, change->verdict == ZKL_OK ? ZKL_LOST : change->verdict);
    }
}

static int start_upgrade(zkl_lock *lock) {
    const lock_member *member = &lock->members[0];
    const zkl_request_options wanted = { .mode = ZKL_WRITE,
                                         .only_try = true,
                                         .companion = member->runner->request.own.node };
    zkl_run_options options = {
        .began_ms = zkl_session_now_ms(member->runner->sender.session),
        .owner = { .arg = lock, .on_news = on_upgrade_news },
    };
    ZKL_TRY(zkl_lock_events_prepare(lock));
    return zkl_lock_start_request(member, member->runner->sender.session, &wanted, &options,
                                  &lock->change.upgrade);
}

/* Begins an upgrade. The list that decides shows names only. So the request first looks at the
 * reader's node, if it is not watched, and may find at once that the lock is lost. */
static int begin_upgrade(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    ZKL_TRY(begin_change(call, ZKL_READ, ZKL_WRITE));
    if (lock->change.call != call) {
        return ZKL_OK;
    }
    zkl_request_runner_feed(lock->members[0].runner, &(zkl_event){ .kind = ZKL_EVENT_PROBE });
    int status = lock->change.held_status == ZKL_OK ? start_upgrade(lock) : ZKL_OK;
    if (status != ZKL_OK) {
        zkl_lock_note_not_begun(lock, 0, status);
        lock->change.call = NULL;
    }
    return status;
}

static int end_upgrade(zkl_lock_call *call) {
    zkl_lock *lock = call->lock;
    int status = end_change(call);
    if (status == ZKL_OK) {
        zkl_lock_take_writer(lock);
        zkl_lock_fill_grant(lock, call->granted);
    }
    zkl_lock_dismiss(&lock->change.upgrade);
    return status;
}

static const zkl_lock_call_kind upgrade = { .begin = begin_upgrade,
                                            .collect_status = end_upgrade,
                                            .obtains_grant = true,
                                            .room = sizeof(zkl_grant) };

int zkl_lock_try_upgrade(zkl_lock *lock, zkl_grant *grant) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call = zkl_call_of_thread(lock, &upgrade, __func__, ZKL_FOREVER);
    return zkl_call_wait_for_grant(&call, grant);
}

int zkl_lock_try_upgrade_async(zkl_lock *lock, const void *owner, zkl_acquire_callback *callback,
                               void *arg) {
    ZKL_BEGIN_CALL;
    zkl_lock_call call = zkl_call_of_callback(lock, &upgrade, __func__, ZKL_FOREVER, owner, arg);
    call.application.acquired = callback;
    return zkl_call_start(&call);
}
