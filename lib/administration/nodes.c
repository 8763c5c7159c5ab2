/* What an operator does to single nodes: break, revoke, read, set the ACL. */
#include <string.h>

#include "administration/resource_survey.h"
#include "base/acl_text.h"
#include "base/error_message.h"
#include "base/validation.h"
#include "recipe/node_data.h"
#include "recipe/node_name.h"
#include "zklock/administration.h"

/* ---- Contenders ------------------------------------------------------------------------------ */

/* The servers accept no longer name, and no list can show one. */
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

static int nodes_ask(zkl_inquiry *inquiry, const char *resource, const char *node,
                     zkl_operation_kind kind) {
    zkl_question *question = NULL;
    const char *path = zkl_inquiry_child_path(inquiry, zkl_inquiry_path(inquiry, resource), node);
    ZKL_TRY(zkl_inquiry_ask_one(inquiry, kind, path, ZKL_NODE_DATA_REVOCATION, &question));
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
    zkl_inquiry inquiry;
    ZKL_TRY(zkl_check_resource_or_stripe(resource));
    ZKL_TRY(check_node(node));
    ZKL_TRY(zkl_inquiry_begin(&inquiry, client, timeout_ms));
    int status = nodes_ask(&inquiry, resource, node, kind);
    zkl_inquiry_end(&inquiry);
    return status;
}

int zkl_node_break(zkl_client *client, const char *resource, const char *node, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    return act(client, resource, node, timeout_ms, ZKL_OPERATION_DELETE);
}

int zkl_node_revoke(zkl_client *client, const char *resource, const char *node,
                    int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(check_node(node));
    if (zkl_node_name_parse(node).naming == ZKL_NAMING_LEADER_LATCH) {
        return zkl_refuse("node", node,
                          "is that of a LeaderLatch: the latch behind it would miss its release");
    }
    if (zkl_node_name_is_protected(node)) {
        zkl_error_note("node", node, "is protected: its lock was not opened as revocable");
        return ZKL_NO_PERMISSION;
    }
    return act(client, resource, node, timeout_ms, ZKL_OPERATION_SET);
}

/* ---- Any node -------------------------------------------------------------------------------- */

/* Accepts the nodes above the locks too: operators must close these, and so look at them. */
static int check_path(const char *path) {
    bool is_above =
        path != NULL && (strcmp(path, "/") == 0 || strcmp(path, "/zookeeper/quota") == 0);
    return is_above ? ZKL_OK : zkl_validate_path("path", path, ZKL_TRANSACTION_PATH_MAX);
}

/* Copies the data, and adds a NUL, so that they can be read as a text. */
static const void *copy_data(zkl_pool *pool, const zkl_reply *reply) {
    char *copy = zkl_pool_take(pool, reply->data_length + 1);
    if (copy != NULL && reply->data_length > 0) {
        memcpy(copy, reply->data, reply->data_length);
    }
    return copy;
}

/* Looks at a question that was tried. ZKL_NO_NODE, with a message: there is no such node. */
static int look_at_answer(const zkl_question *question, const char *path) {
    ZKL_TRY(zkl_questions_status(question, 1));
    if (question->reply.outcome == ZKL_OUTCOME_NO_NODE) {
        zkl_error_note("path", path, "there is no such node");
        return ZKL_NO_NODE;
    }
    return ZKL_OK;
}

/* Asks for the ACL and the data at once: that is one round trip. */
static int fill_node(zkl_report *report, zkl_inquiry *inquiry, const void *path) {
    zkl_question *acl = zkl_inquiry_questions(inquiry, 2);
    ZKL_TRY(zkl_made(acl));
    zkl_question *data = acl + 1;
    acl->kind = ZKL_OPERATION_GET_ACL;
    data->kind = ZKL_OPERATION_GET;
    acl->path = data->path = zkl_inquiry_full_path(inquiry, path);
    ZKL_TRY(zkl_inquiry_try(inquiry, acl, 2));
    ZKL_TRY(look_at_answer(acl, path));
    ZKL_TRY(look_at_answer(data, path));
    const zkl_reply *reply = &data->reply;
    report->node = (zkl_node){ .struct_size = sizeof(zkl_node),
                               .data = copy_data(&report->pool, reply),
                               .size = reply->data_length,
                               .version = reply->version,
                               .made_ms = reply->made_ms,
                               .changed_ms = reply->changed_ms,
                               .session_id = reply->ephemeral_owner,
                               .acl = copy_data(&report->pool, &acl->reply) };
    return zkl_pool_status(&report->pool);
}

int zkl_node_read(zkl_client *client, const char *path, int64_t timeout_ms, zkl_node **node) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("node", node));
    *node = NULL;
    ZKL_TRY(check_path(path));
    void *made = NULL;
    int status = zkl_report_make(client, timeout_ms, path, fill_node, &made);
    *node = made;
    return status;
}

static int set_acl(zkl_inquiry *inquiry, const char *path, const char *acl) {
    zkl_question *question = NULL;
    ZKL_TRY(zkl_inquiry_ask_one(inquiry, ZKL_OPERATION_SET_ACL,
                                zkl_inquiry_full_path(inquiry, path), acl, &question));
    return look_at_answer(question, path);
}

int zkl_node_set_acl(zkl_client *client, const char *path, const char *acl, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    zkl_inquiry inquiry;
    ZKL_TRY(check_path(path));
    if (zkl_node_name_is_protected(strrchr(path, '/') + 1)) {
        return zkl_refuse("path", path, "is that of a protected node, whose ACL nobody may set");
    }
    ZKL_TRY(zkl_validate_pointer("acl", acl));
    ZKL_TRY(zkl_acl_validate("acl", acl));
    ZKL_TRY(zkl_inquiry_begin(&inquiry, client, timeout_ms));
    int status = set_acl(&inquiry, path, acl);
    zkl_inquiry_end(&inquiry);
    return status;
}
