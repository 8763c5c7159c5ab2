/* What is done to the nodes of others. */
#include <string.h>

#include "administration/survey.h"
#include "base/error_message.h"
#include "base/pool.h"
#include "base/validation.h"
#include "recipe/node_data.h"
#include "recipe/node_name.h"
#include "zklock/administration.h"

/* The servers take no longer name, and no list has shown one. */
enum { NODE_NAME_MAX = ZKL_NODE_PATH_SIZE };

static int check_node(const char *node) {
    ZKL_TRY(zkl_validate_pointer("node", node));
    bool is_name = strlen(node) < NODE_NAME_MAX && strchr(node, '/') == NULL;
    if (!is_name || zkl_node_name_parse(node).kind == ZKL_NODE_FOREIGN) {
        return zkl_refuse("node", node,
                          "is no contender: must be the name of one, with its sequence "
                          "number and without a slash");
    }
    return ZKL_OK;
}

static int ask(zkl_inquiry *inquiry, const char *resource, const char *node,
               zkl_operation_kind kind) {
    zkl_question *question = NULL;
    const char *path = zkl_pool_path(inquiry, zkl_inquiry_path(inquiry, resource), node);
    ZKL_TRY(zkl_inquiry_ask_one(inquiry, kind, path, zkl_node_data_revocation(), &question));
    bool gone = question->reply.outcome == ZKL_OUTCOME_NO_NODE;
    bool by_us = kind == ZKL_OPERATION_DELETE && question->asked_again;
    if (gone && !by_us) {
        zkl_error_note("node", node, "the resource has no such node");
        return ZKL_NO_NODE;
    }
    return ZKL_OK;
}

static int act(zkl_client *client, const char *resource, const char *node, int64_t timeout_ms,
               zkl_operation_kind kind) {
    zkl_inquiry *inquiry = NULL;
    ZKL_TRY(zkl_check_resource_or_stripe(resource));
    ZKL_TRY(check_node(node));
    ZKL_TRY(zkl_inquiry_begin(client, timeout_ms, &inquiry));
    int status = ask(inquiry, resource, node, kind);
    zkl_inquiry_end(inquiry);
    return status;
}

int zkl_node_break(zkl_client *client, const char *resource, const char *node, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    return act(client, resource, node, timeout_ms, ZKL_OPERATION_DELETE);
}

int zkl_node_revoke(zkl_client *client, const char *resource, const char *node,
                    int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    return act(client, resource, node, timeout_ms, ZKL_OPERATION_SET);
}
