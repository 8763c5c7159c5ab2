#include "lock.h"

#include <stdlib.h>
#include <string.h>

#include "commit.h"
#include "explanation.h"
#include "input.h"
#include "listener.h"
#include "observer.h"
#include "threads.h"
#include "try.h"

/* `message`: NULL, it need not be told when memory is short. */
static void tell_news(const zkl_lock *lock, zkl_lock_message *message, zkl_lock_state state,
                      int reason) {
    zkl_listener_told(lock, state, reason);
    if (lock->teller != NULL) {
        zkl_lock_tidings tidings = { .state = state, .reason = reason, .token = lock->token };
        zkl_lock_teller_tell(lock->teller, message, &tidings);
    }
}

/* ---- What the request tells, with the mutex held ---------------------------- */

void zkl_lock_on_decided(void *arg, int status) {
    zkl_lock *lock = arg;
    zkl_explanation why = zkl_explain_verdict(lock->runner, status);
    free(lock->why);
    lock->why = zkl_explanation_keep(&why);
    lock->decided = true;
    lock->verdict = status;
    zkl_call_over(lock->pending);
}

/* The application hears only of a grant that it has got. */
void zkl_lock_on_lost(void *arg, int status) {
    zkl_lock *lock = arg;
    lock->lost = true;
    lock->lost_reason = status;
    bool held = lock->state == LOCK_HELD;
    if (held) {
        lock->state = LOCK_LOST; /* before a verification can begin anew */
    }
    zkl_commits_end(lock, ZKL_LOST);
    if (!held) {
        return;
    }
    zkl_lock_end_change(lock, lock->client->closed ? ZKL_CLOSED : ZKL_LOST);
    tell_news(lock, lock->last_news, ZKL_STATE_LOST, status);
    lock->last_news = NULL;
}

void zkl_lock_on_connection(void *arg, bool connected) {
    const zkl_lock *lock = arg;
    zkl_lock_state state = connected ? ZKL_STATE_HELD : ZKL_STATE_SUSPECT;
    if (lock->state != LOCK_HELD) {
        return;
    }
    tell_news(lock, NULL, state, ZKL_OK);
}

/* What others want of who holds. */
static void tell_wish(const zkl_lock *lock, zkl_lock_state state) {
    if (lock->state != LOCK_HELD) {
        return; /* told when it is: see begin_hold */
    }
    tell_news(lock, NULL, state, ZKL_OK);
}

void zkl_lock_on_revoke_requested(void *arg) {
    tell_wish(arg, ZKL_STATE_REVOKE_REQUESTED);
}

void zkl_lock_on_contended(void *arg) {
    tell_wish(arg, ZKL_STATE_CONTENDED);
}

void zkl_lock_on_ended(void *arg) {
    zkl_lock *lock = arg;
    const zkl_session *session = lock->runner->session;
    lock->ended = ZKL_OK;
    if (session->finished) {
        lock->ended = ZKL_CLOSED;
    } else if (session->given_up) {
        lock->ended = ZKL_PENDING;
    }
    if (lock->state == LOCK_RELEASING) {
        zkl_call_over(lock->pending);
    }
    lock->runner = NULL;
    int end = lock->client->closed ? ZKL_CLOSED : ZKL_NOT_HELD;
    zkl_commits_end(lock, end);
    zkl_lock_end_change(lock, end);
}

zkl_request_owner zkl_lock_as_request_owner(zkl_lock *lock) {
    return (zkl_request_owner){
        .arg = lock,
        .decided = zkl_lock_on_decided,
        .lost = zkl_lock_on_lost,
        .connection = zkl_lock_on_connection,
        .downgraded = zkl_lock_on_downgraded,
        .ended = zkl_lock_on_ended,
        .revoke_requested = zkl_lock_on_revoke_requested,
        .contended = zkl_lock_on_contended,
    };
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
    lock->owner_text = options->owner != NULL ? strdup(options->owner) : NULL;
    lock->note = options->note != NULL ? strdup(options->note) : NULL;
    bool has_owner = options->owner == NULL || lock->owner_text != NULL;
    bool has_note = options->note == NULL || lock->note != NULL;
    if (lock->resource == NULL || lock->path == NULL || !has_owner || !has_note) {
        free(lock->note);
        free(lock->owner_text);
        free(lock->resource);
        free(lock->path);
        free(lock);
        return NULL;
    }
    lock->client = client;
    lock->fail_on_session_expiry = options->fail_on_session_expiry != 0;
    lock->reentrant = options->reentrant != 0;
    lock->max_hold_ms = options->max_hold_ms;
    lock->permits = (unsigned)options->permits;
    lock->max_waiting = (unsigned)options->max_waiting;
    lock->tell_contended = options->tell_contended != 0;
    lock->tell_granted = options->tell_granted != 0;
    zkl_calls_begin(&lock->calls);
    return lock;
}

static void free_lock(zkl_lock *lock) {
    zkl_calls_destroy(&lock->calls);
    free(lock->first_news);
    free(lock->last_news);
    free(lock->owner_text);
    free(lock->why);
    free(lock->note);
    free(lock->resource);
    free(lock->path);
    free(lock);
}

static int check_told(const zkl_lock_options *options, const char *what, int32_t value) {
    ZKL_TRY(zkl_input_check_range(what, value, 0, 1));
    if (value != 0 && options->state_callback == NULL) {
        return zkl_input_refuse(what, "1", "needs a state_callback, which is told");
    }
    return ZKL_OK;
}

static int check_options(const zkl_lock_options *options) {
    ZKL_TRY(zkl_input_check_range("fail_on_session_expiry", options->fail_on_session_expiry, 0, 1));
    ZKL_TRY(zkl_input_check_range("reentrant", options->reentrant, 0, 1));
    ZKL_TRY(zkl_input_check_range("max_hold_ms", options->max_hold_ms, 0, INT64_MAX));
    ZKL_TRY(zkl_input_check_range("permits", options->permits, 0, ZKL_PERMITS_MAX));
    ZKL_TRY(zkl_input_check_range("max_waiting", options->max_waiting, 0, ZKL_WAITING_MAX));
    ZKL_TRY(check_told(options, "tell_contended", options->tell_contended));
    ZKL_TRY(check_told(options, "tell_granted", options->tell_granted));
    if (options->resource_class != NULL) {
        ZKL_TRY(zkl_input_check_resource_class(options->resource_class));
    }
    if (options->owner != NULL) {
        ZKL_TRY(zkl_input_check_owner(options->owner));
    }
    return options->note != NULL ? zkl_input_check_note(options->note) : ZKL_OK;
}

static int open_teller(zkl_lock *lock, const zkl_lock_options *options) {
    if (options->state_callback == NULL) {
        return ZKL_OK;
    }
    zkl_lock_audience audience = { .lock = lock,
                                   .lock_callback = options->state_callback,
                                   .arg = options->state_arg };
    return zkl_lock_teller_open(lock->client, &audience, &lock->teller);
}

/* The handle keeps the client's memory from here on. */
static int attach(zkl_lock *lock, const zkl_lock_options *options) {
    zkl_client *client = lock->client;
    pthread_mutex_lock(&client->mutex);
    int status = client->closed ? ZKL_CLOSED : open_teller(lock, options);
    if (status == ZKL_OK) {
        const char *class = options->resource_class;
        lock->metrics = zkl_metrics_class(client->metrics, class != NULL ? class : "");
        lock->id = ++client->last_lock_id;
        zkl_client_keep(client);
    }
    pthread_mutex_unlock(&client->mutex);
    return status;
}

int zkl_lock_open(zkl_client *client, const char *resource, const zkl_lock_options *given,
                  zkl_lock **result) {
    ZKL_NOT_CANCELLED;
    zkl_input_clear();
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    ZKL_TRY(zkl_input_check_pointer("lock", result));
    *result = NULL;
    ZKL_TRY(zkl_handle_check("client", client));
    ZKL_TRY(zkl_input_check_pointer("resource", resource));
    ZKL_TRY(zkl_input_check_resource(resource));
    ZKL_TRY(zkl_input_read_options("zkl_lock_options", given, &options, sizeof(options)));
    ZKL_TRY(check_options(&options));
    zkl_lock *lock = make_lock(client, resource, &options);
    if (lock == NULL) {
        return ZKL_NO_MEMORY;
    }
    int status = attach(lock, &options);
    if (status != ZKL_OK) {
        free_lock(lock);
        return status;
    }
    zkl_handle_open(&lock->open);
    *result = lock;
    return ZKL_OK;
}

void zkl_lock_let_go(zkl_lock *lock) {
    zkl_commits_end(lock, ZKL_NOT_HELD);
    if (lock->runner != NULL) {
        zkl_request_runner_disown(lock->runner);
        lock->runner = NULL;
    }
}

void zkl_lock_feed(zkl_lock *lock, zkl_event_kind kind, int status) {
    if (lock->runner != NULL) {
        zkl_request_runner_feed(lock->runner, &(zkl_event){ .kind = kind, .status = status });
    }
}

void zkl_lock_close(zkl_lock *lock) {
    ZKL_NOT_CANCELLED;
    if (!zkl_handle_is_ours(lock)) {
        return;
    }
    zkl_client *client = lock->client;
    pthread_mutex_lock(&client->mutex);
    lock->calls.closing = true;
    if (lock->state == LOCK_ACQUIRING) {
        zkl_lock_feed(lock, ZKL_EVENT_CANCELLED, ZKL_CANCELLED);
    }
    zkl_calls_close(&lock->calls, client);
    if (lock->state == LOCK_LOST && !client->closed) {
        zkl_observe_lost_released(lock);
    }
    if (lock->state == LOCK_HELD || lock->state == LOCK_LOST) {
        zkl_lock_feed(lock, ZKL_EVENT_RELEASED, ZKL_OK);
    }
    zkl_lock_let_go(lock);
    lock->state = LOCK_IDLE; /* a callback that is just running may still look */
    pthread_mutex_unlock(&client->mutex);
    zkl_lock_teller_close(lock->teller);
    zkl_handle_close(&lock->open);
    free_lock(lock);
    zkl_client_drop(client);
}

/* ---- What it is ------------------------------------------------------------------ */

void zkl_lock_look_at_clock(const zkl_lock *lock) {
    if (lock->runner != NULL) {
        zkl_liveness_check_lease(&lock->runner->session->liveness);
        zkl_request_runner_check_hold(lock->runner);
    }
}

int zkl_lock_check_held(const zkl_lock *lock) {
    if (lock->client->closed) {
        return ZKL_CLOSED;
    }
    zkl_lock_look_at_clock(lock);
    if (lock->state == LOCK_LOST) {
        return ZKL_LOST;
    }
    return lock->state == LOCK_HELD ? ZKL_OK : ZKL_NOT_HELD;
}

bool zkl_lock_is_granted(const zkl_lock *lock) {
    return lock->state == LOCK_HELD || lock->state == LOCK_LOST;
}

bool zkl_lock_is_owner(const zkl_lock *lock, zkl_lock_owner owner) {
    return lock->owner.thread == owner.thread && lock->owner.token == owner.token;
}
