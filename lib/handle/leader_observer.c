/* Tells the application who leads. An observer has one callback in the client's queue at most. It
 * reports what is known when its turn comes: so changes in quick succession become one, the last is
 * always reported, and none needs memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/handles.h"
#include "base/threads.h"
#include "base/validation.h"
#include "client/client.h"
#include "handle/lock_callback.h"
#include "session/leader_watch.h"
#include "zklock/election.h"

typedef struct known_leader {
    /* its texts are the next two fields. Its status is ZKL_PENDING: nothing is known yet */
    zkl_leader leader;
    char node[ZKL_NODE_PATH_SIZE];
    char candidate[ZKL_NOTE_MAX + 1];
} known_leader;

typedef struct leader_callback {
    zkl_lock_callback callback; /* first */
    zkl_leader_callback *application;
    void *arg;
    known_leader latest;
    known_leader reported; /* what the last callback has reported, or the one that runs reports */
    bool has_report;
} leader_callback;

struct zkl_observer {
    zkl_handle open; /* first */
    zkl_lock_callbacks callbacks;
    zkl_leader_watch watch;
};

/* ---- The callback ------------------------------------------------------------------- */

static bool is_news(const leader_callback *self) {
    const zkl_leader *latest = &self->latest.leader;
    const zkl_leader *reported = &self->reported.leader;
    return latest->status != reported->status || latest->term != reported->term;
}

static void collect_leader(zkl_lock_callback *callback) {
    leader_callback *self = (leader_callback *)callback;
    self->has_report = !callback->all->closing && is_news(self);
    if (self->has_report) {
        self->reported = self->latest;
    }
}

static void call_leader_callback(zkl_lock_callback *callback) {
    leader_callback *self = (leader_callback *)callback;
    if (self->has_report) {
        zkl_leader leader = self->reported.leader;
        leader.struct_size = sizeof(leader);
        leader.node = self->reported.node;
        leader.candidate = self->reported.candidate;
        self->has_report = false;
        self->application(self->arg, &leader);
    }
}

static const zkl_lock_callback_kind leader_callback_kind = {
    .collect = collect_leader, .call_application = call_leader_callback, .stays = true
};

static void on_seen(void *arg, const zkl_leader *leader) {
    leader_callback *self = arg;
    known_leader *latest = &self->latest;
    latest->leader = *leader;
    snprintf(latest->node, sizeof(latest->node), "%s", leader->node);
    snprintf(latest->candidate, sizeof(latest->candidate), "%s", leader->candidate);
    if (is_news(self)) {
        zkl_lock_callback_post(&self->callback);
    }
}

/* ---- Opening and closing ------------------------------------------------------------ */

static int begin_observing(zkl_observer *observer, const char *resource,
                           const leader_callback *given) {
    zkl_client *client = observer->callbacks.client;
    ZKL_WITH_MUTEX(&client->mutex);
    ZKL_TRY(zkl_client_need_callbacks(client));
    char path[ZKL_PARENT_PATH_SIZE];
    zkl_client_resource_path(client, resource, path);
    zkl_session *session = NULL;
    ZKL_TRY(zkl_client_choose_session(client, zkl_leader_watch_watched_bytes(path), &session));
    leader_callback *callback = malloc(sizeof(*callback));
    ZKL_TRY(zkl_made(callback));
    *callback = *given;
    zkl_lock_callback_owe(&observer->callbacks, &callback->callback, &leader_callback_kind);
    zkl_leader_watch_begin(&observer->watch, session, path, on_seen, callback);
    zkl_client_keep(client);
    return ZKL_OK;
}

int zkl_election_observe(zkl_client *client, const char *resource, zkl_leader_callback *callback,
                         void *arg, zkl_observer **result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("observer", result));
    *result = NULL;
    ZKL_TRY(zkl_handle_check("client", client));
    ZKL_TRY(zkl_validate_resource(resource));
    ZKL_TRY(zkl_validate_pointer("callback", (const void *)(uintptr_t)callback));
    zkl_observer *observer = calloc(1, sizeof(*observer));
    ZKL_TRY(zkl_made(observer));
    leader_callback given = { .application = callback,
                              .arg = arg,
                              .reported.leader.status = ZKL_PENDING };
    observer->callbacks.client = client;
    int status = begin_observing(observer, resource, &given);
    if (status != ZKL_OK) {
        free(observer);
        return status;
    }
    zkl_handle_open("observer", &observer->open);
    *result = observer;
    return ZKL_OK;
}

void zkl_observer_close(zkl_observer *observer) {
    ZKL_NOT_CANCELLED;
    if (!zkl_handle_is_ours("observer", observer)) {
        return;
    }
    zkl_handle_close(&observer->open);
    zkl_client *client = observer->callbacks.client;
    pthread_mutex_lock(&client->mutex);
    zkl_leader_watch_end(&observer->watch);
    zkl_lock_callbacks_close(&observer->callbacks);
    pthread_mutex_unlock(&client->mutex);
    free(observer);
    zkl_client_drop(client);
}
