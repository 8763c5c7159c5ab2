#include "zklock/striped_lock.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callback_queue.h"
#include "input.h"
#include "lock.h"
#include "multi_lock.h"
#include "threads.h"

#define STRIPE_NAME "/stripe-"
enum { STRIPE_NAME_SIZE = 16, STRIPE_PATH_SIZE = ZKL_RESOURCE_MAX + 1 };

typedef enum striped_state { STRIPED_IDLE, STRIPED_ACQUIRING, STRIPED_HELD } striped_state;

/* The second part belongs to the client's mutex. */
struct zkl_striped_lock {
    zkl_client *client;
    char *resource;
    char *resource_class;
    zkl_lock_options options;
    int32_t stripes;

    striped_state state;
    bool cancelled;
    int32_t stripe;      /* that is acquired, or held; ZKL_ALL_STRIPES: all */
    zkl_multi_lock *all; /* while all are acquired, or held */
    zkl_lock *locks[];
};

/* ---- Stripes ------------------------------------------------------------------------------ */

int32_t zkl_stripe_of_key(const void *key, size_t size, int32_t stripes) {
    const unsigned char *bytes = key;
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3U;
    }
    return stripes > 0 ? (int32_t)(hash % (uint64_t)stripes) : 0;
}

/* As zkl_lock_open takes it: absolute, below the chroot. */
static int name_stripe(const zkl_striped_lock *self, int32_t stripe, char name[STRIPE_PATH_SIZE]) {
    char path[ZKL_PARENT_PATH_SIZE];
    zkl_client_resource_path(self->client, self->resource, path);
    int length = snprintf(name, STRIPE_PATH_SIZE, "%s" STRIPE_NAME "%04" PRId32,
                          path + strlen(self->client->chroot), stripe);
    if (length < STRIPE_PATH_SIZE) {
        return ZKL_OK;
    }
    zkl_input_note("resource", self->resource, "is too long, with its stripes");
    return ZKL_RESOURCE_TOO_LONG;
}

static int open_stripes(zkl_striped_lock *self) {
    char name[STRIPE_PATH_SIZE];
    for (int32_t i = 0; i < self->stripes; i++) {
        int status = name_stripe(self, i, name);
        if (status == ZKL_OK) {
            status = zkl_lock_open(self->client, name, &self->options, &self->locks[i]);
        }
        if (status != ZKL_OK) {
            return status;
        }
        self->locks[i]->called_off = &self->cancelled;
    }
    return ZKL_OK;
}

/* ---- Opening and closing ------------------------------------------------------------------ */

static int check_input(zkl_client *client, const char *resource, int32_t stripes,
                       const zkl_lock_options *options) {
    int status = zkl_input_check_pointer("client", client);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("resource", resource);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_resource(resource);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_range("stripes", stripes, 1, ZKL_STRIPES_MAX, ZKL_INVALID_STRIPES);
    }
    if (status == ZKL_OK) {
        status =
            zkl_input_check_struct_size("zkl_lock_options", options->struct_size, sizeof(*options));
    }
    bool plain = options->permits == 0 && options->reentrant == 0 &&
                 options->state_callback == NULL && options->tell_contended == 0;
    if (status == ZKL_OK && !plain) {
        zkl_input_note("option", "permits, reentrant, state_callback or tell_contended",
                       "is not for stripes");
        status = ZKL_INVALID_ARGUMENT;
    }
    return status == ZKL_OK ? zkl_client_check_process(client) : status;
}

static zkl_striped_lock *make(zkl_client *client, const char *resource, int32_t stripes,
                              const zkl_lock_options *options) {
    zkl_striped_lock *self = calloc(1, sizeof(*self) + (size_t)stripes * sizeof(zkl_lock *));
    if (self == NULL) {
        return NULL;
    }
    self->client = client;
    self->stripes = stripes;
    self->options = *options;
    self->resource = strdup(resource);
    self->resource_class = strdup(options->resource_class != NULL ? options->resource_class : "");
    self->options.resource_class = self->resource_class;
    return self;
}

static void free_striped_lock(zkl_striped_lock *self) {
    for (int32_t i = 0; i < self->stripes; i++) {
        zkl_lock_close(self->locks[i]);
    }
    free(self->resource);
    free(self->resource_class);
    free(self);
}

int zkl_striped_lock_open(zkl_client *client, const char *resource, int32_t stripes,
                          const zkl_lock_options *given, zkl_striped_lock **result) {
    zkl_input_clear();
    static const zkl_lock_options defaults = ZKL_LOCK_OPTIONS_INIT;
    const zkl_lock_options *options = given != NULL ? given : &defaults;
    int status = zkl_input_check_pointer("striped_lock", result);
    if (status != ZKL_OK) {
        return status;
    }
    *result = NULL;
    status = check_input(client, resource, stripes, options);
    if (status != ZKL_OK) {
        return status;
    }
    zkl_striped_lock *self = make(client, resource, stripes, options);
    if (self == NULL) {
        return ZKL_NO_MEMORY;
    }
    bool copied = self->resource != NULL && self->resource_class != NULL;
    status = copied ? open_stripes(self) : ZKL_NO_MEMORY;
    if (status != ZKL_OK) {
        free_striped_lock(self);
        return status;
    }
    *result = self;
    return ZKL_OK;
}

void zkl_striped_lock_close(zkl_striped_lock *self) {
    if (self == NULL || zkl_client_check_process(self->client) != ZKL_OK) {
        return;
    }
    zkl_multi_lock_close(self->all);
    free_striped_lock(self);
}

/* ---- Acquire ------------------------------------------------------------------------------ */

static void enter(const zkl_striped_lock *self) {
    pthread_mutex_lock(&self->client->mutex);
}

static int leave(const zkl_striped_lock *self, int status) {
    pthread_mutex_unlock(&self->client->mutex);
    return status;
}

static int check_call(const zkl_striped_lock *self, const zkl_stripe_grant *grant) {
    zkl_input_clear();
    int status = zkl_input_check_pointer("striped_lock", self);
    if (status == ZKL_OK && grant != NULL) {
        status =
            zkl_input_check_struct_size("zkl_stripe_grant", grant->struct_size, sizeof(*grant));
    }
    if (status == ZKL_OK) {
        status = zkl_client_check_process(self->client);
    }
    return status == ZKL_OK && zkl_callback_is_running() ? ZKL_IN_CALLBACK : status;
}

static int begin_acquire(zkl_striped_lock *self) {
    enter(self);
    if (self->client->closed) {
        return leave(self, ZKL_CLOSED);
    }
    if (self->state != STRIPED_IDLE) {
        return leave(self, self->state == STRIPED_HELD ? ZKL_ALREADY_HELD : ZKL_HANDLE_IN_USE);
    }
    self->state = STRIPED_ACQUIRING;
    self->cancelled = false;
    return leave(self, ZKL_OK);
}

static int end_acquire(zkl_striped_lock *self, int32_t stripe, int status) {
    enter(self);
    self->state = status == ZKL_OK ? STRIPED_HELD : STRIPED_IDLE;
    self->stripe = stripe;
    return leave(self, status);
}

static int acquire_stripe(zkl_striped_lock *self, int32_t stripe, zkl_mode mode, int64_t timeout_ms,
                          zkl_stripe_grant *grant) {
    zkl_grant got = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(self->locks[stripe], mode, timeout_ms, &got);
    if (status == ZKL_OK && grant != NULL) {
        grant->token = got.token;
        grant->stripe = stripe;
    }
    return status;
}

static void note_wait(zkl_stripe_grant *grant, int64_t began_ms) {
    if (grant != NULL) {
        grant->waited_ms = zkl_clock_ms() - began_ms;
    }
}

int zkl_striped_lock_acquire_key(zkl_striped_lock *self, const void *key, size_t size,
                                 zkl_mode mode, int64_t timeout_ms, zkl_stripe_grant *grant) {
    int status = check_call(self, grant);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("key", key);
    }
    if (status == ZKL_OK) {
        status = begin_acquire(self);
    }
    if (status != ZKL_OK) {
        return status;
    }
    int64_t began_ms = zkl_clock_ms();
    int32_t stripe = zkl_stripe_of_key(key, size, self->stripes);
    status = acquire_stripe(self, stripe, mode, timeout_ms, grant);
    note_wait(grant, began_ms);
    return end_acquire(self, stripe, status);
}

static int32_t draw_stripe(zkl_striped_lock *self) {
    uint32_t random = 0;
    enter(self);
    zkl_operations *operations = self->client->sessions->session.operations;
    (void)operations->table->random(operations, &random, sizeof(random));
    (void)leave(self, ZKL_OK);
    return (int32_t)(random % (uint32_t)self->stripes);
}

static int64_t time_left(int64_t timeout_ms, int64_t began_ms) {
    int64_t left = timeout_ms - (zkl_clock_ms() - began_ms);
    return timeout_ms == ZKL_FOREVER ? ZKL_FOREVER : left > 0 ? left : 0;
}

/* A stripe that is taken, or cannot be asked about now, is not waited for; there are others. */
static int acquire_any(zkl_striped_lock *self, zkl_mode mode, int64_t timeout_ms,
                       zkl_stripe_grant *grant, int32_t *stripe) {
    int64_t began_ms = zkl_clock_ms();
    int32_t first = draw_stripe(self);
    for (int32_t i = 0; i < self->stripes; i++) {
        *stripe = (first + i) % self->stripes;
        int status = acquire_stripe(self, *stripe, mode, 0, grant);
        bool goes_on =
            status == ZKL_BUSY ||
            (timeout_ms != 0 && (status == ZKL_DISCONNECTED || status == ZKL_SERVER_REFUSED));
        if (!goes_on) {
            return status;
        }
    }
    int64_t left = time_left(timeout_ms, began_ms);
    if (timeout_ms == 0) {
        return ZKL_BUSY;
    }
    *stripe = first;
    return left == 0 ? ZKL_TIMEOUT : acquire_stripe(self, first, mode, left, grant);
}

int zkl_striped_lock_acquire_any(zkl_striped_lock *self, zkl_mode mode, int64_t timeout_ms,
                                 zkl_stripe_grant *grant) {
    int status = check_call(self, grant);
    if (status == ZKL_OK) {
        status = begin_acquire(self);
    }
    if (status != ZKL_OK) {
        return status;
    }
    int64_t began_ms = zkl_clock_ms();
    int32_t stripe = 0;
    status = acquire_any(self, mode, timeout_ms, grant, &stripe);
    note_wait(grant, began_ms);
    return end_acquire(self, stripe, status);
}

/* ---- All of them -------------------------------------------------------------------------- */

static int open_all(zkl_striped_lock *self, zkl_mode mode, zkl_multi_lock **all) {
    char names[ZKL_STRIPES_MAX][STRIPE_PATH_SIZE];
    zkl_multi_lock_member members[ZKL_STRIPES_MAX];
    for (int32_t i = 0; i < self->stripes; i++) {
        (void)name_stripe(self, i, names[i]); /* it could be named when it was opened */
        members[i] = (zkl_multi_lock_member)ZKL_MULTI_LOCK_MEMBER_INIT;
        members[i].resource = names[i];
        members[i].mode = mode;
    }
    zkl_multi_lock_options options = ZKL_MULTI_LOCK_OPTIONS_INIT;
    options.fail_on_session_expiry = self->options.fail_on_session_expiry;
    options.max_hold_ms = self->options.max_hold_ms;
    options.resource_class = self->options.resource_class;
    return zkl_multi_lock_open(self->client, members, (size_t)self->stripes, &options, all);
}

static int acquire_all(zkl_striped_lock *self, zkl_mode mode, int64_t timeout_ms,
                       zkl_stripe_grant *grant) {
    zkl_multi_lock *all = NULL;
    int status = open_all(self, mode, &all);
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    all->called_off = &self->cancelled;
    self->all = all;
    (void)leave(self, ZKL_OK);
    zkl_multi_lock_grant got = ZKL_MULTI_LOCK_GRANT_INIT;
    status = zkl_multi_lock_acquire(all, timeout_ms, &got);
    if (status == ZKL_OK && grant != NULL) {
        grant->token = got.token;
        grant->waited_ms = got.waited_ms;
        grant->stripe = ZKL_ALL_STRIPES;
    }
    return status;
}

static void close_all(zkl_striped_lock *self) {
    enter(self);
    zkl_multi_lock *all = self->all;
    self->all = NULL;
    (void)leave(self, ZKL_OK);
    zkl_multi_lock_close(all);
}

int zkl_striped_lock_acquire_all(zkl_striped_lock *self, zkl_mode mode, int64_t timeout_ms,
                                 zkl_stripe_grant *grant) {
    int status = check_call(self, grant);
    if (status == ZKL_OK) {
        status = begin_acquire(self);
    }
    if (status != ZKL_OK) {
        return status;
    }
    status = acquire_all(self, mode, timeout_ms, grant);
    if (status != ZKL_OK) {
        close_all(self);
    }
    return end_acquire(self, ZKL_ALL_STRIPES, status);
}

/* ---- What is held ------------------------------------------------------------------------- */

int zkl_striped_lock_cancel(zkl_striped_lock *self) {
    zkl_input_clear();
    int status = zkl_input_check_pointer("striped_lock", self);
    if (status == ZKL_OK) {
        status = zkl_client_check_process(self->client);
    }
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    if (self->client->closed) {
        return leave(self, ZKL_CLOSED);
    }
    if (self->state != STRIPED_ACQUIRING || self->cancelled) {
        return leave(self, ZKL_NOT_WAITING);
    }
    self->cancelled = true;
    for (int32_t i = 0; i < self->stripes; i++) {
        zkl_lock_call_off(self->locks[i]);
    }
    if (self->all != NULL) {
        zkl_multi_lock_call_off(self->all);
    }
    return leave(self, ZKL_OK);
}

/* ZKL_OK: which stripe it is; a stripe that is held is not changed by another thread. */
static int find_held(zkl_striped_lock *self, int32_t *stripe) {
    zkl_input_clear();
    int status = zkl_input_check_pointer("striped_lock", self);
    if (status == ZKL_OK) {
        status = zkl_client_check_process(self->client);
    }
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    *stripe = self->stripe;
    if (self->client->closed) {
        return leave(self, ZKL_CLOSED);
    }
    return leave(self, self->state == STRIPED_HELD ? ZKL_OK : ZKL_NOT_HELD);
}

int zkl_striped_lock_check(zkl_striped_lock *self, int64_t *lease_left_ms) {
    int32_t stripe = 0;
    if (lease_left_ms != NULL) {
        *lease_left_ms = 0;
    }
    int status = find_held(self, &stripe);
    if (status != ZKL_OK) {
        return status;
    }
    return stripe == ZKL_ALL_STRIPES ? zkl_multi_lock_check(self->all, lease_left_ms)
                                     : zkl_lock_check(self->locks[stripe], lease_left_ms);
}

int zkl_striped_lock_release(zkl_striped_lock *self, int64_t timeout_ms) {
    int32_t stripe = 0;
    int status = find_held(self, &stripe);
    if (status != ZKL_OK) {
        return status;
    }
    bool all = stripe == ZKL_ALL_STRIPES;
    status = all ? zkl_multi_lock_release(self->all, timeout_ms)
                 : zkl_lock_release(self->locks[stripe], timeout_ms);
    bool refused = status == ZKL_INVALID_TIMEOUT || status == ZKL_IN_CALLBACK ||
                   status == ZKL_HANDLE_IN_USE || status == ZKL_CLOSED;
    if (refused) {
        return status;
    }
    if (all) {
        close_all(self);
    }
    enter(self);
    self->state = STRIPED_IDLE;
    return leave(self, status);
}
