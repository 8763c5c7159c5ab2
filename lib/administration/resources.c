#include "administration/survey.h"
#include "base/error_message.h"
#include "base/pool.h"
#include "base/validation.h"
#include "recipe/node_name.h"
#include "zklock/administration.h"

static size_t count_contenders(zkl_children children) {
    size_t count = 0;
    for (size_t i = 0; i < children.count; i++) {
        count += zkl_node_name_parse(children.names[i]).kind != ZKL_NODE_FOREIGN ? 1 : 0;
    }
    return count;
}

/* One that has gone since the root was listed is left out. */
static int fill(void *report, zkl_inquiry *inquiry, const char *none) {
    (void)none;
    zkl_resource_list *list = report;
    zkl_survey survey;
    ZKL_TRY(zkl_survey_take(&survey, inquiry, ZKL_OPERATION_LIST_CHILDREN));
    zkl_resource *resources = zkl_pool_take(list, survey.count * sizeof(*resources));
    const zkl_resource **pointers =
        zkl_pool_take(list, (survey.count + 1) * sizeof(zkl_resource *));
    ZKL_TRY(zkl_made(resources));
    ZKL_TRY(zkl_made(pointers));
    list->resources = pointers;
    for (size_t i = 0; i < survey.count; i++) {
        const zkl_reply *reply = &survey.questions[i].reply;
        if (reply->outcome == ZKL_OUTCOME_OK) {
            const char *name = zkl_pool_text(list, zkl_survey_name(&survey, i));
            ZKL_TRY(zkl_made(name));
            resources[list->count] =
                (zkl_resource){ sizeof(*resources), name, count_contenders(reply->children) };
            pointers[list->count] = &resources[list->count];
            list->count++;
        }
    }
    return ZKL_OK;
}

int zkl_resources_list(zkl_client *client, int64_t timeout_ms, zkl_resource_list **list) {
    ZKL_BEGIN_CALL;
    ZKL_TRY(zkl_validate_pointer("list", list));
    void *made = NULL;
    int status = zkl_report_make(client, timeout_ms, NULL, sizeof(**list), fill, &made);
    *list = made;
    return status;
}

void zkl_resources_free(zkl_resource_list *list) {
    zkl_pool_free(list);
}
