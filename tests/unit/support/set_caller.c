#include "support/set_caller.h"

#include <stdio.h>
#include <string.h>

#include "testing/ensemble.h"
#include "testing/testing.h"

enum { WAIT_MS = 60000 };

static void write_down(set_caller *self, const char *what, int status, const char *resource) {
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

void set_on_acquired(void *arg, int status, const zkl_grant *grant) {
    set_caller *self = arg;
    EXPECT((grant != NULL) == (status == ZKL_OK));
    if (grant != NULL) {
        self->grant = *grant;
    }
    write_down(self, "acquired", status, "");
}

void set_on_released(void *arg, int status) {
    write_down(arg, "released", status, "");
}

static void on_news(void *arg, const zkl_lock_event *event) {
    set_caller *self = arg;
    EXPECT(event->lock == self->set);
    EXPECT_INT(event->token, self->grant.token);
    write_down(self, zkl_lock_state_name((int)event->state), event->reason, event->resource);
}

void set_open(set_caller *self, zkl_dispatch dispatch, const zkl_lock_options *given) {
    zkl_lock_member members[] = { ZKL_LOCK_MEMBER_INIT, ZKL_LOCK_MEMBER_INIT };
    zkl_client_options client = ZKL_CLIENT_OPTIONS_INIT;
    zkl_lock_options options = ZKL_LOCK_OPTIONS_INIT;
    *self = (set_caller){ .client = NULL };
    client.session_timeout_ms = SET_SESSION_MS;
    client.dispatch = dispatch;
    if (given != NULL) {
        options = *given;
    }
    options.state_callback = on_news;
    options.state_arg = self;
    members[0].resource = "stock";
    members[1].resource = "orders";
    EXPECT_INT(zkl_client_open("server:2181", &client, &self->client), ZKL_OK);
    EXPECT_INT(zkl_lock_open_set(self->client, members, 2, &options, &self->set), ZKL_OK);
}

void set_close_handle(set_caller *self) {
    zkl_lock *set = self->set;
    self->set = NULL;
    zkl_lock_close(set);
}

void set_close(set_caller *self) {
    set_close_handle(self);
    EXPECT_INT(zkl_client_close(self->client, WAIT_MS), ZKL_OK);
}

void set_acquire(set_caller *self, int64_t timeout_ms) {
    EXPECT_INT(
        zkl_lock_acquire_async(self->set, ZKL_AS_OPENED, timeout_ms, NULL, set_on_acquired, self),
        ZKL_OK);
}

void set_release(set_caller *self, int64_t timeout_ms) {
    EXPECT_INT(zkl_lock_release_async(self->set, timeout_ms, NULL, set_on_released, self), ZKL_OK);
}

size_t set_dispatch(set_caller *self) {
    size_t count = 99;
    EXPECT_INT(zkl_client_dispatch(self->client, &count), ZKL_OK);
    return count;
}

static int has_heard(void *arg) {
    const set_caller *self = arg;
    return self->heard[0] != '\0';
}

void set_wait(set_caller *self) {
    EXPECT_INT(zkl_testing_wait_until(has_heard, self, WAIT_MS), 1);
}

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
