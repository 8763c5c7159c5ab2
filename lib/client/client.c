#include "client/client.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "base/try.h"
#include "base/validation.h"
#include "client/session_threads.h"
#include "session/request_runner.h"

/* A connection that is closed before all replies have been read is reset, and the end of its
 * session is lost on the way: the servers would keep its nodes until it times out. So close waits
 * for the replies: as long as they come, one in DRAIN_MS at least, but no longer than this. */
enum { DRAIN_MS = 1000, DRAIN_LONGEST_MS = 5000 };

/* ---- Its memory ------------------------------------------------------------------ */

static void free_client(zkl_client *client) {
    zkl_handle_close(&client->open);
    zkl_condition_end(&client->timers_changed);
    zkl_condition_end(&client->changed);
    pthread_mutex_destroy(&client->mutex);
    zkl_recorder_close(client->recorder);
    free(client->metrics);
    free(client->servers);
    free(client->chroot);
    free(client->lock_root);
    free(client->label);
    free(client->identity);
    free(client);
}

void zkl_client_keep(zkl_client *client) {
    client->references++;
}

void zkl_client_drop(zkl_client *client) {
    pthread_mutex_lock(&client->mutex);
    bool last = --client->references == 0;
    pthread_mutex_unlock(&client->mutex);
    if (last) {
        free_client(client);
    }
}

void zkl_client_shut_down(zkl_client *client) {
    zkl_log_stop(client->log);
    zkl_callback_queue_close(client->callbacks);
    client->callbacks = NULL;
    zkl_callback_queue_close(client->log_callbacks);
    client->log_callbacks = NULL;
    zkl_service_free_sessions(client); /* callbacks may have looked at them */
    zkl_log_free(client->log);
    client->log = NULL;
}

/* ---- Closing ------------------------------------------------------------------ */

/* Who waited learns that it is over before the servers are waited for. */
static void dispatch_verdicts(zkl_client *client) {
    if (client->dispatch == ZKL_DISPATCH_CALLER) {
        pthread_mutex_unlock(&client->mutex);
        (void)zkl_callback_queue_dispatch(client->callbacks);
        pthread_mutex_lock(&client->mutex);
    }
}

/* Every request leaves the queue; a verdict that is still owed is ZKL_CLOSED. */
static void send_away(zkl_session *session) {
    for (zkl_request_runner *runner = session->runners, *next; runner != NULL; runner = next) {
        next = runner->next;
        zkl_event leave = { .kind = ZKL_EVENT_CANCELLED, .status = ZKL_CLOSED };
        if (runner->request.stage == ZKL_STAGE_HELD) {
            leave.kind = ZKL_EVENT_RELEASED;
        }
        zkl_request_runner_feed(runner, &leave);
    }
}

static void send_all_away(zkl_client *client) {
    for (zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        send_away(&one->session);
    }
}

static size_t count_requests(const zkl_client *client) {
    size_t count = 0;
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        count += one->session.runner_count;
    }
    return count;
}

/* How long nodes of sessions that were given up may still be there; INT64_MAX: nobody knows. */
static int64_t left_behind_ms(const zkl_client *client) {
    int64_t longest = 0;
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        int64_t its = zkl_session_left_behind_ms(&one->session);
        longest = its > longest ? its : longest;
    }
    return longest;
}

static bool have_all_left(const zkl_client *client) {
    return count_requests(client) == 0 && left_behind_ms(client) == 0;
}

/* With the mutex held. */
static void wait_until(zkl_client *client, bool (*is_so)(const zkl_client *client),
                       int64_t timeout_ms) {
    int64_t start = zkl_clock_ms();
    int64_t left = timeout_ms;
    while (!is_so(client) && left > 0) {
        int64_t behind = left_behind_ms(client); /* nobody tells when that is over */
        zkl_condition_wait(&client->changed, &client->mutex,
                           behind > 0 && behind < left ? behind : left);
        left = timeout_ms - (zkl_clock_ms() - start);
    }
}

static void drain(zkl_client *client) {
    int64_t start = zkl_clock_ms();
    uint64_t before = 0;
    do {
        before = client->answers;
        wait_until(client, zkl_service_is_idle, DRAIN_MS);
    } while (!zkl_service_is_idle(client) && client->answers != before &&
             zkl_clock_ms() - start <= DRAIN_LONGEST_MS - DRAIN_MS);
}

/* What leaves is waited for, and then, briefly, for what else is under way. */
static int wait_until_all_left(zkl_client *client, int64_t timeout_ms) {
    wait_until(client, have_all_left, timeout_ms);
    drain(client);
    return have_all_left(client) ? ZKL_OK : ZKL_PENDING;
}

static void tell_close_listeners(const zkl_client *client) {
    for (zkl_close_listener *one = client->close_listeners; one != NULL; one = one->next) {
        one->closes(one->arg);
    }
}

int zkl_client_end(zkl_client *client, int64_t timeout_ms) {
    pthread_mutex_lock(&client->mutex);
    if (client->closed) { /* and its memory is still there for its lock handles */
        pthread_mutex_unlock(&client->mutex);
        return ZKL_CLOSED;
    }
    zkl_condition_broadcast(&client->changed); /* for calls of administration.h under way */
    client->closed = true;
    tell_close_listeners(client);
    send_all_away(client);
    dispatch_verdicts(client);
    int status = wait_until_all_left(client, timeout_ms);
    pthread_mutex_unlock(&client->mutex);
    zkl_service_stop(client);
    zkl_client_shut_down(client);
    zkl_client_drop(client);
    return status;
}

int zkl_client_close(zkl_client *client, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    if (client == NULL) {
        return ZKL_OK;
    }
    ZKL_TRY(zkl_validate_range("timeout_ms", timeout_ms, 0, INT64_MAX));
    ZKL_TRY(zkl_handle_check("client", client));
    return zkl_callback_is_running() ? ZKL_IN_CALLBACK : zkl_client_end(client, timeout_ms);
}

/* ---- The application's own loop -------------------------------------------------- */

static int check_dispatched(const zkl_client *client) {
    ZKL_TRY(zkl_handle_check("client", client));
    if (client->dispatch != ZKL_DISPATCH_CALLER) {
        return zkl_refuse("client", NULL, "was not opened with ZKL_DISPATCH_CALLER");
    }
    return client->callbacks != NULL ? ZKL_OK : ZKL_CLOSED;
}

int zkl_client_event_descriptor(zkl_client *client, int *descriptor) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("descriptor", descriptor));
    *descriptor = -1;
    ZKL_TRY(check_dispatched(client));
    *descriptor = zkl_callback_queue_descriptor(client->callbacks);
    return *descriptor >= 0 ? ZKL_OK : ZKL_SYSTEM;
}

int zkl_client_dispatch(zkl_client *client, size_t *count) {
    ZKL_BEGIN_CALL;
    if (count != NULL) {
        *count = 0;
    }
    ZKL_TRY(check_dispatched(client));
    if (zkl_callback_is_running()) {
        return ZKL_IN_CALLBACK;
    }
    size_t ran = zkl_callback_queue_dispatch(client->callbacks);
    if (count != NULL) {
        *count = ran;
    }
    return ZKL_OK;
}

/* ---- What handles need ---------------------------------------------------------- */

void zkl_client_write_owner(const zkl_client *client, char text[ZKL_OWNER_MAX + 1]) {
    snprintf(text, ZKL_OWNER_MAX + 1, "%ld:%" PRIu64, (long)client->process, zkl_thread_number());
}

void zkl_client_write_handle(const zkl_client *client, uint64_t id, char text[ZKL_OWNER_MAX + 1]) {
    snprintf(text, ZKL_OWNER_MAX + 1, "%ld:handle:%" PRIu64, (long)client->process, id);
}

zkl_request_facts zkl_client_request_facts(const zkl_client *client, zkl_class_metrics *metrics,
                                           const char *resource) {
    return (zkl_request_facts){ .log = client->log,
                                .metrics = metrics,
                                .resource = resource,
                                .label = client->label,
                                .node = "",
                                .session_id = client->sessions->session.id,
                                .held_ms = -1 };
}

zkl_callback_queue *zkl_client_callbacks(zkl_client *client) {
    if (client->callbacks == NULL) {
        client->callbacks = zkl_callback_queue_start();
    }
    return client->callbacks;
}

static bool has_room(const zkl_client_session *one, size_t bytes) {
    return one->session.watched_bytes + bytes <= one->client->watched_bytes_max;
}

static int add_session(zkl_client *client, zkl_client_session **result) {
    size_t count = 0;
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        count++;
    }
    return count < ZKL_SESSIONS_MAX ? zkl_service_add_session(client, result)
                                    : ZKL_TOO_MANY_REQUESTS;
}

/* Filled in turn, so that as few sessions as possible are needed; but rather one
 * that is connected than one that is not. */
static zkl_client_session *find_room(const zkl_client *client, size_t bytes) {
    zkl_client_session *found = NULL;
    for (zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        bool better = found == NULL || (!found->session.connected && one->session.connected);
        if (has_room(one, bytes) && better) {
            found = one;
        }
    }
    return found;
}

/* The next one is opened before the last is full, so that nobody has to wait for it. */
static void open_ahead(zkl_client *client, const zkl_client_session *used) {
    if (used->next == NULL && !has_room(used, client->watched_bytes_max / 4)) {
        zkl_client_session *ahead = NULL;
        (void)add_session(client, &ahead);
    }
}

int zkl_client_choose_session(zkl_client *client, size_t watched_bytes, zkl_session **session) {
    if (watched_bytes > client->watched_bytes_max) {
        /* No session can help, and none is opened. */
        return zkl_refuse("one request would watch", NULL,
                          "paths of %zu bytes, at most %zu: fewer permits or shorter names",
                          watched_bytes, client->watched_bytes_max);
    }
    zkl_client_session *found = find_room(client, watched_bytes);
    if (found != NULL) {
        open_ahead(client, found);
    } else {
        ZKL_TRY(add_session(client, &found));
    }
    if (found->session.auth_failed) {
        return ZKL_AUTH_FAILED;
    }
    *session = &found->session;
    return ZKL_OK;
}

/* All sessions are granted the same, but not at the same time. */
static const zkl_session *find_session_without_lease(const zkl_client *client) {
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        if (one->session.established && !zkl_liveness_lease_is_possible(&one->session.liveness)) {
            return &one->session;
        }
    }
    return &client->sessions->session;
}

void zkl_client_note_lease_impossible(const zkl_client *client) {
    char text[64];
    if (client->sessions == NULL) {
        return; /* whoever waited has woken up late, when the client was closed */
    }
    snprintf(text, sizeof(text), "%d ms, with lease_tick_ms %d",
             (int)find_session_without_lease(client)->timeout_ms, (int)client->lease_tick_ms);
    zkl_error_note("session timeout", text,
                   "a lease needs more than three and a half ticks, as granted by the servers");
}

/* ---- The rest ------------------------------------------------------------------ */

static size_t count_leaving(const zkl_session *session) {
    size_t count = 0;
    for (const zkl_request_runner *runner = session->runners; runner != NULL;
         runner = runner->next) {
        count += runner->request.stage >= ZKL_STAGE_LEAVING ? 1 : 0;
    }
    return count;
}

static void tell_information(const zkl_client *client, zkl_client_information *information) {
    const zkl_session *first = &client->sessions->session;
    *information = (zkl_client_information){
        .connected = 1,
        .session_id = first->id,
        .session_timeout_ms = first->timeout_ms,
        .lock_root = client->lock_root + strlen(client->chroot),
    };
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        information->connected = information->connected != 0 && one->session.connected ? 1 : 0;
        information->sessions++;
        information->sessions_expired += one->session.expired_count;
        information->pending_deletions += count_leaving(&one->session);
    }
}

int zkl_client_info(zkl_client *client, zkl_client_information *information) {
    ZKL_BEGIN_CALL;
    zkl_client_information filled;
    ZKL_TRY(zkl_handle_check("client", client));
    ZKL_TRY(zkl_validate_pointer("information", information));
    ZKL_TRY(zkl_validate_struct_size("zkl_client_information", information->struct_size,
                                     sizeof(*information)));
    pthread_mutex_lock(&client->mutex);
    bool is_there = client->sessions != NULL; /* else it is closed, and its handles keep it */
    if (is_there) {
        tell_information(client, &filled);
        zkl_struct_fill(information, &filled);
    }
    pthread_mutex_unlock(&client->mutex);
    return is_there ? ZKL_OK : ZKL_CLOSED;
}

void zkl_client_resource_path(const zkl_client *client, const char *resource,
                              char path[ZKL_PARENT_PATH_SIZE]) {
    bool absolute = resource[0] == '/';
    snprintf(path, ZKL_PARENT_PATH_SIZE, "%s%s%s", absolute ? client->chroot : client->lock_root,
             absolute ? "" : "/", resource);
}
