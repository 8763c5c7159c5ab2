#include "client.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { CLOSE_MS = 10000 };

static const char *const suffixes[CLIENT_ROLES] = {
    [CLIENT_FIRST] = "", [CLIENT_SECOND] = "-second", [CLIENT_UNPROTECTED] = "-unprotected"
};

/* ---- What its log tells ---------------------------------------------------------------------- */

static void note_session(struct client *client, int64_t session) {
    if (session != client->session) {
        history_line line;
        history_begin(&line, client->caller.who, "session");
        history_session(&line, session);
        history_write(&line);
        client->session = session;
    }
}

static void print_record(const struct client *client, const zkl_log_record *record) {
    fprintf(stderr, "%s: %s %s %s: %s %s\n", client->caller.who,
            zkl_log_event_name((int)record->event), record->resource, record->lock_owner,
            zkl_status_name(record->status), record->message);
}

static void on_log(void *arg, const zkl_log_record *record) {
    struct client *client = arg;
    if (record->event == ZKL_LOG_CONNECTED) {
        note_session(client, record->session_id);
    }
    if (record->level <= ZKL_LOG_WARN) {
        print_record(client, record);
    }
}

/* ---- Opening and closing --------------------------------------------------------------------- */

int client_open(struct client *client, client_role role, const struct options *options) {
    snprintf(client->caller.who, sizeof client->caller.who, "%s%s", options->name, suffixes[role]);
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    credential.secret = options->credentials;
    credential.size = options->credentials != NULL ? strlen(options->credentials) : 0;
    zkl_security security = ZKL_SECURITY_INIT;
    security.credentials = &credential;
    security.unprotected = role == CLIENT_UNPROTECTED;
    security.credential_count = options->credentials != NULL;
    zkl_client_options wanted = ZKL_CLIENT_OPTIONS_INIT;
    wanted.session_timeout_ms = options->session_timeout_ms;
    wanted.lease_tick_ms = options->lease_tick_ms;
    wanted.label = client->caller.who;
    wanted.log_callback = on_log;
    wanted.log_arg = client;
    wanted.security = &security;
    int status = zkl_client_open(options->hosts, &wanted, &client->zkl);
    if (status == ZKL_OK) {
        zkl_client_information now = ZKL_CLIENT_INFORMATION_INIT;
        (void)zkl_client_info(client->zkl, &now);
        client->session_timeout_ms = now.session_timeout_ms;
    }
    return status;
}

int client_set_hosts(struct client *client, const char *hosts) {
    struct call call;
    call_prepare(&call, &client->caller, "set_hosts");
    call_begin(&call);
    int status = zkl_client_set_hosts(client->zkl, hosts);
    call_end(&call, status);
    call_note(&call);
    return status;
}

int client_set_credentials(struct client *client, const char *secret) {
    zkl_credential credential = ZKL_CREDENTIAL_INIT;
    credential.secret = secret;
    credential.size = strlen(secret);
    struct call call;
    call_prepare(&call, &client->caller, "set_credentials");
    call_begin(&call);
    int status = zkl_client_set_credentials(client->zkl, &credential, 1);
    call_end(&call, status);
    call_note(&call);
    return status;
}

int client_write_record(struct client *client, const char *directory) {
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s.record", directory, client->caller.who);
    struct call call;
    call_prepare(&call, &client->caller, "write_record");
    call_begin(&call);
    int status = zkl_client_write_record(client->zkl, path);
    call_end(&call, status);
    call_note(&call);
    return status;
}

void client_close(struct client *client) {
    struct call call;
    call_prepare(&call, &client->caller, "close_client");
    call_begin(&call);
    int status = zkl_client_close(client->zkl, CLOSE_MS);
    call_end(&call, status);
    call_note(&call);
}
