/*
 * HTTP, by libmicrohttpd: one thread for all connections. An exchange that has to wait (for a lock,
 * for a worker) is suspended, and takes no thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct http http;

enum { HTTP_BODY_MAX = 65536 };

/** A request and its answer. */
typedef struct exchange exchange;

typedef struct http_request {
    const char *method;
    const char *path;
    const char *type; /* the Content-Type of the body; "": none is given */
    const char *body; /* with a NUL behind it */
    size_t size;
} http_request;

/** Handles a request, in the thread of the connections, which it must not hold up. It must call
 *  exactly one of the exchange_ functions, now or later, in any thread. */
typedef void http_handler(void *arg, const http_request *request, exchange *of);

/** Starts to listen. NULL: it could not, and has logged why. port: 0 for any. */
http *http_start(const char *address, uint16_t port, http_handler *handler, void *arg);
uint16_t http_port(const http *self);
/** Allows pages of other origins, such as those of other instances, to send requests and read the
 *  answers. */
void http_open_to_all_origins(http *self);
/** Answers a browser that asks before it sends a page's request to another origin. */
void exchange_allow(exchange *self);
/** Accepts no further connections, and calls the handler no more: requests that still come on open
 *  connections are turned away. */
void http_refuse(http *self);
/** Sends what is left to send, and ends. All requests must have been answered. */
void http_stop(http *self);

/** Answers with a text, which it frees with free(). NULL: there was no memory for it.
 *  retry_after_s: the header Retry-After; 0: none. */
void exchange_answer(exchange *self, unsigned status, const char *type, char *text,
                     int retry_after_s);
/** Answers with server-sent events that do not end: those of http_tell. */
void exchange_stream(exchange *self, http *of);
/** Sends one event to all streams. A slow reader misses events, and gets the next. */
void http_tell(http *self, const char *event, const char *data);
/** Counts the streams. */
size_t http_streams(http *self);
