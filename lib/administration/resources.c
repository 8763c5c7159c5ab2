#include "administration/survey.h"
#include "base/error_message.h"
#include "base/pool.h"
#include "base/try.h"
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

static int add_resource(zkl_resource_list *list, const zkl_resource **place, const char *name,
                        zkl_children children) {
    zkl_resource *resource = zkl_pool_take(list, sizeof(*resource));
    const char *text = zkl_pool_text(list, name);
    if (resource == NULL || text == NULL) {
        return ZKL_NO_MEMORY;
    }
    *resource = (zkl_resource){ sizeof(*resource), text, count_contenders(children) };
    *place = resource;
    list->count++;
    return ZKL_OK;
}

/* One that has gone since the root was listed is left out. */
static int fill(zkl_resource_list *list, const zkl_survey *survey) {
    ZKL_TRY(zkl_questions_status(survey->questions, survey->count));
    const zkl_resource **resources =
        zkl_pool_take(list, (survey->count + 1) * sizeof(zkl_resource *));
    if (resources == NULL) {
        return ZKL_NO_MEMORY;
    }
    list->resources = resources;
    for (size_t i = 0; i < survey->count; i++) {
        const zkl_reply *reply = &survey->questions[i].reply;
        if (reply->outcome == ZKL_OUTCOME_OK) {
            ZKL_TRY(add_resource(list, &resources[list->count], zkl_survey_name(survey, i),
                                 reply->children));
        }
    }
    return ZKL_OK;
}

static int make_list(zkl_inquiry *inquiry, zkl_resource_list **result) {
    zkl_survey survey;
    ZKL_TRY(zkl_survey_take(&survey, inquiry, ZKL_OPERATION_LIST_CHILDREN));
    zkl_resource_list *list = zkl_pool_make(sizeof(*list));
    int status = list != NULL ? fill(list, &survey) : ZKL_NO_MEMORY;
    if (status == ZKL_OK) {
        *result = list;
    } else {
        zkl_pool_free(list);
    }
    return status;
}

int zkl_resources_list(zkl_client *client, int64_t timeout_ms, zkl_resource_list **list) {
    ZKL_BEGIN_CALL;
    zkl_inquiry *inquiry = NULL;
    ZKL_TRY(zkl_validate_pointer("list", list));
    *list = NULL;
    ZKL_TRY(zkl_inquiry_begin(client, timeout_ms, &inquiry));
    int status = make_list(inquiry, list);
    zkl_inquiry_end(inquiry);
    return status;
}

void zkl_resources_free(zkl_resource_list *list) {
    zkl_pool_free(list);
}
