/* zkl_client_open and zkl_client_close. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/acl_text.h"
#include "base/error_message.h"
#include "base/threads.h"
#include "base/validation.h"
#include "client/client.h"
#include "client/secure_options.h"
#include "session/explanation.h"
#include "session/request_runner.h"

enum { HOST_NAME_SIZE = 256 };

/* A connection that is closed before all replies have been read is reset (lz-reset), and the end of
 * its session is lost on the way: the servers would keep its nodes until it times out. So close
 * waits for the replies: while at least one comes in each DRAIN_MS, but no longer than
 * DRAIN_LONGEST_MS. */
enum { DRAIN_MS = 1000, DRAIN_LONGEST_MS = 5000 };

/* ---- Input -------------------------------------------------------------------------------- */

static int32_t or_default(int32_t given, int32_t default_value) {
    return given != 0 ? given : default_value;
}

static void take_defaults(zkl_client_options *options) {
    options->session_timeout_ms =
        or_default(options->session_timeout_ms, ZKL_SESSION_TIMEOUT_DEFAULT_MS);
    options->connect_timeout_ms =
        or_default(options->connect_timeout_ms, ZKL_CONNECT_TIMEOUT_DEFAULT_MS);
    options->recorded_events = or_default(options->recorded_events, ZKL_RECORDED_EVENTS_DEFAULT);
    options->log_level =
        (zkl_log_level)or_default((int32_t)options->log_level, (int32_t)ZKL_LOG_INFO);
    if (options->lock_root == NULL) {
        options->lock_root = ZKL_LOCK_ROOT_DEFAULT;
    }
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
    if (options->recorded_events != ZKL_NONE) {
        ZKL_TRY(zkl_validate_range("recorded_events", options->recorded_events,
                                   ZKL_RECORDED_EVENTS_MIN, ZKL_RECORDED_EVENTS_MAX));
    }
    ZKL_TRY(zkl_validate_range("container_parents", options->container_parents, 0, 1));
    return zkl_validate_range("metrics", options->metrics, 0, 1);
}

static int check_client_options(const zkl_client_options *options) {
    ZKL_TRY(check_numbers(options));
    ZKL_TRY(zkl_validate_path("lock_root", options->lock_root, ZKL_ROOT_MAX));
    ZKL_TRY(zkl_validate_text("label", options->label, ZKL_LABEL_MAX));
    return options->record_directory != NULL
               ? zkl_validate_file_name("record_directory", options->record_directory)
               : ZKL_OK;
}

static int check_security(const zkl_security *security) {
    ZKL_TRY(zkl_validate_range("unprotected", security->unprotected, 0, 1));
    ZKL_TRY(zkl_acl_validate("node_acl", security->node_acl));
    ZKL_TRY(zkl_acl_validate("parent_acl", security->parent_acl));
    return zkl_secure_options_check(security);
}

static int read_client_options(const zkl_client_options *given, zkl_client_options *options,
                               zkl_security *security) {
    ZKL_TRY(zkl_struct_read("zkl_client_options", given, options, sizeof(*options)));
    take_defaults(options);
    ZKL_TRY(check_client_options(options));
    ZKL_TRY(zkl_struct_read("zkl_security", options->security, security, sizeof(*security)));
    return check_security(security);
}

/* ---- Its parts ---------------------------------------------------------------------------- */

static int copy_strings(zkl_client *client, const char *hosts, size_t servers_length,
                        const char *chroot) {
    /* the program's name is no input of the user's: it is cut rather than refused */
    const char *program = program_invocation_short_name;
    const char *label = client->options.label != NULL ? client->options.label : program;
    char host[HOST_NAME_SIZE] = "unknown";
    zkl_pool *pool = &client->pool;
    (void)gethostname(host, sizeof(host) - 1);
    client->chroot = zkl_pool_copy_text(pool, chroot);
    client->lock_root = zkl_pool_print(pool, "%s%s", chroot, client->options.lock_root);
    client->label = zkl_pool_print(pool, "%.*s", ZKL_LABEL_MAX, label);
    client->identity = zkl_pool_print(pool, "host=%s\npid=%ld\nlabel=%.*s\n", host,
                                      (long)client->open.process, ZKL_LABEL_MAX, label);
    client->security.node_acl = zkl_pool_copy_text(pool, client->security.node_acl);
    client->security.parent_acl = zkl_pool_copy_text(pool, client->security.parent_acl);
    client->lock_defaults = (zkl_lock_options)ZKL_LOCK_OPTIONS_INIT;
    client->lock_defaults.node_acl = client->security.node_acl;
    client->lock_defaults.parent_acl = client->security.parent_acl;
    client->servers = strndup(hosts, servers_length);
    ZKL_TRY(zkl_made(client->servers));
    zkl_secure_options_copy(&client->security, pool);
    if (client->security.tls_server_names == NULL) {
        client->security.tls_server_names = client->servers;
    }
    return zkl_pool_status(pool);
}

static zkl_client *make_client(const zkl_client_options *options, const zkl_security *security) {
    zkl_client *client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return NULL;
    }
    pthread_mutex_init(&client->mutex, NULL);
    zkl_condition_begin(&client->changed);
    zkl_condition_begin(&client->timers_changed);
    zkl_handle_open("client", &client->open);
    client->references = 1;
    client->options = *options;
    client->security = *security;
    client->watched_bytes_max = ZKL_WATCHED_BYTES_MAX;
    return client;
}

/* Opens the metrics. The program's name was not checked, and the format wants UTF-8. */
static int open_metrics(zkl_client *client) {
    bool good = zkl_validate_text("label", client->label, ZKL_LABEL_MAX) == ZKL_OK;
    zkl_error_clear();
    client->metrics = zkl_metrics_open(good ? client->label : "");
    return zkl_made(client->metrics);
}

/* Opens what the options ask for. A queue of callbacks that has a thread is started when a handle
 * needs it. */
static int open_parts(zkl_client *client) {
    const zkl_client_options *options = &client->options;
    if (options->recorded_events != ZKL_NONE) {
        client->recorder =
            zkl_recorder_open(options->recorded_events, client->label, options->record_directory);
        ZKL_TRY(zkl_made(client->recorder));
    }
    if (options->metrics != 0) {
        ZKL_TRY(open_metrics(client));
    }
    if (options->log_callback != NULL) {
        client->log = zkl_log_open(options->log_callback, options->log_arg, options->log_level);
        ZKL_TRY(client->log != NULL ? ZKL_OK : ZKL_SYSTEM);
    }
    if (options->dispatch == ZKL_DISPATCH_CALLER) {
        client->callbacks = zkl_callback_queue_open(false);
        return zkl_made(client->callbacks);
    }
    return ZKL_OK;
}

/* ---- Closing ------------------------------------------------------------------------------ */

/* Runs callbacks before the close waits for the servers, so that waiting callers learn that it is
 * over. */
static void dispatch_verdicts(zkl_client *client) {
    if (client->options.dispatch == ZKL_DISPATCH_CALLER && client->callbacks != NULL) {
        pthread_mutex_unlock(&client->mutex);
        (void)zkl_callback_queue_dispatch(client->callbacks);
        pthread_mutex_lock(&client->mutex);
    }
}

/* Makes each request leave its queue. A verdict that is still owed is ZKL_CLOSED. */
static void send_all_away(zkl_client *client) {
    for (zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        zkl_request_runner *next = NULL;
        for (zkl_request_runner *runner = one->session.runners; runner != NULL; runner = next) {
            next = runner->next;
            zkl_request_runner_leave(runner, ZKL_CLOSED);
        }
    }
}

/* Returns for how long nodes of sessions that were given up may still be there; INT64_MAX:
 * unknown. */
static int64_t left_behind_ms(const zkl_client *client) {
    int64_t longest = 0;
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        int64_t its = zkl_session_left_behind_ms(&one->session);
        longest = its > longest ? its : longest;
    }
    return longest;
}

/* Tells whether the close waits for the request. A node that the servers refuse to delete, or to
 * show, goes with its session only. */
static bool is_awaited(const zkl_request_runner *runner) {
    return runner->sender.refused != ZKL_EVENT_DELETED &&
           runner->sender.refused != ZKL_EVENT_INSPECTED;
}

/* Tells whether the request may still have a node. What it lingers for comes no more once the
 * session has ended. */
static bool is_there(const zkl_request_runner *runner) {
    return !runner->request.lost.lingers;
}

static bool have_left(const zkl_client *client, bool all) {
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        for (const zkl_request_runner *runner = one->session.runners; runner != NULL;
             runner = runner->next) {
            if (is_there(runner) && (all || is_awaited(runner))) {
                return false;
            }
        }
    }
    return left_behind_ms(client) == 0;
}

static bool have_awaited_left(const zkl_client *client) {
    return have_left(client, false);
}

/* Waits until that is so, at most for the time. With the mutex held. */
static void wait_for_condition(zkl_client *client, bool (*is_so)(const zkl_client *client),
                               int64_t timeout_ms) {
    int64_t deadline_ms = zkl_deadline(timeout_ms);
    while (!is_so(client) && zkl_clock_ms() < deadline_ms) {
        int64_t behind_ms = left_behind_ms(client); /* no signal comes at its end */
        int64_t over_ms = behind_ms > 0 ? zkl_deadline(behind_ms) : INT64_MAX;
        (void)zkl_condition_wait(&client->changed, &client->mutex,
                                 over_ms < deadline_ms ? over_ms : deadline_ms);
    }
}

static void drain(zkl_client *client) {
    int64_t deadline_ms = zkl_deadline(DRAIN_LONGEST_MS - DRAIN_MS);
    uint64_t before = 0;
    do {
        before = client->answers;
        wait_for_condition(client, zkl_sessions_are_idle, DRAIN_MS);
    } while (!zkl_sessions_are_idle(client) && client->answers != before &&
             zkl_clock_ms() <= deadline_ms);
}

/* Waits for the requests that leave, and then, briefly, for all other replies. */
static int wait_until_all_left(zkl_client *client, int64_t timeout_ms) {
    wait_for_condition(client, have_awaited_left, timeout_ms);
    drain(client);
    return have_left(client, true) ? ZKL_OK : ZKL_PENDING;
}

static void tell_close_listeners(const zkl_client *client) {
    for (zkl_close_listener *one = client->close_listeners; one != NULL; one = one->next) {
        client->handle_closes(one);
    }
}

/* Stops the callbacks and the log in the order in which news flows, and then frees the sessions,
 * which callbacks may have looked at. */
static void shut_down(zkl_client *client) {
    zkl_callback_queue_close(client->callbacks);
    client->callbacks = NULL;
    zkl_log_close(client->log);
    client->log = NULL;
    zkl_sessions_free(client);
    zkl_credentials_wipe(&client->credentials);
    zkl_secure_options_wipe(&client->security);
}

static int close_client(zkl_client *client, int64_t timeout_ms) {
    pthread_mutex_lock(&client->mutex);
    if (client->closed) { /* its memory is still there for its lock handles */
        pthread_mutex_unlock(&client->mutex);
        return ZKL_CLOSED;
    }
    /* wakes calls of administration.h that are under way */
    zkl_condition_broadcast(&client->changed);
    client->closed = true;
    tell_close_listeners(client);
    send_all_away(client);
    dispatch_verdicts(client);
    int status = wait_until_all_left(client, timeout_ms);
    pthread_mutex_unlock(&client->mutex);
    zkl_sessions_stop(client);
    shut_down(client);
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
    ZKL_TRY(zkl_check_may_wait());
    return close_client(client, timeout_ms);
}

/* ---- Opening ------------------------------------------------------------------------------ */

/* Returns ZKL_OK if the first session is connected, and can do what is asked for. */
static int first_status(const zkl_client_session *first) {
    if (first->session.auth_failed) {
        return ZKL_AUTH_FAILED;
    }
    if (!first->session.connected) {
        return first->connect_status != ZKL_OK ? first->connect_status : ZKL_DISCONNECTED;
    }
    return zkl_lease_is_possible(&first->session.liveness.lease) ? ZKL_OK : ZKL_LEASE_IMPOSSIBLE;
}

static void explain(const zkl_client *client, const char *hosts, int status) {
    const zkl_client_session *first = client->sessions;

    if (status == ZKL_LEASE_IMPOSSIBLE) {
        zkl_client_note_lease_impossible(client);
    } else if (status == ZKL_AUTH_FAILED) {
        zkl_error_set(zkl_explain_refusal(&first->session).text);
    } else if (status == ZKL_DISCONNECTED) {
        zkl_error_note(
            "host list", hosts, "%s",
            first->connect_status != ZKL_OK
                ? "no host of it could be resolved"
                : zkl_explain_connection(&first->session, "the connection was lost").text);
    }
}

/* Waits for the first session. The time to connect begins when the names have been resolved. */
static int await_first_session(zkl_client *client, const char *hosts) {
    ZKL_WITH_MUTEX(&client->mutex);
    const zkl_client_session *first = client->sessions;
    while (first->connect_status == ZKL_PENDING) {
        (void)zkl_condition_wait(&client->changed, &client->mutex, INT64_MAX);
    }
    int64_t deadline_ms = zkl_deadline(client->options.connect_timeout_ms);
    while (!first->session.connected && !first->session.auth_failed &&
           first->connect_status == ZKL_OK &&
           zkl_condition_wait(&client->changed, &client->mutex, deadline_ms)) {
    }
    int status = first_status(first);
    explain(client, hosts, status);
    return status;
}

static int start_client(zkl_client *client, const char *hosts, size_t servers_length,
                        const char *chroot) {
    ZKL_TRY(copy_strings(client, hosts, servers_length, chroot));
    client->credentials.callback = client->security.credential_callback;
    client->credentials.arg = client->security.credential_arg;
    ZKL_TRY(zkl_credentials_take(&client->credentials, client->security.credentials,
                                 client->security.credential_count));
    ZKL_TRY(zkl_connection_check(&client->security));
    ZKL_TRY(open_parts(client));
    ZKL_TRY(zkl_sessions_start(client));
    return await_first_session(client, hosts);
}

int zkl_client_open(const char *hosts, const zkl_client_options *given, zkl_client **result) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("client", result));
    *result = NULL;
    ZKL_TRY(zkl_check_may_wait());
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    size_t servers_length = 0;
    const char *chroot = NULL;
    ZKL_TRY(zkl_validate_hosts(hosts, &servers_length, &chroot));
    ZKL_TRY(read_client_options(given, &options, &security));
    zkl_client *client = make_client(&options, &security);
    ZKL_TRY(zkl_made(client));
    int status = start_client(client, hosts, servers_length, chroot);
    if (status != ZKL_OK) {
        (void)close_client(client, 0);
        return status;
    }
    *result = client;
    return ZKL_OK;
}

/* ---- Other servers ------------------------------------------------------------------------ */

static int change_servers(zkl_client *client, char *servers) {
    ZKL_WITH_MUTEX(&client->mutex);
    if (client->closed) {
        free(servers);
        return ZKL_CLOSED;
    }
    if (client->security.tls_server_names == client->servers) {
        client->security.tls_server_names = servers;
    }
    free(client->servers);
    client->servers = servers;
    for (zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        zkl_client_session_tell(one, ZKL_CONNECTING_EVENT_SERVERS_CHANGED);
    }
    return ZKL_OK;
}

int zkl_client_set_hosts(zkl_client *client, const char *hosts) {
    ZKL_BEGIN_CALL;
    size_t servers_length = 0;
    const char *chroot = NULL;
    ZKL_TRY(zkl_handle_check("client", client));
    ZKL_TRY(zkl_validate_hosts(hosts, &servers_length, &chroot));
    if (strcmp(chroot, client->chroot) != 0) {
        return zkl_refuse("host list", hosts, "must end in the chroot of the client, \"%s\"",
                          client->chroot);
    }
    char *servers = strndup(hosts, servers_length);
    ZKL_TRY(zkl_made(servers));
    return change_servers(client, servers);
}

/* ---- Other credentials -------------------------------------------------------------------- */

static bool replaces_auth(const zkl_client *client) {
    for (const zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        if (one->session.established &&
            zkl_protection_replaces_auth(&one->session.sender.protection)) {
            return true;
        }
    }
    return false;
}

/* Changes the list, which the mutex guards. The old one is put into `given`. */
static int change_credentials(zkl_client *client, zkl_credentials *given) {
    ZKL_WITH_MUTEX(&client->mutex);
    if (client->closed) {
        return ZKL_CLOSED;
    }
    ZKL_TRY(replaces_auth(client) ? zkl_credentials_check_known(given) : ZKL_OK);
    const zkl_credentials old = client->credentials;
    client->credentials = *given;
    *given = old;
    for (zkl_client_session *one = client->sessions; one != NULL; one = one->next) {
        zkl_client_session_tell(one, ZKL_CONNECTING_EVENT_CREDENTIALS_CHANGED);
    }
    return ZKL_OK;
}

int zkl_client_set_credentials(zkl_client *client, const zkl_credential *credentials,
                               int32_t count) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_handle_check("client", client));
    zkl_credentials given = { .callback = client->security.credential_callback,
                              .arg = client->security.credential_arg };
    int status = zkl_credentials_take(&given, credentials, count);
    if (status == ZKL_OK) {
        status = change_credentials(client, &given);
    }
    zkl_credentials_wipe(&given);
    return status;
}
