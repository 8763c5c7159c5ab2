#include "redis.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

struct redis {
    char host[64];
    int port;
    struct timeval patience;
    redisContext *context;
};

redis *redis_open(const char *address, int64_t patience_ms) {
    redis *self = calloc(1, sizeof *self);
    const char *colon = strrchr(address, ':');
    if (self == NULL || colon == NULL || colon - address >= (int)sizeof self->host) {
        (void)fprintf(stderr, "redis: address '%s': must be HOST:PORT\n", address);
        exit(2);
    }
    memcpy(self->host, address, (size_t)(colon - address));
    self->port = atoi(colon + 1);
    self->patience.tv_sec = patience_ms / 1000;
    self->patience.tv_usec = patience_ms % 1000 * 1000;
    return self;
}

static bool is_connected(redis *self) {
    if (self->context != NULL && self->context->err != 0) {
        redisFree(self->context);
        self->context = NULL;
    }
    if (self->context == NULL) {
        self->context = redisConnectWithTimeout(self->host, self->port, self->patience);
        if (self->context != NULL && self->context->err == 0) {
            (void)redisSetTimeout(self->context, self->patience);
        }
    }
    return self->context != NULL && self->context->err == 0;
}

static redisReply *command(redis *self, const char *format, va_list arguments) {
    return is_connected(self) ? redisvCommand(self->context, format, arguments) : NULL;
}

redisReply *redis_command(redis *self, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = command(self, format, arguments);
    va_end(arguments);
    return reply;
}

int64_t redis_number(redis *self, const char *format, ...) {
    va_list arguments;
    int64_t number = REDIS_NO_ANSWER;
    va_start(arguments, format);
    redisReply *reply = command(self, format, arguments);
    va_end(arguments);
    if (reply != NULL && reply->type == REDIS_REPLY_INTEGER) {
        number = reply->integer;
    } else if (reply != NULL && reply->type == REDIS_REPLY_NIL) {
        number = 0;
    }
    freeReplyObject(reply);
    return number;
}

bool redis_is_ok(redis *self, bool *answered, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = command(self, format, arguments);
    va_end(arguments);
    bool ok = reply != NULL && reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0;
    if (answered != NULL) {
        *answered = reply != NULL && reply->type != REDIS_REPLY_ERROR;
    }
    freeReplyObject(reply);
    return ok;
}

bool redis_text(redis *self, char *text, int size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = command(self, format, arguments);
    va_end(arguments);
    bool known =
        reply != NULL && (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_NIL);
    if (known) {
        (void)snprintf(text, (size_t)size, "%s", reply->type == REDIS_REPLY_NIL ? "" : reply->str);
    }
    freeReplyObject(reply);
    return known;
}

redisReply *redis_next(redis *self, int64_t wait_ms) {
    void *reply = NULL;
    if (!is_connected(self) || redisGetReplyFromReader(self->context, &reply) != REDIS_OK) {
        return NULL;
    }
    struct pollfd descriptor = { .fd = self->context->fd, .events = POLLIN };
    if (reply == NULL && poll(&descriptor, 1, (int)wait_ms) == 1 &&
        redisBufferRead(self->context) == REDIS_OK) {
        (void)redisGetReplyFromReader(self->context, &reply);
    }
    return reply;
}

int redis_open_all(redis **all, int most, const char *addresses, int64_t patience_ms) {
    char *list = strdup(addresses);
    char *rest = NULL;
    int count = 0;
    if (list == NULL) {
        abort();
    }
    for (char *one = strtok_r(list, ",", &rest); one != NULL && count < most;
         one = strtok_r(NULL, ",", &rest)) {
        all[count++] = redis_open(one, patience_ms);
    }
    free(list);
    return count;
}

void redis_random(char text[REDIS_RANDOM_SIZE]) {
    uint64_t random[2] = { 0, 0 };
    if (getrandom(random, sizeof random, 0) != sizeof random) {
        abort();
    }
    (void)snprintf(text, REDIS_RANDOM_SIZE, "%016" PRIx64 "%016" PRIx64, random[0], random[1]);
}
