#include "set_handle.h"

#include <stdio.h>
#include <string.h>

enum { KEY_SIZE = 16 };

static bool has_stripes(const set_handle *self) {
    return self->plan->stripes > 0;
}

/* ---- What it is of -----------------------------------------------------------------------------
 */

size_t set_count(const plan_set *plan) {
    return plan->stripes > 0 ? (size_t)plan->stripes : plan->resource_count;
}

void set_parent(const plan_set *plan, size_t number, char parent[SET_PARENT_SIZE]) {
    if (plan->stripes > 0) {
        snprintf(parent, SET_PARENT_SIZE, PLAN_STRIPED "/stripe-%04zu", number);
    } else {
        snprintf(parent, SET_PARENT_SIZE, "/locks/resource-%u", plan->resources[number]);
    }
}

static size_t write_key(const plan_turn *turn, char key[KEY_SIZE]) {
    return (size_t)snprintf(key, KEY_SIZE, "key-%u", turn->key);
}

static int32_t stripe_wanted(const set_handle *self, const plan_turn *turn) {
    char key[KEY_SIZE];
    switch (turn->way) {
    case PLAN_BY_KEY:
        return zkl_stripe_of_key(key, write_key(turn, key), self->plan->stripes);
    case PLAN_ANY:
        return ZKL_ANY_STRIPE;
    default:
        return ZKL_ALL_STRIPES;
    }
}

int32_t set_stripe_asked(const plan_set *plan, const plan_turn *turn) {
    char key[KEY_SIZE];
    size_t size = write_key(turn, key);
    bool is_one = plan->stripes > 0 && turn->way == PLAN_BY_KEY;
    return is_one ? zkl_stripe_of_key(key, size, plan->stripes) : ZKL_ALL_STRIPES;
}

/* ---- Opening and closing ------------------------------------------------------------------------
 */

static int open_striped(set_handle *self, zkl_client *client) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.fail_on_session_expiry = self->plan->fail_on_session_expiry;
    options.max_hold_ms = self->plan->max_hold_ms;
    return zkl_striped_lock_open(client, PLAN_STRIPED, self->plan->stripes, &options,
                                 &self->striped_lock);
}

int set_open(set_handle *self, zkl_client *client, zkl_lock_state_callback *news, void *arg) {
    if (has_stripes(self)) {
        return open_striped(self, client);
    }
    zkl_lock_member members[PLAN_SET_RESOURCES];
    char names[PLAN_SET_RESOURCES][SET_PARENT_SIZE];
    for (size_t i = 0; i < self->plan->resource_count; i++) {
        set_parent(self->plan, i, names[i]);
        members[i] = (zkl_lock_member)ZKL_LOCK_MEMBER_INIT;
        members[i].resource = names[i];
        members[i].mode = self->plan->modes[i];
    }
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.fail_on_session_expiry = self->plan->fail_on_session_expiry;
    options.max_hold_ms = self->plan->max_hold_ms;
    options.state_callback = news;
    options.state_arg = arg;
    return zkl_lock_open_set(client, members, self->plan->resource_count, &options, &self->set);
}

bool set_is_open(const set_handle *self) {
    return self->set != NULL || self->striped_lock != NULL;
}

/* The handle is not there any more for who looks meanwhile. */
void set_close(set_handle *self) {
    zkl_lock *set = self->set;
    zkl_striped_lock *striped_lock = self->striped_lock;
    self->set = NULL;
    self->striped_lock = NULL;
    zkl_lock_close(set);
    zkl_striped_lock_close(striped_lock);
}

/* ---- Calls that wait
 * ------------------------------------------------------------------------------ */

int set_acquire(set_handle *self, const plan_turn *turn, set_grant *grant) {
    if (has_stripes(self)) {
        zkl_grant its = ZKL_GRANT_INIT;
        int status = zkl_striped_lock_acquire(self->striped_lock, stripe_wanted(self, turn),
                                              turn->mode, turn->timeout_ms, &its);
        *grant = (set_grant){ its.token, its.stripe };
        return status;
    }
    zkl_grant its = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(self->set, ZKL_AS_OPENED, turn->timeout_ms, &its);
    *grant = (set_grant){ its.token, ZKL_ALL_STRIPES };
    return status;
}

/* What is held, or was last. */
static zkl_lock *held(const set_handle *self) {
    return has_stripes(self) ? zkl_striped_lock_held(self->striped_lock) : self->set;
}

int set_release(set_handle *self, int64_t timeout_ms) {
    return zkl_lock_release(held(self), timeout_ms);
}

int set_cancel(set_handle *self) {
    return has_stripes(self) ? zkl_striped_lock_cancel(self->striped_lock)
                             : zkl_lock_cancel(self->set);
}

int set_check(set_handle *self, int64_t *lease_left_ms) {
    return zkl_lock_check(held(self), lease_left_ms);
}

int set_verify(set_handle *self, int64_t timeout_ms) {
    return zkl_lock_verify(held(self), timeout_ms);
}

/* ---- Calls that are told
 * ---------------------------------------------------------------------------- */

static void on_stripe(void *arg, int status, const zkl_grant *grant) {
    set_call *call = arg;
    set_grant its = { .token = grant != NULL ? grant->token : 0,
                      .stripe = grant != NULL ? grant->stripe : 0 };
    call->acquired(call, status, grant != NULL ? &its : NULL);
}

static void on_all(void *arg, int status, const zkl_grant *grant) {
    set_call *call = arg;
    set_grant its = { .token = grant != NULL ? grant->token : 0, .stripe = ZKL_ALL_STRIPES };
    call->acquired(call, status, grant != NULL ? &its : NULL);
}

static void on_released(void *arg, int status) {
    set_call *call = arg;
    call->released(call, status);
}

int set_acquire_async(set_handle *self, const plan_turn *turn, set_call *call) {
    return has_stripes(self)
               ? zkl_striped_lock_acquire_async(self->striped_lock, stripe_wanted(self, turn),
                                                turn->mode, turn->timeout_ms, on_stripe, call)
               : zkl_lock_acquire_async(self->set, ZKL_AS_OPENED, turn->timeout_ms, NULL, on_all,
                                        call);
}

int set_release_async(set_handle *self, int64_t timeout_ms, set_call *call) {
    return zkl_lock_release_async(held(self), timeout_ms, NULL, on_released, call);
}
