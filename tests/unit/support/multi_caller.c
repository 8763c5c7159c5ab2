#include "support/multi_caller.h"

#include <stdio.h>
#include <string.h>

#include "testing/ensemble.h"
#include "testing/testing.h"

enum { WAIT_MS = 60000 };

static void write_down(multi_caller *self, const char *what, int status, const char *resource) {
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

void multi_on_acquired(void *arg, int status, const zkl_multi_lock_grant *grant) {
    multi_caller *self = arg;
    EXPECT((grant != NULL) == (status == ZKL_OK));
    if (grant != NULL) {
        self->grant = *grant;
    }
    write_down(self, "acquired", status, "");
}

void multi_on_released(void *arg, int status) {
    write_down(arg, "released", status, "");
}

static void on_news(void *arg, const zkl_multi_lock_news *news) {
    multi_caller *self = arg;
    EXPECT(news->multi_lock == self->multi_lock);
    EXPECT_INT(news->token, self->grant.token);
    write_down(self, zkl_lock_state_name((int)news->state), news->reason, news->resource);
}

void multi_open(multi_caller *self, zkl_dispatch dispatch, const zkl_multi_lock_options *given) {
    zkl_multi_lock_member members[] = { ZKL_MULTI_LOCK_MEMBER_INIT, ZKL_MULTI_LOCK_MEMBER_INIT };
    zkl_client_options client = ZKL_CLIENT_OPTIONS_INIT;
    zkl_multi_lock_options options = ZKL_MULTI_LOCK_OPTIONS_INIT;
    *self = (multi_caller){ .client = NULL };
    client.session_timeout_ms = MULTI_SESSION_MS;
    client.dispatch = dispatch;
    if (given != NULL) {
        options = *given;
    }
    options.state_callback = on_news;
    options.state_arg = self;
    members[0].resource = "stock";
    members[1].resource = "orders";
    EXPECT_INT(zkl_client_open("server:2181", &client, &self->client), ZKL_OK);
    EXPECT_INT(zkl_multi_lock_open(self->client, members, 2, &options, &self->multi_lock), ZKL_OK);
}

void multi_close_handle(multi_caller *self) {
    zkl_multi_lock *multi_lock = self->multi_lock;
    self->multi_lock = NULL;
    zkl_multi_lock_close(multi_lock);
}

void multi_close(multi_caller *self) {
    multi_close_handle(self);
    EXPECT_INT(zkl_client_close(self->client, WAIT_MS), ZKL_OK);
}

void multi_acquire(multi_caller *self, int64_t timeout_ms) {
    EXPECT_INT(zkl_multi_lock_acquire_async(self->multi_lock, timeout_ms, multi_on_acquired, self),
               ZKL_OK);
}

void multi_release(multi_caller *self, int64_t timeout_ms) {
    EXPECT_INT(zkl_multi_lock_release_async(self->multi_lock, timeout_ms, multi_on_released, self),
               ZKL_OK);
}

size_t multi_dispatch(multi_caller *self) {
    size_t count = 99;
    EXPECT_INT(zkl_client_dispatch(self->client, &count), ZKL_OK);
    return count;
}

static int has_heard(void *arg) {
    const multi_caller *self = arg;
    return self->heard[0] != '\0';
}

void multi_wait(multi_caller *self) {
    EXPECT_INT(zkl_testing_wait_until(has_heard, self, WAIT_MS), 1);
}

void multi_expect_nodes(size_t of_stock, size_t of_orders) {
    EXPECT_INT(zkl_testing_count_children(MULTI_STOCK), of_stock);
    EXPECT_INT(zkl_testing_count_children(MULTI_ORDERS), of_orders);
}

void multi_last_of(const char *resource, char path[ZKL_NODE_PATH_SIZE]) {
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

void multi_delete_last_of(const char *resource) {
    char path[ZKL_NODE_PATH_SIZE];
    multi_last_of(resource, path);
    EXPECT_INT(zkl_testing_delete_node(path), 1);
}
