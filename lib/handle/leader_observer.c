/* Tells the application who leads, on the client's queue. There is one callback of an observer in
 * the queue at a time, which tells what is known when its turn comes: so changes that follow each
 * other fast become one, the last one is never left out, and no memory is needed for it. */
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/handles.h"
#include "base/threads.h"
#include "base/try.h"
#include "base/validation.h"
#include "client/client.h"
#include "session/leader_watch.h"
#include "zklock/election.h"

typedef struct known_leader {
    int status;
    int64_t term;
    int64_t session_id;
    char node[ZKL_NODE_PATH_SIZE];
    char candidate[ZKL_NOTE_MAX + 1];
} known_leader;

/* The client's mutex guards what follows the first five. */
struct zkl_observer {
    zkl_handle open; /* first */
    zkl_callback callback;
    zkl_client *client;
    zkl_leader_callback *tell;
    void *arg;
    zkl_leader_watch *watch;
    known_leader latest;
    known_leader told;
    bool tells_first; /* nothing was told yet */
    bool posted;
    bool running;
    uint64_t runs_on; /* the number of a thread */
    bool closed;
    bool abandoned; /* closed, and freed by its last callback */
    pthread_cond_t returned;
};

static void free_observer(zkl_observer *observer) {
    zkl_condition_end(&observer->returned);
    free(observer);
}

/* ---- The callback ------------------------------------------------------------------- */

static bool is_news(const zkl_observer *observer) {
    const known_leader *latest = &observer->latest;
    const known_leader *told = &observer->told;
    return observer->tells_first || latest->status != told->status || latest->term != told->term;
}

/* With the mutex held, which is let go meanwhile. */
static void call_back(zkl_observer *observer) {
    observer->tells_first = false;
    observer->told = observer->latest;
    observer->running = true;
    observer->runs_on = zkl_thread_number();
    pthread_mutex_unlock(&observer->client->mutex);
    zkl_leader leader = {
        .struct_size = sizeof(leader),
        .status = observer->told.status,
        .term = observer->told.term,
        .session_id = observer->told.session_id,
        .node = observer->told.node,
        .candidate = observer->told.candidate,
    };
    observer->tell(observer->arg, &leader);
    pthread_mutex_lock(&observer->client->mutex);
    observer->running = false;
    zkl_condition_broadcast(&observer->returned);
}

static void deliver(zkl_callback *callback) {
    zkl_observer *observer =
        (zkl_observer *)(void *)((char *)callback - offsetof(zkl_observer, callback));
    zkl_client *client = observer->client; /* which ends its queue before it goes */
    pthread_mutex_lock(&client->mutex);
    observer->posted = false;
    if (!observer->closed && is_news(observer)) {
        call_back(observer);
    }
    bool last = observer->abandoned && !observer->posted;
    pthread_mutex_unlock(&client->mutex);
    if (last) {
        free_observer(observer);
    }
}

static void on_seen(void *arg, const zkl_leader_sight *sight) {
    zkl_observer *observer = arg;
    known_leader *latest = &observer->latest;
    latest->status = sight->status;
    latest->term = sight->term;
    latest->session_id = sight->session_id;
    snprintf(latest->node, sizeof(latest->node), "%s", sight->path);
    snprintf(latest->candidate, sizeof(latest->candidate), "%s", sight->note);
    if (!observer->posted && is_news(observer)) {
        observer->posted = true;
        zkl_callback_queue_post(observer->client->callbacks, &observer->callback);
    }
}

/* ---- Opening and closing ------------------------------------------------------------ */

static int check(const zkl_client *client, const char *resource, zkl_leader_callback *callback) {
    ZKL_TRY(zkl_handle_check("client", client));
    ZKL_TRY(zkl_validate_pointer("resource", resource));
    ZKL_TRY(zkl_validate_pointer("callback", (const void *)(uintptr_t)callback));
    return zkl_validate_resource(resource);
}

/* With the mutex held. */
static int begin(zkl_observer *observer, const char *resource) {
    zkl_client *client = observer->client;
    if (client->closed) {
        return ZKL_CLOSED;
    }
    if (zkl_client_callbacks(client) == NULL) {
        return ZKL_SYSTEM;
    }
    char path[ZKL_PARENT_PATH_SIZE];
    zkl_client_resource_path(client, resource, path);
    zkl_session *session = NULL;
    ZKL_TRY(zkl_client_choose_session(client, zkl_leader_watch_watched_bytes(path), &session));
    zkl_leader_watcher watcher = { observer, on_seen };
    observer->watch = zkl_leader_watch_open(session, path, &watcher);
    if (observer->watch == NULL) {
        return ZKL_NO_MEMORY;
    }
    zkl_client_keep(client);
    return ZKL_OK;
}

int zkl_election_observe(zkl_client *client, const char *resource, zkl_leader_callback *callback,
                         void *arg, zkl_observer **result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("observer", result));
    *result = NULL;
    ZKL_TRY(check(client, resource, callback));
    zkl_observer *observer = calloc(1, sizeof(*observer));
    if (observer == NULL) {
        return ZKL_NO_MEMORY;
    }
    observer->callback.run = deliver;
    observer->client = client;
    observer->tell = callback;
    observer->arg = arg;
    observer->tells_first = true;
    zkl_condition_begin(&observer->returned);
    pthread_mutex_lock(&client->mutex);
    int status = begin(observer, resource);
    pthread_mutex_unlock(&client->mutex);
    if (status != ZKL_OK) {
        free_observer(observer);
        return status;
    }
    zkl_handle_open(&observer->open);
    *result = observer;
    return ZKL_OK;
}

static bool runs_elsewhere(const zkl_observer *observer) {
    return observer->running && observer->runs_on != zkl_thread_number();
}

void zkl_observer_close(zkl_observer *observer) {
    ZKL_NOT_CANCELLED;
    if (!zkl_handle_is_ours(observer)) {
        return;
    }
    zkl_handle_close(&observer->open);
    zkl_client *client = observer->client;
    pthread_mutex_lock(&client->mutex);
    observer->closed = true;
    zkl_leader_watch_close(observer->watch);
    while (runs_elsewhere(observer)) {
        zkl_condition_wait(&observer->returned, &client->mutex, INT64_MAX);
    }
    observer->abandoned = observer->running || observer->posted;
    bool last = !observer->abandoned;
    pthread_mutex_unlock(&client->mutex);
    if (last) {
        free_observer(observer);
    }
    zkl_client_drop(client);
}
