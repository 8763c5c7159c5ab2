#include "support/relative.h"

static const zkl_lock_options defaults = ZKL_LOCK_OPTIONS_INIT;

void relative_open(relative *self, zkl_mode mode, const zkl_lock_options *options) {
    *self = (relative){ .mode = mode, .grant = ZKL_GRANT_INIT };
    zkl_client_options client_options = ZKL_CLIENT_OPTIONS_INIT;
    client_options.session_timeout_ms = RELATIVE_SESSION_MS;
    EXPECT_INT(zkl_client_open("server:2181", &client_options, &self->client), ZKL_OK);
    EXPECT_INT(
        zkl_lock_open(self->client, "stock", options != NULL ? options : &defaults, &self->lock),
        ZKL_OK);
    zkl_testing_sleep(RELATIVE_SOON_MS); /* so that it is connected when it tries */
}

void relative_open_permit(relative *self, int32_t permits) {
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    options.permits = permits;
    relative_open(self, ZKL_EXCLUSIVE, &options);
}

void relative_close(relative *self) {
    zkl_lock_close(self->lock);
    EXPECT_INT(zkl_client_close(self->client, RELATIVE_SESSION_MS), ZKL_OK);
}

int relative_acquire(relative *self, int64_t timeout_ms) {
    self->timeout_ms = timeout_ms;
    self->status = zkl_lock_acquire(self->lock, self->mode, timeout_ms, &self->grant);
    return self->status;
}

int relative_release(relative *self) {
    self->status = zkl_lock_release(self->lock, ZKL_FOREVER);
    return self->status;
}

static void acquire(void *arg) {
    relative *self = arg;
    self->status = zkl_lock_acquire(self->lock, self->mode, self->timeout_ms, &self->grant);
}

static void downgrade(void *arg) {
    relative *self = arg;
    self->status = zkl_lock_downgrade(self->lock, self->timeout_ms);
}

static void upgrade(void *arg) {
    relative *self = arg;
    self->status = zkl_lock_try_upgrade(self->lock, &self->grant);
}

static void start(relative *self, void (*call)(void *), int64_t timeout_ms) {
    self->timeout_ms = timeout_ms;
    self->status = RELATIVE_WAITS;
    self->task = zkl_testing_start(call, self);
}

void relative_start_acquire(relative *self, int64_t timeout_ms) {
    start(self, acquire, timeout_ms);
    zkl_testing_sleep(RELATIVE_SOON_MS);
}

void relative_start_downgrade(relative *self, int64_t timeout_ms) {
    start(self, downgrade, timeout_ms);
    zkl_testing_sleep(0);
}

void relative_start_upgrade(relative *self) {
    start(self, upgrade, 0);
    zkl_testing_sleep(0);
}

int relative_join(relative *self) {
    zkl_testing_join(self->task);
    return self->status;
}

zkl_lock_information relative_info(const relative *self) {
    zkl_lock_information information = ZKL_LOCK_INFORMATION_INIT;
    EXPECT_INT(zkl_lock_info(self->lock, &information), ZKL_OK);
    return information;
}

int64_t relative_session(const relative *self) {
    zkl_client_information information = ZKL_CLIENT_INFORMATION_INIT;
    EXPECT_INT(zkl_client_info(self->client, &information), ZKL_OK);
    return information.session_id;
}

uint64_t relative_count(const relative *self, zkl_call_kind kind) {
    return zkl_ensemble_request_count(zkl_ensemble_current(), relative_session(self), kind);
}
