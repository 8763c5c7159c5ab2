#include "session/request_sender.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NODE_DATA_SIZE = 1536 };

static void write_path(const zkl_request_runner *runner, const char *node,
                       char path[ZKL_NODE_PATH_SIZE]) {
    snprintf(path, ZKL_NODE_PATH_SIZE, "%s/%s", runner->parent_path, node);
}

static void format_time(char *text, size_t size, int64_t wall_clock_ms) {
    time_t seconds = (time_t)(wall_clock_ms / 1000);
    struct tm utc;
    if (gmtime_r(&seconds, &utc) == NULL || strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0) {
        text[0] = '\0';
    }
}

/* What the node says of who made it, and when. */
static void write_data(const zkl_request_runner *runner, char data[NODE_DATA_SIZE]) {
    zkl_operations *operations = runner->session->operations;
    char now[32];
    format_time(now, sizeof(now), operations->table->wall_clock_ms(operations));
    bool has_owner = runner->owner_text != NULL;
    bool has_note = runner->note != NULL;
    snprintf(data, NODE_DATA_SIZE, "%s%s%s%stime=%s\n%s%s%s", runner->session->identity,
             has_owner ? "owner=" : "", has_owner ? runner->owner_text : "", has_owner ? "\n" : "",
             now, has_note ? "note=" : "", has_note ? runner->note : "", has_note ? "\n" : "");
}

static zkl_outcome send(zkl_request_runner *runner, const zkl_action *action,
                        zkl_reply_callback *done, zkl_operation operation) {
    operation.tag = (int)action->kind;
    return zkl_send(&runner->session->sender, &operation, done, runner);
}

static zkl_outcome create(zkl_request_runner *runner, const zkl_action *action,
                          zkl_reply_callback *done) {
    char path[ZKL_NODE_PATH_SIZE];
    char data[NODE_DATA_SIZE];
    write_path(runner, action->node, path);
    write_data(runner, data);
    if (runner->group != NULL) {
        return zkl_create_group_ask(runner->group, runner, path, data);
    }
    return send(runner, action, done,
                (zkl_operation){ .kind = ZKL_OPERATION_CREATE, .path = path, .data = data });
}

/* About one node of the resource, ours or another's. */
static zkl_outcome send_about(zkl_request_runner *runner, const zkl_action *action,
                              zkl_reply_callback *done, zkl_operation_kind kind) {
    char path[ZKL_NODE_PATH_SIZE];
    write_path(runner, action->node, path);
    return send(runner, action, done, (zkl_operation){ .kind = kind, .path = path });
}

static zkl_outcome transact(zkl_request_runner *runner, const zkl_action *action,
                            zkl_reply_callback *done, const zkl_multi_operation *all,
                            size_t count) {
    return send(runner, action, done,
                (zkl_operation){ .kind = ZKL_OPERATION_TRANSACTION, .all = all, .count = count });
}

/* In one transaction, so that nobody ever sees neither of the two. */
static zkl_outcome downgrade(zkl_request_runner *runner, const zkl_action *action,
                             zkl_reply_callback *done) {
    char reader[ZKL_NODE_PATH_SIZE];
    char writer[ZKL_NODE_PATH_SIZE];
    char data[NODE_DATA_SIZE];
    write_path(runner, action->node, reader);
    write_path(runner, runner->request.own.node, writer);
    write_data(runner, data);
    size_t used = strlen(data);
    snprintf(data + used, sizeof(data) - used, "token=%" PRId64 "\n", runner->request.own.zxid);
    const zkl_multi_operation changes[] = {
        { ZKL_MULTI_CREATE_EPHEMERAL, reader, data, strlen(data), ZKL_ANY_VERSION },
        { ZKL_MULTI_REMOVE, writer, NULL, 0, ZKL_ANY_VERSION },
    };
    return transact(runner, action, done, changes, sizeof(changes) / sizeof(changes[0]));
}

/* Of the resource's node, or of the one so many levels above it. */
static void write_parent_path(const zkl_request_runner *runner, unsigned level,
                              char path[ZKL_NODE_PATH_SIZE]) {
    snprintf(path, ZKL_NODE_PATH_SIZE, "%s", runner->parent_path);
    for (; level > 0; level--) {
        *strrchr(path, '/') = '\0';
    }
}

static zkl_outcome make_parent(zkl_request_runner *runner, const zkl_action *action,
                               zkl_reply_callback *done) {
    char path[ZKL_NODE_PATH_SIZE];
    write_parent_path(runner, action->level, path);
    runner->parent_made_length = strlen(path);
    bool container = runner->session->container_parents && action->level == 0;
    return send(runner, action, done,
                (zkl_operation){
                    .kind = ZKL_OPERATION_CREATE_PARENT, .path = path, .container = container });
}

static zkl_outcome inspect_parent(zkl_request_runner *runner, const zkl_action *action,
                                  zkl_reply_callback *done) {
    char path[ZKL_NODE_PATH_SIZE];
    write_parent_path(runner, action->level, path);
    return send(runner, action, done,
                (zkl_operation){ .kind = ZKL_OPERATION_EXISTS, .path = path });
}

/* A transaction, as only there a version can be given. */
static zkl_outcome remove_parent(zkl_request_runner *runner, const zkl_action *action,
                                 zkl_reply_callback *done) {
    const zkl_multi_operation removal = { .kind = ZKL_MULTI_REMOVE,
                                          .path = runner->parent_path,
                                          .version = runner->parent_version };
    return transact(runner, action, done, &removal, 1);
}

zkl_outcome zkl_request_send(zkl_request_runner *runner, const zkl_action *action,
                             zkl_reply_callback *done) {
    switch (action->kind) {
    case ZKL_ACTION_CREATE:
        return create(runner, action, done);
    case ZKL_ACTION_INSPECT:
        return send_about(runner, action, done, ZKL_OPERATION_EXISTS);
    case ZKL_ACTION_DELETE:
        return send_about(runner, action, done, ZKL_OPERATION_DELETE);
    case ZKL_ACTION_DOWNGRADE:
        return downgrade(runner, action, done);
    case ZKL_ACTION_MAKE_PARENT:
        return make_parent(runner, action, done);
    case ZKL_ACTION_INSPECT_PARENT:
        return inspect_parent(runner, action, done);
    case ZKL_ACTION_REMOVE_PARENT:
        return remove_parent(runner, action, done);
    default:
        return zkl_liveness_write_nothing(&runner->session->liveness, done, runner,
                                          (int)action->kind);
    }
}

static const char *last_name(const char *path) {
    return strrchr(path, '/') + 1;
}

/* A write that settles may have failed, if that is committed. Whoever has written to the parent
 * since it was inspected uses it, as they do who have children there. */
static zkl_outcome outcome_of(const zkl_reply *reply) {
    if (reply->tag == ZKL_ACTION_SETTLE && zkl_is_committed(reply)) {
        return ZKL_OUTCOME_OK;
    }
    bool was_written_to = reply->outcome == ZKL_OUTCOME_REFUSED && reply->status == ZKL_BAD_VERSION;
    return reply->tag == ZKL_ACTION_REMOVE_PARENT && was_written_to ? ZKL_OUTCOME_NOT_EMPTY
                                                                    : reply->outcome;
}

zkl_event zkl_request_read_reply(zkl_request_runner *runner, const zkl_reply *reply) {
    if (reply->tag == ZKL_ACTION_INSPECT_PARENT) {
        runner->parent_version = reply->version;
    }
    return (zkl_event){
        .outcome = outcome_of(reply),
        .status = reply->status,
        .node = reply->path != NULL ? last_name(reply->path) : NULL,
        .zxid = reply->zxid,
        .own_session = reply->ephemeral_owner == runner->session->id,
        .holds_data = reply->data_length > 0,
    };
}
