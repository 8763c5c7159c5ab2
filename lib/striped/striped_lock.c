/*
 * A striped lock is a handle for each of its stripes, and one for all of them in each mode. An
 * acquire asks one of these handles, or one after the other, by public functions. The handle that
 * was granted holds the lock, and releases it.
 */
#include "zklock/striped_lock.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/handles.h"
#include "base/threads.h"
#include "base/validation.h"
#include "handle/lock_search.h"

enum {
    MODES = 3, /* handles of all stripes: ZKL_EXCLUSIVE, ZKL_READ, ZKL_WRITE */
    STRIPE_PATH_SIZE = ZKL_ROOT_MAX + ZKL_RESOURCE_MAX + 16
};

struct zkl_striped_lock {
    zkl_handle open; /* first */
    bool fail_on_session_expiry;
    int32_t stripes;
    pthread_mutex_t mutex; /* guards what follows; never taken under the client's */
    size_t references;     /* one for the open handle, and one for an acquire under way */
    bool closed;
    bool searching;          /* an acquire is under way */
    bool asks;               /* a thread is in a call on one of the locks, or about to begin it */
    pthread_cond_t returned; /* signalled when that call has returned */
    zkl_lock_search search;
    zkl_mode mode; /* that of the search. So are all fields from here to `arg` */
    int64_t timeout_ms;
    int64_t began_ms;
    int32_t first;   /* the stripe that is asked for first, or ZKL_ALL_STRIPES */
    int32_t tries;   /* how many stripes are tried before the first one is waited for */
    int32_t asked;   /* how many stripes were asked for so far */
    bool was_busy;   /* one of them was */
    int32_t last;    /* the stripe that was asked for last, or ZKL_ALL_STRIPES */
    int64_t last_ms; /* the timeout of that call */
    bool too_late;   /* a cancel came after an answer: no other stripe is asked for */
    zkl_acquire_callback *callback;
    void *arg;
    zkl_lock *locks[]; /* one for all stripes in each mode; then one for each stripe */
};

int32_t zkl_stripe_of_key(const void *key, size_t size, int32_t stripes) {
    const unsigned char *bytes = key;
    uint64_t hash = 0xcbf29ce484222325U;
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ bytes[i]) * 0x100000001b3U;
    }
    return stripes > 0 ? (int32_t)(hash % (uint64_t)stripes) : 0;
}

/* Finds the handle of a stripe, or of all stripes in a mode. */
static zkl_lock **striped_find(zkl_striped_lock *self, int32_t stripe, zkl_mode mode) {
    return &self->locks[stripe == ZKL_ALL_STRIPES ? (int)mode : MODES + stripe];
}

/* Returns the handle that was asked last. */
static zkl_lock *find_last(zkl_striped_lock *self) {
    return *striped_find(self, self->last, self->mode);
}

/* ---- Opening and closing ------------------------------------------------------------------ */

/* Accepts these options; all others must be as in ZKL_LOCK_OPTIONS_INIT. */
static int striped_check_options(const zkl_lock_options *options) {
    zkl_lock_options allowed = ZKL_LOCK_OPTIONS_INIT;
    allowed.struct_size = options->struct_size;
    allowed.fail_on_session_expiry = options->fail_on_session_expiry;
    allowed.max_hold_ms = options->max_hold_ms;
    allowed.max_waiting = options->max_waiting;
    allowed.resource_class = options->resource_class;
    allowed.owner = options->owner;
    return memcmp(options, &allowed, sizeof(allowed)) == 0
               ? ZKL_OK
               : zkl_refuse("options", NULL,
                            "of stripes are fail_on_session_expiry, max_hold_ms, max_waiting, "
                            "resource_class and owner; leave the others as they begin");
}

static int open_locks(zkl_striped_lock *self, zkl_client *client, zkl_lock_member *members,
                      const zkl_lock_options *given) {
    zkl_lock_options of_all = *given;
    of_all.max_waiting = 0;
    for (int32_t i = 0; i < self->stripes; i++) {
        ZKL_TRY(zkl_lock_open(client, members[i].resource, given,
                              striped_find(self, i, ZKL_EXCLUSIVE)));
    }
    for (int mode = 0; mode < MODES; mode++) {
        for (int32_t i = 0; i < self->stripes; i++) {
            members[i].mode = (zkl_mode)mode;
        }
        ZKL_TRY(zkl_lock_open_set(client, members, (size_t)self->stripes, &of_all,
                                  striped_find(self, ZKL_ALL_STRIPES, (zkl_mode)mode)));
    }
    for (int32_t i = 0; i < MODES + self->stripes; i++) {
        zkl_lock_join_search(self->locks[i], &self->search);
    }
    return ZKL_OK;
}

static int open_stripes(zkl_striped_lock *self, zkl_client *client, const char *lock_root,
                        const char *resource, const zkl_lock_options *options) {
    char paths[ZKL_STRIPES_MAX][STRIPE_PATH_SIZE];
    zkl_lock_member members[ZKL_STRIPES_MAX];
    bool is_path = resource[0] == '/';
    for (int32_t i = 0; i < self->stripes; i++) {
        int length = snprintf(paths[i], STRIPE_PATH_SIZE, "%s%s%s/" ZKL_STRIPE_NODE,
                              is_path ? "" : lock_root, is_path ? "" : "/", resource, (int)i);
        if (length > ZKL_RESOURCE_MAX) {
            return zkl_refuse("resource", resource,
                              "%d bytes as the path of a stripe, at most %d are allowed", length,
                              ZKL_RESOURCE_MAX);
        }
        members[i] = (zkl_lock_member)ZKL_LOCK_MEMBER_INIT;
        members[i].resource = paths[i];
    }
    return open_locks(self, client, members, options);
}

/* Closes all handles, that which may hold last: closing waits for callbacks of other stripes, which
 * may still look at it. */
static void close_stripes(zkl_striped_lock *self) {
    zkl_lock *last = find_last(self);
    for (int32_t i = 0; i < MODES + self->stripes; i++) {
        if (self->locks[i] != last) {
            zkl_lock_close(self->locks[i]);
        }
    }
    zkl_lock_close(last);
}

/* Gives a reference back, and frees the striped lock with the last. The caller holds the mutex,
 * which is unlocked. */
static void striped_drop(zkl_striped_lock *self) {
    bool last = --self->references == 0;
    pthread_mutex_unlock(&self->mutex);
    if (last) {
        zkl_condition_end(&self->returned);
        pthread_mutex_destroy(&self->mutex);
        free(self);
    }
}

int zkl_striped_lock_open(zkl_client *client, const char *resource, int32_t stripes,
                          const zkl_lock_options *given, zkl_striped_lock **result) {
    ZKL_BEGIN_CALL;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    ZKL_TRY(zkl_validate_pointer("striped_lock", result));
    *result = NULL;
    ZKL_TRY(zkl_client_info(client, &information));
    ZKL_TRY(zkl_validate_resource(resource));
    ZKL_TRY(zkl_validate_range("stripes", stripes, 1, ZKL_STRIPES_MAX));
    ZKL_TRY(zkl_struct_read("zkl_lock_options", given, &options, sizeof(options)));
    ZKL_TRY(striped_check_options(&options));
    size_t locks = MODES + (size_t)stripes;
    zkl_striped_lock *self = calloc(1, sizeof(*self) + locks * sizeof(zkl_lock *));
    ZKL_TRY(zkl_made(self));
    pthread_mutex_init(&self->mutex, NULL);
    zkl_condition_begin(&self->returned);
    self->references = 1;
    self->stripes = stripes;
    self->fail_on_session_expiry = options.fail_on_session_expiry != 0;
    zkl_handle_open("striped_lock", &self->open);
    int status = open_stripes(self, client, information.lock_root, resource, &options);
    if (status != ZKL_OK) {
        zkl_striped_lock_close(self);
        return status;
    }
    *result = self;
    return ZKL_OK;
}

/* Lets no further stripe be asked for. Waits for a thread that asks for one, and for a callback of
 * the last one. */
void zkl_striped_lock_close(zkl_striped_lock *self) {
    ZKL_NOT_CANCELLED;
    if (!zkl_handle_is_ours("striped_lock", self)) {
        return;
    }
    pthread_mutex_lock(&self->mutex);
    self->closed = true;
    while (self->asks) {
        (void)zkl_lock_cancel(find_last(self));
        (void)zkl_condition_wait(&self->returned, &self->mutex, INT64_MAX);
    }
    pthread_mutex_unlock(&self->mutex);
    close_stripes(self);
    zkl_handle_close(&self->open); /* until here a callback may have called with the handle */
    pthread_mutex_lock(&self->mutex);
    striped_drop(self);
}

/* ---- Which stripe is next; the caller holds the mutex ---------------------------------------- */

static int64_t striped_time_left(const zkl_striped_lock *self) {
    if (self->timeout_ms == ZKL_FOREVER) {
        return ZKL_FOREVER;
    }
    int64_t left = self->timeout_ms - (zkl_clock_ms() - self->began_ms);
    return left > 0 ? left : 0;
}

/* Tells whether to try another stripe, after this one was taken, could not be had, or could not be
 * asked for now. */
static bool may_ask_another(const zkl_striped_lock *self, int status) {
    bool was_try = self->asked <= self->tries;
    bool rejoins = status == ZKL_SESSION_EXPIRED && !self->fail_on_session_expiry;
    bool is_for_now = status == ZKL_DISCONNECTED || status == ZKL_SERVER_REFUSED || rejoins;
    bool is_its_own = status == ZKL_BUSY || status == ZKL_QUEUE_FULL ||
                      status == ZKL_SEQUENCE_EXHAUSTED || status == ZKL_TIMEOUT;
    return was_try && (is_its_own || (is_for_now && self->timeout_ms != 0));
}

/* Chooses the next stripe to ask for. `status`: how the last one ended. False: none is asked for
 * any more, and `status` is how the acquire ends. The deadline of the acquire ends each try too. */
static bool asks_on(zkl_striped_lock *self, int *status) {
    bool is_first = self->asked == 0;
    self->was_busy = self->was_busy || (!is_first && *status == ZKL_BUSY);
    if (!is_first && (self->closed || self->too_late || !may_ask_another(self, *status))) {
        return false;
    }
    int64_t left_ms = is_first ? self->timeout_ms : striped_time_left(self);
    bool tries = self->asked < self->tries;
    if (!is_first && left_ms == 0 && (self->timeout_ms != 0 || !tries)) {
        int late = *status == ZKL_DISCONNECTED ? ZKL_DISCONNECTED : ZKL_TIMEOUT;
        *status = self->timeout_ms != 0 ? late : self->was_busy ? ZKL_BUSY : *status;
        return false;
    }
    self->last = tries ? (self->first + self->asked) % self->stripes : self->first;
    self->last_ms = tries ? 0 : left_ms;
    self->search.try_within_ms = tries ? left_ms : 0;
    self->asked++;
    return true;
}

/* ---- Acquire ------------------------------------------------------------------------------- */

/* Checks that what was acquired last has been released. */
static int check_free(zkl_striped_lock *self) {
    zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
    ZKL_TRY(zkl_lock_info(find_last(self), &now));
    switch (now.state) {
    case ZKL_STATE_IDLE:
        return ZKL_OK;
    case ZKL_STATE_ACQUIRING:
    case ZKL_STATE_RELEASING:
        return ZKL_HANDLE_IN_USE;
    case ZKL_STATE_LOST:
        zkl_error_note("striped lock", NULL, "its grant was lost; release it first");
        /* fall through */
    default:
        return ZKL_ALREADY_HELD;
    }
}

/* Begins an acquire. ZKL_OK: it is under way, the handle is not freed before striped_drop(), even
 * if another thread closes it, and the mutex is held. */
static int striped_begin(zkl_striped_lock *self, int32_t stripe, zkl_mode mode,
                         int64_t timeout_ms) {
    ZKL_TRY(zkl_handle_check("striped_lock", self));
    ZKL_TRY(zkl_validate_range("stripe", stripe, ZKL_ANY_STRIPE, self->stripes - 1));
    ZKL_TRY(zkl_validate_mode(mode, false));
    ZKL_TRY(zkl_validate_range("timeout_ms", timeout_ms, ZKL_FOREVER, INT64_MAX));
    pthread_mutex_lock(&self->mutex);
    int status = check_free(self);
    if (status != ZKL_OK || self->searching || self->closed) {
        pthread_mutex_unlock(&self->mutex);
        return status != ZKL_OK ? status : ZKL_HANDLE_IN_USE;
    }
    bool any = stripe == ZKL_ANY_STRIPE;
    self->references++;
    self->searching = true;
    self->search.called_off = false;
    self->too_late = false;
    self->mode = mode;
    self->timeout_ms = timeout_ms;
    self->began_ms = zkl_clock_ms();
    self->first = any ? (int32_t)zkl_random_below((uint32_t)self->stripes) : stripe;
    self->tries = any ? self->stripes : 0;
    self->asked = 0;
    self->was_busy = false;
    return ZKL_OK;
}

/* Ends an acquire, and returns its status. If the handle was closed meanwhile, nothing is held, or
 * will be released soon. The caller holds the mutex. */
static int striped_end(zkl_striped_lock *self, int status, zkl_grant *grant) {
    self->searching = false;
    bool was_cancelled = self->closed || (self->search.called_off && status != ZKL_OK);
    if (was_cancelled && status != ZKL_CLOSED) {
        return ZKL_CANCELLED;
    }
    if (status == ZKL_OK) {
        grant->stripe = self->last;
        grant->mode = self->mode;
        grant->waited_ms = zkl_clock_ms() - self->began_ms;
    }
    return status;
}

static zkl_mode mode_of_last(const zkl_striped_lock *self) {
    return self->last == ZKL_ALL_STRIPES ? ZKL_AS_OPENED : self->mode;
}

/* Asks for the chosen stripe, and waits for it. The caller holds the mutex, which is unlocked
 * meanwhile. */
static int striped_ask(zkl_striped_lock *self, zkl_grant *grant) {
    zkl_lock *lock = find_last(self);
    self->asks = true;
    pthread_mutex_unlock(&self->mutex);
    int status = zkl_lock_acquire(lock, mode_of_last(self), self->last_ms, grant);
    pthread_mutex_lock(&self->mutex);
    self->asks = false;
    zkl_condition_broadcast(&self->returned);
    return status;
}

int zkl_striped_lock_acquire(zkl_striped_lock *self, int32_t stripe, zkl_mode mode,
                             int64_t timeout_ms, zkl_grant *grant) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_struct_size("zkl_grant", grant, sizeof(*grant)));
    ZKL_TRY(striped_begin(self, stripe, mode, timeout_ms));
    zkl_grant filled = ZKL_GRANT_INIT;
    int status = ZKL_OK;
    while (asks_on(self, &status)) {
        status = striped_ask(self, &filled);
    }
    status = striped_end(self, status, &filled);
    striped_drop(self);
    if (status == ZKL_OK && grant != NULL) {
        zkl_struct_fill(grant, &filled);
    }
    return status;
}

/* ---- Acquire without waiting ---------------------------------------------------------------- */

static bool asks_on_async(zkl_striped_lock *self, int *status);

/* Takes how the stripe that was asked for last has ended, and asks for another one, or calls the
 * application back. */
static void on_stripe_answered(void *arg, int status, const zkl_grant *grant) {
    zkl_striped_lock *self = arg;
    pthread_mutex_lock(&self->mutex);
    if (asks_on_async(self, &status)) {
        pthread_mutex_unlock(&self->mutex);
        return;
    }
    zkl_grant granted = status == ZKL_OK ? *grant : (zkl_grant)ZKL_GRANT_INIT;
    status = striped_end(self, status, &granted);
    zkl_acquire_callback *callback = self->callback;
    void *of_callback = self->arg;
    pthread_mutex_unlock(&self->mutex);
    callback(of_callback, status, status == ZKL_OK ? &granted : NULL);
    pthread_mutex_lock(&self->mutex);
    striped_drop(self);
}

/* Asks for the next stripe. True: its callback will come. False: `status` is how the acquire ends.
 * The caller holds the mutex, so the callback waits until all fields are set. */
static bool asks_on_async(zkl_striped_lock *self, int *status) {
    if (!asks_on(self, status)) {
        return false;
    }
    *status = zkl_lock_acquire_async(find_last(self), mode_of_last(self), self->last_ms, NULL,
                                     on_stripe_answered, self);
    return *status == ZKL_OK;
}

int zkl_striped_lock_acquire_async(zkl_striped_lock *self, int32_t stripe, zkl_mode mode,
                                   int64_t timeout_ms, zkl_acquire_callback *callback, void *arg) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("callback", (const void *)(uintptr_t)callback));
    ZKL_TRY(striped_begin(self, stripe, mode, timeout_ms));
    int status = ZKL_OK;
    self->callback = callback;
    self->arg = arg;
    if (asks_on_async(self, &status)) {
        pthread_mutex_unlock(&self->mutex);
        return ZKL_OK;
    }
    status = striped_end(self, status, NULL);
    striped_drop(self);
    return status;
}

/* ---- Cancel, and what is held ---------------------------------------------------------------- */

int zkl_striped_lock_cancel(zkl_striped_lock *self) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_handle_check("striped_lock", self));
    ZKL_WITH_MUTEX(&self->mutex);
    if (!self->searching || self->search.called_off) {
        zkl_lock_information now = ZKL_LOCK_INFORMATION_INIT;
        return zkl_lock_info(find_last(self), &now) == ZKL_CLOSED ? ZKL_CLOSED : ZKL_NOT_WAITING;
    }
    int status = zkl_lock_cancel(find_last(self));
    self->too_late = status == ZKL_NOT_WAITING;
    return status;
}

/* Returns the handle that was granted. In a forked child the mutex may belong to a thread that does
 * not exist there: then it returns any of the handles, which all say ZKL_FORKED. */
zkl_lock *zkl_striped_lock_held(zkl_striped_lock *self) {
    if (!zkl_handle_is_ours("striped_lock", self)) {
        return zkl_handle_is_open("striped_lock", self) ? self->locks[0] : NULL;
    }
    ZKL_WITH_MUTEX(&self->mutex);
    return find_last(self);
}
