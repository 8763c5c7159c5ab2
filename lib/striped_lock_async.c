/* A call is told by the callbacks of the handles that the striped lock is made of, one after the
 * other where it tries several stripes; the last of them calls the application's. */
#include <stdlib.h>

#include "input.h"
#include "striped_lock.h"
#include "threads.h"

/* What a call owes the application, which may outlive the handle; one of the two callbacks. */
struct stripe_call {
    zkl_client *client;     /* whose callbacks these are: it is there */
    zkl_striped_lock *self; /* NULL: it is closed; with the mutex */
    zkl_striped_lock_acquire_callback *acquired;
    zkl_release_callback *released;
    void *arg;
};

static int make(zkl_striped_lock *self, void *arg, stripe_call **result) {
    *result = calloc(1, sizeof(**result));
    if (*result == NULL) {
        return ZKL_NO_MEMORY;
    }
    (*result)->client = self->client;
    (*result)->self = self;
    (*result)->arg = arg;
    return ZKL_OK;
}

void zkl_striped_lock_calls_leave(zkl_striped_lock *self) {
    if (self->call != NULL) {
        self->call->self = NULL;
        self->call = NULL;
    }
}

/* ---- Acquire ---------------------------------------------------------------------- */

/* The handle, which stays until the step is over. NULL: it is closed. */
static zkl_striped_lock *begin_step(stripe_call *call) {
    pthread_mutex_lock(&call->client->mutex);
    zkl_striped_lock *self = call->self;
    if (self != NULL) {
        self->steps++;
    }
    pthread_mutex_unlock(&call->client->mutex);
    return self;
}

/* With the mutex. */
static void end_step(zkl_striped_lock *self) {
    self->steps--;
    zkl_condition_broadcast(&self->changed);
}

/* Another stripe was asked for: the call is its callback's from here on. */
static void leave_step(zkl_striped_lock *self) {
    zkl_client *client = self->client;
    pthread_mutex_lock(&client->mutex);
    end_step(self);
    pthread_mutex_unlock(&client->mutex);
}

/* Closed meanwhile, it holds nothing, or will soon. */
static int settle(stripe_call *call, zkl_striped_lock *self, int status, zkl_stripe_grant *grant) {
    zkl_client *client = call->client;
    pthread_mutex_lock(&client->mutex);
    if (call->self != NULL) {
        status = zkl_striped_lock_end_acquire(self, status, grant);
    } else if (status != ZKL_CLOSED) {
        status = ZKL_CANCELLED;
    }
    if (self != NULL) {
        end_step(self);
    }
    pthread_mutex_unlock(&client->mutex);
    return status;
}

static int ask(stripe_call *call, zkl_striped_lock *self);

/* How the last stripe that was asked for ended. */
static void go_on(stripe_call *call, int status, int64_t token) {
    zkl_stripe_grant grant = ZKL_STRIPE_GRANT_INIT;
    zkl_striped_lock *self = begin_step(call);
    if (self != NULL && zkl_striped_lock_asks_on(self, &status)) {
        status = ask(call, self);
        if (status == ZKL_OK) {
            leave_step(self);
            return;
        }
    }
    grant.token = token;
    status = settle(call, self, status, &grant);
    call->acquired(call->arg, status, status == ZKL_OK ? &grant : NULL);
    free(call);
}

static void on_one(void *arg, int status, const zkl_grant *grant) {
    go_on(arg, status, grant != NULL ? grant->token : 0);
}

static void on_all(void *arg, int status, const zkl_multi_lock_grant *grant) {
    go_on(arg, status, grant != NULL ? grant->token : 0);
}

static int ask(stripe_call *call, zkl_striped_lock *self) {
    const stripe_search *search = &self->search;
    zkl_multi_lock *all = NULL;
    if (search->last != ZKL_ALL_STRIPES) {
        return zkl_lock_acquire_async(self->locks[search->last], search->mode, search->last_ms,
                                      NULL, on_one, call);
    }
    int status = zkl_striped_lock_open_all(self, search->mode, &all);
    return status == ZKL_OK ? zkl_multi_lock_acquire_async(all, search->last_ms, on_all, call)
                            : status;
}

static int begin(zkl_striped_lock *self, const stripe_search *search, stripe_call *call) {
    int status = zkl_striped_lock_begin_acquire(self, search, call);
    if (status != ZKL_OK) {
        return status;
    }
    (void)zkl_striped_lock_asks_on(self, &status);
    status = ask(call, self);
    if (status != ZKL_OK) {
        zkl_striped_lock_set_state(self, STRIPED_IDLE);
    }
    return status;
}

static int acquire(zkl_striped_lock *self, const stripe_search *search,
                   zkl_striped_lock_acquire_callback *callback, void *arg) {
    stripe_call *call = NULL;
    int status = make(self, arg, &call);
    if (status != ZKL_OK) {
        return status;
    }
    call->acquired = callback;
    status = begin(self, search, call);
    if (status != ZKL_OK) {
        free(call);
    }
    return status;
}

static int check(const zkl_striped_lock *self, int64_t timeout_ms,
                 zkl_striped_lock_acquire_callback *callback) {
    int status = zkl_striped_lock_check_call(self, timeout_ms);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("callback", (const void *)(uintptr_t)callback);
    }
    return status;
}

int zkl_striped_lock_acquire_key_async(zkl_striped_lock *self, const void *key, size_t size,
                                       zkl_mode mode, int64_t timeout_ms,
                                       zkl_striped_lock_acquire_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    int status = check(self, timeout_ms, callback);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("key", key);
    }
    if (status != ZKL_OK) {
        return status;
    }
    stripe_search search = zkl_striped_lock_search_key(self, key, size, mode, timeout_ms);
    return acquire(self, &search, callback, arg);
}

int zkl_striped_lock_acquire_any_async(zkl_striped_lock *self, zkl_mode mode, int64_t timeout_ms,
                                       zkl_striped_lock_acquire_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    int status = check(self, timeout_ms, callback);
    if (status != ZKL_OK) {
        return status;
    }
    stripe_search search = zkl_striped_lock_search_any(self, mode, timeout_ms);
    return acquire(self, &search, callback, arg);
}

int zkl_striped_lock_acquire_all_async(zkl_striped_lock *self, zkl_mode mode, int64_t timeout_ms,
                                       zkl_striped_lock_acquire_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    int status = check(self, timeout_ms, callback);
    if (status != ZKL_OK) {
        return status;
    }
    stripe_search search = zkl_striped_lock_search_all(mode, timeout_ms);
    return acquire(self, &search, callback, arg);
}

/* ---- Release ---------------------------------------------------------------------- */

static void on_released(void *arg, int status) {
    stripe_call *call = arg;
    pthread_mutex_lock(&call->client->mutex);
    if (call->self != NULL) {
        call->self->state = STRIPED_IDLE;
        call->self->call = NULL;
    }
    pthread_mutex_unlock(&call->client->mutex);
    call->released(call->arg, status);
    free(call);
}

/* `call`: NULL, nobody is to be told. */
static int release(zkl_striped_lock *self, int64_t timeout_ms, stripe_call *call) {
    int status = zkl_striped_lock_begin_release(self, call);
    if (status != ZKL_OK) {
        return status;
    }
    zkl_multi_lock *all = NULL;
    zkl_lock *one = zkl_striped_lock_held(self, &all);
    zkl_release_callback *callback = call != NULL ? on_released : NULL;
    status = one == NULL ? zkl_multi_lock_release_async(all, timeout_ms, callback, call)
                         : zkl_lock_release_async(one, timeout_ms, NULL, callback, call);
    if (status != ZKL_OK) {
        zkl_striped_lock_set_state(self, STRIPED_HELD);
    } else if (call == NULL) {
        zkl_striped_lock_set_state(self, STRIPED_IDLE);
    }
    return status;
}

int zkl_striped_lock_release_async(zkl_striped_lock *self, int64_t timeout_ms,
                                   zkl_release_callback *callback, void *arg) {
    ZKL_NOT_CANCELLED;
    stripe_call *call = NULL;
    int status = zkl_striped_lock_check_call(self, timeout_ms);
    if (status == ZKL_OK && callback != NULL) {
        status = make(self, arg, &call);
    }
    if (status != ZKL_OK) {
        return status;
    }
    if (call != NULL) {
        call->released = callback;
    }
    status = release(self, timeout_ms, call);
    if (status != ZKL_OK) {
        free(call);
    }
    return status;
}
