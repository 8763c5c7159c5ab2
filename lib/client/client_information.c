/* What an application may ask a client: zkl_client_info, zkl_client_metrics and
 * zkl_client_write_record. The client's mutex is held only while the answer is copied. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "client/client.h"
#include "session/request_runner.h"
#include "telemetry/record_file.h"

/* ---- Information ---------------------------------------------------------------------------- */

static bool is_leaving(const zkl_request_runner *runner) {
    return runner->request.stage >= ZKL_STAGE_LEAVING && !runner->has_left;
}

static size_t count_leaving(const zkl_session *session) {
    size_t count = 0;
    for (const zkl_request_runner *runner = session->runners; runner != NULL;
         runner = runner->next) {
        count += is_leaving(runner) ? 1 : 0;
    }
    return count;
}

static void describe_client(const zkl_client *client, zkl_client_information *information) {
    const zkl_session *first = &client->sessions->session;
    *information = (zkl_client_information){
        .connected = 1,
        .unsupported_servers = first->unsupported ? 1 : 0,
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
    describe_client(client, &filled);
    zkl_struct_fill(information, &filled);
    return ZKL_OK;
}

/* ---- Metrics -------------------------------------------------------------------------------- */

/* Counts a request in what is so now, which is collected when somebody asks, and not counted up and
 * down. Of a node that is lent the loan counts who holds it, and who waits. */
static void look_at_request(const zkl_request_runner *runner) {
    zkl_class_metrics *class = runner->sender.options.origin->metrics;
    if (class == NULL) {
        return;
    }
    if (runner->request.options.lent) {
        zkl_request_tell_owner(&runner->sender, ZKL_REQUEST_COUNTED, ZKL_OK);
    } else if (runner->request.stage == ZKL_STAGE_HELD) {
        class->held++;
    } else if (!runner->request.verdict.given) {
        class->waiting++;
    }
    if (is_leaving(runner)) {
        class->pending_deletions++;
    }
}

static void look_at_session(zkl_metrics *metrics, const zkl_session *session) {
    metrics->sessions++;
    metrics->sessions_connected += session->connected ? 1 : 0;
    metrics->watches += zkl_watch_table_count(&session->watches);
    for (const zkl_request_runner *one = session->runners; one != NULL; one = one->next) {
        look_at_request(one);
    }
}

static void collect_gauges(const zkl_client *client) {
    zkl_metrics *metrics = client->metrics;
    metrics->sessions = 0;
    metrics->sessions_connected = 0;
    metrics->watches = 0;
    for (size_t i = 0; i < metrics->class_count; i++) {
        metrics->classes[i].waiting = 0;
        metrics->classes[i].held = 0;
        metrics->classes[i].pending_deletions = 0;
    }
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        look_at_session(metrics, &one->session);
    }
}

static void copy_numbers(zkl_client *client, zkl_metrics *copy) {
    ZKL_WITH_MUTEX(&client->mutex);
    collect_gauges(client);
    *copy = *client->metrics;
}

static int check_metrics(const zkl_client *client, const char *buffer, size_t size) {
    ZKL_TRY(zkl_handle_check("client", client));
    if (size > 0) {
        ZKL_TRY(zkl_validate_pointer("buffer", buffer));
    }
    return client->metrics != NULL
               ? ZKL_OK
               : zkl_refuse("client", NULL, "counts nothing: its option metrics is 0");
}

int zkl_client_metrics(zkl_client *client, char *buffer, size_t size, size_t *length) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("length", length));
    *length = 0;
    ZKL_TRY(check_metrics(client, buffer, size));
    zkl_metrics *numbers = malloc(sizeof(*numbers));
    ZKL_TRY(zkl_made(numbers));
    copy_numbers(client, numbers);
    *length = zkl_metrics_write(numbers, NULL, 0);
    bool fits = *length < size;
    (void)zkl_metrics_write(numbers, buffer, fits ? size : 0);
    free(numbers);
    return fits ? ZKL_OK : ZKL_BUFFER_TOO_SMALL;
}

/* ---- The record ----------------------------------------------------------------------------- */

/* Copies the record. The mutex is held for that only, so that no thread waits for text to be made,
 * for the disk, nor for pages of memory, which are touched before. NULL: out of memory. */
static char *copy_record(zkl_client *client, zkl_record_snapshot *snapshot) {
    size_t size = zkl_recorder_ring_size(client->recorder);
    char *copy = malloc(size);
    if (copy == NULL) {
        return NULL;
    }
    memset(copy, '\n', size); /* not 0: that could become a calloc, which touches nothing */
    ZKL_WITH_MUTEX(&client->mutex);
    *snapshot = zkl_recorder_take_snapshot(client->recorder, copy);
    return copy;
}

static int check_record(const zkl_client *client, const char *path) {
    ZKL_TRY(zkl_handle_check("client", client));
    ZKL_TRY(zkl_validate_pointer("path", path));
    ZKL_TRY(zkl_validate_file_name("path", path));
    return client->recorder != NULL
               ? ZKL_OK
               : zkl_refuse("client", NULL, "keeps no record: its recorded_events is ZKL_NONE");
}

int zkl_client_write_record(zkl_client *client, const char *path) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(check_record(client, path));
    zkl_record_snapshot snapshot;
    char *copy = copy_record(client, &snapshot);
    ZKL_TRY(zkl_made(copy));
    bool written = zkl_record_file_write(path, &snapshot);
    int why = errno;
    free(copy);
    if (!written) {
        zkl_error_note("path", path, "%s", strerror(why));
        return ZKL_SYSTEM;
    }
    return ZKL_OK;
}
