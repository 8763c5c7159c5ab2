/* Single nodes: break, revoke, read, ACL; and the removal of idle parents. */
#include <string.h>

#include "administration/survey.h"
#include "base/acl.h"
#include "base/error_message.h"
#include "base/validation.h"
#include "recipe/node_data.h"
#include "recipe/node_name.h"
#include "zklock/administration.h"

/* ---- Contenders ------------------------------------------------------------------------------ */

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
    int status = ask(&inquiry, resource, node, kind);
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
    if (zkl_node_name_is_protected(node)) {
        zkl_error_note("node", node, "is protected: its lock was not opened as revocable");
        return ZKL_NO_PERMISSION;
    }
    return act(client, resource, node, timeout_ms, ZKL_OPERATION_SET);
}

/* ---- Any node -------------------------------------------------------------------------------- */

/* What is above the locks has to be closed as well, and so can be looked at. */
static int check_path(const char *path) {
    bool is_above =
        path != NULL && (strcmp(path, "/") == 0 || strcmp(path, "/zookeeper/quota") == 0);
    return is_above ? ZKL_OK : zkl_validate_path("path", path, ZKL_TRANSACTION_PATH_MAX);
}

/* The data get a NUL, so that a text can be read as such. */
static const void *copy_data(zkl_pool *pool, const zkl_reply *reply) {
    char *copy = zkl_pool_take(pool, reply->data_length + 1);
    if (copy != NULL && reply->data_length > 0) {
        memcpy(copy, reply->data, reply->data_length);
    }
    return copy;
}

/* Asks one that is there. */
static int ask_path(zkl_inquiry *inquiry, zkl_operation_kind kind, const char *path,
                    const char *acl, const zkl_reply **reply) {
    zkl_question *question = NULL;
    ZKL_TRY(
        zkl_inquiry_ask_one(inquiry, kind, zkl_inquiry_full_path(inquiry, path), acl, &question));
    *reply = &question->reply;
    if (question->reply.outcome == ZKL_OUTCOME_NO_NODE) {
        zkl_error_note("path", path, "there is no such node");
        return ZKL_NO_NODE;
    }
    return ZKL_OK;
}

static int fill_node(zkl_report *report, zkl_inquiry *inquiry, const char *path) {
    const zkl_reply *acl = NULL;
    const zkl_reply *reply = NULL;
    ZKL_TRY(ask_path(inquiry, ZKL_OPERATION_GET_ACL, path, NULL, &acl));
    ZKL_TRY(ask_path(inquiry, ZKL_OPERATION_GET, path, NULL, &reply));
    report->node = (zkl_node){ .struct_size = sizeof(zkl_node),
                               .data = copy_data(&report->pool, reply),
                               .size = reply->data_length,
                               .version = reply->version,
                               .made_ms = reply->made_ms,
                               .changed_ms = reply->changed_ms,
                               .session_id = reply->ephemeral_owner,
                               .acl = copy_data(&report->pool, acl) };
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

int zkl_node_set_acl(zkl_client *client, const char *path, const char *acl, int64_t timeout_ms) {
    ZKL_BEGIN_CALL;
    zkl_inquiry inquiry;
    const zkl_reply *reply = NULL;
    ZKL_TRY(check_path(path));
    if (zkl_node_name_is_protected(strrchr(path, '/') + 1)) {
        return zkl_refuse("path", path, "is that of a protected node, whose ACL nobody may set");
    }
    ZKL_TRY(zkl_validate_pointer("acl", acl));
    ZKL_TRY(zkl_acl_validate("acl", acl));
    ZKL_TRY(zkl_inquiry_begin(&inquiry, client, timeout_ms));
    int status = ask_path(&inquiry, ZKL_OPERATION_SET_ACL, path, acl, &reply);
    zkl_inquiry_end(&inquiry);
    return status;
}

/* ---- Idle parents -----------------------------------------------------------------------------
 */

/* Persistent and without data, as parents are made, with this many children, and unchanged between
 * two looks. */
static bool is_idle(const zkl_reply *first, const zkl_reply *second, int32_t children) {
    bool is_parent = second->outcome == ZKL_OUTCOME_OK && second->child_count == children &&
                     second->ephemeral_owner == 0 && second->data_length == 0;
    return is_parent && first->zxid == second->zxid &&
           first->children_zxid == second->children_zxid && first->version == second->version;
}

/* Removals of stripes, and of resources, from the last to the first. A resource comes before its
 * stripes: one whose only children are idle stripes has none when these are removed. */
static void choose(const zkl_survey *first, const zkl_survey *second, zkl_survey *stripes,
                   zkl_survey *resources) {
    int32_t idle_stripes = 0;
    for (size_t i = first->count; i-- > 0;) {
        const zkl_question *one = &first->questions[i];
        bool is_stripe = strchr(zkl_survey_name(first, i), '/') != NULL;
        zkl_survey *removals = is_stripe ? stripes : resources;
        bool idle = is_idle(&one->reply, &second->questions[i].reply, is_stripe ? 0 : idle_stripes);
        if (idle) {
            removals->questions[removals->count++] =
                (zkl_question){ .kind = ZKL_OPERATION_DELETE, .path = one->path };
        }
        idle_stripes = is_stripe ? idle_stripes + idle : 0;
    }
}

/* The servers refuse to remove a node that has children by now. Somebody else may have removed it
 * already. */
static int remove_all(zkl_inquiry *inquiry, const zkl_survey *removals, size_t *removed) {
    int status = zkl_inquiry_try(inquiry, removals->questions, removals->count);
    for (size_t i = 0; i < removals->count; i++) {
        const zkl_question *one = &removals->questions[i];
        zkl_outcome outcome = one->reply.outcome;
        bool by_us = outcome == ZKL_OUTCOME_NO_NODE && one->asked_again;
        *removed += one->answered && (outcome == ZKL_OUTCOME_OK || by_us) ? 1 : 0;
        if (status == ZKL_OK && one->answered && one->reply.status == ZKL_NO_PERMISSION) {
            status = zkl_questions_status(one, 1);
        }
    }
    return status;
}

/* The servers remove a resource only when its stripes have gone. What may not be read is not idle.
 */
static int remove_idle(zkl_inquiry *inquiry, int64_t idle_ms, size_t *removed) {
    zkl_survey first;
    zkl_survey second;
    ZKL_TRY(zkl_survey_take(&first, inquiry, ZKL_OPERATION_GET));
    ZKL_TRY(idle_ms > 0 ? zkl_inquiry_pause(inquiry, idle_ms) : ZKL_OK);
    ZKL_TRY(zkl_survey_repeat(&second, inquiry, &first));
    zkl_survey stripes = { .questions = zkl_inquiry_questions(inquiry, first.count) };
    zkl_survey resources = { .questions = zkl_inquiry_questions(inquiry, first.count) };
    ZKL_TRY(zkl_made(stripes.questions));
    ZKL_TRY(zkl_made(resources.questions));
    choose(&first, &second, &stripes, &resources);
    int of_stripes = remove_all(inquiry, &stripes, removed);
    int of_resources = remove_all(inquiry, &resources, removed);
    ZKL_TRY(of_stripes);
    ZKL_TRY(of_resources);
    ZKL_TRY(zkl_questions_status(first.questions, first.count));
    return zkl_questions_status(second.questions, second.count);
}

int zkl_parents_remove_idle(zkl_client *client, int64_t idle_ms, int64_t timeout_ms,
                            size_t *removed) {
    ZKL_BEGIN_CALL;
    zkl_inquiry inquiry;
    size_t count = 0;
    size_t *result = removed != NULL ? removed : &count;
    *result = 0;
    ZKL_TRY(zkl_inquiry_begin(&inquiry, client, timeout_ms));
    int status = zkl_validate_range("idle_ms", idle_ms, 0, timeout_ms - 1);
    if (status == ZKL_OK) {
        status = remove_idle(&inquiry, idle_ms, result);
    }
    zkl_inquiry_end(&inquiry);
    return status;
}
