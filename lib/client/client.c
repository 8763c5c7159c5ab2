#include "client/client.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "session/request_runner.h"

/* ---- Its memory ------------------------------------------------------------------ */

static void free_client(zkl_client *client) {
    zkl_handle_close(&client->open);
    zkl_condition_end(&client->timers_changed);
    zkl_condition_end(&client->changed);
    pthread_mutex_destroy(&client->mutex);
    zkl_recorder_close(client->recorder);
    free(client->metrics);
    zkl_pool_free(&client->pool);
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
    if (zkl_callback_is_running()) {
        return ZKL_IN_CALLBACK;
    }
    *count = zkl_callback_queue_dispatch(queue);
    return ZKL_OK;
}

/* ---- What handles need ---------------------------------------------------------- */

zkl_request_facts zkl_client_request_facts(const zkl_client *client, zkl_class_metrics *metrics,
                                           const char *resource) {
    zkl_request_facts facts = {
        .log = client->log,
        .metrics = metrics,
        .node = "",
        .record = zkl_log_record_begin(client->label, client->sessions->session.id),
    };
    facts.record.resource = resource;
    facts.record.waited_ms = 0;
    return facts;
}

zkl_callback_queue *zkl_client_callbacks(zkl_client *client) {
    if (client->callbacks == NULL) {
        client->callbacks = zkl_callback_queue_open(true);
    }
    return client->callbacks;
}

/* All sessions are granted the same, but not at the same time. */
static const zkl_session *find_session_without_lease(const zkl_client *client) {
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        if (one->session.established && !zkl_lease_is_possible(&one->session.liveness.lease)) {
            return &one->session;
        }
    }
    return &client->sessions->session;
}

void zkl_client_note_lease_impossible(const zkl_client *client) {
    char text[64];
    if (client->sessions == NULL) {
        return; /* the caller has woken up late: the client is closed */
    }
    snprintf(text, sizeof(text), "%d ms, with lease_tick_ms %d",
             (int)find_session_without_lease(client)->timeout_ms,
             (int)client->options.lease_tick_ms);
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
    ZKL_TRY(zkl_validate_struct_size("zkl_client_information", information, sizeof(*information)));
    ZKL_WITH_MUTEX(&client->mutex);
    if (client->sessions == NULL) {
        return ZKL_CLOSED; /* and its handles keep it */
    }
    tell_information(client, &filled);
    zkl_struct_fill(information, &filled);
    return ZKL_OK;
}

void zkl_client_resource_path(const zkl_client *client, const char *resource,
                              char path[ZKL_PARENT_PATH_SIZE]) {
    bool absolute = resource[0] == '/';
    snprintf(path, ZKL_PARENT_PATH_SIZE, "%s%s%s", absolute ? client->chroot : client->lock_root,
             absolute ? "" : "/", resource);
}
