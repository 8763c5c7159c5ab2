/* The memory of a client, the callbacks that the application dispatches, the choice of a session,
 * and what handles need. */
#include "client/client.h"

#include <stdio.h>
#include <stdlib.h>

#include <utlist.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "session/explanation.h"

/* ---- Its memory ------------------------------------------------------------------ */

static void free_client(zkl_client *client) {
    zkl_handle_close(&client->open);
    zkl_condition_end(&client->timers_changed);
    zkl_condition_end(&client->changed);
    pthread_mutex_destroy(&client->mutex);
    zkl_recorder_close(client->recorder);
    free(client->metrics);
    zkl_pool_free(&client->pool);
    free(client->servers);
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

/* ---- The application's own loop -------------------------------------------------- */

static int find_dispatched(zkl_client *client, zkl_callback_queue **queue) {
    ZKL_TRY(zkl_handle_check("client", client));
    if (client->options.dispatch != ZKL_DISPATCH_CALLER) {
        return zkl_refuse("client", NULL, "was not opened with ZKL_DISPATCH_CALLER");
    }
    ZKL_WITH_MUTEX(&client->mutex);
    *queue = client->stopping ? NULL : client->callbacks;
    return *queue != NULL ? ZKL_OK : ZKL_CLOSED;
}

int zkl_client_event_descriptor(zkl_client *client, int *descriptor) {
    ZKL_BEGIN_CALL;
    zkl_callback_queue *queue = NULL;
    ZKL_TRY(zkl_validate_pointer("descriptor", descriptor));
    *descriptor = -1;
    ZKL_TRY(find_dispatched(client, &queue));
    *descriptor = zkl_callback_queue_descriptor(queue);
    return *descriptor >= 0 ? ZKL_OK : ZKL_SYSTEM;
}

int zkl_client_dispatch(zkl_client *client, size_t *count) {
    ZKL_BEGIN_CALL;
    size_t unasked = 0;
    zkl_callback_queue *queue = NULL;
    count = count != NULL ? count : &unasked;
    *count = 0;
    ZKL_TRY(find_dispatched(client, &queue));
    ZKL_TRY(zkl_check_may_wait());
    *count = zkl_callback_queue_dispatch(queue);
    return ZKL_OK;
}

/* ---- The session of a request ---------------------------------------------------- */

static bool has_room(const zkl_client_session *one, size_t bytes) {
    return one->session.watched_bytes + bytes <= one->client->watched_bytes_max;
}

static int add_session(zkl_client *client, zkl_client_session **result) {
    size_t count = 0;
    const zkl_client_session *one = NULL;
    LL_COUNT(client->sessions, one, count);
    return count < ZKL_SESSIONS_MAX ? zkl_sessions_add(client, result) : ZKL_TOO_MANY_REQUESTS;
}

/* Finds the first session with room, so that few sessions are needed. A connected one is
 * preferred. */
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

/* Opens the next session before the last one is full, so that no request waits for it. */
static void open_ahead(zkl_client *client, const zkl_client_session *used) {
    if (used->next == NULL && !has_room(used, client->watched_bytes_max / 4)) {
        zkl_client_session *ahead = NULL;
        (void)add_session(client, &ahead);
    }
}

int zkl_client_choose_session(zkl_client *client, size_t watched_bytes, zkl_session **session) {
    if (watched_bytes > client->watched_bytes_max) {
        /* no session has that much room, and none is opened */
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
        zkl_error_set(zkl_explain_refusal(&found->session).text);
        return ZKL_AUTH_FAILED;
    }
    *session = &found->session;
    return ZKL_OK;
}

/* ---- What handles need ---------------------------------------------------------- */

int zkl_client_need_callbacks(zkl_client *client) {
    if (client->closed) {
        return ZKL_CLOSED;
    }
    if (client->callbacks == NULL) {
        client->callbacks = zkl_callback_queue_open(true);
    }
    return client->callbacks != NULL ? ZKL_OK : ZKL_SYSTEM;
}

/* Names a session whose timeout is too short. All are granted the same, but not at the same
 * time. */
void zkl_client_note_lease_impossible(const zkl_client *client) {
    char text[64];
    const zkl_client_session *one = client->sessions;
    if (one == NULL) {
        return; /* the client is closed: the caller has woken up late */
    }
    while (one->next != NULL &&
           (!one->session.established || zkl_lease_is_possible(&one->session.liveness.lease))) {
        one = one->next;
    }
    snprintf(text, sizeof(text), "%d ms, with lease_tick_ms %d", (int)one->session.timeout_ms,
             (int)client->options.lease_tick_ms);
    zkl_error_note("session timeout", text,
                   "a lease needs more than three and a half ticks, as granted by the servers");
}

void zkl_client_resource_path(const zkl_client *client, const char *resource,
                              char path[ZKL_PARENT_PATH_SIZE]) {
    bool absolute = resource[0] == '/';
    snprintf(path, ZKL_PARENT_PATH_SIZE, "%s%s%s", absolute ? client->chroot : client->lock_root,
             absolute ? "" : "/", resource);
}
