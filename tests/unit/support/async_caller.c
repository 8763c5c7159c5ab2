#include "support/async_caller.h"

#include <stdio.h>
#include <string.h>

enum { WAIT_MS = 60000 };

static void hear(async_caller *self, const char *what, int status) {
    size_t length = strlen(self->heard);
    char *end = self->heard + length;
    if (status == ZKL_OK) {
        snprintf(end, sizeof(self->heard) - length, "%s ", what);
    } else {
        snprintf(end, sizeof(self->heard) - length, "%s(%d) ", what, status);
    }
    if (self->react != NULL) {
        self->react(self);
    }
}

static void hear_grant(async_caller *self, const char *what, int status, const zkl_grant *grant) {
    EXPECT((grant != NULL) == (status == ZKL_OK));
    if (grant != NULL) {
        self->grant = *grant;
    }
    hear(self, what, status);
}

void async_on_acquired(void *arg, int status, const zkl_grant *grant) {
    hear_grant(arg, "acquired", status, grant);
}

void async_on_upgraded(void *arg, int status, const zkl_grant *grant) {
    hear_grant(arg, "upgraded", status, grant);
}

void async_on_downgraded(void *arg, int status) {
    hear(arg, "downgraded", status);
}

void async_on_verified(void *arg, int status) {
    hear(arg, "verified", status);
}

void async_on_committed(void *arg, int status, zkl_transaction *transaction,
                        const zkl_transaction_result *result) {
    async_caller *self = arg;
    self->result = *result;
    self->transaction = transaction;
    for (int i = 0; i < (int)COUNT_OF(self->created); i++) {
        snprintf(self->created[i], sizeof(self->created[i]), "%s",
                 zkl_transaction_created_path(transaction, i));
    }
    hear(self, "committed", status);
}

void async_on_released(void *arg, int status) {
    hear(arg, "released", status);
}

static void on_news(void *arg, const zkl_lock_event *event) {
    hear(arg, zkl_lock_state_name((int)event->state), event->reason);
}

void async_open(async_caller *self, zkl_dispatch dispatch, const zkl_lock_options *given) {
    *self = (async_caller){ .grant = ZKL_GRANT_INIT };
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = ASYNC_TIMEOUT_MS;
    options.dispatch = dispatch;
    zkl_lock_options lock = ZKL_LOCK_OPTIONS_INIT;
    if (given != NULL) {
        lock = *given;
    }
    lock.state_callback = on_news;
    lock.state_arg = self;
    EXPECT_INT(zkl_client_open("server:2181", &options, &self->client), ZKL_OK);
    EXPECT_INT(zkl_lock_open(self->client, "stock", &lock, &self->lock), ZKL_OK);
}

void async_close(async_caller *self) {
    zkl_lock_close(self->lock);
    EXPECT_INT(zkl_client_close(self->client, WAIT_MS), ZKL_OK);
}

void async_acquire(async_caller *self, int64_t timeout_ms) {
    EXPECT_INT(zkl_lock_acquire_async(self->lock, ZKL_EXCLUSIVE, timeout_ms, NULL,
                                      async_on_acquired, self),
               ZKL_OK);
}

void async_release(async_caller *self, int64_t timeout_ms) {
    EXPECT_INT(zkl_lock_release_async(self->lock, timeout_ms, NULL, async_on_released, self),
               ZKL_OK);
}

size_t async_dispatch(async_caller *self) {
    size_t count = 99;
    EXPECT_INT(zkl_client_dispatch(self->client, &count), ZKL_OK);
    return count;
}

static int has_heard(void *arg) {
    const async_caller *self = arg;
    return self->heard[0] != '\0';
}

void async_wait(async_caller *self) {
    EXPECT_INT(zkl_testing_wait_until(has_heard, self, WAIT_MS), 1);
}
