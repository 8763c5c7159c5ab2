#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "input.h"
#include "threads.h"
#include "zookeeper/request_runner.h"

typedef enum lock_state {
    LOCK_IDLE,
    LOCK_ACQUIRING, /* a thread waits for the verdict */
    LOCK_HELD,
    LOCK_LOST,     /* was granted, then lost; until released */
    LOCK_RELEASING /* a thread waits for the node to be gone */
} lock_state;

/* All fields but the first four, which never change, belong to the client's mutex. */
struct zkl_lock {
    zkl_client *client;
    char *resource;
    char *path;
    bool fail_on_session_expiry;
    lock_state state;
    zkl_request_runner *runner; /* of the request under way; NULL when it has ended */
    bool decided;
    int verdict;
    bool lost;      /* after the grant */
    bool abandoned; /* the request ended with its client, not by a server's word */
    size_t threads; /* inside a blocking call on this handle */
    bool closing;
    pthread_cond_t changed;
};

/* ---- What the request tells, with the mutex held ---------------------------- */

static void on_decided(void *arg, int status) {
    zkl_lock *lock = arg;
    lock->decided = true;
    lock->verdict = status;
    pthread_cond_broadcast(&lock->changed);
}

static void on_lost(void *arg, int status) {
    zkl_lock *lock = arg;
    (void)status;
    lock->lost = true;
    if (lock->state == LOCK_HELD) {
        lock->state = LOCK_LOST;
    }
}

static void on_ended(void *arg) {
    zkl_lock *lock = arg;
    lock->runner = NULL;
    lock->abandoned = lock->client->session.finished;
    pthread_cond_broadcast(&lock->changed);
}

/* ---- Opening and closing ------------------------------------------------------ */

static zkl_lock *make_lock(zkl_client *client, const char *resource,
                           const zkl_lock_options *options) {
    char path[ZKL_PARENT_PATH_SIZE];
    zkl_client_resource_path(client, resource, path);
    zkl_lock *lock = calloc(1, sizeof(*lock));
    if (lock == NULL) {
        return NULL;
    }
    lock->resource = strdup(resource);
    lock->path = strdup(path);
    if (lock->resource == NULL || lock->path == NULL) {
        free(lock->resource);
        free(lock->path);
        free(lock);
        return NULL;
    }
    lock->client = client;
    lock->fail_on_session_expiry = options->fail_on_session_expiry != 0;
    zkl_condition_begin(&lock->changed);
    return lock;
}

int zkl_lock_open(zkl_client *client, const char *resource, const zkl_lock_options *given,
                  zkl_lock **result) {
    zkl_input_clear();
    static const zkl_lock_options defaults = ZKL_LOCK_OPTIONS_INIT;
    const zkl_lock_options *options = given != NULL ? given : &defaults;
    int status = zkl_input_check_pointer("lock", result);
    if (status != ZKL_OK) {
        return status;
    }
    *result = NULL;
    status = zkl_input_check_pointer("client", client);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("resource", resource);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_resource(resource);
    }
    if (status == ZKL_OK) {
        status =
            zkl_input_check_struct_size("zkl_lock_options", options->struct_size, sizeof(*options));
    }
    if (status != ZKL_OK) {
        return status;
    }
    zkl_lock *lock = make_lock(client, resource, options);
    if (lock == NULL) {
        return ZKL_NO_MEMORY;
    }
    pthread_mutex_lock(&client->mutex);
    zkl_client_keep(client);
    pthread_mutex_unlock(&client->mutex);
    *result = lock;
    return ZKL_OK;
}

/* The request goes on without us until its node is gone. */
static void let_go(zkl_lock *lock) {
    if (lock->runner != NULL) {
        zkl_request_runner_disown(lock->runner);
        lock->runner = NULL;
    }
}

static void feed(zkl_lock *lock, zkl_event_kind kind, int status) {
    if (lock->runner != NULL) {
        zkl_request_runner_feed(lock->runner, &(zkl_event){ .kind = kind, .status = status });
    }
}

void zkl_lock_close(zkl_lock *lock) {
    if (lock == NULL) {
        return;
    }
    zkl_client *client = lock->client;
    pthread_mutex_lock(&client->mutex);
    lock->closing = true;
    if (lock->state == LOCK_ACQUIRING) {
        feed(lock, ZKL_EVENT_CANCELLED, ZKL_CANCELLED);
    }
    pthread_cond_broadcast(&lock->changed);
    while (lock->threads > 0) {
        pthread_cond_wait(&lock->changed, &client->mutex);
    }
    if (lock->state == LOCK_HELD) {
        feed(lock, ZKL_EVENT_RELEASED, ZKL_OK);
    }
    let_go(lock);
    pthread_mutex_unlock(&client->mutex);
    pthread_cond_destroy(&lock->changed);
    free(lock->resource);
    free(lock->path);
    free(lock);
    zkl_client_drop(client);
}

/* ---- Blocking calls --------------------------------------------------------------- */

static void enter(zkl_lock *lock) {
    lock->threads++;
}

static void leave(zkl_lock *lock) {
    lock->threads--;
    if (lock->closing) {
        pthread_cond_broadcast(&lock->changed);
    }
}

/* ---- Acquire ------------------------------------------------------------------------ */

static int check_acquire(const zkl_lock *lock, zkl_mode mode, int64_t timeout_ms,
                         const zkl_grant *grant) {
    int status = zkl_input_check_pointer("lock", lock);
    if (status == ZKL_OK) {
        status = zkl_input_check_mode(mode);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, ZKL_FOREVER, INT64_MAX,
                                       ZKL_INVALID_TIMEOUT);
    }
    if (status == ZKL_OK && grant != NULL) {
        status = zkl_input_check_struct_size("zkl_grant", grant->struct_size, sizeof(*grant));
    }
    if (status == ZKL_OK && zkl_callback_thread_is_current()) {
        status = ZKL_IN_CALLBACK;
    }
    return status;
}

/* Whether the handle can begin an acquire now. */
static int check_idle(const zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    switch (lock->state) {
    case LOCK_IDLE:
        return lock->client->session.auth_failed ? ZKL_AUTH_FAILED : ZKL_OK;
    case LOCK_HELD:
    case LOCK_LOST:
        return ZKL_ALREADY_HELD;
    case LOCK_ACQUIRING:
    case LOCK_RELEASING:
        break;
    }
    return ZKL_HANDLE_IN_USE;
}

static void fill_grant(const zkl_lock *lock, zkl_grant *grant) {
    const zkl_request_runner *runner = lock->runner;
    if (grant == NULL || runner == NULL) {
        return;
    }
    grant->token = runner->request.zxid;
    grant->mode = runner->request.mode;
    grant->waited_ms = runner->granted_ms - runner->started_ms;
    zkl_request_runner_node_path(runner, grant->node, sizeof(grant->node));
}

static int start_request(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms) {
    zkl_run_options options = {
        .mode = mode,
        .resource = lock->resource,
        .parent_path = lock->path,
        .timeout_ms = timeout_ms,
        .fail_on_session_expiry = lock->fail_on_session_expiry,
        .owner = { lock, on_decided, on_lost, on_ended },
    };
    lock->decided = false;
    lock->lost = false;
    lock->abandoned = false;
    lock->state = LOCK_ACQUIRING;
    int status = zkl_request_runner_start(&lock->client->session, &options, &lock->runner);
    if (status != ZKL_OK) {
        lock->state = LOCK_IDLE;
    }
    return status;
}

/* A lock that was granted, but lost or given back before its acquire returned,
 * was never held for the caller. */
static int verdict_for_caller(const zkl_lock *lock) {
    if (lock->verdict != ZKL_OK) {
        return lock->verdict;
    }
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    if (lock->closing) {
        return ZKL_CANCELLED;
    }
    bool held = !lock->lost && lock->runner != NULL && lock->runner->request.held;
    return held ? ZKL_OK : ZKL_SESSION_EXPIRED;
}

static int take_verdict(zkl_lock *lock, zkl_grant *grant) {
    int status = verdict_for_caller(lock);
    if (status == ZKL_OK) {
        lock->state = LOCK_HELD;
        fill_grant(lock, grant);
        return status;
    }
    lock->state = LOCK_IDLE;
    if (lock->verdict == ZKL_OK) {
        feed(lock, ZKL_EVENT_RELEASED, ZKL_OK);
    }
    let_go(lock);
    return status;
}

static int acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, zkl_grant *grant) {
    int status = check_idle(lock);
    if (status == ZKL_OK) {
        status = start_request(lock, mode, timeout_ms);
    }
    if (status != ZKL_OK) {
        return status;
    }
    while (!lock->decided) {
        pthread_cond_wait(&lock->changed, &lock->client->mutex);
    }
    return take_verdict(lock, grant);
}

int zkl_lock_acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, zkl_grant *grant) {
    zkl_input_clear();
    int status = check_acquire(lock, mode, timeout_ms, grant);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    enter(lock);
    status = acquire(lock, mode, timeout_ms, grant);
    leave(lock);
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

int zkl_lock_cancel(zkl_lock *lock) {
    zkl_input_clear();
    int status = zkl_input_check_pointer("lock", lock);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    if (lock->client->closed) {
        status = ZKL_CLOSED;
    } else if (lock->state != LOCK_ACQUIRING || lock->decided) {
        status = ZKL_NOT_WAITING;
    } else {
        feed(lock, ZKL_EVENT_CANCELLED, ZKL_CANCELLED);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

/* ---- Check --------------------------------------------------------------------------- */

static int check_held(const zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    if (lock->state == LOCK_LOST) {
        return ZKL_LOST;
    }
    if (lock->state != LOCK_HELD) {
        return ZKL_NOT_HELD;
    }
    return lock->client->session.connected ? ZKL_OK : ZKL_SUSPECT;
}

int zkl_lock_check(const zkl_lock *lock, int64_t *lease_left_ms) {
    zkl_input_clear();
    int status = zkl_input_check_pointer("lock", lock);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    status = check_held(lock);
    pthread_mutex_unlock(&lock->client->mutex);
    if (lease_left_ms != NULL) {
        *lease_left_ms = -1;
    }
    return status;
}

/* ---- Release --------------------------------------------------------------------------- */

/* The request is over: all that is left to tell is that its holder knows. */
static void log_lost_released(const zkl_lock *lock) {
    zkl_log_record record = zkl_log_record_begin(ZKL_LOG_INFO, ZKL_LOG_RELEASED);
    record.resource = lock->resource;
    record.owner = lock->client->label;
    record.status = ZKL_LOST;
    record.session_id = lock->client->session.id;
    zkl_log_write(lock->client->log, &record);
}

static int release_lost(zkl_lock *lock) {
    lock->state = LOCK_IDLE;
    log_lost_released(lock);
    let_go(lock);
    return ZKL_LOST;
}

static int wait_until_gone(zkl_lock *lock, int64_t timeout_ms) {
    int64_t start = zkl_clock_ms();
    while (lock->runner != NULL && !lock->closing) {
        int64_t passed = zkl_clock_ms() - start;
        int64_t left = timeout_ms == ZKL_FOREVER ? INT64_MAX : timeout_ms - passed;
        if (left <= 0) {
            break;
        }
        zkl_condition_wait(&lock->changed, &lock->client->mutex, left);
    }
    if (lock->runner != NULL) {
        return ZKL_PENDING;
    }
    return lock->abandoned ? ZKL_CLOSED : ZKL_OK;
}

static int release_held(zkl_lock *lock, int64_t timeout_ms) {
    lock->state = LOCK_RELEASING;
    feed(lock, ZKL_EVENT_RELEASED, ZKL_OK);
    int status = timeout_ms == 0 ? ZKL_OK : wait_until_gone(lock, timeout_ms);
    let_go(lock);
    lock->state = LOCK_IDLE;
    return status;
}

static int release(zkl_lock *lock, int64_t timeout_ms) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    switch (lock->state) {
    case LOCK_HELD:
        return release_held(lock, timeout_ms);
    case LOCK_LOST:
        return release_lost(lock);
    case LOCK_IDLE:
        return ZKL_NOT_HELD;
    case LOCK_ACQUIRING:
    case LOCK_RELEASING:
        break;
    }
    return ZKL_HANDLE_IN_USE;
}

int zkl_lock_release(zkl_lock *lock, int64_t timeout_ms) {
    zkl_input_clear();
    int status = zkl_input_check_pointer("lock", lock);
    if (status == ZKL_OK) {
        status = zkl_input_check_range("timeout_ms", timeout_ms, ZKL_FOREVER, INT64_MAX,
                                       ZKL_INVALID_TIMEOUT);
    }
    if (status == ZKL_OK && timeout_ms != 0 && zkl_callback_thread_is_current()) {
        status = ZKL_IN_CALLBACK;
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    enter(lock);
    status = release(lock, timeout_ms);
    leave(lock);
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}
