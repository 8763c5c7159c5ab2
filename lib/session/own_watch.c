#include "session/own_watch.h"

#include "recipe/node_data.h"

/* ---- The data ------------------------------------------------------------------------- */

static void on_read(void *arg, const zkl_reply *reply) {
    zkl_own_watch *self = arg;
    self->read_failed = reply->outcome != ZKL_OUTCOME_OK && reply->outcome != ZKL_OUTCOME_NO_NODE;
    if (reply->outcome == ZKL_OUTCOME_OK && !self->is_revoke_requested &&
        zkl_node_data_is_revocation(reply->data, reply->data_length)) {
        self->is_revoke_requested = true;
        zkl_request_tell_owner(self->sender, ZKL_REQUEST_REVOKED, ZKL_OK);
    }
}

static void read_data(zkl_own_watch *self) {
    const zkl_request *request = self->sender->request;
    char path[ZKL_NODE_PATH_SIZE];
    if (self->reading != NULL || request->own.state != ZKL_OWN_NODE_OURS) {
        return;
    }
    zkl_request_node_path(self->sender, request->own.node, path);
    const zkl_operation get = { .kind = ZKL_OPERATION_GET, .path = path };
    self->read_failed = zkl_send_tracked(&self->sender->session->sender, &get, on_read, self,
                                         &self->reading) != ZKL_OUTCOME_OK;
}

void zkl_own_watch_review(zkl_own_watch *self) {
    if (self->read_failed) {
        read_data(self);
    }
}

void zkl_own_watch_forget_data(zkl_own_watch *self) {
    self->is_revoke_requested = false;
    self->read_failed = false;
    zkl_sent_forget(&self->reading);
}

/* ---- The watch ------------------------------------------------------------------------ */

void zkl_own_watch_armed(zkl_own_watch *self) {
    if (zkl_watch_table_data_version(&self->waiter) > 0 && !self->is_revoke_requested) {
        read_data(self);
    }
}

void zkl_own_watch_add(zkl_own_watch *self, const char *node) {
    char path[ZKL_NODE_PATH_SIZE];
    zkl_request_node_path(self->sender, node, path);
    zkl_watch_table_add(&self->sender->session->watches, path, &self->waiter);
}

void zkl_own_watch_remove(zkl_own_watch *self) {
    zkl_watch_table_remove(&self->waiter);
    zkl_sent_forget(&self->reading);
}
