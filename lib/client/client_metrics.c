/* zkl_client_metrics: the numbers are copied under the client's mutex, and written without. */
#include <stdlib.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "client/client.h"
#include "session/request_runner.h"

/* What is so now is not counted up and down, but looked at. */
static void look_at_request(const zkl_request_runner *runner) {
    zkl_class_metrics *class = runner->history.metrics;
    if (class == NULL) {
        return;
    }
    if (runner->request.stage == ZKL_STAGE_HELD) {
        class->held++;
    } else if (!runner->request.verdict.given) {
        class->waiting++;
    }
    if (runner->request.stage >= ZKL_STAGE_LEAVING) {
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

static void look(const zkl_client *client) {
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

/* NULL: out of memory. */
static zkl_metrics *copy_numbers(zkl_client *client) {
    zkl_metrics *copy = malloc(sizeof(*copy));
    if (copy != NULL) {
        pthread_mutex_lock(&client->mutex);
        look(client);
        *copy = *client->metrics;
        pthread_mutex_unlock(&client->mutex);
    }
    return copy;
}

static int write_text(const zkl_metrics *metrics, char *buffer, size_t size, size_t *length) {
    *length = zkl_metrics_write(metrics, NULL, 0);
    if (*length >= size) {
        return ZKL_BUFFER_TOO_SMALL;
    }
    (void)zkl_metrics_write(metrics, buffer, size);
    return ZKL_OK;
}

static int check(const zkl_client *client, const char *buffer, size_t size) {
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
    ZKL_TRY(check(client, buffer, size));
    zkl_metrics *numbers = copy_numbers(client);
    ZKL_TRY(zkl_made(numbers));
    int status = write_text(numbers, buffer, size, length);
    free(numbers);
    return status;
}
