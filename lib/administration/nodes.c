/* What is done to the nodes of others. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "administration/inquiry.h"
#include "input.h"
#include "recipe/node_data.h"
#include "threads.h"
#include "zklock/administration.h"

/* The servers take no longer name, and no list has shown one. */
enum { NODE_NAME_MAX = ZKL_NODE_PATH_SIZE };

static int check_node(const char *node) {
    int status = zkl_input_check_pointer("node", node);
    if (status != ZKL_OK) {
        return status;
    }
    bool is_name = strlen(node) < NODE_NAME_MAX && strchr(node, '/') == NULL;
    if (!is_name || zkl_node_name_parse(node).kind == ZKL_NODE_FOREIGN) {
        return zkl_input_refuse("node", node,
                                "is no contender: must be the name of one, with its sequence "
                                "number and without a slash");
    }
    return ZKL_OK;
}

static int take_answer(const zkl_question *question, const char *node) {
    bool gone = question->reply.outcome == ZKL_OUTCOME_NO_NODE;
    bool by_us = question->kind == ZKL_OPERATION_DELETE && question->asked_again;
    if (gone && !by_us) {
        zkl_input_note("node", node, "the resource has no such node");
        return ZKL_NO_NODE;
    }
    return zkl_question_status(question);
}

static int ask(zkl_inquiry *inquiry, const char *resource, const char *node,
               zkl_operation_kind kind) {
    char parent[ZKL_PARENT_PATH_SIZE];
    zkl_question *question = calloc(1, sizeof(*question));
    if (question == NULL) {
        return ZKL_NO_MEMORY;
    }
    zkl_client_resource_path(inquiry->client, resource, parent);
    zkl_question_begin(question, kind, zkl_path_below(parent, node));
    question->data = zkl_node_data_revocation();
    int status = zkl_inquiry_ask(inquiry, question, 1);
    if (status == ZKL_OK) {
        status = take_answer(question, node);
    }
    zkl_questions_free(question, 1);
    return status;
}

static int act(zkl_client *client, const char *resource, const char *node, int64_t timeout_ms,
               zkl_operation_kind kind) {
    zkl_input_clear();
    zkl_inquiry inquiry;
    int status = zkl_input_check_pointer("resource", resource);
    if (status == ZKL_OK) {
        status = zkl_input_check_resource_or_stripe(resource);
    }
    if (status == ZKL_OK) {
        status = check_node(node);
    }
    if (status == ZKL_OK) {
        status = zkl_inquiry_begin(&inquiry, client, timeout_ms);
    }
    if (status == ZKL_OK) {
        status = ask(&inquiry, resource, node, kind);
        zkl_inquiry_end(&inquiry);
    }
    return status;
}

int zkl_node_break(zkl_client *client, const char *resource, const char *node, int64_t timeout_ms) {
    ZKL_NOT_CANCELLED;
    return act(client, resource, node, timeout_ms, ZKL_OPERATION_DELETE);
}

int zkl_node_revoke(zkl_client *client, const char *resource, const char *node,
                    int64_t timeout_ms) {
    ZKL_NOT_CANCELLED;
    return act(client, resource, node, timeout_ms, ZKL_OPERATION_SET);
}
