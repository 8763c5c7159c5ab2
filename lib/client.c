#include "client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "input.h"
#include "service.h"
#include "threads.h"
#include "zookeeper/request_runner.h"

enum { HOST_NAME_SIZE = 256, IDENTITY_SIZE = 640 };

/* ---- News from the operations, with the mutex held ------------------------ */

static void on_session_news(void *arg, const zkl_session_news *news) {
    zkl_client *client = arg;
    zkl_session_on_news(&client->session, news);
    if (news->state == ZKL_SESSION_STATE_EXPIRED) {
        client->session_is_over = true;
    }
    pthread_cond_signal(&client->session_changed);
    pthread_cond_broadcast(&client->changed);
}

static void on_watch_fired(void *arg, uint64_t watch_id) {
    zkl_client *client = arg;
    zkl_session_on_watch_fired(&client->session, watch_id);
}

static void on_request_ended(void *arg) {
    zkl_client *client = arg;
    if (client->closed) {
        pthread_cond_broadcast(&client->changed);
    }
}

static void on_wake(void *arg) {
    zkl_client *client = arg;
    pthread_cond_signal(&client->timers_changed);
}

/* ---- Opening ---------------------------------------------------------------- */

static int check_options(const zkl_client_options *options) {
    int status =
        zkl_input_check_struct_size("zkl_client_options", options->struct_size, sizeof(*options));
    if (status == ZKL_OK) {
        status = zkl_input_check_range("session_timeout_ms", options->session_timeout_ms,
                                       ZKL_SESSION_TIMEOUT_MIN_MS, ZKL_SESSION_TIMEOUT_MAX_MS,
                                       ZKL_INVALID_TIMEOUT);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_range("connect_timeout_ms", options->connect_timeout_ms, 1,
                                       INT32_MAX, ZKL_INVALID_TIMEOUT);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("lock_root", options->lock_root);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_root(options->lock_root);
    }
    if (status == ZKL_OK && options->label != NULL) {
        status = zkl_input_check_label(options->label);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_range("log_level", (int64_t)options->log_level, ZKL_LOG_ERROR,
                                       ZKL_LOG_DEBUG, ZKL_INVALID_ARGUMENT);
    }
    return status;
}

static char *make_identity(const char *label) {
    char host[HOST_NAME_SIZE] = "unknown";
    (void)gethostname(host, sizeof(host) - 1);
    char text[IDENTITY_SIZE];
    snprintf(text, sizeof(text), "host=%s\npid=%ld\nlabel=%s\n", host, (long)getpid(), label);
    return strdup(text);
}

static bool copy_strings(zkl_client *client, const char *hosts, size_t servers_length,
                         const char *chroot, const zkl_client_options *options) {
    /* The program's name is no input of the user's: cut it rather than refuse it. */
    const char *program = program_invocation_short_name;
    const char *label = options->label != NULL ? options->label : program;
    client->servers = strndup(hosts, servers_length);
    client->chroot = strdup(chroot);
    client->lock_root = strdup(options->lock_root);
    client->label = strndup(label, ZKL_LABEL_MAX);
    if (client->label != NULL) {
        client->identity = make_identity(client->label);
    }
    return client->servers != NULL && client->chroot != NULL && client->lock_root != NULL &&
           client->identity != NULL;
}

static void free_client(zkl_client *client) {
    pthread_cond_destroy(&client->session_changed);
    pthread_cond_destroy(&client->timers_changed);
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->mutex);
    free(client->servers);
    free(client->chroot);
    free(client->lock_root);
    free(client->label);
    free(client->identity);
    free(client);
}

/* Stops what has been started, in the order in which news flows. */
static void shut_down(zkl_client *client) {
    zkl_log_stop(client->log);
    zkl_libzookeeper_free(client->zookeeper);
    client->zookeeper = NULL;
    zkl_session_destroy(&client->session);
    zkl_callback_thread_stop(client->callbacks);
    client->callbacks = NULL;
    zkl_log_free(client->log);
    client->log = NULL;
}

static zkl_client *make_client(const zkl_client_options *options) {
    zkl_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return NULL;
    }
    pthread_mutex_init(&client->mutex, NULL);
    zkl_condition_begin(&client->changed);
    zkl_condition_begin(&client->timers_changed);
    zkl_condition_begin(&client->session_changed);
    client->references = 1;
    client->session_timeout_ms = options->session_timeout_ms;
    return client;
}

static int start_log(zkl_client *client, const zkl_client_options *options) {
    if (options->log_callback == NULL) {
        return ZKL_OK;
    }
    client->callbacks = zkl_callback_thread_start();
    if (client->callbacks == NULL) {
        return ZKL_SYSTEM;
    }
    client->log = zkl_log_open(options->log_callback, options->log_arg, options->log_level,
                               client->callbacks);
    return client->log != NULL ? ZKL_OK : ZKL_NO_MEMORY;
}

static int start_zookeeper(zkl_client *client) {
    zkl_listener listener = { client, on_session_news, on_watch_fired };
    client->zookeeper = zkl_libzookeeper_make(&client->mutex, &listener, on_wake, client);
    if (client->zookeeper == NULL) {
        return ZKL_NO_MEMORY;
    }
    zkl_session_begin(&client->session, zkl_libzookeeper_operations(client->zookeeper), client->log,
                      client->identity, client->label);
    client->session.request_ended = on_request_ended;
    client->session.request_ended_arg = client;
    return zkl_service_start(client);
}

static int wait_until_connected(zkl_client *client, int32_t timeout_ms) {
    pthread_mutex_lock(&client->mutex);
    zkl_session *session = &client->session;
    int64_t deadline = zkl_clock_ms() + timeout_ms;
    while (!session->connected && !session->auth_failed) {
        int64_t left = deadline - zkl_clock_ms();
        if (left <= 0) {
            break;
        }
        zkl_condition_wait(&client->changed, &client->mutex, left);
    }
    int status = session->connected ? ZKL_OK : ZKL_TIMEOUT;
    if (session->auth_failed) {
        status = ZKL_AUTH_FAILED;
    }
    pthread_mutex_unlock(&client->mutex);
    return status;
}

static int start_client(zkl_client *client, const char *hosts, const zkl_client_options *options) {
    int status = start_log(client, options);
    if (status == ZKL_OK) {
        status = start_zookeeper(client);
    }
    if (status != ZKL_OK) {
        shut_down(client);
        free_client(client);
        if (status == ZKL_CANNOT_RESOLVE) {
            zkl_input_note("host list", hosts, "no host of it could be resolved");
        }
        return status;
    }
    status = wait_until_connected(client, options->connect_timeout_ms);
    if (status != ZKL_OK) {
        (void)zkl_client_close(client, 0);
    }
    if (status == ZKL_TIMEOUT) {
        zkl_input_note("host list", hosts, "no server answered within connect_timeout_ms");
    }
    return status;
}

int zkl_client_open(const char *hosts, const zkl_client_options *given, zkl_client **result) {
    zkl_input_clear();
    static const zkl_client_options defaults = ZKL_CLIENT_OPTIONS_INIT;
    const zkl_client_options *options = given != NULL ? given : &defaults;
    size_t servers_length = 0;
    const char *chroot = NULL;
    int status = zkl_input_check_pointer("client", result);
    if (status != ZKL_OK) {
        return status;
    }
    *result = NULL;
    if (zkl_callback_thread_is_current()) {
        return ZKL_IN_CALLBACK;
    }
    status = zkl_input_check_pointer("hosts", hosts);
    if (status == ZKL_OK) {
        status = zkl_input_check_hosts(hosts, &servers_length, &chroot);
    }
    if (status == ZKL_OK) {
        status = check_options(options);
    }
    if (status != ZKL_OK) {
        return status;
    }
    zkl_client *client = make_client(options);
    if (client == NULL) {
        return ZKL_NO_MEMORY;
    }
    if (!copy_strings(client, hosts, servers_length, chroot, options)) {
        free_client(client);
        return ZKL_NO_MEMORY;
    }
    status = start_client(client, hosts, options);
    if (status == ZKL_OK) {
        *result = client;
    }
    return status;
}

/* ---- Closing ------------------------------------------------------------------ */

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

/* Every request leaves the queue; a verdict that is still owed is ZKL_CLOSED. */
static void send_all_away(zkl_client *client) {
    for (zkl_request_runner *runner = client->session.runners, *next; runner != NULL;
         runner = next) {
        next = runner->next;
        zkl_event leave = { .kind = ZKL_EVENT_CANCELLED, .status = ZKL_CLOSED };
        if (runner->request.held) {
            leave.kind = ZKL_EVENT_RELEASED;
        }
        zkl_request_runner_feed(runner, &leave);
    }
}

static int wait_until_all_left(zkl_client *client, int64_t timeout_ms) {
    int64_t start = zkl_clock_ms();
    while (client->session.runners != NULL) {
        int64_t left = timeout_ms - (zkl_clock_ms() - start);
        if (left <= 0) {
            return ZKL_PENDING;
        }
        zkl_condition_wait(&client->changed, &client->mutex, left);
    }
    return ZKL_OK;
}

int zkl_client_close(zkl_client *client, int64_t timeout_ms) {
    zkl_input_clear();
    if (client == NULL) {
        return ZKL_OK;
    }
    int status = zkl_input_check_range("timeout_ms", timeout_ms, 0, INT64_MAX, ZKL_INVALID_TIMEOUT);
    if (status != ZKL_OK) {
        return status;
    }
    if (zkl_callback_thread_is_current()) {
        return ZKL_IN_CALLBACK;
    }
    pthread_mutex_lock(&client->mutex);
    client->closed = true;
    send_all_away(client);
    status = wait_until_all_left(client, timeout_ms);
    pthread_mutex_unlock(&client->mutex);
    zkl_service_stop(client);
    pthread_mutex_lock(&client->mutex);
    zkl_session_finish(&client->session, ZKL_CLOSED);
    assert(client->session.runners == NULL);
    pthread_mutex_unlock(&client->mutex);
    shut_down(client);
    zkl_client_drop(client);
    return status;
}

/* ---- The rest ------------------------------------------------------------------ */

int zkl_client_info(zkl_client *client, zkl_client_information *information) {
    zkl_input_clear();
    int status = zkl_input_check_pointer("client", client);
    if (status == ZKL_OK) {
        status = zkl_input_check_pointer("information", information);
    }
    if (status == ZKL_OK) {
        status = zkl_input_check_struct_size("zkl_client_information", information->struct_size,
                                             sizeof(*information));
    }
    if (status != ZKL_OK) {
        return status;
    }
    pthread_mutex_lock(&client->mutex);
    information->connected = client->session.connected ? 1 : 0;
    information->session_id = client->session.id;
    information->session_timeout_ms = client->session.timeout_ms;
    information->sessions_expired = client->session.expired_count;
    pthread_mutex_unlock(&client->mutex);
    return ZKL_OK;
}

void zkl_client_resource_path(const zkl_client *client, const char *resource,
                              char path[ZKL_PARENT_PATH_SIZE]) {
    bool absolute = resource[0] == '/';
    snprintf(path, ZKL_PARENT_PATH_SIZE, "%s%s%s%s", client->chroot,
             absolute ? "" : client->lock_root, absolute ? "" : "/", resource);
}
