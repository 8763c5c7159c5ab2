#include "support/async_caller.h"

#include <stdio.h>
#include <string.h>

#include "testing/ensemble.h"
#include "testing/testing.h"

enum { WAIT_MS = 60000 };

static void hear_of(async_caller *self, const char *what, int status, const char *resource) {
    size_t length = strlen(self->heard);
    char number[32] = "";
    if (status != ZKL_OK) {
        snprintf(number, sizeof(number), "(%d)", status);
    }
    snprintf(self->heard + length, sizeof(self->heard) - length, "%s%s%s%s ", what, number,
             resource[0] != '\0' ? " of " : "", resource);
    if (self->react != NULL) {
        self->react(self);
    }
}

static void hear(async_caller *self, const char *what, int status) {
    hear_of(self, what, status, "");
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

static void on_news_of_set(void *arg, const zkl_lock_event *event) {
    async_caller *self = arg;
    EXPECT(event->lock == self->lock);
    EXPECT_INT(event->token, self->grant.token);
    hear_of(self, zkl_lock_state_name((int)event->state), event->reason, event->resource);
}

static zkl_lock_options open_client(async_caller *self, zkl_dispatch dispatch, int32_t timeout_ms,
                                    const zkl_lock_options *given) {
    *self = (async_caller){ .grant = ZKL_GRANT_INIT };
    zkl_client_options options = ZKL_CLIENT_OPTIONS_INIT;
    options.session_timeout_ms = timeout_ms;
    options.dispatch = dispatch;
    EXPECT_INT(zkl_client_open("server:2181", &options, &self->client), ZKL_OK);
    zkl_lock_options lock = ZKL_LOCK_OPTIONS_INIT;
    if (given != NULL) {
        lock = *given;
    }
    lock.state_arg = self;
    return lock;
}

void async_open(async_caller *self, zkl_dispatch dispatch, const zkl_lock_options *given) {
    zkl_lock_options lock = open_client(self, dispatch, ASYNC_TIMEOUT_MS, given);
    lock.state_callback = on_news;
    self->mode = ZKL_EXCLUSIVE;
    EXPECT_INT(zkl_lock_open(self->client, "stock", &lock, &self->lock), ZKL_OK);
}

void async_open_set(async_caller *self, zkl_dispatch dispatch, const zkl_lock_options *given) {
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    members[0].resource = "stock";
    members[1].resource = "orders";
    zkl_lock_options lock = open_client(self, dispatch, SET_SESSION_MS, given);
    lock.state_callback = on_news_of_set;
    self->mode = ZKL_AS_OPENED;
    EXPECT_INT(zkl_lock_open_set(self->client, members, 2, &lock, &self->lock), ZKL_OK);
}

void async_close_handle(async_caller *self) {
    zkl_lock *lock = self->lock;
    self->lock = NULL;
    zkl_lock_close(lock);
}

void async_close(async_caller *self) {
    async_close_handle(self);
    EXPECT_INT(zkl_client_close(self->client, WAIT_MS), ZKL_OK);
}

void async_acquire(async_caller *self, int64_t timeout_ms) {
    EXPECT_INT(
        zkl_lock_acquire_async(self->lock, self->mode, timeout_ms, NULL, async_on_acquired, self),
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

/* ---- The nodes of a set ---------------------------------------------------------------------- */

void set_expect_nodes(size_t of_stock, size_t of_orders) {
    EXPECT_INT(zkl_testing_count_children(SET_STOCK), of_stock);
    EXPECT_INT(zkl_testing_count_children(SET_ORDERS), of_orders);
}

void set_last_of(const char *resource, char path[ZKL_NODE_PATH_SIZE]) {
    const zkl_ensemble *ensemble = zkl_testing_led_ensemble(__func__);
    const zkl_tree *tree = zkl_ensemble_tree(ensemble);
    int64_t zxid = zkl_ensemble_committed_zxid(ensemble);
    const zkl_node *last = NULL;
    for (const zkl_node *node = zkl_node_first_child(zkl_tree_find(tree, resource, zxid), zxid);
         node != NULL; node = zkl_node_next_child(node, zxid)) {
        bool later = last == NULL || zkl_node_get_stat(node).czxid > zkl_node_get_stat(last).czxid;
        last = later ? node : last;
    }
    EXPECT(last != NULL);
    snprintf(path, ZKL_NODE_PATH_SIZE, "%s", last != NULL ? zkl_node_path(last) : "");
}

void set_delete_last_of(const char *resource) {
    char path[ZKL_NODE_PATH_SIZE];
    set_last_of(resource, path);
    EXPECT_INT(zkl_testing_delete_node(path), 1);
}
