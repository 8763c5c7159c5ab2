#include "crowd.h"

#include "../../clock.h"

#include <hiredis/hiredis.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMBERS_MOST = 16 };

typedef struct member {
    char *host;
    int port;
    redisContext *context; /* NULL: to be opened by the next command */
    bool unsent;
    bool asked; /* its reply has not come yet */
} member;

/* What the replies to one command amount to. */
typedef struct tally {
    int answered;
    int ok;
} tally;

static member members[MEMBERS_MOST];
static int count;
static int64_t patience_ms;

int crowd_open(const char *addresses, int64_t its_patience_ms) {
    char *rest = strdup(addresses); /* stays: the hosts are in it */
    char *one = NULL;
    patience_ms = its_patience_ms;
    while (count < MEMBERS_MOST && (one = strtok_r(rest, ",", &rest)) != NULL) {
        char *colon = strrchr(one, ':');
        if (colon == NULL) {
            (void)fprintf(stderr, "redis: address '%s': must be HOST:PORT\n", one);
            exit(2);
        }
        *colon = '\0';
        members[count].host = one;
        members[count].port = atoi(colon + 1);
        count++;
    }
    return count;
}

/* A late reply would be taken for that of the next command: the connection goes. */
static void drop(member *self) {
    if (self->context != NULL) {
        redisFree(self->context);
    }
    self->context = NULL;
    self->asked = false;
    self->unsent = false;
}

/* Does not wait: not even for the connection. */
static void ask(member *self, const char *format, va_list arguments) {
    if (self->context == NULL) {
        self->context = redisConnectNonBlock(self->host, self->port);
    }
    self->asked = self->context != NULL && self->context->err == 0 &&
                  redisvAppendCommand(self->context, format, arguments) == REDIS_OK;
    self->unsent = self->asked;
    if (!self->asked) {
        drop(self);
    }
}

static void count_reply(const redisReply *reply, tally *all) {
    all->answered += reply->type != REDIS_REPLY_ERROR;
    all->ok += reply->type == REDIS_REPLY_STATUS && strcmp(reply->str, "OK") == 0;
}

static bool write_to(member *self) {
    int done = 0;
    if (redisBufferWrite(self->context, &done) != REDIS_OK) {
        return false;
    }
    self->unsent = done == 0;
    return true;
}

static bool read_from(member *self, tally *all) {
    void *reply = NULL;
    if (redisBufferRead(self->context) != REDIS_OK ||
        redisGetReplyFromReader(self->context, &reply) != REDIS_OK) {
        return false;
    }
    if (reply != NULL) {
        count_reply(reply, all);
        freeReplyObject(reply);
        self->asked = false;
    }
    return true;
}

static void step(member *self, tally *all) {
    if (!(self->unsent ? write_to(self) : read_from(self, all))) {
        drop(self);
    }
}

/* Those which are still to be heard. */
static nfds_t list_asked(struct pollfd *descriptors, member **whose) {
    nfds_t listed = 0;
    for (int i = 0; i < count; i++) {
        if (members[i].asked) {
            descriptors[listed].fd = members[i].context->fd;
            descriptors[listed].revents = 0;
            descriptors[listed].events = members[i].unsent ? POLLOUT : POLLIN;
            whose[listed++] = &members[i];
        }
    }
    return listed;
}

static void hear_all(tally *all) {
    struct pollfd descriptors[MEMBERS_MOST];
    member *whose[MEMBERS_MOST];
    int64_t until_ms = clock_ms() + patience_ms;
    nfds_t listed = 0;
    while ((listed = list_asked(descriptors, whose)) > 0 && clock_ms() < until_ms) {
        (void)poll(descriptors, listed, (int)(until_ms - clock_ms()));
        for (nfds_t i = 0; i < listed; i++) {
            if (descriptors[i].revents != 0) {
                step(whose[i], all);
            }
        }
    }
}

int crowd_ask(int *ok, const char *format, ...) {
    tally all = { 0, 0 };
    for (int i = 0; i < count; i++) {
        va_list arguments;
        va_start(arguments, format);
        ask(&members[i], format, arguments);
        va_end(arguments);
    }
    hear_all(&all);
    for (int i = 0; i < count; i++) {
        if (members[i].asked) {
            drop(&members[i]);
        }
    }
    if (ok != NULL) {
        *ok = all.ok;
    }
    return all.answered;
}
