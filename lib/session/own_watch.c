#include "session/own_watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recipe/node_data.h"

struct zkl_data_read {
    zkl_own_watch *watch; /* NULL: the request has gone */
    char node[ZKL_NODE_NAME_SIZE];
};

static void write_path(const zkl_own_watch *self, const char *node, char path[ZKL_NODE_PATH_SIZE]) {
    snprintf(path, ZKL_NODE_PATH_SIZE, "%s/%s", self->parent_path, node);
}

/* ---- The data ------------------------------------------------------------------------- */

static void on_read(void *arg, const zkl_reply *reply) {
    const zkl_data_read reading = *(const zkl_data_read *)arg;
    zkl_own_watch *self = reading.watch;
    free(arg);
    if (self == NULL) {
        return;
    }
    bool is_current = strcmp(reading.node, self->request->own.node) == 0;
    self->reading = NULL;
    self->read_failed = reply->outcome != ZKL_OUTCOME_OK && reply->outcome != ZKL_OUTCOME_NO_NODE;
    if (reply->outcome == ZKL_OUTCOME_OK && is_current && !self->is_revoke_requested &&
        zkl_node_data_is_revocation(reply->data, reply->data_length)) {
        self->is_revoke_requested = true;
        self->revoke_requested(self->arg);
    }
}

static void read_data(zkl_own_watch *self) {
    char path[ZKL_NODE_PATH_SIZE];
    if (self->reading != NULL || self->request->own.state != ZKL_OWN_NODE_OURS) {
        return;
    }
    zkl_data_read *reading = malloc(sizeof(*reading));
    self->read_failed = reading == NULL;
    if (reading == NULL) {
        return;
    }
    *reading = (zkl_data_read){ .watch = self };
    snprintf(reading->node, sizeof(reading->node), "%s", self->request->own.node);
    write_path(self, reading->node, path);
    self->reading = reading;
    const zkl_operation get = { .kind = ZKL_OPERATION_GET, .path = path };
    if (zkl_send(self->table->sender, &get, on_read, reading) != ZKL_OUTCOME_OK) {
        self->reading = NULL;
        self->read_failed = true;
        free(reading);
    }
}

static void look_for_revocation(zkl_own_watch *self) {
    if (zkl_watch_table_data_version(&self->waiter) > 0 && !self->is_revoke_requested) {
        read_data(self);
    }
}

void zkl_own_watch_review(zkl_own_watch *self) {
    if (self->read_failed) {
        read_data(self);
    }
}

/* ---- The watch ------------------------------------------------------------------------ */

static void on_armed(void *arg, zkl_outcome outcome, int status) {
    zkl_own_watch *self = arg;
    if (outcome == ZKL_OUTCOME_OK) {
        look_for_revocation(self);
    }
    self->armed(self->arg, outcome, status);
}

static void on_fired(void *arg, bool deleted) {
    zkl_own_watch *self = arg;
    self->fired(self->arg, deleted);
}

/* One that others share may be armed already. */
zkl_watch_added zkl_own_watch_add(zkl_own_watch *self, const char *node) {
    char path[ZKL_NODE_PATH_SIZE];
    write_path(self, node, path);
    self->waiter.arg = self;
    self->waiter.armed = on_armed;
    self->waiter.fired = on_fired;
    zkl_watch_added added = zkl_watch_table_add(self->table, path, &self->waiter);
    look_for_revocation(self);
    return added;
}

void zkl_own_watch_remove(zkl_own_watch *self) {
    zkl_watch_table_remove(&self->waiter);
}

void zkl_own_watch_end(zkl_own_watch *self) {
    zkl_own_watch_remove(self);
    if (self->reading != NULL) {
        self->reading->watch = NULL;
        self->reading = NULL;
    }
}
