#include "striped_lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "callback_queue.h"
#include "input.h"
#include "recipe/node_name.h"
#include "threads.h"

enum { STRIPE_PATH_SIZE = ZKL_RESOURCE_MAX + 1 };
_Static_assert(ZKL_STRIPES_MAX - 1 <= ZKL_STRIPE_NUMBER_MAX, "the name of each stripe says which");

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
    char last[ZKL_STRIPE_NAME_SIZE];
    zkl_client_resource_path(self->client, self->resource, path);
    zkl_node_name_stripe(last, stripe);
    int length =
        snprintf(name, STRIPE_PATH_SIZE, "%s/%s", path + strlen(self->client->chroot), last);
    if (length < STRIPE_PATH_SIZE) {
        return ZKL_OK;
    }
    return zkl_input_refuse("resource", self->resource, "is too long, with its stripes");
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
    int status = zkl_handle_check("client", client);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("resource", resource);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_resource(resource);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_range("stripes", stripes, 1, ZKL_STRIPES_MAX);
    }
    if (status == ZKL_OK) {
        status =
            zkl_input_check_struct_size("zkl_lock_options", options->struct_size, sizeof(*options));
    }
    bool plain = options->permits == 0 && options->reentrant == 0 &&
                 options->state_callback == NULL && options->tell_contended == 0 &&
                 options->tell_granted == 0 && options->note == NULL;
    if (status == ZKL_OK && !plain) {
        status =
            zkl_input_refuse("option", "permits, reentrant, note or news", "is not for stripes");
    }
    return status == ZKL_OK ? zkl_client_check_process(client) : status;
}

static zkl_striped_lock *make(zkl_client *client, const char *resource, int32_t stripes,
                              const zkl_lock_options *options) {
    zkl_striped_lock *self = calloc(1, sizeof(*self) + (size_t)stripes * sizeof(zkl_lock *));
    if (self == NULL) {
        return NULL;
    }
    zkl_condition_begin(&self->changed);
    self->client = client;
    self->stripes = stripes;
    self->options = *options;
    self->resource = strdup(resource);
    self->resource_class = strdup(options->resource_class != NULL ? options->resource_class : "");
    self->options.resource_class = self->resource_class;
    self->owner = options->owner != NULL ? strdup(options->owner) : NULL;
    self->options.owner = self->owner;
    return self;
}

static void free_striped_lock(zkl_striped_lock *self) {
    for (int32_t i = 0; i < self->stripes; i++) {
        zkl_lock_close(self->locks[i]);
    }
    for (size_t i = 0; i < STRIPED_MODES; i++) {
        zkl_multi_lock_close(self->all[i]);
    }
    zkl_condition_end(&self->changed);
    free(self->resource);
    free(self->resource_class);
    free(self->owner);
    zkl_handle_close(&self->open); /* a callback that was waited for may still have called */
    free(self);
}

int zkl_striped_lock_open(zkl_client *client, const char *resource, int32_t stripes,
                          const zkl_lock_options *given, zkl_striped_lock **result) {
    ZKL_NOT_CANCELLED;
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
    bool copied = self->resource != NULL && self->resource_class != NULL &&
                  (self->owner != NULL || options->owner == NULL);
    status = copied ? open_stripes(self) : ZKL_NO_MEMORY;
    if (status != ZKL_OK) {
        free_striped_lock(self);
        return status;
    }
    zkl_handle_open(&self->open);
    *result = self;
    return ZKL_OK;
}

void zkl_striped_lock_close(zkl_striped_lock *self) {
    ZKL_NOT_CANCELLED;
    if (!zkl_handle_is_open(self) || zkl_client_check_process(self->client) != ZKL_OK) {
        return;
    }
    zkl_client *client = self->client;
    pthread_mutex_lock(&client->mutex);
    self->closing = true;
    self->cancelled = true; /* it goes on to no other stripe */
    zkl_striped_lock_calls_leave(self);
    while (self->steps > 0) {
        zkl_condition_wait(&self->changed, &client->mutex, INT64_MAX);
    }
    pthread_mutex_unlock(&client->mutex);
    free_striped_lock(self);
}

/* ---- Which stripes ------------------------------------------------------------------------ */

static void enter(const zkl_striped_lock *self) {
    pthread_mutex_lock(&self->client->mutex);
}

static int leave(const zkl_striped_lock *self, int status) {
    pthread_mutex_unlock(&self->client->mutex);
    return status;
}

stripe_search zkl_striped_lock_search_key(const zkl_striped_lock *self, const void *key,
                                          size_t size, zkl_mode mode, int64_t timeout_ms) {
    return (stripe_search){ .mode = mode,
                            .timeout_ms = timeout_ms,
                            .stripe = zkl_stripe_of_key(key, size, self->stripes) };
}

/* From which one on is drawn when it begins. */
stripe_search zkl_striped_lock_search_any(const zkl_striped_lock *self, zkl_mode mode,
                                          int64_t timeout_ms) {
    return (stripe_search){ .mode = mode, .timeout_ms = timeout_ms, .tries = self->stripes };
}

stripe_search zkl_striped_lock_search_all(zkl_mode mode, int64_t timeout_ms) {
    return (stripe_search){ .mode = mode, .timeout_ms = timeout_ms, .stripe = ZKL_ALL_STRIPES };
}

static int32_t draw_stripe(const zkl_striped_lock *self) {
    uint32_t random = 0;
    zkl_operations *operations = self->client->sessions->session.operations;
    (void)operations->table->random(operations, &random, sizeof(random));
    return (int32_t)(random % (uint32_t)self->stripes);
}

static int64_t time_left(const stripe_search *search) {
    if (search->timeout_ms == ZKL_FOREVER) {
        return ZKL_FOREVER;
    }
    int64_t left = search->timeout_ms - (zkl_clock_ms() - search->began_ms);
    return left > 0 ? left : 0;
}

/* Another stripe may be free where this one is taken, cannot be had, or cannot be asked about now.
 */
static bool may_ask_another(const zkl_striped_lock *self, int status) {
    const stripe_search *search = &self->search;
    bool was_try = search->asked <= search->tries;
    bool rejoins = status == ZKL_SESSION_EXPIRED && self->options.fail_on_session_expiry == 0;
    bool is_for_now = status == ZKL_DISCONNECTED || status == ZKL_SERVER_REFUSED || rejoins;
    bool is_its_own = status == ZKL_BUSY || status == ZKL_QUEUE_FULL ||
                      status == ZKL_SEQUENCE_EXHAUSTED || status == ZKL_TIMEOUT;
    return was_try && (is_its_own || (is_for_now && search->timeout_ms != 0));
}

static bool ask_for(zkl_striped_lock *self, int32_t stripe, int64_t timeout_ms) {
    stripe_search *search = &self->search;
    search->last = stripe;
    search->last_ms = timeout_ms;
    search->asked++;
    return true;
}

/* Each try ends with the deadline over all. */
static bool try_next(zkl_striped_lock *self, int64_t left_ms) {
    const stripe_search *search = &self->search;
    int32_t stripe = (search->stripe + search->asked) % self->stripes;
    self->locks[stripe]->try_within_ms = left_ms;
    return ask_for(self, stripe, 0);
}

/* There is no time for another stripe. */
static int end_of_search(const stripe_search *search, int last) {
    if (search->timeout_ms == 0) {
        return ZKL_BUSY;
    }
    return last == ZKL_DISCONNECTED ? last : ZKL_TIMEOUT;
}

static bool asks_on(zkl_striped_lock *self, int *status) {
    const stripe_search *search = &self->search;
    if (search->asked > 0 && !may_ask_another(self, *status)) {
        return false;
    }
    if (search->tries == 0) {
        return ask_for(self, search->stripe, search->timeout_ms);
    }
    int64_t left_ms = time_left(search);
    bool tries = search->asked < search->tries;
    bool is_late = left_ms == 0 && search->timeout_ms != 0;
    if (search->asked > 0 && (is_late || (left_ms == 0 && !tries))) {
        *status = end_of_search(search, *status);
        return false;
    }
    return tries ? try_next(self, is_late ? 1 : left_ms) : ask_for(self, search->stripe, left_ms);
}

bool zkl_striped_lock_asks_on(zkl_striped_lock *self, int *status) {
    enter(self);
    bool asks = asks_on(self, status);
    (void)leave(self, ZKL_OK);
    return asks;
}

/* ---- Acquire ------------------------------------------------------------------------------ */

int zkl_striped_lock_check_handle(const zkl_striped_lock *self) {
    int status = zkl_handle_check("striped_lock", self);
    return status == ZKL_OK ? zkl_client_check_process(self->client) : status;
}

int zkl_striped_lock_check_call(const zkl_striped_lock *self, int64_t timeout_ms) {
    zkl_input_clear();
    int status = zkl_striped_lock_check_handle(self);
    if (status == ZKL_OK) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, ZKL_FOREVER, INT64_MAX);
    }
    return status;
}

static int check_blocking(const zkl_striped_lock *self, int64_t timeout_ms,
                          const zkl_stripe_grant *grant) {
    int status = zkl_striped_lock_check_call(self, timeout_ms);
    if (status == ZKL_OK && grant != NULL) {
        status =
            zkl_input_check_struct_size("zkl_stripe_grant", grant->struct_size, sizeof(*grant));
    }
    return status == ZKL_OK && zkl_callback_is_running() ? ZKL_IN_CALLBACK : status;
}

static int check_idle(const zkl_striped_lock *self) {
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    if (self->state == STRIPED_HELD) {
        return ZKL_ALREADY_HELD;
    }
    return self->state == STRIPED_IDLE && !self->closing ? ZKL_OK : ZKL_HANDLE_IN_USE;
}

int zkl_striped_lock_begin_acquire(zkl_striped_lock *self, const stripe_search *search,
                                   stripe_call *call) {
    enter(self);
    int status = check_idle(self);
    if (status == ZKL_OK) {
        self->state = STRIPED_ACQUIRING;
        self->cancelled = false;
        self->call = call;
        self->search = *search;
        self->search.began_ms = zkl_clock_ms();
        if (search->tries > 0) {
            self->search.stripe = draw_stripe(self);
        } else if (search->stripe != ZKL_ALL_STRIPES) {
            self->locks[search->stripe]->try_within_ms = 0;
        }
    }
    return leave(self, status);
}

int zkl_striped_lock_end_acquire(zkl_striped_lock *self, int status, zkl_stripe_grant *grant) {
    self->state = status == ZKL_OK ? STRIPED_HELD : STRIPED_IDLE;
    self->call = NULL;
    if (status == ZKL_OK && grant != NULL) {
        grant->stripe = self->search.last;
        grant->waited_ms = zkl_clock_ms() - self->search.began_ms;
    }
    bool was_cancelled = self->cancelled && status != ZKL_OK && status != ZKL_CLOSED;
    return was_cancelled ? ZKL_CANCELLED : status;
}

static void fill_members(const zkl_striped_lock *self, zkl_mode mode,
                         char names[ZKL_STRIPES_MAX][STRIPE_PATH_SIZE],
                         zkl_multi_lock_member members[ZKL_STRIPES_MAX]) {
    for (int32_t i = 0; i < self->stripes; i++) {
        (void)name_stripe(self, i, names[i]); /* it could be named when it was opened */
        members[i] = (zkl_multi_lock_member)ZKL_MULTI_LOCK_MEMBER_INIT;
        members[i].resource = names[i];
        members[i].mode = mode;
    }
}

int zkl_striped_lock_open_all(zkl_striped_lock *self, zkl_mode mode, zkl_multi_lock **all) {
    int status = zkl_input_check_mode(mode, 0);
    if (status != ZKL_OK || self->all[mode] != NULL) {
        *all = status == ZKL_OK ? self->all[mode] : NULL;
        return status;
    }
    char names[ZKL_STRIPES_MAX][STRIPE_PATH_SIZE];
    zkl_multi_lock_member members[ZKL_STRIPES_MAX];
    fill_members(self, mode, names, members);
    zkl_multi_lock_options options = ZKL_MULTI_LOCK_OPTIONS_INIT;
    options.fail_on_session_expiry = self->options.fail_on_session_expiry;
    options.max_hold_ms = self->options.max_hold_ms;
    options.resource_class = self->options.resource_class;
    options.owner = self->options.owner;
    status = zkl_multi_lock_open(self->client, members, (size_t)self->stripes, &options, all);
    if (status == ZKL_OK) {
        enter(self);
        (*all)->called_off = &self->cancelled;
        self->all[mode] = *all;
        (void)leave(self, ZKL_OK);
    }
    return status;
}

static int ask_all(zkl_striped_lock *self, int64_t *token) {
    zkl_multi_lock *all = NULL;
    zkl_multi_lock_grant grant = ZKL_MULTI_LOCK_GRANT_INIT;
    int status = zkl_striped_lock_open_all(self, self->search.mode, &all);
    if (status == ZKL_OK) {
        status = zkl_multi_lock_acquire(all, self->search.last_ms, &grant);
    }
    *token = grant.token;
    return status;
}

static int ask_one(const zkl_striped_lock *self, int64_t *token) {
    const stripe_search *search = &self->search;
    zkl_grant grant = ZKL_GRANT_INIT;
    int status = zkl_lock_acquire(self->locks[search->last], search->mode, search->last_ms, &grant);
    *token = grant.token;
    return status;
}

static int acquire(zkl_striped_lock *self, const stripe_search *search, zkl_stripe_grant *grant) {
    int64_t token = 0;
    int status = zkl_striped_lock_begin_acquire(self, search, NULL);
    if (status != ZKL_OK) {
        return status;
    }
    while (zkl_striped_lock_asks_on(self, &status)) {
        status = search->stripe == ZKL_ALL_STRIPES ? ask_all(self, &token) : ask_one(self, &token);
    }
    if (grant != NULL) {
        grant->token = token;
    }
    enter(self);
    return leave(self, zkl_striped_lock_end_acquire(self, status, grant));
}

int zkl_striped_lock_acquire_key(zkl_striped_lock *self, const void *key, size_t size,
                                 zkl_mode mode, int64_t timeout_ms, zkl_stripe_grant *grant) {
    ZKL_NOT_CANCELLED;
    int status = check_blocking(self, timeout_ms, grant);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("key", key);
    }
    if (status != ZKL_OK) {
        return status;
    }
    stripe_search search = zkl_striped_lock_search_key(self, key, size, mode, timeout_ms);
    return acquire(self, &search, grant);
}

int zkl_striped_lock_acquire_any(zkl_striped_lock *self, zkl_mode mode, int64_t timeout_ms,
                                 zkl_stripe_grant *grant) {
    ZKL_NOT_CANCELLED;
    int status = check_blocking(self, timeout_ms, grant);
    if (status != ZKL_OK) {
        return status;
    }
    stripe_search search = zkl_striped_lock_search_any(self, mode, timeout_ms);
    return acquire(self, &search, grant);
}

int zkl_striped_lock_acquire_all(zkl_striped_lock *self, zkl_mode mode, int64_t timeout_ms,
                                 zkl_stripe_grant *grant) {
    ZKL_NOT_CANCELLED;
    int status = check_blocking(self, timeout_ms, grant);
    if (status != ZKL_OK) {
        return status;
    }
    stripe_search search = zkl_striped_lock_search_all(mode, timeout_ms);
    return acquire(self, &search, grant);
}

/* ---- Cancel ------------------------------------------------------------------------------- */

static bool is_lock_granted(const zkl_lock *lock) {
    bool is_decided = lock->state == LOCK_ACQUIRING && lock->decided && lock->verdict == ZKL_OK;
    return is_decided || zkl_lock_is_granted(lock);
}

static bool is_multi_lock_granted(const zkl_multi_lock *all) {
    bool is_decided = all->state == MULTI_ACQUIRING && all->decided && all->verdict == ZKL_OK;
    return is_decided || all->state == MULTI_HELD;
}

/* Though its caller may not have been told yet. */
static bool is_granted(const zkl_striped_lock *self) {
    for (int32_t i = 0; i < self->stripes; i++) {
        if (is_lock_granted(self->locks[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < STRIPED_MODES; i++) {
        if (self->all[i] != NULL && is_multi_lock_granted(self->all[i])) {
            return true;
        }
    }
    return false;
}

static void call_off(const zkl_striped_lock *self) {
    for (int32_t i = 0; i < self->stripes; i++) {
        zkl_lock_call_off(self->locks[i]);
    }
    for (size_t i = 0; i < STRIPED_MODES; i++) {
        if (self->all[i] != NULL) {
            zkl_multi_lock_call_off(self->all[i]);
        }
    }
}

int zkl_striped_lock_cancel(zkl_striped_lock *self) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    int status = zkl_striped_lock_check_handle(self);
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    if (self->client->closed) {
        return leave(self, ZKL_CLOSED);
    }
    if (self->state != STRIPED_ACQUIRING || self->cancelled || is_granted(self)) {
        return leave(self, ZKL_NOT_WAITING);
    }
    self->cancelled = true;
    call_off(self);
    return leave(self, ZKL_OK);
}

/* ---- What is held ------------------------------------------------------------------------- */

/* What is held is not changed by another thread. */
zkl_lock *zkl_striped_lock_held(const zkl_striped_lock *self, zkl_multi_lock **all) {
    bool is_all = self->search.last == ZKL_ALL_STRIPES;
    *all = is_all ? self->all[self->search.mode] : NULL;
    return is_all ? NULL : self->locks[self->search.last];
}

static int find_held(const zkl_striped_lock *self) {
    if (self->client->closed) {
        return ZKL_CLOSED;
    }
    return self->state == STRIPED_HELD ? ZKL_OK : ZKL_NOT_HELD;
}

int zkl_striped_lock_check(zkl_striped_lock *self, int64_t *lease_left_ms) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    if (lease_left_ms != NULL) {
        *lease_left_ms = 0;
    }
    int status = zkl_striped_lock_check_handle(self);
    if (status != ZKL_OK) {
        return status;
    }
    enter(self);
    status = leave(self, find_held(self));
    if (status != ZKL_OK) {
        return status;
    }
    zkl_multi_lock *all = NULL;
    const zkl_lock *one = zkl_striped_lock_held(self, &all);
    return one == NULL ? zkl_multi_lock_check(all, lease_left_ms)
                       : zkl_lock_check(one, lease_left_ms);
}

int zkl_striped_lock_begin_release(zkl_striped_lock *self, stripe_call *call) {
    enter(self);
    int status = find_held(self);
    if (status == ZKL_OK) {
        self->state = STRIPED_RELEASING;
        self->call = call;
        if (self->closing) { /* it comes from the callback that close waits for */
            zkl_striped_lock_calls_leave(self);
        }
    } else if (status == ZKL_NOT_HELD && self->state != STRIPED_IDLE) {
        status = ZKL_HANDLE_IN_USE;
    }
    return leave(self, status);
}

void zkl_striped_lock_set_state(zkl_striped_lock *self, striped_state state) {
    enter(self);
    self->state = state;
    self->call = NULL;
    (void)leave(self, ZKL_OK);
}

int zkl_striped_lock_release(zkl_striped_lock *self, int64_t timeout_ms) {
    ZKL_NOT_CANCELLED;
    int status = zkl_striped_lock_check_call(self, timeout_ms);
    if (status == ZKL_OK && timeout_ms != 0 && zkl_callback_is_running()) {
        status = ZKL_IN_CALLBACK;
    }
    if (status == ZKL_OK) {
        status = zkl_striped_lock_begin_release(self, NULL);
    }
    if (status != ZKL_OK) {
        return status;
    }
    zkl_multi_lock *all = NULL;
    zkl_lock *one = zkl_striped_lock_held(self, &all);
    status =
        one == NULL ? zkl_multi_lock_release(all, timeout_ms) : zkl_lock_release(one, timeout_ms);
    zkl_striped_lock_set_state(self, STRIPED_IDLE);
    return status;
}
