#include "guard.h"

#include "clock.h"

/* ---- All at once -------------------------------------------------------------------------- */

static int open_both(struct guard *guard, zkl_client *client, const struct transfer *transfer) {
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    members[0].resource = guard->bank->resources[transfer->from.account];
    members[1].resource = guard->bank->resources[transfer->to.account];
    return zkl_lock_open_set(client, members, 2, NULL, &guard->both);
}

static int acquire_both(struct guard *guard, zkl_client *client, struct transfer *transfer,
                        int64_t timeout_ms) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = open_both(guard, client, transfer);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(guard->both, ZKL_AS_OPENED, timeout_ms, &grant);
    }
    transfer->from.token = grant.token;
    transfer->to.token = grant.token;
    return status;
}

/* ---- One after the other ------------------------------------------------------------------ */

static int acquire_one(zkl_client *client, const char *resource, int64_t timeout_ms,
                       zkl_lock **lock, int64_t *token) {
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_open(client, resource, NULL, lock);
    if (status == ZKL_OK) {
        status = zkl_lock_acquire(*lock, ZKL_EXCLUSIVE, timeout_ms, &grant);
    }
    *token = grant.token;
    return status;
}

/* Acquires one lock after the other. Two that do so in opposite orders deadlock: each holds what
 * the other waits for. */
static int acquire_one_by_one(struct guard *guard, zkl_client *client, struct transfer *transfer,
                              int64_t timeout_ms) {
    const struct bank *bank = guard->bank;
    int64_t began_ms = clock_now_ms();
    int status = acquire_one(client, bank->resources[transfer->from.account], timeout_ms,
                             &guard->one_by_one[0], &transfer->from.token);
    if (status != ZKL_OK) {
        return status;
    }
    int64_t left_ms = timeout_ms - (clock_now_ms() - began_ms);
    return left_ms <= 0 ? ZKL_TIMEOUT
                        : acquire_one(client, bank->resources[transfer->to.account], left_ms,
                                      &guard->one_by_one[1], &transfer->to.token);
}

int guard_acquire(struct guard *guard, zkl_client *client, struct transfer *transfer,
                  int64_t timeout_ms) {
    return guard->bank->one_after_the_other
               ? acquire_one_by_one(guard, client, transfer, timeout_ms)
               : acquire_both(guard, client, transfer, timeout_ms);
}

void guard_end(struct guard *guard) {
    zkl_lock_close(guard->both);
    zkl_lock_close(guard->one_by_one[1]);
    zkl_lock_close(guard->one_by_one[0]);
}
