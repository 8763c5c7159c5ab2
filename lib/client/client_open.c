#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "base/try.h"
#include "base/validation.h"
#include "client/client.h"
#include "client/session_threads.h"
#include "session/explanation.h"

enum { HOST_NAME_SIZE = 256, IDENTITY_SIZE = 640 };

/* What the application asks for. */
typedef struct opening {
    const char *hosts;
    size_t servers_length; /* before the chroot */
    const char *chroot;
    zkl_client_options options;
} opening;

/* ---- Input -------------------------------------------------------------------------------- */

static int check_hosts(opening *given) {
    ZKL_TRY(zkl_validate_pointer("hosts", given->hosts));
    return zkl_validate_hosts(given->hosts, &given->servers_length, &given->chroot);
}

static int check_numbers(const zkl_client_options *options) {
    ZKL_TRY(zkl_validate_range("session_timeout_ms", options->session_timeout_ms,
                               ZKL_SESSION_TIMEOUT_MIN_MS, ZKL_SESSION_TIMEOUT_MAX_MS));
    ZKL_TRY(zkl_validate_range("connect_timeout_ms", options->connect_timeout_ms, 1, INT32_MAX));
    ZKL_TRY(zkl_validate_range("lease_tick_ms", options->lease_tick_ms, 0, ZKL_LEASE_TICK_MAX_MS));
    ZKL_TRY(
        zkl_validate_range("log_level", (int64_t)options->log_level, ZKL_LOG_ERROR, ZKL_LOG_DEBUG));
    ZKL_TRY(zkl_validate_range("dispatch", (int64_t)options->dispatch, ZKL_DISPATCH_THREAD,
                               ZKL_DISPATCH_CALLER));
    if (options->recorded_events != 0) {
        ZKL_TRY(zkl_validate_range("recorded_events", options->recorded_events,
                                   ZKL_RECORDED_EVENTS_MIN, ZKL_RECORDED_EVENTS_MAX));
    }
    ZKL_TRY(zkl_validate_range("container_parents", options->container_parents, 0, 1));
    ZKL_TRY(zkl_validate_range("metrics", options->metrics, 0, 1));
    return zkl_validate_range("reserved", options->reserved, 0, 0);
}

static int check_options(const zkl_client_options *options) {
    ZKL_TRY(check_numbers(options));
    ZKL_TRY(zkl_validate_pointer("lock_root", options->lock_root));
    ZKL_TRY(zkl_validate_root(options->lock_root));
    if (options->label != NULL) {
        ZKL_TRY(zkl_validate_label(options->label));
    }
    return options->record_directory != NULL
               ? zkl_validate_file_name("record_directory", options->record_directory)
               : ZKL_OK;
}

/* ---- Its parts ---------------------------------------------------------------------------- */

static char *make_identity(const char *label) {
    char host[HOST_NAME_SIZE] = "unknown";
    (void)gethostname(host, sizeof(host) - 1);
    char text[IDENTITY_SIZE];
    snprintf(text, sizeof(text), "host=%s\npid=%ld\nlabel=%s\n", host, (long)getpid(), label);
    return strdup(text);
}

static int copy_strings(zkl_client *client, const opening *given) {
    /* The program's name is no input of the user's: cut it rather than refuse it. */
    const char *program = program_invocation_short_name;
    const char *label = given->options.label != NULL ? given->options.label : program;
    char lock_root[2 * ZKL_ROOT_MAX + 1];
    snprintf(lock_root, sizeof(lock_root), "%s%s", given->chroot, given->options.lock_root);
    client->servers = strndup(given->hosts, given->servers_length);
    client->chroot = strdup(given->chroot);
    client->label = strndup(label, ZKL_LABEL_MAX);
    client->lock_root = strdup(lock_root);
    if (client->label != NULL) {
        client->identity = make_identity(client->label);
    }
    bool copied = client->servers != NULL && client->chroot != NULL && client->lock_root != NULL &&
                  client->identity != NULL;
    return copied ? ZKL_OK : ZKL_NO_MEMORY;
}

static zkl_client *make_client(const zkl_client_options *options) {
    zkl_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return NULL;
    }
    pthread_mutex_init(&client->mutex, NULL);
    zkl_condition_begin(&client->changed);
    zkl_condition_begin(&client->timers_changed);
    zkl_handle_open(&client->open);
    client->references = 1;
    client->process = getpid();
    client->session_timeout_ms = options->session_timeout_ms;
    client->lease_tick_ms = options->lease_tick_ms;
    client->watched_bytes_max = ZKL_WATCHED_BYTES_MAX;
    client->dispatch = options->dispatch;
    client->container_parents = options->container_parents != 0;
    return client;
}

static int start_log(zkl_client *client, const zkl_client_options *options) {
    if (options->log_callback == NULL) {
        return ZKL_OK;
    }
    client->log_callbacks = zkl_callback_queue_start();
    if (client->log_callbacks == NULL) {
        return ZKL_SYSTEM;
    }
    client->log = zkl_log_open(options->log_callback, options->log_arg, options->log_level,
                               client->log_callbacks);
    return client->log != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

/* One with a thread is started when a handle needs it. */
static int make_callbacks(zkl_client *client) {
    if (client->dispatch == ZKL_DISPATCH_CALLER) {
        client->callbacks = zkl_callback_queue_make();
        return client->callbacks != NULL ? ZKL_OK : ZKL_NO_MEMORY;
    }
    return ZKL_OK;
}

static int open_recorder(zkl_client *client, const zkl_client_options *given) {
    if (given->recorded_events == 0) {
        return ZKL_OK;
    }
    zkl_recorder_options options = {
        .events = given->recorded_events,
        .label = client->label,
        .directory = given->record_directory,
    };
    client->recorder = zkl_recorder_open(&options);
    return client->recorder != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

/* The program's name was not checked, and the format wants UTF-8. */
static int open_metrics(zkl_client *client, const zkl_client_options *given) {
    if (given->metrics == 0) {
        return ZKL_OK;
    }
    bool good = zkl_validate_label(client->label) == ZKL_OK;
    zkl_error_clear();
    client->metrics = zkl_metrics_open(good ? client->label : "");
    return client->metrics != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

/* ---- The first session --------------------------------------------------------------------- */

static int wait_until_connected(zkl_client *client, int32_t timeout_ms) {
    pthread_mutex_lock(&client->mutex);
    const zkl_session *session = &client->sessions->session;
    int64_t deadline = zkl_clock_ms() + timeout_ms;
    while (!session->connected && !session->auth_failed) {
        int64_t left = deadline - zkl_clock_ms();
        if (left <= 0) {
            break;
        }
        zkl_condition_wait(&client->changed, &client->mutex, left);
    }
    int status = session->connected ? ZKL_OK : ZKL_DISCONNECTED;
    if (session->auth_failed) {
        status = ZKL_AUTH_FAILED;
    } else if (session->connected && !zkl_liveness_lease_is_possible(&session->liveness)) {
        status = ZKL_LEASE_IMPOSSIBLE;
    }
    pthread_mutex_unlock(&client->mutex);
    return status;
}

/* Why it has no session, or none that will do. */
static void explain(zkl_client *client, const char *hosts, int status) {
    pthread_mutex_lock(&client->mutex);
    if (status == ZKL_LEASE_IMPOSSIBLE) {
        zkl_client_note_lease_impossible(client);
    } else if (status == ZKL_DISCONNECTED) {
        zkl_error_note("host list", hosts, "%s",
                       zkl_explain_connection(&client->sessions->session).text);
    }
    pthread_mutex_unlock(&client->mutex);
}

/* ---- Beginning ---------------------------------------------------------------------------- */

static int start(zkl_client *client, const opening *given) {
    ZKL_TRY(copy_strings(client, given));
    ZKL_TRY(open_recorder(client, &given->options));
    ZKL_TRY(open_metrics(client, &given->options));
    ZKL_TRY(start_log(client, &given->options));
    ZKL_TRY(make_callbacks(client));
    return zkl_service_start(client);
}

static int start_or_free(zkl_client *client, const opening *given) {
    int status = start(client, given);
    if (status != ZKL_OK) {
        zkl_client_shut_down(client);
        zkl_client_drop(client);
        if (status == ZKL_DISCONNECTED) {
            zkl_error_note("host list", given->hosts, "no host of it could be resolved");
        }
        return status;
    }
    status = wait_until_connected(client, given->options.connect_timeout_ms);
    if (status != ZKL_OK) {
        explain(client, given->hosts, status);
        (void)zkl_client_end(client, 0);
    }
    return status;
}

int zkl_client_open(const char *hosts, const zkl_client_options *options, zkl_client **result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("client", result));
    *result = NULL;
    if (zkl_callback_is_running()) {
        return ZKL_IN_CALLBACK;
    }
    opening given = { .hosts = hosts, .options = ZKL_CLIENT_OPTIONS_INIT };
    ZKL_TRY(check_hosts(&given));
    ZKL_TRY(zkl_struct_read("zkl_client_options", options, &given.options, sizeof(given.options)));
    ZKL_TRY(check_options(&given.options));
    zkl_client *client = make_client(&given.options);
    if (client == NULL) {
        return ZKL_NO_MEMORY;
    }
    ZKL_TRY(start_or_free(client, &given));
    *result = client;
    return ZKL_OK;
}
