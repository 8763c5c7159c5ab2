/* What a handle knows of its lock, without asking the servers. */
#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "handle/lock.h"

/* ---- Check --------------------------------------------------------------------------- */

static int check_in_touch(const zkl_lock *lock) {
    ZKL_TRY(zkl_lock_check_held(lock));
    const zkl_session *session = lock->members[0].runner->sender.session;
    bool in_touch = session->connected && !zkl_liveness_is_silent(&session->liveness);
    return in_touch ? ZKL_OK : ZKL_SUSPECT;
}

/* Returns the handle's status, and tells the rest of its lease at the same moment. */
static int look_at_lock(const zkl_lock *lock, int64_t *lease_left_ms) {
    int status = check_in_touch(lock);
    bool is_held = status == ZKL_OK || status == ZKL_SUSPECT;
    *lease_left_ms = lock->client->options.lease_tick_ms == 0 ? -1 : 0;
    if (is_held && lock->client->options.lease_tick_ms > 0) {
        *lease_left_ms =
            zkl_liveness_lease_left(&lock->members[0].runner->sender.session->liveness);
        if (*lease_left_ms == 0) {
            status = check_in_touch(lock); /* it has just ended */
        }
    }
    return status;
}

int zkl_lock_check(const zkl_lock *lock, int64_t *lease_left_ms) {
    ZKL_BEGIN_CALL;
    int64_t nowhere = 0;
    int64_t *left_ms = lease_left_ms != NULL ? lease_left_ms : &nowhere;
    *left_ms = 0;
    ZKL_TRY(zkl_handle_check("lock", lock));
    ZKL_WITH_MUTEX(&lock->client->mutex);
    return look_at_lock(lock, left_ms);
}

/* ---- Information ---------------------------------------------------------------------- */

/* Returns the position of an acquire; of a set that in the longest queue. -1: not all are known. */
static int64_t find_position(const zkl_lock *lock) {
    int64_t furthest = -1;
    for (size_t i = 0; i < lock->count; i++) {
        const zkl_request_runner *runner = lock->members[i].runner;
        if (runner == NULL || runner->sender.position < 0) {
            return -1;
        }
        furthest = runner->sender.position > furthest ? runner->sender.position : furthest;
    }
    return furthest;
}

static void describe_lock(const zkl_lock *lock, zkl_lock_information *information) {
    int64_t left = 0;
    int status = look_at_lock(lock, &left);
    *information = (zkl_lock_information){
        .state = status == ZKL_SUSPECT ? ZKL_STATE_SUSPECT : lock->state,
        .lease_left_ms = left,
        .pending_deletions = lock->origin->leaving,
        .position = -1,
    };
    if (lock->state == ZKL_STATE_ACQUIRING) {
        information->position = find_position(lock);
    }
    if (zkl_lock_is_granted(lock)) {
        information->lost_reason = lock->grant.lost_reason;
        information->mode = lock->grant.mode;
        information->token = lock->grant.token;
        information->local_number = lock->attempt.local_number;
        information->holds = lock->grant.holds;
        information->held_ms =
            zkl_session_now_ms(&lock->client->sessions->session) - lock->grant.granted_ms;
    }
}

int zkl_lock_info(const zkl_lock *lock, zkl_lock_information *information) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_handle_check("lock", lock));
    ZKL_TRY(zkl_validate_pointer("information", information));
    ZKL_TRY(zkl_validate_struct_size("zkl_lock_information", information, sizeof(*information)));
    zkl_lock_information filled;
    ZKL_WITH_MUTEX(&lock->client->mutex);
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    describe_lock(lock, &filled);
    zkl_struct_fill(information, &filled);
    return ZKL_OK;
}

static const char *name_of(const char *const *names, size_t count, int number) {
    return number >= 0 && (size_t)number < count ? names[number] : "unknown";
}

const char *zkl_lock_state_name(int state) {
    static const char *const names[] = {
        [ZKL_STATE_IDLE] = "idle",
        [ZKL_STATE_ACQUIRING] = "acquiring",
        [ZKL_STATE_HELD] = "held",
        [ZKL_STATE_SUSPECT] = "suspect",
        [ZKL_STATE_LOST] = "lost",
        [ZKL_STATE_RELEASING] = "releasing",
        [ZKL_STATE_REVOKE_REQUESTED] = "revoke requested",
        [ZKL_STATE_CONTENDED] = "contended",
    };
    return name_of(names, sizeof(names) / sizeof(names[0]), state);
}

const char *zkl_lock_mode_name(int mode) {
    static const char *const names[] = {
        [ZKL_EXCLUSIVE] = "exclusive",
        [ZKL_READ] = "read",
        [ZKL_WRITE] = "write",
        [ZKL_AS_OPENED] = "as opened",
    };
    return name_of(names, sizeof(names) / sizeof(names[0]), mode);
}
