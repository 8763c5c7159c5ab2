#include "support/participant.h"

#include <stdio.h>
#include <string.h>

static void on_state(void *arg, const zkl_lock_event *event) {
    participant *self = arg;
    size_t used = strlen(self->news);
    if (event->state == ZKL_STATE_LOST) {
        snprintf(self->news + used, sizeof(self->news) - used, "lost(%s) ",
                 zkl_strerror(event->reason));
    } else {
        snprintf(self->news + used, sizeof(self->news) - used, "%s ",
                 zkl_lock_state_name((int)event->state));
    }
}

static void open_client(participant *self, int32_t session_timeout_ms, int32_t lease_tick_ms,
                        bool shows_nothing) {
    *self = (participant){ .grant = ZKL_GRANT_INIT };
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    zkl_security security = ZKL_SECURITY_INIT;
    options.security = &security;
    security.unprotected = shows_nothing;
    options.session_timeout_ms = session_timeout_ms;
    options.lease_tick_ms = lease_tick_ms;
    EXPECT_INT(zkl_client_open("server:2181", &options, &self->client), ZKL_OK);
}

static void open_lock(participant *self, int64_t limit_ms) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.max_hold_ms = limit_ms;
    options.state_callback = on_state;
    options.state_arg = self;
    EXPECT_INT(zkl_lock_open(self->client, "stock", &options, &self->lock), ZKL_OK);
}

void participant_open(participant *self, int64_t limit_ms, bool lease) {
    const int32_t tick_ms = 2000;
    open_client(self, PARTICIPANT_TIMEOUT_MS, lease ? tick_ms : 0, false);
    open_lock(self, limit_ms);
}

void participant_open_with(participant *self, int32_t session_timeout_ms) {
    open_client(self, session_timeout_ms, 0, true);
    open_lock(self, 0);
}

void participant_close(participant *self) {
    zkl_lock_close(self->lock);
    EXPECT_INT(zkl_client_close(self->client, PARTICIPANT_TIMEOUT_MS), ZKL_OK);
}

int participant_acquire(participant *self, int64_t timeout_ms) {
    self->status = zkl_lock_acquire(self->lock, ZKL_EXCLUSIVE, timeout_ms, &self->grant);
    return self->status;
}

static void acquire(void *arg) {
    participant *self = arg;
    (void)participant_acquire(self, self->timeout_ms);
}

zkl_testing_task *participant_start(participant *self, int64_t timeout_ms) {
    self->timeout_ms = timeout_ms;
    return zkl_testing_start(acquire, self);
}
