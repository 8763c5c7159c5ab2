/*
 * The HTTP side, by libmicrohttpd: one thread for all connections. An exchange that has to wait
 * (for a lock, for a worker) is suspended, and takes no thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct http http;

enum { HTTP_BODY_MAX = 65536 };

/** One request, from its end to its answer. */
typedef struct exchange exchange;

typedef struct http_request {
    const char *method;
    const char *path;
    const char *type; /* of the body, as its header says; "": it says nothing */
    const char *body; /* with a NUL behind it */
    size_t size;
} http_request;

/** Called in the thread of the connections, which it must not hold up: now or later, in any thread,
 *  exactly one of the exchange_ functions is to be called. */
typedef void http_handler(void *arg, const http_request *request, exchange *of);

/** NULL: it has logged why. port: 0 for any. */
http *http_start(const char *address, uint16_t port, http_handler *handler, void *arg);
uint16_t http_port(const http *self);
/** Pages of other origins, such as those of other instances, may ask and read the answers. */
void http_open_to_all_origins(http *self);
/** Answers what a browser asks before it sends a page's request to another origin. */
void exchange_allow(exchange *self);
/** From its return on there are no further connections, and no calls of the handler: requests that
 *  still come on open connections are turned away. */
void http_refuse(http *self);
/** Once all requests are answered: sends what is left to send, and ends. */
void http_stop(http *self);

/** The text is freed with free(); NULL: there was no memory for it. retry_after_s: 0, or the header
 *  Retry-After. */
void exchange_answer(exchange *self, unsigned status, const char *type, char *text,
                     int retry_after_s);
/** The exchange goes on for ever, as server-sent events: what exchange_tell gives. */
void exchange_stream(exchange *self, http *of);
/** Gives all streams one event. Slow readers miss events, and are told the next. */
void http_tell(http *self, const char *event, const char *data);
/** How many streams there are. */
size_t http_streams(http *self);
