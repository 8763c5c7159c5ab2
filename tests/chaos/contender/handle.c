#include "handle.h"

#include "kinds.h"
#include "store.h"

#include <poll.h>
#include <stdio.h>

/* A handle is closed and opened again once in so many rounds, often while it holds. */
enum { ROUNDS_OF_OPENING = 32, CLOSES_WITHOUT_RELEASE = 3 };

bool contender_pause(const struct contender *contender, int64_t time_ms) {
    struct pollfd finish = { .fd = contender->finish, .events = POLLIN };
    int ready = poll(&finish, 1, (int)time_ms);
    return ready > 0;
}

bool handle_pause(const struct handle *handle, int64_t time_ms) {
    return contender_pause(handle->contender, time_ms);
}

static void close_if_open(struct handle *handle) {
    if (handle->is_open) {
        handle->kind->opening->close(handle);
    }
}

static void play_round(struct handle *handle) {
    const struct kind *kind = handle->kind;
    bool is_last = chance_once_in(&handle->chance, ROUNDS_OF_OPENING);
    if (!handle->is_open) {
        kind->opening->open(handle);
    }
    if (handle->is_open && kind->acquire(handle)) {
        kind->hold(handle);
        if (!is_last || !chance_once_in(&handle->chance, CLOSES_WITHOUT_RELEASE)) {
            kind->release(handle);
        }
    }
    if (is_last) {
        close_if_open(handle);
    }
}

static void *play(void *arg) {
    struct handle *handle = arg;
    int64_t pace_ms = handle->contender->options.pace_ms;
    while (!handle_pause(handle, chance_between(&handle->chance, 0, 2 * pace_ms))) {
        play_round(handle);
    }
    close_if_open(handle);
    store_leave(handle);
    return NULL;
}

int handle_start(struct handle *handle, struct contender *contender, const struct kind *kind,
                 int32_t number) {
    const struct options *options = &contender->options;
    handle->contender = contender;
    handle->kind = kind;
    handle->client = &contender->clients[handle->kind->client];
    handle->chance = chance_begin(options->seed, (uint64_t)number);
    snprintf(handle->caller.who, sizeof handle->caller.who, "%s-h%d", options->name, (int)number);
    return pthread_create(&handle->thread, NULL, play, handle);
}

void handle_join(struct handle *handle) {
    (void)pthread_join(handle->thread, NULL);
}
