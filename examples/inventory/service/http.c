#include "http.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "journal.h"

enum {
    CONNECTIONS_MAX = 20000,
    IDLE_TIMEOUT_S = 60,
    STREAM_BLOCK = 65536,
    SEND_MS = 5000,
    LOOK_MS = 10
};

struct exchange {
    struct http *all;
    struct MHD_Connection *connection;
    char *body;
    size_t size;
    bool is_too_long;
    bool is_handled;
    /* Guarded by the mutex: */
    bool is_suspended;
    struct MHD_Response *response; /* NULL: it is not answered yet, or is being sent */
    unsigned status;
    bool is_stream;
    char *pending; /* of a stream: the event to be sent, from `sent` on */
    size_t length, sent;
    exchange *prev, *next; /* streams */
};

struct http {
    struct MHD_Daemon *daemon;
    http_handler *handler;
    void *arg;
    pthread_mutex_t handling; /* held while the handler runs */
    bool refusing;
    int listening; /* the socket, once it refuses connections; -1 before */
    pthread_mutex_t mutex;
    exchange *streams;
    int under_way; /* how many requests have not been answered in full */
    bool closing;
    atomic_bool open;
};

/* ---- Answers --------------------------------------------------------------------------------- */

/* Resumes an exchange. The caller holds the mutex. */
static void exchange_wake(exchange *self) {
    if (self->is_suspended) {
        self->is_suspended = false;
        MHD_resume_connection(self->connection);
    }
}

static void answer_with(exchange *self, unsigned status, struct MHD_Response *response) {
    pthread_mutex_lock(&self->all->mutex);
    self->status = status;
    self->response = response;
    exchange_wake(self);
    pthread_mutex_unlock(&self->all->mutex);
}

static void add_headers(const exchange *self, struct MHD_Response *to, const char *type) {
    (void)MHD_add_response_header(to, MHD_HTTP_HEADER_CONTENT_TYPE, type);
    (void)MHD_add_response_header(to, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
    if (self->all->open) {
        (void)MHD_add_response_header(to, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, "*");
    }
}

void exchange_answer(exchange *self, unsigned status, const char *type, char *text,
                     int retry_after_s) {
    char seconds[16];
    size_t length = text != NULL ? strlen(text) : 0;
    struct MHD_Response *response =
        MHD_create_response_from_buffer(length, text, MHD_RESPMEM_MUST_FREE);
    add_headers(self, response, type);
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD, POST");
    }
    if (retry_after_s > 0) {
        (void)snprintf(seconds, sizeof(seconds), "%d", retry_after_s);
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, seconds);
    }
    answer_with(self, text != NULL ? status : MHD_HTTP_INTERNAL_SERVER_ERROR, response);
}

/* Allows a page of another origin to send JSON, if the service is open to all origins. */
void exchange_allow(exchange *self) {
    struct MHD_Response *response = MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);
    (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD, POST");
    if (self->all->open) {
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_ORIGIN, "*");
        (void)MHD_add_response_header(response, MHD_HTTP_HEADER_ACCESS_CONTROL_ALLOW_HEADERS,
                                      MHD_HTTP_HEADER_CONTENT_TYPE);
    }
    answer_with(self, MHD_HTTP_NO_CONTENT, response);
}

/* ---- Streams --------------------------------------------------------------------------------- */

/* Reads what is to be sent of a stream. If there is nothing, suspends the connection until the next
 * event. */
static ssize_t read_stream(void *arg, uint64_t position, char *room, size_t size) {
    exchange *self = arg;
    (void)position;
    pthread_mutex_lock(&self->all->mutex);
    size_t left = self->length - self->sent;
    size_t count = left < size ? left : size;
    if (count > 0) {
        memcpy(room, self->pending + self->sent, count);
        self->sent += count;
    } else if (!self->all->closing) {
        self->is_suspended = true;
        MHD_suspend_connection(self->connection);
    }
    bool is_over = count == 0 && self->all->closing;
    pthread_mutex_unlock(&self->all->mutex);
    return is_over ? MHD_CONTENT_READER_END_OF_STREAM : (ssize_t)count;
}

void exchange_stream(exchange *self, http *of) {
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, STREAM_BLOCK, read_stream, self, NULL);
    add_headers(self, response, "text/event-stream");
    pthread_mutex_lock(&of->mutex);
    self->is_stream = true;
    DL_APPEND(of->streams, self);
    pthread_mutex_unlock(&of->mutex);
    answer_with(self, MHD_HTTP_OK, response);
}

static void give(exchange *self, const char *text, size_t length) {
    if (self->sent < self->length) {
        return; /* the client has not read the last event */
    }
    char *copy = realloc(self->pending, length);
    if (copy != NULL) {
        self->pending = memcpy(copy, text, length);
        self->length = length;
        self->sent = 0;
        exchange_wake(self);
    }
}

void http_tell(http *self, const char *event, const char *data) {
    char *text = NULL;
    int length = asprintf(&text, "event: %s\ndata: %s\n\n", event, data);
    if (length < 0) {
        return;
    }
    exchange *one = NULL;
    pthread_mutex_lock(&self->mutex);
    DL_FOREACH(self->streams, one) {
        give(one, text, (size_t)length);
    }
    pthread_mutex_unlock(&self->mutex);
    free(text);
}

size_t http_streams(http *self) {
    size_t count = 0;
    exchange *one = NULL;
    pthread_mutex_lock(&self->mutex);
    DL_COUNT(self->streams, one, count);
    pthread_mutex_unlock(&self->mutex);
    return count;
}

/* ---- Requests -------------------------------------------------------------------------------- */

static void take_body(exchange *self, const char *bytes, size_t size) {
    char *longer =
        self->size + size <= HTTP_BODY_MAX ? realloc(self->body, self->size + size + 1) : NULL;
    self->is_too_long = self->is_too_long || longer == NULL;
    if (longer != NULL) {
        self->body = longer;
        memcpy(longer + self->size, bytes, size);
        self->size += size;
        longer[self->size] = '\0';
    }
}

static void exchange_refuse(exchange *self, unsigned status, const char *reason,
                            const char *message) {
    char *text = NULL;
    if (asprintf(&text, "{\"reason\":\"%s\",\"error\":\"%s\"}", reason, message) < 0) {
        text = NULL;
    }
    exchange_answer(self, status, "application/json", text,
                    status == MHD_HTTP_SERVICE_UNAVAILABLE ? 1 : 0);
}

static void count_under_way(http *self, int change) {
    pthread_mutex_lock(&self->mutex);
    self->under_way += change;
    pthread_mutex_unlock(&self->mutex);
}

static void handle(http *self, exchange *one, const char *method, const char *path) {
    const char *type =
        MHD_lookup_connection_value(one->connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_CONTENT_TYPE);
    http_request request = { .method = method,
                             .path = path,
                             .type = type != NULL ? type : "",
                             .body = one->body != NULL ? one->body : "",
                             .size = one->size };
    one->is_handled = true;
    count_under_way(self, 1);
    pthread_mutex_lock(&self->handling);
    if (self->refusing) {
        exchange_refuse(one, MHD_HTTP_SERVICE_UNAVAILABLE, "unavailable", "the service ends");
    } else if (one->is_too_long) {
        exchange_refuse(one, MHD_HTTP_CONTENT_TOO_LARGE, "too_long",
                        "the body is longer than 65536 bytes");
    } else {
        self->handler(self->arg, &request, one);
    }
    pthread_mutex_unlock(&self->handling);
}

/* Takes a request: libmicrohttpd calls this for the head, for pieces of the body, at its end, and
 * again when the connection is resumed. */
static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *path,
                                  const char *method, const char *version, const char *bytes,
                                  size_t *size, void **own) {
    http *self = arg;
    exchange *one = *own;
    (void)version;
    if (one == NULL) {
        one = *own = calloc(1, sizeof(*one));
        if (one != NULL) {
            one->all = self;
            one->connection = connection;
        }
        return one != NULL ? MHD_YES : MHD_NO;
    }
    if (*size > 0) {
        take_body(one, bytes, *size);
        *size = 0;
        return MHD_YES;
    }
    if (!one->is_handled) {
        handle(self, one, method, path);
    }
    pthread_mutex_lock(&self->mutex);
    struct MHD_Response *response = one->response;
    one->response = NULL;
    if (response == NULL) {
        one->is_suspended = true;
        MHD_suspend_connection(connection);
    }
    pthread_mutex_unlock(&self->mutex);
    if (response == NULL) {
        return MHD_YES;
    }
    enum MHD_Result result = MHD_queue_response(connection, one->status, response);
    MHD_destroy_response(response); /* the connection has a reference of its own */
    return result;
}

static void on_end(void *arg, struct MHD_Connection *connection, void **own,
                   enum MHD_RequestTerminationCode why) {
    http *self = arg;
    exchange *one = *own;
    (void)connection;
    (void)why;
    if (one == NULL) {
        return;
    }
    pthread_mutex_lock(&self->mutex);
    if (one->is_stream) {
        DL_DELETE(self->streams, one);
    }
    pthread_mutex_unlock(&self->mutex);
    count_under_way(self, one->is_handled ? -1 : 0);
    if (one->response != NULL) { /* the client has left meanwhile */
        MHD_destroy_response(one->response);
    }
    free(one->pending);
    free(one->body);
    free(one);
    *own = NULL;
}

/* ---- Beginning and end ----------------------------------------------------------------------- */

static void free_all(http *self) {
    pthread_mutex_destroy(&self->mutex);
    pthread_mutex_destroy(&self->handling);
    free(self);
}

http *http_start(const char *address, uint16_t port, http_handler *handler, void *arg) {
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(port) };
    http *self = calloc(1, sizeof(*self));
    if (self == NULL || inet_pton(AF_INET, address, &at.sin_addr) != 1) {
        journal("not_listening", "address", address, "why", "must be an IPv4 address");
        free(self);
        return NULL;
    }
    pthread_mutex_init(&self->mutex, NULL);
    pthread_mutex_init(&self->handling, NULL);
    self->listening = -1;
    self->handler = handler;
    self->arg = arg;
    self->daemon = MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, self,
        MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_NOTIFY_COMPLETED, on_end, self,
        MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_LISTENING_ADDRESS_REUSE, 1U, MHD_OPTION_END);
    if (self->daemon == NULL) {
        journal("not_listening", "address", address, "why", "the port is taken, or not allowed");
        free_all(self);
        return NULL;
    }
    return self;
}

void http_open_to_all_origins(http *self) {
    self->open = true;
}

uint16_t http_port(const http *self) {
    const union MHD_DaemonInfo *info = MHD_get_daemon_info(self->daemon, MHD_DAEMON_INFO_BIND_PORT);
    return info != NULL ? info->port : 0;
}

/* Shuts the listening socket down, which so refuses connections. It stays open until the daemon
 * ends. */
void http_refuse(http *self) {
    self->listening = MHD_quiesce_daemon(self->daemon);
    if (self->listening >= 0) {
        (void)shutdown(self->listening, SHUT_RDWR);
    }
    pthread_mutex_lock(&self->handling);
    self->refusing = true;
    pthread_mutex_unlock(&self->handling);
}

static int requests_under_way(http *self) {
    pthread_mutex_lock(&self->mutex);
    int count = self->under_way;
    pthread_mutex_unlock(&self->mutex);
    return count;
}

void http_stop(http *self) {
    exchange *one = NULL;
    pthread_mutex_lock(&self->mutex);
    self->closing = true;
    DL_FOREACH(self->streams, one) {
        exchange_wake(one);
    }
    pthread_mutex_unlock(&self->mutex);
    for (int waited_ms = 0; requests_under_way(self) > 0 && waited_ms < SEND_MS;
         waited_ms += LOOK_MS) {
        (void)usleep(LOOK_MS * 1000);
    }
    MHD_stop_daemon(self->daemon);
    if (self->listening >= 0) {
        (void)close(self->listening);
    }
    free_all(self);
}
