/* Reports: the queue of one resource, and the list of all resources. */
#include "administration/queue_snapshot.h"
#include "administration/resource_survey.h"
#include "base/error_message.h"
#include "base/validation.h"
#include "recipe/node_name.h"

/* ---- One queue ------------------------------------------------------------------------------ */

static int fill_queue(zkl_report *report, zkl_inquiry *inquiry, const void *resource) {
    zkl_question *listed = NULL;
    zkl_queue_snapshot snapshot;
    ZKL_TRY(zkl_inquiry_ask_one(inquiry, ZKL_OPERATION_LIST_CHILDREN,
                                zkl_inquiry_path(inquiry, resource), NULL, &listed));
    ZKL_TRY(zkl_queue_snapshot_read(&snapshot, &report->pool, inquiry, listed, 1, 0));
    const zkl_contender **contenders =
        zkl_pool_take(&report->pool, (snapshot.count + 1) * sizeof(zkl_contender *));
    ZKL_TRY(zkl_made(contenders));
    for (size_t i = 0; i < snapshot.count; i++) {
        contenders[i] = &snapshot.entries[i].contender;
    }
    report->queue = (zkl_queue){ snapshot.count, contenders };
    report->status = snapshot.status;
    return ZKL_OK;
}

int zkl_queue_describe(zkl_client *client, const char *resource, int64_t timeout_ms,
                       zkl_queue **queue) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("queue", queue));
    *queue = NULL;
    ZKL_TRY(zkl_check_resource_or_stripe(resource));
    void *made = NULL;
    int status = zkl_report_make(client, timeout_ms, resource, fill_queue, &made);
    *queue = made;
    return status;
}

/* ---- All resources -------------------------------------------------------------------------- */

static size_t count_contenders(zkl_children children) {
    size_t count = 0;
    for (size_t i = 0; i < children.count; i++) {
        count += zkl_node_name_parse(children.names[i]).kind != ZKL_NODE_FOREIGN ? 1 : 0;
    }
    return count;
}

/* Fills the list of all resources. One that has gone since the root was listed is left out. */
static int fill_list(zkl_report *report, zkl_inquiry *inquiry, const void *none) {
    (void)none;
    zkl_resource_list *list = &report->resources;
    zkl_pool *pool = &report->pool;
    zkl_survey survey;
    ZKL_TRY(zkl_survey_take(&survey, inquiry, ZKL_OPERATION_LIST_CHILDREN));
    const zkl_resource **pointers =
        zkl_pool_take(pool, (survey.count + 1) * sizeof(zkl_resource *));
    ZKL_TRY(zkl_made(pointers));
    list->resources = pointers;
    for (size_t i = 0; i < survey.count; i++) {
        const zkl_reply *reply = &survey.questions[i].reply;
        if (reply->outcome != ZKL_OUTCOME_NO_NODE) {
            const char *name = zkl_pool_copy_text(pool, zkl_survey_name(&survey, i));
            zkl_resource *one = zkl_pool_take(pool, sizeof(*one));
            ZKL_TRY(zkl_made(one));
            *one = (zkl_resource){ sizeof(*one), name, count_contenders(reply->children),
                                   reply->outcome == ZKL_OUTCOME_OK ? ZKL_OK : reply->status };
            pointers[list->count++] = one;
        }
    }
    report->status = zkl_questions_status(survey.questions, survey.count);
    return zkl_pool_status(pool);
}

int zkl_resources_list(zkl_client *client, int64_t timeout_ms, zkl_resource_list **list) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("list", list));
    void *made = NULL;
    int status = zkl_report_make(client, timeout_ms, NULL, fill_list, &made);
    *list = made;
    return status;
}
