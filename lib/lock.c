#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "input.h"
#include "lock_news.h"
#include "threads.h"
#include "zookeeper/request_runner.h"

typedef enum lock_state {
    LOCK_IDLE,
    LOCK_ACQUIRING, /* a thread waits for the verdict */
    LOCK_HELD,
    LOCK_LOST,     /* was granted, then lost; until released */
    LOCK_RELEASING /* a thread waits for the node to be gone */
} lock_state;

/* The fields of the second part belong to the client's mutex; the first never change. */
struct zkl_lock {
    zkl_client *client;
    char *resource;
    char *path;
    bool fail_on_session_expiry;
    bool reentrant;
    int64_t max_hold_ms;
    uint64_t id;
    zkl_lock_teller *teller; /* NULL: nobody is to be told */

    lock_state state;
    zkl_request_runner *runner; /* of the request under way; NULL when it has ended */
    bool decided;
    int verdict;
    bool lost; /* after the grant */
    int lost_reason;
    zkl_lock_message *last_news; /* for the news of a loss */
    pthread_t owner;             /* the thread that holds it */
    uint32_t holds;
    zkl_mode mode; /* of the grant, like what follows */
    int64_t token;
    int64_t granted_ms;
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

/* The application hears only of a grant that it has got. */
static void on_lost(void *arg, int status) {
    zkl_lock *lock = arg;
    lock->lost = true;
    lock->lost_reason = status;
    if (lock->state != LOCK_HELD) {
        return;
    }
    lock->state = LOCK_LOST;
    if (lock->teller != NULL) {
        zkl_lock_teller_tell(lock->teller, lock->last_news, ZKL_STATE_LOST, status, lock->token);
        lock->last_news = NULL;
    }
}

static void on_connection(void *arg, bool connected) {
    const zkl_lock *lock = arg;
    if (lock->state == LOCK_HELD && lock->teller != NULL) {
        zkl_lock_teller_tell(lock->teller, NULL, connected ? ZKL_STATE_HELD : ZKL_STATE_SUSPECT,
                             ZKL_OK, lock->token);
    }
}

static void on_ended(void *arg) {
    zkl_lock *lock = arg;
    lock->abandoned = lock->runner->session->finished;
    lock->runner = NULL;
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
    lock->reentrant = options->reentrant != 0;
    lock->max_hold_ms = options->max_hold_ms;
    zkl_condition_begin(&lock->changed);
    return lock;
}

static void free_lock(zkl_lock *lock) {
    pthread_cond_destroy(&lock->changed);
    free(lock->last_news);
    free(lock->resource);
    free(lock->path);
    free(lock);
}

static int check_options(const zkl_lock_options *options) {
    int status =
        zkl_input_check_struct_size("zkl_lock_options", options->struct_size, sizeof(*options));
    if (status == ZKL_OK) {
        status = zkl_input_check_range("max_hold_ms", options->max_hold_ms, 0, INT64_MAX,
                                       ZKL_INVALID_TIMEOUT);
    }
    return status;
}

static int open_teller(zkl_lock *lock, const zkl_lock_options *options) {
    if (options->state_callback == NULL) {
        return ZKL_OK;
    }
    zkl_callback_thread *thread = zkl_client_state_thread(lock->client);
    if (thread == NULL) {
        return ZKL_SYSTEM;
    }
    lock->teller = zkl_lock_teller_open(thread, lock, options->state_callback, options->state_arg);
    return lock->teller != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

/* The handle keeps the client's memory from here on. */
static int attach(zkl_lock *lock, const zkl_lock_options *options) {
    zkl_client *client = lock->client;
    pthread_mutex_lock(&client->mutex);
    int status = client->closed ? ZKL_CLOSED : open_teller(lock, options);
    if (status == ZKL_OK) {
        lock->id = ++client->last_lock_id;
        zkl_client_keep(client);
    }
    pthread_mutex_unlock(&client->mutex);
    return status;
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
        status = check_options(options);
    }
    if (status == ZKL_OK) {
        status = zkl_client_check_process(client);
    }
    if (status != ZKL_OK) {
        return status;
    }
    zkl_lock *lock = make_lock(client, resource, options);
    if (lock == NULL) {
        return ZKL_NO_MEMORY;
    }
    status = attach(lock, options);
    if (status != ZKL_OK) {
        free_lock(lock);
        return status;
    }
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
    if (lock == NULL || zkl_client_check_process(lock->client) != ZKL_OK) {
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
    if (lock->state == LOCK_HELD || lock->state == LOCK_LOST) {
        feed(lock, ZKL_EVENT_RELEASED, ZKL_OK);
    }
    let_go(lock);
    pthread_mutex_unlock(&client->mutex);
    zkl_lock_teller_close(lock->teller);
    free_lock(lock);
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

/* The timer of the lease may be late, above all when this process was stopped. */
static void look_at_lease(const zkl_lock *lock) {
    if (lock->runner != NULL) {
        zkl_liveness_check_lease(&lock->runner->session->liveness);
    }
}

/* Before the mutex of the client is taken. */
static int check_handle(const zkl_lock *lock) {
    int status = zkl_input_check_pointer("lock", lock);
    return status == ZKL_OK ? zkl_client_check_process(lock->client) : status;
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
    if (status == ZKL_OK) {
        status = zkl_client_check_process(lock->client);
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
        return ZKL_OK;
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

/* The news of a loss must not fail for want of memory. */
static int prepare_news(zkl_lock *lock) {
    if (lock->teller != NULL && lock->last_news == NULL) {
        lock->last_news = zkl_lock_message_make();
        return lock->last_news != NULL ? ZKL_OK : ZKL_NO_MEMORY;
    }
    return ZKL_OK;
}

static int start_request(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms) {
    zkl_run_options options = {
        .mode = mode,
        .resource = lock->resource,
        .parent_path = lock->path,
        .timeout_ms = timeout_ms,
        .max_hold_ms = lock->max_hold_ms,
        .fail_on_session_expiry = lock->fail_on_session_expiry,
        .owner_id = lock->id,
        .owner = { lock, on_decided, on_lost, on_connection, on_ended },
    };
    lock->decided = false;
    lock->lost = false;
    lock->lost_reason = ZKL_OK;
    lock->abandoned = false;
    lock->state = LOCK_ACQUIRING;
    zkl_session *session = NULL;
    int status = prepare_news(lock);
    if (status == ZKL_OK) {
        status = zkl_client_choose_session(lock->client, lock->path, &session);
    }
    if (status == ZKL_OK) {
        status = zkl_request_runner_start(session, &options, &lock->runner);
    }
    if (status != ZKL_OK) {
        lock->state = LOCK_IDLE;
    }
    return status;
}

static bool is_owner(const zkl_lock *lock) {
    return pthread_equal(lock->owner, pthread_self()) != 0;
}

static void begin_hold(zkl_lock *lock) {
    const zkl_request_runner *runner = lock->runner;
    lock->state = LOCK_HELD;
    lock->owner = pthread_self();
    lock->holds = 1;
    lock->mode = runner->request.mode;
    lock->token = runner->request.zxid;
    lock->granted_ms = runner->granted_ms;
    if (!runner->session->connected) {
        on_connection(lock, false);
    }
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
    if (lock->lost) {
        return lock->lost_reason;
    }
    bool held = lock->runner != NULL && lock->runner->request.held;
    return held ? ZKL_OK : ZKL_SESSION_EXPIRED;
}

static int take_verdict(zkl_lock *lock, zkl_grant *grant) {
    look_at_lease(lock);
    int status = verdict_for_caller(lock);
    if (status == ZKL_OK) {
        begin_hold(lock);
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

/* The owner of a reentrant handle comes again. */
static int acquire_again(zkl_lock *lock, zkl_mode mode, zkl_grant *grant) {
    look_at_lease(lock);
    if (lock->state == LOCK_LOST) {
        return ZKL_LOST;
    }
    if (lock->mode == ZKL_READ && mode != ZKL_READ) {
        return ZKL_NO_UPGRADE;
    }
    if (lock->holds == ZKL_HOLDS_MAX) {
        return ZKL_TOO_MANY_HOLDS;
    }
    lock->holds++;
    fill_grant(lock, grant);
    if (grant != NULL) {
        grant->waited_ms = 0;
    }
    return ZKL_OK;
}

static int acquire(zkl_lock *lock, zkl_mode mode, int64_t timeout_ms, zkl_grant *grant) {
    bool granted = lock->state == LOCK_HELD || lock->state == LOCK_LOST;
    if (granted && lock->reentrant && is_owner(lock) && !lock->client->closed) {
        return acquire_again(lock, mode, grant);
    }
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
    int status = check_handle(lock);
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
    look_at_lease(lock);
    if (lock->state == LOCK_LOST) {
        return ZKL_LOST;
    }
    if (lock->state != LOCK_HELD) {
        return ZKL_NOT_HELD;
    }
    const zkl_session *session = lock->runner->session;
    bool in_touch = session->connected && !zkl_liveness_is_silent(&session->liveness);
    return in_touch ? ZKL_OK : ZKL_SUSPECT;
}

static int64_t lease_left(const zkl_lock *lock) {
    if (lock->client->lease_tick_ms == 0) {
        return -1;
    }
    return lock->state == LOCK_HELD ? zkl_liveness_lease_left(&lock->runner->session->liveness) : 0;
}

int zkl_lock_check(const zkl_lock *lock, int64_t *lease_left_ms) {
    zkl_input_clear();
    if (lease_left_ms != NULL) {
        *lease_left_ms = 0;
    }
    int status = check_handle(lock);
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    status = check_held(lock);
    if (lease_left_ms != NULL) {
        *lease_left_ms = lease_left(lock);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

/* ---- Information ---------------------------------------------------------------------- */

static zkl_lock_state public_state(const zkl_lock *lock) {
    switch (lock->state) {
    case LOCK_IDLE:
        break;
    case LOCK_ACQUIRING:
        return ZKL_STATE_ACQUIRING;
    case LOCK_HELD:
        return check_held(lock) == ZKL_OK ? ZKL_STATE_HELD : ZKL_STATE_SUSPECT;
    case LOCK_LOST:
        return ZKL_STATE_LOST;
    case LOCK_RELEASING:
        return ZKL_STATE_RELEASING;
    }
    return ZKL_STATE_IDLE;
}

static uint64_t count_left_behind(const zkl_lock *lock) {
    uint64_t count = 0;
    for (const zkl_client_session *one = lock->client->sessions; one != NULL; one = one->next) {
        for (const zkl_request_runner *runner = one->session.runners; runner != NULL;
             runner = runner->next) {
            bool left = runner->owner_id == lock->id && runner->request.aim == ZKL_AIM_LEAVE;
            count += left ? 1 : 0;
        }
    }
    return count;
}

static void tell_information(const zkl_lock *lock, zkl_lock_information *information) {
    *information = (zkl_lock_information){
        .struct_size = information->struct_size,
        .state = public_state(lock),
        .lease_left_ms = lease_left(lock),
        .pending_deletions = count_left_behind(lock),
    };
    if (lock->state == LOCK_HELD || lock->state == LOCK_LOST) {
        information->lost_reason = lock->lost_reason;
        information->mode = lock->mode;
        information->token = lock->token;
        information->holds = lock->holds;
        information->held_ms = zkl_clock_ms() - lock->granted_ms;
    }
}

int zkl_lock_info(const zkl_lock *lock, zkl_lock_information *information) {
    zkl_input_clear();
    int status = check_handle(lock);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("information", information);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_struct_size("zkl_lock_information", information->struct_size,
                                             sizeof(*information));
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&lock->client->mutex);
    if (lock->client->closed) {
        status = ZKL_CLOSED;
    } else {
        look_at_lease(lock);
        tell_information(lock, information);
    }
    pthread_mutex_unlock(&lock->client->mutex);
    return status;
}

/* ---- Release --------------------------------------------------------------------------- */

/* The request is over: all that is left to tell is that its holder knows. */
static void log_lost_released(const zkl_lock *lock) {
    zkl_log_record record = zkl_log_record_begin(ZKL_LOG_INFO, ZKL_LOG_RELEASED);
    record.resource = lock->resource;
    record.owner = lock->client->label;
    record.status = ZKL_LOST;
    record.session_id =
        lock->runner != NULL ? lock->runner->session->id : lock->client->sessions->session.id;
    zkl_log_write(lock->client->log, &record);
}

static int release_lost(zkl_lock *lock) {
    log_lost_released(lock);
    lock->state = LOCK_IDLE;
    feed(lock, ZKL_EVENT_RELEASED, ZKL_OK); /* after the end of a lease there is a node left */
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
    look_at_lease(lock);
    bool granted = lock->state == LOCK_HELD || lock->state == LOCK_LOST;
    if (granted && lock->reentrant && !is_owner(lock)) {
        return ZKL_NOT_OWNER;
    }
    if (granted && lock->holds > 1) {
        lock->holds--;
        return lock->state == LOCK_HELD ? ZKL_OK : ZKL_LOST;
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
    int status = check_handle(lock);
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
