/*
 * What takes several things at once, or any of them, as one kind of handle: a set, or a
 * striped lock.
 */
#pragma once

#include "plan.h"
#include "zklock/striped_lock.h"
#include "zklock/zklock.h"

enum { SET_PARENT_SIZE = 64 };

typedef struct set_handle {
    const plan_set *plan;
    zkl_lock *set; /* one of the two; NULL: closed */
    zkl_striped_lock *striped_lock;
} set_handle;

typedef struct set_grant {
    int64_t token;
    int32_t stripe; /* of a striped lock; ZKL_ALL_STRIPES: all, or all resources */
} set_grant;

/** An asynchronous call, as the first field of what the caller knows of it. */
typedef struct set_call set_call;

struct set_call {
    void (*acquired)(set_call *self, int status, const set_grant *grant);
    void (*released)(set_call *self, int status);
};

/** Of a handle that is closed. The news are a set's; NULL: they are not wanted. */
int set_open(set_handle *self, zkl_client *client, zkl_lock_state_callback *news, void *arg);
bool set_is_open(const set_handle *self);
void set_close(set_handle *self);

int set_acquire(set_handle *self, const plan_turn *turn, set_grant *grant);
int set_acquire_async(set_handle *self, const plan_turn *turn, set_call *call);
int set_cancel(set_handle *self);
int set_check(set_handle *self, int64_t *lease_left_ms);
int set_verify(set_handle *self, int64_t timeout_ms);
int set_release(set_handle *self, int64_t timeout_ms);
int set_release_async(set_handle *self, int64_t timeout_ms, set_call *call);

/** The stripe that a turn asks for; ZKL_ALL_STRIPES: each of what the handle is of, or any. */
int32_t set_stripe_asked(const plan_set *plan, const plan_turn *turn);
/** How many things the handle is of, and the parent of the requests for each. */
size_t set_count(const plan_set *plan);
void set_parent(const plan_set *plan, size_t number, char parent[SET_PARENT_SIZE]);
