#include "session/holder_watch.h"

#include "recipe/node_data.h"

static zkl_request_sender *sender_of(const zkl_holder_watch *self) {
    return self->own.arg;
}

/* ---- Its own node --------------------------------------------------------------------- */

static void on_read(void *arg, const zkl_reply *reply) {
    zkl_holder_watch *self = arg;
    self->read_failed = reply->outcome != ZKL_OUTCOME_OK && reply->outcome != ZKL_OUTCOME_NO_NODE;
    if (reply->outcome == ZKL_OUTCOME_OK && !self->is_revoke_requested &&
        zkl_node_data_is_revocation(reply->data, reply->data_length)) {
        self->is_revoke_requested = true;
        zkl_request_tell_owner(sender_of(self), ZKL_REQUEST_REVOKED, ZKL_OK);
    }
}

static void read_data(zkl_holder_watch *self) {
    const zkl_request *request = sender_of(self)->request;
    char path[ZKL_NODE_PATH_SIZE];
    if (self->reading != NULL || request->own.state != ZKL_OWN_NODE_OURS) {
        return;
    }
    zkl_request_node_path(sender_of(self), request->own.node, path);
    const zkl_operation get = { .kind = ZKL_OPERATION_GET, .path = path };
    self->read_failed = zkl_send(&sender_of(self)->session->sender, &get, on_read, self,
                                 &self->reading) != ZKL_OUTCOME_OK;
}

void zkl_holder_watch_add_own(zkl_holder_watch *self, const char *node) {
    char path[ZKL_NODE_PATH_SIZE];
    zkl_request_node_path(sender_of(self), node, path);
    zkl_watch_table_add(&sender_of(self)->session->watches, path, &self->own);
}

void zkl_holder_watch_own_armed(zkl_holder_watch *self) {
    if (zkl_watch_table_node(&self->own).data_version > 0 && !self->is_revoke_requested) {
        read_data(self);
    }
}

void zkl_holder_watch_forget_data(zkl_holder_watch *self) {
    self->is_revoke_requested = false;
    self->read_failed = false;
    zkl_sent_forget(&self->reading);
}

void zkl_holder_watch_remove_own(zkl_holder_watch *self) {
    zkl_watch_table_remove(&self->own);
    zkl_sent_forget(&self->reading);
}

/* ---- Who waits behind it -------------------------------------------------------------- */

/* Looks for a waiter in the list. A list that failed is empty. While the reply to a downgrade is
 * lost the holder may have another node than is known. */
static void on_children_listed(void *arg, const zkl_list_answer *answer) {
    zkl_holder_watch *self = arg;
    zkl_contenders_rear rear =
        zkl_contenders_look_behind(answer->children, sender_of(self)->request->own.node,
                                   sender_of(self)->listener->find_upgrade(sender_of(self)));
    self->look_again = !rear.listed;
    if (rear.waiter != NULL) {
        self->is_contended = true;
        zkl_holder_watch_look_no_more(self);
        zkl_request_tell_owner(sender_of(self), ZKL_REQUEST_CONTENDED, ZKL_OK);
    } else if (rear.listed && sender_of(self)->request->options.lent) {
        zkl_request_tell_owner(sender_of(self), ZKL_REQUEST_ALONE, ZKL_OK);
    }
}

static void on_children_changed(void *arg, zkl_watch_event event) {
    const zkl_holder_watch *self = arg;
    (void)event;
    if (sender_of(self)->request->options.lent) {
        zkl_request_tell_owner(sender_of(self), ZKL_REQUEST_NEWCOMER, ZKL_OK);
    }
    zkl_holder_watch_look_behind(arg);
}

static const zkl_watch_listener behind = { .listed = on_children_listed,
                                           .fired = on_children_changed };

void zkl_holder_watch_look_behind(zkl_holder_watch *self) {
    self->look_again = false;
    if (self->children != NULL) {
        *self->children = (zkl_children_waiter){ .waiter = { .arg = self, .listener = &behind } };
        zkl_watch_table_add_children(&sender_of(self)->session->watches,
                                     sender_of(self)->options.parent_path, self->children);
    }
}

void zkl_holder_watch_look_no_more(zkl_holder_watch *self) {
    self->look_again = false;
    if (self->children != NULL) {
        zkl_watch_table_remove(&self->children->waiter);
    }
}

void zkl_holder_watch_review(zkl_holder_watch *self) {
    if (self->read_failed) {
        read_data(self);
    }
    if (self->look_again) {
        zkl_holder_watch_look_no_more(self);
        zkl_holder_watch_look_behind(self);
    }
}
