/* The connection on libzookeeper_mt. Uses its asynchronous calls, and one that asks no server. */
#include "connection/connection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <utlist.h>
#include <zookeeper/zookeeper.h>

#include "base/error_message.h"
#include "base/threads.h"
#include "connection/addresses.h"
#include "connection/failures.h"
#include "connection/request_call.h"
#include "connection/return_codes.h"
#include "connection/transport.h"
#include "telemetry/log.h"

struct zkl_connection {
    zkl_operations operations; /* first: the table's functions get a pointer to it */
    pthread_mutex_t *mutex;
    zkl_listener listener;
    zkl_transport transport;
    zhandle_t *handle;
    char *addresses; /* NULL: none yet */
    bool abandoned;
    zkl_request_call *pending; /* libzookeeper forgets some (lz-forgotten) */
    size_t accepted;           /* credentials, by the servers of this handle */
    size_t shown;    /* the index of the one that was given last, perhaps more than once */
    bool introduced; /* all are: from now on libzookeeper repeats them at each connection */
    char scheme[ZKL_SCHEME_MAX + 1]; /* of the one that was given last */
    bool is_renewing;                /* it goes from one handle to the next */
    clientid_t session;              /* on that one */
    int32_t timeout_ms;              /* that is asked for */
    const char *why;                 /* the servers refused this client; NULL: no more is known */
    bool refused;                    /* that credential */
};

static zkl_connection *of(zkl_operations *operations) {
    return (zkl_connection *)operations;
}

/* ---- Requests ------------------------------------------------------------ */

/* libzookeeper would come back, and hear the same, for ever (lz-comes-back). */
static void give_up(zkl_connection *self, zkl_session_state state, const char *why) {
    if (!self->abandoned) {
        self->abandoned = true;
        self->why = why;
        self->listener.session(self->listener.arg, &(zkl_session_news){ .state = state });
    }
}

/* What libzookeeper gives no event for (lz-refused-login). */
static void look(zkl_connection *self) {
    const char *why = NULL;
    zkl_session_state state = zkl_transport_look(&self->transport, self->handle, &why);
    if (state != ZKL_SESSION_STATE_CONNECTING) {
        give_up(self, state, why);
    }
}

/* Answers a request, and frees it. */
static void answer(zkl_request_call *request, const zkl_reply *reply) {
    zkl_connection *self = request->owner;
    const zkl_reply lost = { .outcome = ZKL_OUTCOME_UNKNOWN };
    pthread_mutex_lock(self->mutex);
    DL_DELETE(self->pending, request);
    reply = self->is_renewing ? &lost : reply; /* the session goes on */
    if (reply->status == ZKL_AUTH_FAILED) {
        give_up(self, ZKL_SESSION_STATE_AUTH_FAILED,
                "the servers require an authentication that this client has not shown "
                "(sessionRequireClientSASLAuth, or enforce.auth)");
    }
    request->done(request->arg, reply);
    self->listener.answered(self->listener.arg);
    pthread_mutex_unlock(self->mutex);
    zkl_call_free(request);
}

/* ---- Watches ---------------------------------------------------------------- */

static zkl_watch_event event_of(int type) {
    bool of_data = type == ZOO_CHANGED_EVENT;
    bool of_children = type == ZOO_CHILD_EVENT;
    return type == ZOO_DELETED_EVENT ? ZKL_WATCH_EVENT_DELETED
           : of_data                 ? ZKL_WATCH_EVENT_CHANGED
           : of_children             ? ZKL_WATCH_EVENT_CHILDREN
                                     : ZKL_WATCH_EVENT_CREATED;
}

/* Each watcher of libzookeeper receives the session's events as well (lz-session-events): those
 * are the session watcher's work. */
static void on_watch(zhandle_t *handle, int type, int state, const char *path, void *context) {
    (void)state;
    (void)path;
    zkl_connection *self = (zkl_connection *)zoo_get_context(handle);
    if (type == ZOO_SESSION_EVENT) {
        return;
    }
    ZKL_WITH_MUTEX(self->mutex);
    if (self->handle == handle && !self->abandoned) {
        self->listener.watch_fired(self->listener.arg, (uint64_t)(uintptr_t)context,
                                   event_of(type));
    }
}

/* ---- Sending ---------------------------------------------------------------- */

static void forget_watches(zkl_operations *operations, const char *path, zkl_watch_kind kind) {
    zkl_connection *self = of(operations);
    if (self->handle != NULL && !self->abandoned) {
        zkl_call_forget_watches(self->handle, path, kind);
    }
}

/* What was not sent has no reply that can be lost: it may be sent later. */
static zkl_outcome send_operation(zkl_operations *operations, const zkl_operation *operation,
                                  zkl_reply_callback *done, void *arg) {
    zkl_connection *self = of(operations);
    if (self->handle == NULL || self->abandoned) {
        return self->is_renewing ? ZKL_OUTCOME_NOT_NOW : ZKL_OUTCOME_SESSION_OVER;
    }
    zkl_request_call *request = malloc(sizeof(*request));
    if (request == NULL) {
        return ZKL_OUTCOME_NOT_NOW;
    }
    *request = (zkl_request_call){ .owner = self,
                                   .answer = answer,
                                   .kind = operation->kind,
                                   .watcher = on_watch,
                                   .done = done,
                                   .arg = arg };
    DL_APPEND(self->pending, request);
    int rc = zkl_call(self->handle, operation, request);
    if (rc == ZOK) {
        return ZKL_OUTCOME_OK;
    }
    DL_DELETE(self->pending, request);
    zkl_call_free(request);
    zkl_outcome outcome = zkl_outcome_of_code(rc);
    return outcome == ZKL_OUTCOME_UNKNOWN ? ZKL_OUTCOME_NOT_NOW : outcome;
}

/* ---- News ---------------------------------------------------------------- */

/* Apache ZooKeeper gives each session a password, with which a client continues it on the
 * next connection. Zeros are what ClickHouse Keeper sends, which continues none. */
static bool lacks_password(const clientid_t *session) {
    static const char zeros[sizeof(session->passwd)];
    return memcmp(session->passwd, zeros, sizeof(zeros)) == 0;
}

static zkl_session_news news_of(zhandle_t *handle, int state) {
    zkl_session_news news = { .state = ZKL_SESSION_STATE_CONNECTING };
    if (state == ZOO_CONNECTED_STATE) {
        news.state = ZKL_SESSION_STATE_CONNECTED;
        news.session_id = zoo_client_id(handle)->client_id;
        news.timeout_ms = zoo_recv_timeout(handle);
        news.unsupported = lacks_password(zoo_client_id(handle));
    } else if (state == ZOO_EXPIRED_SESSION_STATE) {
        news.state = ZKL_SESSION_STATE_EXPIRED;
    } else if (state == ZOO_AUTH_FAILED_STATE) {
        news.state = ZKL_SESSION_STATE_AUTH_FAILED;
    }
    return news;
}

/* libzookeeper does not report a connection that it closes because the addresses have changed
 * (lz-silent-close), nor that no other is made. */
static void tell_if_closed(zkl_connection *self) {
    if (!self->abandoned && zoo_state(self->handle) != ZOO_CONNECTED_STATE) {
        self->listener.session(self->listener.arg,
                               &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTING });
    }
}

/* In libzookeeper's I/O thread, which holds a lock of its own where the connection is lost. That,
 * and a refusal, are news of the session. */
static void on_introduced(int rc, const void *data) {
    zkl_connection *self = (zkl_connection *)data;
    if (rc != ZOK) {
        return;
    }
    ZKL_WITH_MUTEX(self->mutex);
    self->accepted = self->shown + 1;
    if (!self->abandoned) {
        self->listener.awaits_credential(self->listener.arg);
    }
}

/* The credentials are all accepted. */
static void begin_requests(zkl_connection *self) {
    ZKL_WITH_MUTEX(self->mutex);
    self->introduced = true;
    if (zoo_state(self->handle) == ZOO_CONNECTED_STATE && !self->abandoned) {
        zkl_session_news news = news_of(self->handle, ZOO_CONNECTED_STATE);
        self->listener.session(self->listener.arg, &news);
    }
}

/* One at a time, so that it is known which one is refused: the answer does not say. libzookeeper
 * keeps a copy of each (lz-credentials). */
bool zkl_connection_introduce(zkl_connection *self) {
    zkl_credential given = ZKL_CREDENTIAL_INIT;
    if (!self->listener.next_credential(self->listener.arg, self->accepted, &given)) {
        begin_requests(self);
        return true;
    }
    pthread_mutex_lock(self->mutex);
    self->shown = self->accepted;
    snprintf(self->scheme, sizeof(self->scheme), "%s", given.scheme);
    pthread_mutex_unlock(self->mutex);
    int rc = zoo_add_auth(self->handle, given.scheme, given.secret, (int)given.size, on_introduced,
                          self);
    return rc != ZSYSTEMERROR;
}

static void tell_session(zkl_connection *self, const zkl_session_news *news) {
    bool connected = news->state == ZKL_SESSION_STATE_CONNECTED;
    look(self);
    if (self->abandoned) {
        return;
    }
    if (connected && !self->introduced) {
        self->listener.awaits_credential(self->listener.arg);
        return;
    }
    self->refused = news->state == ZKL_SESSION_STATE_AUTH_FAILED && !self->introduced;
    self->listener.session(self->listener.arg, news);
    if (connected) {
        tell_if_closed(self);
    }
}

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context) {
    (void)path;
    zkl_connection *self = context;
    if (type != ZOO_SESSION_EVENT) {
        return;
    }
    if (state == ZOO_CONNECTED_STATE) {
        zkl_transport_close_on_exec(handle);
    }
    zkl_session_news news = news_of(handle, state);
    ZKL_WITH_MUTEX(self->mutex);
    if (self->handle == handle && !self->abandoned) {
        tell_session(self, &news);
    }
}

/* ---- Clock, random numbers ------------------------------------------------ */

static int64_t now_ms(zkl_operations *operations) {
    (void)operations;
    return zkl_clock_ms();
}

static bool random_bytes(zkl_operations *operations, void *bytes, size_t size) {
    (void)operations;
    return getentropy(bytes, size) == 0;
}

static void describe_failure(zkl_operations *operations, char *text, size_t size) {
    const zkl_connection *self = of(operations);
    if (self->refused) {
        snprintf(text, size, "the servers refused the credential of the scheme %s", self->scheme);
    } else if (self->why != NULL) {
        snprintf(text, size, "%s", self->why);
    } else {
        zkl_failures_find(self->addresses != NULL ? self->addresses : "", text, size);
    }
}

/* ---- Beginning and end ----------------------------------------------------- */

static const zkl_operations_table table = {
    .send = send_operation,
    .now_ms = now_ms,
    .random = random_bytes,
    .describe_failure = describe_failure,
    .forget_watches = forget_watches,
};

zkl_connection *zkl_connection_make(pthread_mutex_t *mutex, const zkl_listener *listener) {
    zkl_connection *self = calloc(1, sizeof(*self));
    if (self != NULL) {
        self->operations.table = &table;
        self->mutex = mutex;
        self->listener = *listener;
        self->transport = (zkl_transport){ .options = listener->options, .mutex = mutex };
    }
    return self;
}

zkl_operations *zkl_connection_operations(zkl_connection *self) {
    return &self->operations;
}

bool zkl_connection_is_idle(const zkl_connection *self) {
    return self->pending == NULL;
}

void zkl_connection_abandon(zkl_connection *self) {
    self->abandoned = true;
}

static void take_line(const char *line) {
    if (!zkl_transport_line_is_ours(line)) {
        zkl_failures_take_line(line);
        zkl_log_zookeeper_line(line);
    }
}

/* They are kept for people alone: without memory there are none. Where some of them are tried
 * alone, why the others failed is still to be told. */
static void keep_addresses(zkl_connection *self, const char *addresses) {
    ZKL_WITH_MUTEX(self->mutex);
    if (self->addresses != NULL && zkl_addresses_contain_all(self->addresses, addresses)) {
        return;
    }
    char *kept = strdup(addresses);
    free(self->addresses);
    self->addresses = kept;
}

int zkl_connection_check(const zkl_security *options) {
    return zkl_transport_check(options);
}

static int open_handle(zkl_connection *self, const char *addresses, const clientid_t *session) {
    const zkl_transport_call call = { .addresses = addresses,
                                      .session = session,
                                      .watcher = on_session,
                                      .timeout_ms = self->timeout_ms,
                                      .context = self,
                                      .log = take_line };
    ZKL_TRY(zkl_transport_prepare(&self->transport));
    self->accepted = 0;
    self->introduced = self->listener.next_credential == NULL || self->listener.is_anonymous;
    keep_addresses(self, addresses);
    ZKL_WITH_MUTEX(self->mutex); /* the handle's first events wait until it is known */
    self->abandoned = false;
    ZKL_TRY(zkl_transport_open(&self->transport, &call, &self->handle));
    self->is_renewing = false;
    return ZKL_OK;
}

/* Why an earlier session failed is told no more. Another handle of the same one forgets nothing. */
int zkl_connection_open(zkl_connection *self, const char *addresses, int32_t timeout_ms) {
    self->timeout_ms = timeout_ms;
    zkl_failures_forget(addresses);
    pthread_mutex_lock(self->mutex);
    self->why = NULL;
    pthread_mutex_unlock(self->mutex);
    return open_handle(self, addresses, NULL);
}

static void ignore(void *arg, const zkl_reply *reply) {
    (void)arg;
    (void)reply;
}

/* libzookeeper's I/O thread goes on waiting for the socket that was closed (lz-asleep), for up to a
 * third of the session timeout, unless there is something to send. */
static void connect_now(zkl_connection *self) {
    const zkl_operation question = { .kind = ZKL_OPERATION_EXISTS, .path = "/" };
    (void)send_operation(&self->operations, &question, ignore, NULL);
}

/* Nothing may be sent before the credentials, so another handle goes on where this one would wait
 * for the closed socket. This one is told of none of the addresses, or it would try the next. */
bool zkl_connection_set_servers(zkl_connection *self, const char *addresses) {
    zhandle_t *handle = self->handle; /* no other thread changes it */
    if (handle == NULL) {
        return self->is_renewing && zkl_connection_renew(self, addresses) == ZKL_OK;
    }
    keep_addresses(self, addresses);
    bool was_connected = zoo_state(handle) == ZOO_CONNECTED_STATE;
    bool left = !self->introduced && zkl_transport_is_elsewhere(handle, addresses);
    bool closed = left || zkl_transport_set_servers(&self->transport, handle, addresses);
    if (closed && !self->introduced) {
        return zkl_connection_renew(self, addresses) == ZKL_OK;
    }
    ZKL_WITH_MUTEX(self->mutex);
    if (closed || was_connected) {
        tell_if_closed(self);
    }
    if (closed) {
        connect_now(self);
    }
    return closed;
}

void zkl_connection_leave(zkl_connection *self, const char *addresses) {
    if (self->handle != NULL) {
        (void)zkl_transport_set_servers(&self->transport, self->handle, ZKL_ADDRESS_OF_NOBODY);
    }
    (void)zkl_connection_set_servers(self, addresses);
}

void zkl_connection_look(zkl_connection *self) {
    ZKL_WITH_MUTEX(self->mutex);
    if (self->handle != NULL) {
        look(self);
    }
}

bool zkl_connection_server(const zkl_connection *self, char address[ZKL_ADDRESS_SIZE]) {
    return self->handle != NULL && zkl_transport_server(self->handle, address);
}

/* No thread of libzookeeper is left, and nothing is sent any more. */
static void answer_forgotten(zkl_connection *self) {
    zkl_request_call *request = NULL;
    zkl_request_call *next = NULL;
    DL_FOREACH_SAFE(self->pending, request, next) {
        answer(request, &(zkl_reply){ .outcome = ZKL_OUTCOME_SESSION_OVER });
    }
}

static void close_handle(zkl_connection *self, bool is_renewing) {
    pthread_mutex_lock(self->mutex);
    zhandle_t *handle = self->handle;
    self->handle = NULL;
    self->is_renewing = is_renewing;
    if (is_renewing && !self->abandoned) {
        self->listener.session(
            self->listener.arg,
            &(zkl_session_news){ .state = ZKL_SESSION_STATE_CONNECTING, .renewed = true });
    }
    pthread_mutex_unlock(self->mutex);
    if (handle != NULL) {
        zkl_transport_close(&self->transport, handle);
        answer_forgotten(self);
    }
}

void zkl_connection_close(zkl_connection *self) {
    close_handle(self, false);
}

/* zookeeper_close ends the session, if it is connected. So it is sent to an address that nobody can
 * connect to. */
int zkl_connection_renew(zkl_connection *self, const char *addresses) {
    zhandle_t *handle = self->handle;
    if (handle != NULL) {
        self->session = *zoo_client_id(handle);
        (void)zkl_transport_set_servers(&self->transport, handle, ZKL_ADDRESS_OF_NOBODY);
        if (zoo_state(handle) == ZOO_CONNECTED_STATE) {
            return ZKL_NO_MEMORY;
        }
        close_handle(self, true);
    }
    self->listener.is_anonymous = false;
    return open_handle(self, addresses, &self->session);
}

bool zkl_connection_lacks_handle(const zkl_connection *self) {
    return self->handle == NULL && self->is_renewing;
}

void zkl_connection_free(zkl_connection *self) {
    zkl_transport_free(&self->transport);
    free(self->addresses);
    free(self);
}
