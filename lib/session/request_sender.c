#include "session/request_sender.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/threads.h"

void zkl_request_tell_owner(const zkl_request_sender *self, zkl_request_news news, int status) {
    if (self->options.owner.on_news != NULL) {
        self->options.owner.on_news(self->options.owner.arg, news, status);
    }
}

zkl_request_origin *zkl_request_origin_make(size_t room) {
    zkl_request_origin *origin = calloc(1, sizeof(*origin) + room);
    if (origin != NULL) {
        origin->keepers = 1;
    }
    return origin;
}

void zkl_request_origin_drop(zkl_request_origin *origin) {
    if (origin != NULL && --origin->keepers == 0) {
        zkl_pool_free(&origin->texts);
        free(origin);
    }
}

/* ---- Paths and data ----------------------------------------------------------------------- */

void zkl_request_node_path(const zkl_request_sender *self, const char *node,
                           char path[ZKL_NODE_PATH_SIZE]) {
    zkl_text text = { .bytes = path, .size = ZKL_NODE_PATH_SIZE - 1 };
    zkl_text_add(&text, self->options.parent_path);
    zkl_text_add(&text, "/");
    zkl_text_add(&text, node);
    path[text.length] = '\0';
}

/* Writes the path of a node of the resource, or the resource's own path, or that of a level above
 * it. */
static void write_path(const zkl_request_sender *self, const zkl_action *action,
                       char path[ZKL_NODE_PATH_SIZE]) {
    zkl_request_node_path(self, action->node != NULL ? action->node : "", path);
    for (unsigned level = action->node != NULL ? 0 : action->level + 1; level > 0; level--) {
        *strrchr(path, '/') = '\0';
    }
}

/* Adds the owner. What is lent changes hands without a write, so it names nobody. */
static void add_owner(zkl_text *text, const zkl_request_sender *self) {
    const zkl_request_origin *origin = self->options.origin;
    uint64_t thread = self->options.thread;
    if (self->request->options.lent) {
        return;
    }
    zkl_text_add(text, "owner=");
    if (origin->options->owner != NULL) {
        zkl_text_add(text, origin->options->owner);
    } else {
        zkl_text_add_number(text, origin->process);
        zkl_text_add_numbered(
            text, thread != 0 ? ":" : ":handle:", (int64_t)(thread != 0 ? thread : origin->handle));
    }
    zkl_text_add(text, "\n");
}

void zkl_request_write_data(const zkl_request_sender *self, char data[ZKL_REQUEST_DATA_SIZE]) {
    zkl_text text = { .bytes = data, .size = ZKL_REQUEST_DATA_SIZE - 1 };
    char now[ZKL_TIME_SIZE];
    zkl_format_time(now, zkl_wall_clock_ms());
    zkl_text_add(&text, self->session->identity);
    add_owner(&text, self);
    zkl_text_add(&text, "time=");
    zkl_text_add(&text, now);
    zkl_text_add(&text, "\n");
    if (self->options.origin->options->note != NULL) {
        zkl_text_add(&text, "note=");
        zkl_text_add(&text, self->options.origin->options->note);
        zkl_text_add(&text, "\n");
    }
    data[text.length] = '\0';
}

/* ---- Operations --------------------------------------------------------------------------- */

static zkl_outcome send_as_request(zkl_request_sender *self, const zkl_operation *operation) {
    return zkl_send(&self->session->sender, operation, self->listener->replied, self, NULL);
}

static zkl_outcome transact(zkl_request_sender *self, zkl_action_kind action,
                            const zkl_multi_operation *all, size_t count) {
    const zkl_operation transaction = {
        .kind = ZKL_OPERATION_TRANSACTION,
        .all = all,
        .count = count,
        .acl = self->options.origin->options->node_acl,
        .tag = (int)action,
    };
    return send_as_request(self, &transaction);
}

static zkl_outcome create(zkl_request_sender *self, const char *path) {
    char data[ZKL_REQUEST_DATA_SIZE];
    zkl_request_write_data(self, data);
    const zkl_operation creation = { .kind = ZKL_OPERATION_CREATE,
                                     .path = path,
                                     .data = data,
                                     .acl = self->options.origin->options->node_acl,
                                     .tag = ZKL_ACTION_CREATE };
    return send_as_request(self, &creation);
}

/* Makes the reader's node and deletes the writer's in one transaction, so that there is always one
 * of the two. */
static zkl_outcome downgrade(zkl_request_sender *self, const char *reader) {
    char writer[ZKL_NODE_PATH_SIZE];
    char data[ZKL_REQUEST_DATA_SIZE];
    zkl_request_node_path(self, self->request->own.node, writer);
    zkl_request_write_data(self, data);
    size_t used = strlen(data);
    snprintf(data + used, sizeof(data) - used, "token=%" PRId64 "\n", self->request->own.zxid);
    const zkl_multi_operation changes[] = {
        { ZKL_MULTI_CREATE_EPHEMERAL, reader, data, strlen(data), ZKL_ANY_VERSION },
        { ZKL_MULTI_REMOVE, writer, NULL, 0, ZKL_ANY_VERSION },
    };
    return transact(self, ZKL_ACTION_DOWNGRADE, changes, sizeof(changes) / sizeof(changes[0]));
}

/* Sets the node's data and deletes it. A client that watches the node hears of the first of the two
 * only. */
static zkl_outcome hand_over(zkl_request_sender *self, const char *path) {
    const zkl_multi_operation changes[] = {
        { ZKL_MULTI_SET, path, NULL, 0, ZKL_ANY_VERSION },
        { ZKL_MULTI_REMOVE, path, NULL, 0, ZKL_ANY_VERSION },
    };
    return transact(self, ZKL_ACTION_HAND_OVER, changes, sizeof(changes) / sizeof(changes[0]));
}

/* Removes the parent in a transaction, as only there a version can be given. */
static zkl_outcome remove_parent(zkl_request_sender *self) {
    const zkl_multi_operation removal = { .kind = ZKL_MULTI_REMOVE,
                                          .path = self->options.parent_path,
                                          .version = self->parent_version };
    return transact(self, ZKL_ACTION_REMOVE_PARENT, &removal, 1);
}

zkl_outcome zkl_request_send(zkl_request_sender *self, const zkl_action *action) {
    char path[ZKL_NODE_PATH_SIZE];
    zkl_operation operation = { .path = path, .tag = (int)action->kind };
    write_path(self, action, path);
    switch (action->kind) {
    case ZKL_ACTION_CREATE:
        return create(self, path);
    case ZKL_ACTION_INSPECT:
    case ZKL_ACTION_INSPECT_PARENT:
        operation.kind = ZKL_OPERATION_EXISTS;
        break;
    case ZKL_ACTION_DELETE:
        operation.kind = ZKL_OPERATION_DELETE;
        break;
    case ZKL_ACTION_DOWNGRADE:
        return downgrade(self, path);
    case ZKL_ACTION_HAND_OVER:
        return hand_over(self, path);
    case ZKL_ACTION_MAKE_PARENT:
        self->parent_made_length = (int)strlen(path);
        operation.kind = ZKL_OPERATION_CREATE_PARENT;
        operation.acl = self->options.origin->options->parent_acl;
        operation.container = self->session->container_parents && action->level == 0;
        break;
    case ZKL_ACTION_REMOVE_PARENT:
        return remove_parent(self);
    case ZKL_ACTION_SETTLE:
        return zkl_liveness_write_nothing(&self->session->liveness, (int)action->kind,
                                          self->listener->replied, self, NULL);
    default:
        return ZKL_OUTCOME_REFUSED; /* there is no other */
    }
    return send_as_request(self, &operation);
}

/* ---- Replies ------------------------------------------------------------------------------ */

/* Returns the outcome to the request. A write that settles may have failed, if that is committed. A
 * parent that was written to since it was inspected is in use, as one with children is. */
static zkl_outcome outcome_of(const zkl_reply *reply) {
    if (reply->tag == ZKL_ACTION_SETTLE && zkl_is_committed(reply)) {
        return ZKL_OUTCOME_OK;
    }
    bool was_written_to = reply->outcome == ZKL_OUTCOME_REFUSED && reply->status == ZKL_BAD_VERSION;
    return reply->tag == ZKL_ACTION_REMOVE_PARENT && was_written_to ? ZKL_OUTCOME_NOT_EMPTY
                                                                    : reply->outcome;
}

zkl_event zkl_request_read_reply(zkl_request_sender *self, const zkl_reply *reply) {
    if (reply->tag == ZKL_ACTION_INSPECT_PARENT) {
        self->parent_version = reply->version;
    }
    return (zkl_event){
        .outcome = outcome_of(reply),
        .status = reply->status,
        .node = reply->path != NULL ? strrchr(reply->path, '/') + 1 : NULL,
        .zxid = reply->zxid,
        .own_session = reply->ephemeral_owner == self->session->id,
        .holds_data = reply->data_length > 0,
    };
}
